"""The first lines of a thread, which every reader begins with: what was asked, what was found and how sure that is,
what is open and what would settle it, what failed, what comes next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from logbook_agent.findings.advice import ab_like, go_on, pairs_to_add, replicate, show
from logbook_agent.findings.attempts import FAILURE, outcome_text
from logbook_agent.findings.best import BestCase, bests, choices
from logbook_agent.findings.cases import cases
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.answers import settled, unsettled
from logbook_agent.findings.comparison.synopsis import outcome, synopsis, why_open
from logbook_agent.findings.comparison.words import is_practical
from logbook_agent.findings.contrast import settle_varied
from logbook_agent.findings.protocol import Records
from logbook_agent.findings.tables.frame import frame_of
from logbook_agent.findings.thread import Thread
from logbook_agent.model.entry import VOID
from logbook_agent.model.gates import GATE, WITHHELD
from logbook_agent.model.header import Header
from logbook_agent.model.summary import Summary
from logbook_agent.model.units import with_unit
from logbook_agent.text.markdown import escape
from logbook_agent.text.phrases import counted, listed
from logbook_agent.text.shell_words import assignments

# So many sentences are shown where there is room for few.
SHOWN = 12
# And of what failed so many.
SHOWN_FAILED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Synopsis:
    """A comparison in one sentence (`text`), with its latest entry. Where a goal is open, `why` says why and what it
    needs, and `command` what to type for that, which adds up to so many `pairs`. `is_hopeless`: no practical number of
    pairs would settle it. `replicate`: what to type for a second sitting, where one settled all."""

    entry: str
    title: str
    text: str
    outcome: str
    is_settled: bool
    confidence: str = "exploratory"
    why: str = ""
    command: str = ""
    pairs: int = 0
    is_hopeless: bool = False
    replicate: str = ""

    @property
    def is_bold(self) -> bool:
        """Whether no goal is open, so that readers show the sentence in bold."""
        return self.is_settled and not self.why

    @property
    def to_add(self) -> str:
        """What the command does: `To add up to 8 pairs`."""
        return f"To add up to {counted(self.pairs, 'pair')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InWords:
    """What a person wrote about the findings, as Markdown: a `conclusion` or `summary` of the thread, or the `decision`
    or `interpretation` of an `entry`. `before` names the comparisons that have newer runs."""

    kind: str
    text: str
    entry: str = ""
    before: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """Who says it, and whether results came after."""
        return f"written before the result of {listed(self.before, 2)}" if self.before else "in its author's words"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """An entry with a negative result, or whose runs failed: that result as Markdown, or how it failed."""

    entry: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The first lines of a thread. `answers` hold a sentence for each comparison: the settled ones in the header's
    order of metrics, then the open ones, the nearest to an answer first.

    `not_settled` says that nothing is settled, or was compared, and `command` what to type to compare something; both
    are empty where something is settled. `in_words` is what people wrote; `best` the best case, where nothing was
    compared and there was a choice. `failed` are the entries with runs that failed, `negative` the others that state a
    negative result; both have the latest first. `next` is the latest next action, of the entry `next_of`."""

    asked: str
    answers: tuple[Synopsis, ...] = ()
    not_settled: str = ""
    command: str = ""
    in_words: tuple[InWords, ...] = ()
    best: str = ""
    negative: tuple[Failed, ...] = ()
    failed: tuple[Failed, ...] = ()
    next_of: str = ""
    next: str = ""

    @property
    def found(self) -> tuple[Synopsis, ...]:
        """The comparisons that settled something."""
        return tuple(one for one in self.answers if one.is_settled)

    @property
    def left(self) -> tuple[Synopsis, ...]:
        """The comparisons that settled nothing."""
        return tuple(one for one in self.answers if not one.is_settled)


# Of a thread whose entries state no comparison.
NO_ANSWERS = Opening(asked="")


# -- comparisons -------------------------------------------------------------------------------------------


