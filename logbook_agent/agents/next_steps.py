"""What is open in a campaign, in order: what every reader of a thread has (`findings/open_steps.py`); where that is
no more than stop criteria without a command, a first comparison; pure."""

from __future__ import annotations

import shlex

from msgspec import structs

from logbook_agent.findings.advice import ab_more, measure, needed_setup
from logbook_agent.findings.open_steps import OpenStep, has_command, open_steps, unmet
from logbook_agent.findings.read import Findings
from logbook_agent.model.entry import HYPOTHESIS
from logbook_agent.model.record import Record, is_made
from logbook_agent.text.phrases import counted


def next_steps(found: Findings) -> list[OpenStep]:
    """What is open in a thread; a command that is proposed twice stands at its first step."""
    if found.header.closing is not None:
        return []
    first = found.opening
    kept: dict[str, OpenStep] = {}
    for step in open_steps(found.thread, first.answers):
        step = _waiting(found, step) if step.kind in ("plan", "run") and not step.command else _in_folder(found, step)
        kept.setdefault(step.command or f"{step.kind} {step.entry} {step.text}", step)
    is_to_compare = first.command and not any(map(has_command, unmet(found.header)))
    if is_to_compare and all(step.kind == "criterion" for step in kept.values()):
        is_measured = any(s["rows"] for s in found.thread.summaries)
        text = "Compare two cases in pairs" if is_measured else "Measure a first case"
        step = OpenStep(kind="first comparison", text=text, why=first.not_settled, command=first.command)
        kept = {**kept, "": step} if is_measured else {"": step, **kept}
    return [_typed(found, step) for step in kept.values()]


def _typed(found: Findings, step: OpenStep) -> OpenStep:
    """A step with its command as it is typed here, or with the budget that allows none, and with what a checkout of its
    code lacks."""
    command = found.typed(step.command)
    lacks = needed_setup(found.entry(step.entry).comparison) if step.entry and ab_more(step.entry) in command else ""
    why = "; ".join(filter(None, [step.why, lacks, "" if command or not step.command else found.budget]))
    return structs.replace(step, command=command, why=why)


def _in_folder(found: Findings, step: OpenStep) -> OpenStep:
    """The command that a next action names, in the folder of the last run of its entry, else at the top."""
    options, end, words = step.command.partition(" -- ")
    if step.kind != "next action" or not end or "--cwd" in options:
        return step
    runs = found.record(step.entry).runs
    path = found.here.folder(runs[-1].run.cwd or "." if runs else ".")
    cwd = f" --cwd {shlex.quote(path)}" if path != "." else ""
    return structs.replace(step, command=f"{options}{cwd}{end}{words}")


def _waiting(found: Findings, step: OpenStep) -> OpenStep:
    """An entry that waits for its runs with what it asks, and what to type where it states that."""
    record = found.records.record(step.entry)
    asked = (record.entry.text(HYPOTHESIS) or "").partition("\n")[0]
    is_stated = record.entry.comparison is not None or record.pending or step.kind == "run"
    if record.state == "orphaned":
        return structs.replace(step, settles=asked, command=f"logbook wait {step.entry}")
    if record.state == "blocked" or record.entry.kind != "experiment" or not is_stated:
        return structs.replace(step, settles=asked)
    cwd = next((s.run.cwd for s in reversed(record.runs) if s.run.argv), None)
    why = f"{step.why}{_repeats(record)}"
    return structs.replace(step, why=why, settles=asked, command=measure(record, cwd=found.here.folder(cwd or ".")))


def _repeats(record: Record) -> str:
    """How many repeats of one command were made where they were cut off: how many were asked for, nobody knows."""
    last = record.runs[-1].run if record.runs and record.entry.recipe is None else None
    if last is None or last.repeat is None or last.part is not None:
        return ""
    made = sum(is_made(s.run) for s in record.runs if s.run.repeat is not None)
    return f" in repeat {last.repeat}: {counted(made, 'repeat')} made so far, and --repeat N makes more"
