"""The first lines of a thread, with which status, view, issue and page begin: what was asked, what its comparisons
found, what is open and the command that would settle it, and the next action."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from logbook_agent.model.comparison import BUDGET_PAIRS, CODE_AXIS, Contrast
from logbook_agent.model.entry import VOID
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.values import canonical
from logbook_agent.text.lists import axis_option
from logbook_agent.text.words import assignments

if TYPE_CHECKING:
    from logbook_agent.findings.comparison.answers import Answer, Finding
    from logbook_agent.findings.read import Findings

# Of entries with several rows, where a command is looked for.
_LOOKED_AT = 3
# So many sentences are shown where there is room for few.
SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A finding of a comparison in one sentence (`text`), with its entry. Of an open one `to_settle` says what would
    settle it, and the first one of a comparison has the `command` to type for that."""

    entry: str
    title: str
    text: str
    outcome: str
    metric: str = ""
    side: str = ""
    case: str = ""
    is_goal: bool = True
    confidence: str = "exploratory"
    to_settle: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The first lines of a thread. `not_settled` says that nothing is settled, or was compared, and `command` what to
    type to compare something; both are empty where something is settled. `next` is the latest next action, of the entry
    `next_of`."""

    asked: str
    settled: tuple[Line, ...] = ()
    open: tuple[Line, ...] = ()
    not_settled: str = ""
    command: str = ""
    next_of: str = ""
    next: str = ""


# Of a thread whose entries state no comparison.
NO_ANSWERS = Opening(asked="")


def opening(found: Findings) -> Opening:
    """The first lines of a thread: every settled finding in the header's order of metrics, then what is open, the
    nearest to an answer first."""
    header, actions, found_so_far = found.header, found.thread.next_actions, answers_of(found)
    not_settled, command = ("", "") if found_so_far.settled else _nothing(found, found_so_far.open)
    return replace(
        found_so_far,
        asked=header.goal or header.title,
        not_settled=not_settled,
        command=command,
        next_of=actions[-1]["id"] if actions else "",
        next=actions[-1]["next_lead"] if actions else "",
    )


def answers_of(found: Findings) -> Opening:
    """What the comparisons of a thread settled, and what of them is open, alone."""
    if not found.answers:
        return NO_ANSWERS
    from logbook_agent.findings.comparison.words import settled, unsettled

    open_ones = unsettled(found.answers)
    # The command stands once for each comparison.
    first = {id(answer): finding for answer, finding in reversed(open_ones)}
    metrics = [m.name for m in found.book.header.metrics]
    return Opening(
        asked="",
        settled=tuple(_line(found, a, f) for a, f in settled(found.answers, metrics)),
        open=tuple(_line(found, a, f, go_on(found, a) if first[id(a)] is f else "") for a, f in open_ones),
    )


def _line(found: Findings, answer: Answer, finding: Finding, command: str = "") -> Line:
    from logbook_agent.findings.comparison.words import label, sentence

    return Line(
        entry=answer.entry,
        title=found.thread.by_id[answer.entry]["title"],
        text=sentence(answer, finding),
        outcome=finding.outcome.value,
        metric=finding.metric,
        side=label(answer, finding.side),
        case=assignments(finding.case),
        is_goal=not finding.is_guard,
        confidence=answer.confidence,
        to_settle=finding.to_settle,
        command=command,
    )


def _nothing(found: Findings, unsettled: Sequence[Line]) -> tuple[str, str]:
    """That nothing is settled, and why; and what to type to compare something."""
    if unsettled:
        return "No comparison is settled yet.", ""
    stated = [a for a in found.answers if found.thread.by_id[a.entry]["state"] != VOID]
    if stated:
        return f"No comparison is settled yet: {stated[-1].entry} has no pair that counts.", go_on(found, stated[-1])
    counted = found.thread.counted
    if any(s["rows"] for s in counted):
        why = "No comparison was made: the runs here are numbers, and no design drew their order."
    elif any(s["predicted"] for s in counted):
        why = "Nothing was measured: every number here is a prediction."
    else:
        why = "Nothing was measured yet."
    return why, _first_comparison(found)


def _first_comparison(found: Findings) -> str:
    """What to type to make a comparison: of the latest rows that differ in one key, else of an axis of the matrix."""
    latest = [s for s in reversed(found.thread.counted) if s["contrasts"] or s["rows"] > 1]
    kept = (one.settle for s in latest if s["contrasts"] for one in found.contrasts(found.entry(s["id"])))
    varied = (_settle_varied(found, s["id"]) for s in latest[:_LOOKED_AT])
    axes = [axis_option(axis.axis, axis.values) for axis in found.header.matrix if len(axis.values) > 1]
    otherwise = f"logbook ab {axes[0] if axes else '--axis NAME=A,B'} -- COMMAND"
    return next((text for settle in chain(kept, varied) if (text := _command_in(settle))), otherwise)


def _settle_varied(found: Findings, entry_id: str) -> str:
    """What would settle the rows of an entry that differ in one key alone."""
    from logbook_agent.findings.contrasts.contrast import contrast

    rows = [row for s in found.book.record(entry_id).runs if s.counts for row in s.run.rows]
    names = dict.fromkeys(name for row in rows for name in row.config)
    varied = [n for n in names if len({canonical(row.config.get(n)) for row in rows}) > 1]
    if len(varied) != 1:
        return ""
    try:
        return contrast(found.book, Contrast(references=(entry_id,), axis=varied[0])).settle
    except LogbookError:
        return ""


def go_on(found: Findings, answer: Answer) -> str:
    """What to type to add pairs to a comparison, as many as would probably settle it."""
    from logbook_agent.findings.comparison.words import missing_pairs

    needed = max((missing_pairs(f) for f in answer.goals if not f.is_settled), default=math.inf)
    pairs = int(needed) if math.isfinite(needed) else BUDGET_PAIRS
    return _again(found, answer).replace("logbook ab", f"logbook ab --id {answer.entry} --max-pairs {pairs}", 1)


def _again(found: Findings, answer: Answer) -> str:
    """The command that made a comparison."""
    from logbook_agent.findings.comparison.sentences import code_name
    from logbook_agent.findings.contrasts.contrast import beside, rows_of
    from logbook_agent.findings.contrasts.settle import settled_by

    record, question = found.book.record(answer.entry), answer.question
    # One run of each side says it.
    of = {s.run.part.side: s for s in record.runs if s.run.part is not None and s.run.rows}
    record = replace(record, runs=tuple(of[side] for side in question.values if side in of))
    asked = Contrast(references=(record.id,), axis=question.axis, base_value=question.base)
    try:
        pairs = [side.pairs[0] for side in beside(asked, rows_of(asked, {record.id: record}), ()).sides if side.pairs]
    except LogbookError:
        pairs = []
    axis = axis_option(question.axis, question.values)
    if question.axis == CODE_AXIS:
        axis = f"--code {' '.join(map(code_name, question.values))}"
    if not pairs:
        return f"logbook ab {axis} -- COMMAND"
    items = [pairs[0].base.items[0], *(pair.other.items[0] for pair in pairs)]
    text = settled_by(question.axis, question.values, items)
    return f"logbook ab {axis} -- {text.partition(' -- ')[2]}" if question.axis == CODE_AXIS else text


def _command_in(settle: str) -> str:
    return settle[settle.find("logbook ab") :] if "logbook ab" in settle else ""
