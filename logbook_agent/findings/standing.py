"""Which entries count, and what later entries make of earlier ones.

An entry that somebody took back (`void` or `abandoned`) counts for nothing: neither what it measured, nor what it says
of other entries. One that an entry which was not taken back supersedes counts no more, but what it says of others
stays. Every other entry counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from logbook_agent.model.entry import INVERSE, RELATIONS, State, is_withdrawn

# What is known of an entry, as plain data: at least its `id`, its `state` (its own is enough: what runs make of it
# takes nothing back) and by each of its `RELATIONS` the ID of another one, or None.
Summary: TypeAlias = Mapping[str, Any]


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
        return {name: [*ids] for name in INVERSE.values() if (ids := getattr(self, name))}


def standing_of(entry_id: str, state: State, said: Iterable[Summary]) -> Standing:
    """One entry among what others say. `said` may hold anything, itself included."""
    others = [s for s in said if s["id"] != entry_id and not is_withdrawn(s["state"])]
    return Standing(
        withdrawn=state if is_withdrawn(state) else None,
        taken_up_by=tuple(s["id"] for s in others if entry_id in [s[name] for name in RELATIONS]),
        **{inverse: tuple(s["id"] for s in others if s[name] == entry_id) for name, inverse in INVERSE.items()},
    )


def standings(said: Iterable[Summary]) -> dict[str, Standing]:
    """Every entry's standing, by its ID."""
    all_ = list(said)
    about: dict[str, list[Summary]] = {}
    for one in all_:
        for target in {one[name] for name in RELATIONS} - {None}:
            about.setdefault(target, []).append(one)
    return {s["id"]: standing_of(s["id"], s["state"], about.get(s["id"], ())) for s in all_}
