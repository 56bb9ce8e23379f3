"""Which entries a snapshot is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logbook_agent.model.entry import VOID
from logbook_agent.model.header import Snapshot
from logbook_agent.model.ids import parse_id


def covered_ids(snapshot: Snapshot, summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """The entries that it names, else all experiments there were when it was made; none when there was no entry.

    `summaries` have `id`, `kind` and `state`; the IDs come in their order.
    """
    if snapshot.entries:
        return [s["id"] for s in summaries if s["id"] in snapshot.entries]
    last = _number(snapshot.last_entry or "")
    return [
        s["id"] for s in summaries if s["kind"] == "experiment" and s["state"] != VOID and 0 <= _number(s["id"]) <= last
    ]


def _number(entry_id: str) -> int:
    """-1 for what is no ID."""
    parsed = parse_id(entry_id)
    return parsed[1] if parsed is not None else -1
