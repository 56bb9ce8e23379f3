"""What a thread says as a whole, from what is known of each entry: its summary, or what its file alone says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from logbook_agent.findings.standing import Standing, Summary, standings
from logbook_agent.model.entry import DECISION, NEGATIVE_RESULT, OPEN, VOID, Entry
from logbook_agent.model.header import Header, Snapshot
from logbook_agent.model.ids import is_up_to

# The states in which an entry has done what it was to complete.
_DONE = ("finished", "noted")


def said_by(entry: Entry) -> dict[str, Any]:
    """What an entry's own file says for the thread. (`summaries` add what follows from its runs.)

    `decision` is None for what is none, and empty for one whose title says it all.
    """
    return {
        "id": entry.id,
        "opened": entry.opened,
        "kind": entry.kind,
        "state": entry.state or "noted",
        "title": entry.title,
        "continues": entry.continues,
        "completes": entry.completes,
        "supersedes": entry.supersedes,
        "aliases": list(entry.aliases),
        "compared_with": [i for c in entry.comparisons for i in c.entries if i != entry.id],
        "comparisons": len(entry.comparisons),
        "decision": entry.text(DECISION) or "" if entry.kind == "decision" else None,
        "negative": entry.text(NEGATIVE_RESULT),
    }


def is_listed(entry: Entry) -> bool:
    """Whether a list of decisions or negative results speaks of an entry, or does with another outcome of a comparison
    that it keeps."""
    said = said_by(entry)
    return entry.state != VOID and (said["decision"] is not None or bool(said["negative"] or said["comparisons"]))


@dataclass(frozen=True)
class Thread:
    """Each answer is computed when it is asked for the first time."""

    header: Header
    summaries: Sequence[Summary]

    @cached_property
    def by_id(self) -> dict[str, Summary]:
        return {s["id"]: s for s in self.summaries}

    @cached_property
    def standing(self) -> dict[str, Standing]:
        return standings(self.summaries)

    def superseded_by(self, entry_id: str) -> tuple[str, ...]:
        found = self.standing.get(entry_id)
        return found.superseded_by if found is not None else ()

    @cached_property
    def counted(self) -> list[Summary]:
        """Entries whose numbers may be told: settled, and they count."""
        return [s for s in self.summaries if s["settled"] and self.standing[s["id"]].counts]

    @cached_property
    def experiments(self) -> list[Summary]:
        return [s for s in self.summaries if s["kind"] == "experiment" and s["state"] != VOID]

    @cached_property
    def decisions(self) -> list[Summary]:
        """What was decided and not taken back. One that was superseded is history, and says by which."""
        return [s for s in self.summaries if s["decision"] is not None and self.standing[s["id"]].withdrawn is None]

    @cached_property
    def negative(self) -> list[Summary]:
        """What did not work out. That work was abandoned takes nothing away from it."""
        return [s for s in self.summaries if s["negative"] and s["state"] != VOID]

    def covered(self, snapshot: Snapshot) -> list[str]:
        """The entries that a snapshot names, else all experiments there were when it was made."""
        if snapshot.entries:
            return [s["id"] for s in self.summaries if s["id"] in snapshot.entries]
        return [s["id"] for s in self.experiments if is_up_to(s["id"], snapshot.last_entry)]

    @cached_property
    def open(self) -> list[Summary]:
        """Entries that wait for something, in the order of how much they want attention; none that a finished entry
        completes."""
        return [s for state in OPEN for s in self.summaries if s["state"] == state and not self._is_completed(s)]

    def _is_completed(self, summary: Summary) -> bool:
        by = self.standing[summary["id"]].completed_by if summary["state"] != "running" else ()
        return any(self.by_id[i]["state"] in _DONE for i in by)

    @cached_property
    def next_actions(self) -> list[Summary]:
        """Settled entries whose next action nothing took up that stands; none once the thread is closed."""
        if self.header.closing is not None:
            return []
        return [s for s in self.summaries if s["next"] and s["settled"] and self._is_left(self.standing[s["id"]])]

    @staticmethod
    def _is_left(standing: Standing) -> bool:
        return standing.withdrawn is None and not standing.taken_up_by
