"""What a thread asked, what its comparisons found, what is open and the command that would settle it, and the next
action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from logbook_agent.findings.advice import command_in, go_on
from logbook_agent.findings.comparison.answer import Answer, Finding
from logbook_agent.findings.comparison.words import label, sentence, settled, unsettled
from logbook_agent.findings.opening import NO_ANSWERS, Line, Opening
from logbook_agent.model.entry import VOID
from logbook_agent.text.lists import axis_option
from logbook_agent.text.words import assignments

if TYPE_CHECKING:
    from logbook_agent.findings.read import Findings

# Of entries with several rows, where a command is looked for.
_LOOKED_AT = 3


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
    # Pairs that an entry made first, under other conditions, are not what its next pairs go on with.
    open_ones = [(answer, f) for answer, f in unsettled(found.answers) if found.answer_of(answer.entry) is answer]
    # The command stands once for each comparison; more pairs measure nothing of what no run reports.
    first = {id(answer): finding for answer, finding in reversed(open_ones)}
    metrics = [m.name for m in found.records.header.metrics]
    return Opening(
        asked="",
        settled=tuple(_line(found, a, f) for a, f in settled(found.answers, metrics)),
        open=tuple(
            _line(found, a, f, go_on(found.records, a) if f.lacks_pairs and first[id(a)] is f else "")
            for a, f in open_ones
        ),
    )


def _line(found: Findings, answer: Answer, finding: Finding, command: str = "") -> Line:
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
        return f"No comparison is settled yet: {stated[-1].entry} has no pair that counts.", go_on(
            found.records, stated[-1]
        )
    counted = found.thread.counted
    if any(s["rows"] for s in counted):
        why = "No comparison was made: the runs here are numbers alone, which settle nothing."
    elif any(s["predicted"] for s in counted):
        why = "Nothing was measured: every number here is a prediction."
    else:
        why = "Nothing was measured yet."
    return why, _first_comparison(found)


def _first_comparison(found: Findings) -> str:
    """What to type to make a comparison: of the latest rows that differ in one key, else of an axis of the matrix."""
    # Tables are loaded where nothing was compared.
    from logbook_agent.findings.contrasts.contrast import settle_varied

    latest = [s for s in reversed(found.thread.counted) if s["contrasts"] or s["rows"] > 1]
    kept = (one.settle for s in latest if s["contrasts"] for one in found.contrasts(found.entry(s["id"])))
    varied = (settle_varied(found.records, s["id"]) for s in latest[:_LOOKED_AT])
    axes = [axis_option(axis.axis, axis.values) for axis in found.header.matrix if len(axis.values) > 1]
    otherwise = f"logbook ab {axes[0] if axes else '--axis NAME=A,B'} -- COMMAND"
    return next((text for settle in chain(kept, varied) if (text := command_in(settle))), otherwise)
