"""What is left to do in a thread, from its summaries and answers alone.

The order, which every reader has: stop criteria that a command can meet; what is planned or blocked, and runs that did
not come to their end, or whose numbers are withheld; comparisons that
further pairs would probably settle, the nearest to an answer first, and those of which a side failed in every pair;
what waits for a decision on its code; next actions that people wrote, the latest first; other stop criteria; and what
one sitting settled. A comparison whose entry is withdrawn or superseded, or about which somebody decided, is left
alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct, structs

from logbook_agent.findings.advice import accept, judge_met, measure
from logbook_agent.findings.attempts import withheld
from logbook_agent.findings.carried_out import commands_in
from logbook_agent.findings.protocol import Records, TypingPlace
from logbook_agent.findings.synopses import Synopsis
from logbook_agent.findings.thread import Thread
from logbook_agent.model.entry import HYPOTHESIS
from logbook_agent.model.header import Criterion, Header
from logbook_agent.model.record import Record, is_made
from logbook_agent.model.summary import Summary
from logbook_agent.text.phrases import counted

StepKind = Literal[
    "criterion", "plan", "run", "comparison", "decision", "next action", "replication", "first comparison"
]
_PLANNED = ("planned", "blocked")
# Of what waits, the states that nobody ends here.
_GOING = ("running", "submitted", "unknown")
# Stop criteria that are met by going on, whatever comes next.
_BY_THEMSELVES = ("budget", "date")


class OpenStep(Struct, frozen=True, kw_only=True):
    """What to do, as Markdown, and why; `settles` is the question that it answers. `entry` is the one that it comes
    from, `command` what to type as far as the records say it."""

    kind: StepKind
    text: str
    entry: str = ""
    why: str = ""
    settles: str = ""
    command: str = ""


def next_step(thread: Thread, answers: Sequence[Synopsis]) -> tuple[str, str]:
    """The entry of the next step, and the step as Markdown, for pages: these change neither by themselves nor with the
    code in a working tree. Of a closed thread what its conclusion names."""
    closing = thread.header.closing
    if closing is not None:
        return "", "; ".join(closing.next_steps) or "Nothing: the thread is closed"
    first = first_step(thread, answers, "replication", "decision")
    return (first.entry, first.text) if first is not None else ("", "")


def first_step(thread: Thread, answers: Sequence[Synopsis], *left_out: StepKind) -> OpenStep | None:
    """The first of `open_steps` but for some kinds; None where there is none. Before the first number, no criterion is
    met."""
    kinds = {*left_out} if any(s["rows"] for s in thread.summaries) else {*left_out, "criterion"}
    return next((step for step in open_steps(thread, answers) if step.kind not in kinds), None)


def waiting_for(step: OpenStep, wait: str = "") -> OpenStep:
    """A step of an entry whose runs somebody makes now, and what to type to `wait` for them."""
    return structs.replace(step, text=f"Wait for {step.entry}: its runs are being made", command=wait)


def nothing_left(header: Header) -> str:
    """What is said of a thread without a step."""
    if header.closing is not None:
        return "the logbook is closed"
    if header.stop_criteria:
        return "all stop criteria are met: logbook close --help"
    return "nothing is left to do here: set stop criteria, or write a next action: logbook edit --help"


def open_steps(thread: Thread, answers: Sequence[Synopsis]) -> Iterator[OpenStep]:
    """What is left to do in a thread, in the order of this module; nothing once it is closed."""
    if thread.header.closing is not None:
        return
    numbers = {id(criterion): at for at, criterion in enumerate(thread.header.stop_criteria, start=1)}
    yield from (_criterion(numbers[id(one)], one) for one in unmet(thread.header) if has_command(one))
    going_on = {one.entry for one in answers if one.command or not one.is_failed}
    waiting = [s for s in thread.open if s["state"] in _PLANNED or (s["runs"] and s["state"] not in _GOING)]
    yield from (_waiting(s) for s in waiting if s["id"] not in going_on)
    yield from (_withheld(s, why) for s in reversed(thread.counted) if (why := withheld(s)))
    yield from (_comparison(one) for one in answers if one.command)
    yield from (_decision(one) for one in answers if one.decide)
    yield from map(_written, reversed(thread.next_actions))
    yield from (_criterion(numbers[id(one)], one) for one in unmet(thread.header) if not has_command(one))
    yield from (_replication(one) for one in answers if one.replicate and not one.decide)


def _waiting(said: Summary) -> OpenStep:
    """What an entry waits for: a plan that somebody takes up, or a run that did not come to its end."""
    entry, state = said["id"], said["state"]
    if state in _PLANNED:
        return OpenStep(kind="plan", entry=entry, text=f"{said['title']} ({state})", why=f"{entry} is {state}")
    text = f"{'Wait for the run' if state == 'orphaned' else 'Run it again'}: {said['title']}"
    return OpenStep(kind="run", entry=entry, text=text, why=f"{entry} is {state}")


def _withheld(said: Summary, why: str) -> OpenStep:
    text = f"Run it again, or let its withheld numbers count: {said['title']}"
    return OpenStep(kind="run", entry=said["id"], text=text, why=why, command=accept(said["id"]))


def _written(said: Summary) -> OpenStep:
    """The next action of an entry, with the command that it names."""
    named = next(iter(commands_in(said["next"] or "")), ())
    command = shlex.join(named)
    if command and named[0] != "logbook":
        command = f"logbook run --continues {said['id']} -- {command}"
    why = f"the next action of {said['id']}"
    return OpenStep(kind="next action", entry=said["id"], text=said["next_lead"] or "", why=why, command=command)


def has_command(criterion: Criterion) -> bool:
    """Whether a command makes the runs that a criterion lacks."""
    return criterion.computed is not None and bool(criterion.computed.command)


def unmet(header: Header) -> list[Criterion]:
    """The stop criteria that are not met and want work."""
    return [c for c in header.stop_criteria if not c.met and not {*(c.predicate or ())} & {*_BY_THEMSELVES}]


_COMPARISON = {
    "decision": "Decide on the output of the open comparison {}",
    "entry": "Ask the open comparison {} again, in a new entry",
    "side": "Ask the open comparison {} the other way round",
    "setup": "Ask the comparison {} again, with a setup that makes what it needs",
    "report": "Mend the gate of the comparison {}, or its command",
    **dict.fromkeys(("mend", "gate"), "Mend what failed in the comparison {}, or discard it"),
    "run": "Ask the comparison {} again, in which a side failed",
}


def _comparison(one: Synopsis) -> OpenStep:
    text = _COMPARISON.get(one.lacks, "Add pairs to the open comparison {}").format(one.entry)
    return OpenStep(kind="comparison", entry=one.entry, text=text, why=one.why, settles=one.text, command=one.command)


def _decision(one: Synopsis) -> OpenStep:
    where = "" if one.outcome.startswith(("better", "mixed")) else ", the code here has it"
    is_so = "shows no difference" if one.outcome == "no difference" else f"is {one.outcome}"
    why = f"it {is_so}{where}, and nobody has decided on its code"
    why = f"{one.why}; {why}" if one.is_hopeless else why
    why += f"; to replicate it first: `{one.replicate}`" if one.replicate else ""
    text = f"Decide {one.entry}: keep it or discard it"
    return OpenStep(kind="decision", entry=one.entry, text=text, why=why, settles=one.text, command=one.decide)


def _replication(one: Synopsis) -> OpenStep:
    text = f"Replicate {one.entry}: pairs of a second sitting have to settle it alone"
    return OpenStep(
        kind="replication", entry=one.entry, text=text, why=one.borne_out, settles=one.text, command=one.replicate
    )


def _criterion(number: int, criterion: Criterion) -> OpenStep:
    computed = criterion.computed
    is_judged = computed is None or "judgement" in (criterion.predicate or ())
    return OpenStep(
        kind="criterion",
        text=f"Meet the stop criterion: {criterion.text}",
        why=computed.reason if computed else "a person judges it",
        settles=criterion.text,
        command=judge_met(number) if is_judged else computed.command if computed else "",
    )


def is_waiting(step: OpenStep) -> bool:
    """Whether an entry waits for its runs, and the step does not say yet what to type for them."""
    return step.kind in ("plan", "run") and not step.command


def waiting(records: Records, here: TypingPlace, step: OpenStep) -> OpenStep:
    """An entry that waits for its runs with what it asks, and what to type where it states that."""
    record = records.record(step.entry)
    asked = (record.entry.text(HYPOTHESIS) or "").partition("\n")[0]
    is_stated = record.entry.comparison is not None or record.pending or step.kind == "run"
    if record.state == "orphaned":
        return structs.replace(step, settles=asked, command=f"logbook wait {step.entry}")
    if record.state == "blocked" or record.entry.kind != "experiment" or not is_stated:
        return structs.replace(step, settles=asked)
    cwd = next((s.run.cwd for s in reversed(record.runs) if s.run.argv), None)
    why = f"{step.why}{_repeats(record)}"
    return structs.replace(step, why=why, settles=asked, command=measure(record, cwd=here.folder(cwd or ".")))


def _repeats(record: Record) -> str:
    """How many repeats of one command were made where they were cut off: how many were asked for, nobody knows."""
    last = record.runs[-1].run if record.runs and record.entry.recipe is None else None
    if last is None or last.repeat is None or last.part is not None:
        return ""
    made = sum(is_made(s.run) for s in record.runs if s.run.repeat is not None)
    return f" in repeat {last.repeat}: {counted(made, 'repeat')} made so far, and --repeat N makes more"