def of_comparisons(
    records: Records, header: Header, answers: Sequence[Answer], titles: Mapping[str, str], now: datetime
) -> Opening:
    """What the comparisons of a thread settled and left open, with the commands that would settle the rest. `titles`
    are those of the entries."""
    open_ones = unsettled(answers)
    found = settled(answers, [m.name for m in header.metrics])
    # The command stands once for each comparison; more pairs measure nothing of what no run reports.
    first = {id(answer): finding for answer, finding in reversed(open_ones)}
    commands = {id(a): go_on(records, a) for a, f in open_ones if is_practical(f) and first[id(a)] is f}
    in_order = {id(a): a for a, _ in (*found, *open_ones)}
    return Opening(
        asked="",
        answers=tuple(_synopsis(records, a, titles, commands.get(id(a), ""), now) for a in in_order.values()),
    )


def _synopsis(records: Records, answer: Answer, titles: Mapping[str, str], command: str, now: datetime) -> Synopsis:
    return Synopsis(
        entry=answer.entry,
        title=titles[answer.entry],
        text=synopsis(answer),
        outcome=outcome(answer),
        is_settled=any(f.is_found for f in answer.findings),
        confidence=answer.confidence,
        why=why_open(answer),
        command=command,
        pairs=pairs_to_add(answer) if command else 0,
        is_hopeless=any(f.lacks_pairs for f in answer.goals) and not any(map(is_practical, answer.goals)),
        replicate=replicate(records, answer, now),
    )


# Of entries with several rows, where a command is looked for.
_LOOKED_AT = 3


def nothing_settled(records: Records, thread: Thread, answers: Sequence[Answer], *, is_open: bool) -> tuple[str, str]:
    """Why nothing is settled, and the command that compares something. `is_open`: a comparison is open."""
    if is_open:
        return "No comparison is settled yet.", ""
    stated = [a for a in answers if thread.by_id[a.entry]["state"] != VOID]
    if stated:
        why = f"No comparison is settled yet: {stated[-1].entry} has no pair that counts."
        return why, go_on(records, stated[-1]) or show(stated[-1].entry)
    if any(s["rows"] for s in thread.counted):
        why = "No two cases were compared in pairs, so no difference between them is settled."
    elif any(s["rows"] for s in thread.summaries):
        why = "No result counts: all were discarded, superseded or declared void."
    else:
        why = "Nothing was measured yet."
    return why, _first_comparison(records, thread)


def _first_comparison(records: Records, thread: Thread) -> str:
    """The command that makes a first comparison: of the latest rows that differ in one key, else of an axis of the
    matrix; else the one that says how."""
    latest = [s["id"] for s in reversed(thread.counted) if s["rows"]][:_LOOKED_AT]
    varied = (settle_varied(records, entry) for entry in latest)
    items = frame_of(cases(*map(records.record, latest))).items
    axes = (ab_like(axis.axis, axis.values, items) for axis in thread.header.matrix if len(axis.values) > 1)
    return next(filter(None, (*varied, *axes)), "logbook ab --help")


# -- what people wrote, and the best case ------------------------------------------------------------------


def in_words(thread: Thread, answers: Sequence[Answer], best: BestCase | None) -> tuple[InWords, ...]:
    """The conclusion and the summary of a thread. Where there is neither, the latest decision; and where nothing is
    settled, an interpretation: that of the best case, else the latest."""
    closing, summary = thread.header.closing, thread.header.summary

    def since(at: str | None) -> tuple[str, ...]:
        return tuple(a.entry for a in answers if a.findings and at and _last_run(thread.by_id[a.entry]) > at)

    said = []
    if closing is not None:
        said.append(InWords(kind="conclusion", text=closing.conclusion, before=since(closing.at)))
    if summary:
        said.append(InWords(kind="summary", text=summary, before=since(thread.header.summary_at)))
    if said:
        return tuple(said)
    decided = [s for s in thread.decisions if s["decision"] and thread.standing[s["id"]].counts]
    if decided:
        said.append(InWords(kind="decision", text=decided[-1]["decision"] or "", entry=decided[-1]["id"]))
    if any(f.is_found for a in answers for f in a.findings):
        return tuple(said)
    read = [s for s in thread.summaries if s["interpretation"] and thread.standing[s["id"]].counts]
    own = [s for s in read if best is not None and s["id"] in best.entries] or read
    if own:
        said.append(InWords(kind="interpretation", text=own[-1]["interpretation"] or "", entry=own[-1]["id"]))
    return tuple(said)


