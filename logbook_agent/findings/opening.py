"""The first lines of a thread, which every reader begins with: what was asked, what was found and how sure that is,
what is open and what would settle it, what failed, what comes next."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Mapping, Sequence

from msgspec import Struct

from logbook_agent.findings.advice import ab_like, accept, go_on, show
from logbook_agent.findings.attempts import FAILURE, outcome_text, withheld
from logbook_agent.findings.best import BestCase, ReportedBest, bests, choices
from logbook_agent.findings.cases import cases, counting
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.protocol import Records, TypingPlace
from logbook_agent.findings.synopses import Synopsis
from logbook_agent.findings.tables.frame import Item, frame_of, groups
from logbook_agent.findings.tables.frame import show as show_value
from logbook_agent.findings.thread import ENDED_BADLY, Thread
from logbook_agent.model.comparison import CODE_AXIS, WORK
from logbook_agent.model.entry import ABANDONED, VOID
from logbook_agent.model.gates import GATE, WITHHELD
from logbook_agent.model.summary import Summary
from logbook_agent.model.units import with_unit
from logbook_agent.model.values import varied
from logbook_agent.text.markdown import escape
from logbook_agent.text.phrases import assignments, counted, listed

# So many sentences are shown where there is room for few.
SHOWN = 12
# And of what failed so many.
SHOWN_FAILED = 3


class InWords(Struct, frozen=True, kw_only=True):
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


class Failed(Struct, frozen=True, kw_only=True):
    """An entry with a negative result, or whose runs failed: that result as Markdown, or how it failed; `command` lets
    numbers count that are withheld."""

    entry: str
    title: str
    text: str
    command: str = ""


class Opening(Struct, frozen=True, kw_only=True):
    """The first lines of a thread. `answers` hold a sentence for each comparison: the settled ones in the header's
    order of metrics and by the size of their effects, then the open ones, the nearest to an answer first, then those
    that failed.

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
        """The comparisons that settled nothing, though pairs were made."""
        return tuple(one for one in self.answers if not one.is_settled and not one.is_failed)


# Of a thread whose entries state no comparison.
NO_ANSWERS = Opening(asked="")


# So many entries with rows are looked at for a command.
_LOOKED_AT = 3


def nothing_settled(
    records: Records, thread: Thread, answers: Sequence[Answer], here: TypingPlace, *, is_open: bool, is_discarded: bool
) -> tuple[str, str]:
    """Why nothing is settled, and the command that compares something. `is_open`: a comparison is open; `is_discarded`:
    one was discarded."""
    if is_open:
        return "No comparison is settled yet.", ""
    if answers:
        last, way = answers[-1], go_on(records, answers[-1], here)
        why = f"No comparison is settled yet: {last.entry} has no pair that counts."
        # A hash is no word.
        is_word = way.first.partition(" ")[0].isalpha()
        first = f" {way.first[:1].upper() if is_word else way.first[:1]}{way.first[1:]}." if way.first else ""
        return why + first, way.command or show(last.entry)
    counted = [s["id"] for s in thread.counted if s["rows"]]
    if any(s["rows"] > s["failed_rows"] for s in thread.counted):
        made = "What was compared in pairs was discarded" if is_discarded else "No two cases were compared in pairs"
        why = f"{made}, so no difference between {'cases' if is_discarded else 'them'} is settled."
    elif counted:
        return "No result counts: all failed.", show(counted[-1])
    elif any(s["rows"] for s in thread.summaries):
        return "No result counts: all were discarded, superseded or declared void.", ""
    else:
        return "Nothing was measured yet.", "logbook run -- COMMAND"
    return why, _first_comparison(records, thread, here)


def _first_comparison(records: Records, thread: Thread, here: TypingPlace) -> str:
    """The command that makes a first comparison: of the latest rows that differ, else of an axis of the
    matrix; else the one that says how."""
    latest = [s["id"] for s in reversed(thread.counted) if s["rows"]][:_LOOKED_AT]
    items = frame_of(counting(cases(*map(records.record, latest)))).items
    good = [item for item in items if item.row.failed is None]
    rows = (_of_rows([item for item in good if item.case.entry == entry]) for entry in latest)
    axes = (ab_like(axis.axis, axis.values, items) for axis in thread.header.matrix if len(axis.values) > 1)
    return next(filter(None, itertools.chain(rows, axes, _of_code(good, here))), "logbook ab --help")


