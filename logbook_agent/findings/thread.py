"""Which entries of a thread count, what later entries make of earlier ones, and the decisions, negative results and
next actions of the thread, from summaries.

An entry that somebody took back (`void` or `abandoned`) counts for nothing: neither what it measured, nor what it says
of other entries. One that an entry which was not taken back supersedes counts no more, but what it says of others
stays. Every other entry counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from msgspec import Struct

from logbook_agent.findings.carried_out import commands_in, is_carried_out, runs_of
from logbook_agent.model.entry import (
    ABANDONED,
    DECISION,
    INVERSE,
    NEGATIVE_RESULT,
    OPEN,
    RELATIONS,
    VOID,
    Entry,
    State,
    is_up_to,
    is_withdrawn,
)
from logbook_agent.model.header import Header, Snapshot
from logbook_agent.model.summary import SaidByEntry, Summary


class Standing(Struct, frozen=True, kw_only=True):
    """Whether an entry counts. The tuples are IDs of entries that are not withdrawn, in their order.

    `taken_up_by`: those that continue, complete, supersede or decide it.
    """

    withdrawn: State | None = None
    discarded_by: str | None = None
    superseded_by: tuple[str, ...] = ()
    completed_by: tuple[str, ...] = ()
    decided_by: tuple[str, ...] = ()
    kept_by: tuple[str, ...] = ()
    taken_up_by: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether its measurements are shown, ranked and judged."""
        return not self.why

    @property
    def why(self) -> str:
        """Why it does not count: `void`, `abandoned`, `discarded by MOE-005`, `superseded by MOE-004`; empty where it
        does."""
        if self.withdrawn is not None:
            return self.withdrawn
        if self.discarded_by is not None:
            return f"discarded by {self.discarded_by}"
        return f"superseded by {', '.join(self.superseded_by)}" if self.superseded_by else ""

    @property
    def is_lost(self) -> bool:
        """Whether it was taken back or discarded, so that no judgement can rest on it."""
        return self.withdrawn is not None or self.discarded_by is not None

    @property
    def later(self) -> dict[str, list[str]]:
        """The entries that complete, supersede, decide, keep or discard it, by names such as `completed_by`, where
        there are some."""
        found = {name: [*ids] for name in (*INVERSE.values(), "kept_by") if (ids := getattr(self, name))}
        return found | ({"discarded_by": [self.discarded_by]} if self.discarded_by is not None else {})


def discarded_by(said: Iterable[SaidByEntry]) -> dict[str, str]:
    """The entries whose code is discarded, with the decision that says so; the latest decision counts."""
    found: dict[str, str] = {}
    for one in said:
        if one["kept"] is not None and not is_withdrawn(one["state"]):
            about = one["decides"] or one["id"]
            found.pop(about, None)
            found |= {} if one["kept"] else {about: one["id"]}
    return found


def standings(said: Iterable[SaidByEntry]) -> dict[str, Standing]:
    """The standing of every entry, by its ID, from what others say of it."""
    all_ = list(said)
    counting = [s for s in all_ if not is_withdrawn(s["state"])]
    by, about = discarded_by(counting), dict[str | None, list[SaidByEntry]]()
    for s in counting:
        for target in {s[name] for name in RELATIONS} - {s["id"]}:
            about.setdefault(target, []).append(s)

    def standing(entry_id: str, state: State) -> Standing:
        others = about.get(entry_id, ())
        return Standing(
            withdrawn=state if is_withdrawn(state) else None,
            discarded_by=by.get(entry_id),
            kept_by=tuple(s["id"] for s in others if s["decides"] == entry_id and s["kept"]),
            taken_up_by=tuple(s["id"] for s in others),
            **{inverse: tuple(s["id"] for s in others if s[name] == entry_id) for name, inverse in INVERSE.items()},
        )

    return {s["id"]: standing(s["id"], s["state"]) for s in all_}


# The states in which an entry has done what it was to complete, and those of runs that failed or were cut off.
_DONE = ("finished", "noted")
ENDED_BADLY = ("failed", "timeout", "stalled", "interrupted", "lost", "never-started")


def said_by(entry: Entry) -> SaidByEntry:
    """The part of a summary that an entry's own file gives. Its own state is enough to tell which entries count: what
    runs make of it takes nothing back."""
    return {
        "id": entry.id,
        "opened": entry.opened,
        "kind": entry.kind,
        "state": entry.state or "noted",
        "title": entry.title,
        "continues": entry.continues,
        "completes": entry.completes,
        "supersedes": entry.supersedes,
        "decides": entry.decides,
        "kept": entry.kept,
        "commit": entry.commit,
        "decision": entry.text(DECISION) or "" if entry.kind == "decision" or entry.kept is not None else None,
        "negative": entry.text(NEGATIVE_RESULT),
    }


