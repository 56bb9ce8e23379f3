"""Which entries count, and what later entries make of earlier ones.

An entry that somebody took back (`void` or `abandoned`) counts for nothing: neither what it measured, nor what it says
of other entries. One that an entry which was not taken back supersedes counts no more, but what it says of others
stays. Every other entry counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from logbook_agent.model.entry import Entry, State, is_withdrawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an entry says of others, as IDs; `state` is its own."""

    id: str
    state: State
    continues: str | None = None
    completes: str | None = None
    supersedes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where an entry stands. The tuples are IDs of entries that stand themselves, in their order.

    `taken_up_by`: those that continue, complete or supersede it.
    """

    withdrawn: State | None = None
    superseded_by: tuple[str, ...] = ()
    completed_by: tuple[str, ...] = ()
    taken_up_by: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether what it measured may be told, ranked and judged by."""
        return not self.why

    @property
    def why(self) -> str:
        """Why it does not count: `void`, `abandoned`, `superseded by MOE-004`; empty where it does."""
        if self.withdrawn is not None:
            return self.withdrawn
        return f"superseded by {', '.join(self.superseded_by)}" if self.superseded_by else ""

    @property
    def later(self) -> dict[str, list[str]]:
        """What its page says of it: `completed_by` and `superseded_by`, where there are some."""
        found = {"completed_by": [*self.completed_by], "superseded_by": [*self.superseded_by]}
        return {name: ids for name, ids in found.items() if ids}


def claim_of(entry: Entry, state: State | None = None) -> Claim:
    """What an entry says. Its own state is enough: what runs make of it takes nothing back."""
    return Claim(
        id=entry.id,
        state=state or entry.state or "noted",
        continues=entry.continues,
        completes=entry.completes,
        supersedes=entry.supersedes,
    )


def claim_in(summary: Mapping[str, Any]) -> Claim:
    """The same of what the index keeps of an entry."""
    return Claim(**{key: summary[key] for key in ("id", "state", "continues", "completes", "supersedes")})


def standing_of(entry_id: str, state: State, claims: Iterable[Claim]) -> Standing:
    """One entry among what others say. `claims` may hold anything, itself included."""
    said = [c for c in claims if c.id != entry_id and not is_withdrawn(c.state)]
    return Standing(
        withdrawn=state if is_withdrawn(state) else None,
        superseded_by=tuple(c.id for c in said if c.supersedes == entry_id),
        completed_by=tuple(c.id for c in said if c.completes == entry_id),
        taken_up_by=tuple(c.id for c in said if entry_id in (c.continues, c.completes, c.supersedes)),
    )


def standings(claims: Iterable[Claim]) -> dict[str, Standing]:
    """Every entry's standing, by its ID."""
    all_ = list(claims)
    about: dict[str, list[Claim]] = {}
    for claim in all_:
        for target in {claim.continues, claim.completes, claim.supersedes} - {None}:
            about.setdefault(str(target), []).append(claim)
    return {c.id: standing_of(c.id, c.state, about.get(c.id, ())) for c in all_}
