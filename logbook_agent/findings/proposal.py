"""What to type in a thread in which no comparison is settled."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from logbook_agent.findings.advice import command_in, go_on
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.contrasts.contrast import kept, settle_varied
from logbook_agent.findings.opening import Line
from logbook_agent.findings.protocol import Records
from logbook_agent.findings.thread import Thread
from logbook_agent.model.entry import VOID
from logbook_agent.text.lists import axis_option

# Of entries with several rows, where a command is looked for.
_LOOKED_AT = 3


def nothing_settled(
    records: Records, thread: Thread, answers: Sequence[Answer], unsettled: Sequence[Line]
) -> tuple[str, str]:
    """That nothing is settled, and why; and what to type to compare something."""
    if unsettled:
        return "No comparison is settled yet.", ""
    stated = [a for a in answers if thread.by_id[a.entry]["state"] != VOID]
    if stated:
        why = f"No comparison is settled yet: {stated[-1].entry} has no pair that counts."
        return why, go_on(records, stated[-1])
    counted = thread.counted
    if any(s["rows"] for s in counted):
        why = "No comparison was made: the runs here are numbers alone, which settle nothing."
    elif any(s["predicted"] for s in counted):
        why = "Nothing was measured: every number here is a prediction."
    else:
        why = "Nothing was measured yet."
    return why, _first_comparison(records, thread)


def _first_comparison(records: Records, thread: Thread) -> str:
    """What to type to make a comparison: of the latest rows that differ in one key, else of an axis of the matrix."""
    latest = [s for s in reversed(thread.counted) if s["contrasts"] or s["rows"] > 1]
    kept = (one.settle for s in latest if s["contrasts"] for one in kept(records, records.entry(s["id"]), {}))
    varied = (settle_varied(records, s["id"]) for s in latest[:_LOOKED_AT])
    axes = [axis_option(axis.axis, axis.values) for axis in thread.header.matrix if len(axis.values) > 1]
    otherwise = f"logbook ab {axes[0] if axes else '--axis NAME=A,B'} -- COMMAND"
    return next((text for settle in chain(kept, varied) if (text := command_in(settle))), otherwise)