def _of_code(rows: Sequence[Item], here: TypingPlace) -> Iterator[str]:
    """The commands that compare a run of changed code with its commit, also once the change is committed."""
    for item in reversed(rows):
        commit, plus, _ = item.case.facts.get("commit", "").partition("+")
        if plus and here.tells(commit, WORK, item.case) is not None:
            yield ab_like(CODE_AXIS, [commit, WORK], [item], here=here)


def _of_rows(rows: Sequence[Item]) -> str:
    """The command that compares rows by the first key in which they differ that it can vary; empty where there is
    none."""
    for name in varied(item.row.config for item in rows):
        firsts = [items[0] for items in groups(rows, [name])]
        if command := ab_like(name, [show_value(item.place.get(name)) for item in firsts], firsts):
            return command
    return ""


# -- what people wrote, and the best case ------------------------------------------------------------------


def in_words(thread: Thread, answers: Sequence[Answer], best: BestCase | None) -> tuple[InWords, ...]:
    """The conclusion and the summary of a thread. Where there is neither, the latest decision for something; and where
    nothing is settled, an interpretation: that of the best case, else the latest."""
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
    # Why something was discarded is no finding.
    decided = [
        s for s in thread.decisions if s["decision"] and s["kept"] is not False and thread.standing[s["id"]].counts
    ]
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
    case = " ".join(filter(None, [best.label or "", assignments({**best.problem, **best.flags, **best.apart})]))
    place = f"in {listed(best.entries, 3)}" + (f", {case}" if case else "")
    caveat = "it is the baseline" if best.is_baseline else best.against or "no comparison settles whether it is better"
    problems = f"; {listed(best.problems, 1)}" if best.problems else ""
    return f"Best {best.metric} so far: {value}{unit} ({runs}) {place}: {caveat}{problems}"


def reported_text(best: ReportedBest) -> str:
    """`Reported, not measured here: at best val_bpb 0.9932 in RESULTS-001`."""
    (value,), unit = with_unit((best.value,), best.unit, best.metric)
    return f"Reported, not measured here: at best {best.metric} {value}{f' {unit}' if unit else ''} in {best.entry}"


# -- what failed ----------------------------------------------------------------------------------------


def failures(
    thread: Thread, stated: Mapping[str, str | None], found: Container[str] = ()
) -> tuple[tuple[Failed, ...], tuple[Failed, ...]]:
    """The entries with a run that failed: how it failed, or the negative result in `stated`, which says more; and the
    others that state a negative result. The latest come first. An abandoned or superseded entry asks nothing of its
    failure. What a
    comparison adds stands with the answers, and failed pairs beside an answer that was `found` with it."""
    failed, negative = list[Failed](), list[Failed]()
    for s in reversed(thread.summaries):
        is_told = s["id"] in found or s["state"] == ABANDONED or thread.superseded_by(s["id"])
        how = "" if is_told else _how_it_failed(s)
        text = stated.get(s["id"])
        if s["state"] != VOID and (how or text) and not thread.is_over(s):
            command = accept(s["id"]) if how and withheld(s) else ""
            one = Failed(entry=s["id"], title=s["title"], text=text or how, command=command)
            (failed if how else negative).append(one)
    return tuple(failed), tuple(negative)


def _how_it_failed(summary: Summary) -> str:
    """The last failure of an entry and how many there were, else what its author says of it; empty where it did not
    fail."""
    reasons = [item for item in summary["tried"] if item["kind"] == FAILURE]
    if reasons:
        last, more = reasons[-1], len(reasons) - 1
        is_judged = last["outcome"] == WITHHELD or last["outcome"].startswith(GATE)
        said = outcome_text(last) if is_judged else last["reason"] or last["outcome"]
        return escape(said) + (f" (and {counted(more, 'other failure')})" if more else "")
    if summary["state"] not in ENDED_BADLY:
        return ""
    return ": ".join(filter(None, [summary["state"], summary["interpretation"]]))