def closes(action: Summary, decided: str) -> bool:
    """Whether a decision on the code of an entry, made at a time, takes up its next action: not one that was written
    after the runs on which it decides."""
    written = action["next_at"]
    return written is None or any(written < started < decided for _, started in action["finished"].values())


class Thread(Struct, frozen=True, dict=True):
    """The entries of a thread together, from their summaries."""

    header: Header
    summaries: Sequence[Summary]

    @cached_property
    def standing(self) -> dict[str, Standing]:
        return standings(self.summaries)

    def superseded_by(self, entry_id: str) -> tuple[str, ...]:
        found = self.standing.get(entry_id)
        return found.superseded_by if found is not None else ()

    @cached_property
    def decisions(self) -> list[Summary]:
        """The decisions that were not withdrawn. Superseded ones stay, and name the later entry."""
        return [s for s in self.summaries if s["decision"] is not None and self.standing[s["id"]].withdrawn is None]

    @cached_property
    def negative(self) -> list[Summary]:
        """The negative results; also those of abandoned entries."""
        return [s for s in self.summaries if s["negative"] and s["state"] != VOID]

    @cached_property
    def by_id(self) -> dict[str, Summary]:
        return {s["id"]: s for s in self.summaries}

    @cached_property
    def counted(self) -> list[Summary]:
        """The entries that are settled and count."""
        return [s for s in self.summaries if s["settled"] and self.standing[s["id"]].counts]

    @cached_property
    def experiments(self) -> list[Summary]:
        return [s for s in self.summaries if s["kind"] == "experiment" and s["state"] != VOID]

    def covered(self, snapshot: Snapshot) -> list[str]:
        """The entries that a snapshot names, else all experiments there were when it was made."""
        if snapshot.entries:
            return [s["id"] for s in self.summaries if s["id"] in snapshot.entries]
        return [s["id"] for s in self.experiments if is_up_to(s["id"], snapshot.last_entry)]

    @cached_property
    def open(self) -> list[Summary]:
        """Entries that wait for something, in the order of urgency, without those that a finished entry completes or
        somebody discarded."""
        return [s for state in OPEN for s in self.summaries if s["state"] == state and not self.is_over(s)]

    def is_over(self, summary: Summary) -> bool:
        """Whether a finished entry completes this one, or what was to complete it, or somebody discarded it."""
        is_done = self._is_completed(summary["id"]) or self.standing[summary["id"]].discarded_by is not None
        return summary["state"] != "running" and is_done

    def _is_completed(self, entry_id: str) -> bool:
        """Whether a finished entry completes this one, or what was to complete it."""
        ids = [entry_id]
        for one in ids:
            ids += [i for i in self.standing[one].completed_by if i not in ids]
        return any(self.by_id[i]["state"] in _DONE for i in ids[1:])

    def is_given_up(self, entry_id: str) -> bool:
        """Whether somebody decided about the code of an entry, or abandoned or blocked it, or it counts no more."""
        standing, state = self.standing[entry_id], self.by_id[entry_id]["state"]
        return bool(standing.decided_by) or not standing.counts or state in (ABANDONED, "blocked")

    @cached_property
    def next_actions(self) -> list[Summary]:
        """Settled entries whose next action no other entry has taken up, and whose commands none has run to an end that
        counts; of those that name one command or use the same words, the latest. None once the thread is closed."""
        if self.header.closing is not None:
            return []
        left = [s for s in self.summaries if s["next"] and s["settled"] and self._is_left(s)]
        runs = runs_of(s for s in self.summaries if self.standing[s["id"]].withdrawn is None)
        last = {str(commands_in(s["next"] or "") or s["next_lead"]): s for s in left if not is_carried_out(s, runs)}
        return [s for s in left if s in last.values()]

    def _is_left(self, summary: Summary) -> bool:
        standing = self.standing[summary["id"]]
        written = summary["next_at"]
        failed = {i for i in standing.taken_up_by if self.by_id[i]["state"] in ENDED_BADLY}
        failed -= {*standing.superseded_by, *filter(self._is_completed, failed)}
        others = (i for i in standing.taken_up_by if i not in failed)
        later = (i for i in others if written is None or self.by_id[i]["opened"] > written)
        taken_up = (i for i in later if i not in standing.decided_by or closes(summary, self.by_id[i]["opened"]))
        return standing.withdrawn is None and not any(taken_up)