def _last_run(summary: Summary) -> str:
    """When the last run of an entry that finished began, else when it was opened."""
    return max((at for _, at in summary["finished"].values()), default=summary["opened"])


def best_of(thread: Thread, answers: Sequence[Answer]) -> BestCase | None:
    """The best case by the first metric for which there was a choice; None where there was none."""
    # The baseline's problem comes first.
    return next(iter(choices(bests(thread, answers))), None)


def best_text(best: BestCase) -> str:
    """`Best time_s so far: 0.208 s (6 runs, 0.199 to 0.238) in MOE-CPU-008, one operation: not compared with the
    baseline`."""
    (value, low, high), unit = with_unit((best.value, best.low, best.high), best.unit, best.metric)
    unit = f" {unit}" if unit else ""
    runs = f"{counted(best.runs, 'run')}, {low} to {high}" if best.runs > 1 else "1 run"
    case = " ".join(filter(None, [best.label or "", assignments({**best.flags, **best.apart})]))
    place = f"in {listed(best.entries, 3)}" + (f", {case}" if case else "")
    caveat = "it is the baseline" if best.is_baseline else best.against or "no comparison settles whether it is better"
    problems = f"; {listed(best.problems, 1)}" if best.problems else ""
    return f"Best {best.metric} so far: {value}{unit} ({runs}) {place}: {caveat}{problems}"


# -- what failed ----------------------------------------------------------------------------------------

_ENDED_BADLY = ("failed", "timeout", "stalled", "interrupted", "lost", "never-started")


def failures(thread: Thread, stated: Mapping[str, str | None]) -> tuple[Failed, ...]:
    """The entries with a run that failed, the latest first: how it failed, or the negative result in `stated`, which
    says more."""
    return _listed(thread, {s["id"]: how and (stated.get(s["id"]) or how) for s, how in _by_failure(thread)})


def negatives(thread: Thread, stated: Mapping[str, str | None]) -> tuple[Failed, ...]:
    """The entries that state a negative result and whose runs worked, the latest first. What a comparison adds stands
    with the answers."""
    return _listed(thread, {s["id"]: "" if how else stated.get(s["id"]) for s, how in _by_failure(thread)})


def _by_failure(thread: Thread) -> Iterator[tuple[Summary, str]]:
    return ((s, _how_it_failed(s)) for s in thread.summaries if s["state"] != VOID)


def _listed(thread: Thread, texts: Mapping[str, str | None]) -> tuple[Failed, ...]:
    found = ((s, texts.get(s["id"])) for s in reversed(thread.summaries))
    return tuple(Failed(entry=s["id"], title=s["title"], text=text) for s, text in found if text)


def _how_it_failed(summary: Summary) -> str:
    """The last failure of an entry and how many there were, else what its author says of it; empty where it did not
    fail."""
    reasons = [item for item in summary["tried"] if item["kind"] == FAILURE]
    if reasons:
        last, more = reasons[-1], len(reasons) - 1
        is_judged = last["outcome"] == WITHHELD or last["outcome"].startswith(GATE)
        said = outcome_text(last) if is_judged else last["reason"] or last["outcome"]
        return escape(said) + (f" (and {counted(more, 'other failure')})" if more else "")
    if summary["state"] not in _ENDED_BADLY:
        return ""
    return ": ".join(filter(None, [summary["state"], summary["interpretation"]]))
