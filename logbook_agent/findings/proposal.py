"""What to type in a thread in which no comparison is settled."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from logbook_agent.findings.advice import command_in, go_on
from logbook_agent.findings.contrasts.contrast import settle_varied
from logbook_agent.findings.opening import Line
from logbook_agent.model.entry import VOID
from logbook_agent.text.lists import axis_option

if TYPE_CHECKING:
    from logbook_agent.findings.read import Findings

# Of entries with several rows, where a command is looked for.
_LOOKED_AT = 3


def nothing_settled(found: Findings, unsettled: Sequence[Line]) -> tuple[str, str]:
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
    latest = [s for s in reversed(found.thread.counted) if s["contrasts"] or s["rows"] > 1]
    kept = (one.settle for s in latest if s["contrasts"] for one in found.contrasts(found.entry(s["id"])))
    varied = (settle_varied(found.records, s["id"]) for s in latest[:_LOOKED_AT])
    axes = [axis_option(axis.axis, axis.values) for axis in found.header.matrix if len(axis.values) > 1]
    otherwise = f"logbook ab {axes[0] if axes else '--axis NAME=A,B'} -- COMMAND"
    return next((text for settle in chain(kept, varied) if (text := command_in(settle))), otherwise)
