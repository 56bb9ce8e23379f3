"""Which entries of a thread count, what later entries make of earlier ones, and the decisions, negative results and
next actions of the thread; from summaries, or from the files of entries alone.

An entry that somebody took back (`void` or `abandoned`) counts for nothing: neither what it measured, nor what it says
of other entries. One that an entry which was not taken back supersedes counts no more, but what it says of others
stays. Every other entry counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from logbook_agent.findings.carried_out import CommandsRun
from logbook_agent.findings.protocol import Records
from logbook_agent.model.entry import (
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
from logbook_agent.model.errors import StoreError
from logbook_agent.model.header import Header, Snapshot
from logbook_agent.model.summary import SaidByEntry, Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Whether an entry counts. The tuples are IDs of entries that are not withdrawn, in their order.

    `taken_up_by`: those that continue, complete, supersede or decide it.
    """

    withdrawn: State | None = None
    discarded_by: str | None = None
    superseded_by: tuple[str, ...] = ()
    completed_by: tuple[str, ...] = ()
    decided_by: tuple[str, ...] = ()
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
    def later(self) -> dict[str, list[str]]:
        """The entries that complete, supersede, decide or discard it, by names such as `completed_by`, where there are
        some."""
        found = {name: [*ids] for name in INVERSE.values() if (ids := getattr(self, name))}
        return found | ({"discarded_by": [self.discarded_by]} if self.discarded_by is not None else {})


def discarded_by(said: Iterable[SaidByEntry]) -> dict[str, str]:
    """The entries whose code is discarded, with the decision that says so; the latest decision counts."""
    found: dict[str, str] = {}
    for one in said:
        if one["decides"] is not None and one["kept"] is not None and not is_withdrawn(one["state"]):
            found.pop(one["decides"], None)
            found |= {} if one["kept"] else {one["decides"]: one["id"]}
    return found


def standing_of(entry_id: str, state: State, said: Iterable[SaidByEntry]) -> Standing:
    """The standing of one entry, from what others say. `said` may include entries that do not name it, and itself."""
    others = [s for s in said if s["id"] != entry_id and not is_withdrawn(s["state"])]
    return Standing(
        withdrawn=state if is_withdrawn(state) else None,
        discarded_by=discarded_by(others).get(entry_id),
        taken_up_by=tuple(s["id"] for s in others if entry_id in [s[name] for name in RELATIONS]),
        **{inverse: tuple(s["id"] for s in others if s[name] == entry_id) for name, inverse in INVERSE.items()},
    )


def standings(said: Iterable[SaidByEntry]) -> dict[str, Standing]:
    """The standing of every entry, by its ID."""
    all_ = list(said)
    about: dict[str, list[SaidByEntry]] = {}
    for one in all_:
        for target in {target for name in RELATIONS if (target := one[name]) is not None}:
            about.setdefault(target, []).append(one)
    return {s["id"]: standing_of(s["id"], s["state"], about.get(s["id"], ())) for s in all_}


# The states in which an entry has done what it was to complete.
_DONE = ("finished", "noted")


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
        "decision": entry.text(DECISION) or "" if entry.kind == "decision" else None,
        "negative": entry.text(NEGATIVE_RESULT),
    }


def is_listed(entry: Entry) -> bool:
    """Whether an entry is among the decisions or negative results below a view."""
    said = said_by(entry)
    return entry.state != VOID and (said["decision"] is not None or bool(said["negative"]))


Said = TypeVar("Said", bound=SaidByEntry)


@dataclass(frozen=True)
class Statements(Generic[Said]):
    """What the entries of a thread say in their own files: which of them count, decisions and negative results."""

    header: Header
    summaries: Sequence[Said]

    @cached_property
    def standing(self) -> dict[str, Standing]:
        return standings(self.summaries)

    def superseded_by(self, entry_id: str) -> tuple[str, ...]:
        found = self.standing.get(entry_id)
        return found.superseded_by if found is not None else ()

    @cached_property
    def decisions(self) -> list[Said]:
        """The decisions that were not withdrawn. Superseded ones stay, and name the later entry."""
        return [s for s in self.summaries if s["decision"] is not None and self.standing[s["id"]].withdrawn is None]

    @cached_property
    def negative(self) -> list[Said]:
        """The negative results; also those of abandoned entries."""
        return [s for s in self.summaries if s["negative"] and s["state"] != VOID]


def closes(action: Summary, decided: str) -> bool:
    """Whether a decision on the code of an entry, made at a time, takes up its next action: not one that was written
    after the runs on which it decides."""
    last = action["next_after"]
    made = [(int(str(run).partition(".")[0]), started) for run, started in action["finished"].values()]
    return last is None or any(number > last and started < decided for number, started in made)


@dataclass(frozen=True)
class Thread(Statements[Summary]):
    """The entries of a thread together, from their summaries."""

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
        return [s for state in OPEN for s in self.summaries if s["state"] == state and not self._is_over(s)]

    def _is_over(self, summary: Summary) -> bool:
        standing = self.standing[summary["id"]]
        is_done = any(self.by_id[i]["state"] in _DONE for i in standing.completed_by)
        return summary["state"] != "running" and (is_done or standing.discarded_by is not None)

    @cached_property
    def next_actions(self) -> list[Summary]:
        """Settled entries whose next action no other entry has taken up, and whose commands none has run; none once the
        thread is closed."""
        if self.header.closing is not None:
            return []
        left = [s for s in self.summaries if s["next"] and s["settled"] and self._is_left(s)]
        commands = CommandsRun(s for s in self.summaries if self.standing[s["id"]].withdrawn is None)
        return [s for s in left if not commands.carried_out(s)]

    def _is_left(self, summary: Summary) -> bool:
        standing = self.standing[summary["id"]]
        open_to = {i for i in standing.decided_by if not closes(summary, self.by_id[i]["opened"])}
        return standing.withdrawn is None and open_to.issuperset(standing.taken_up_by)


# A file without any of these words says nothing of other entries, and nothing for the lists below a view.
_RELATIONS = tuple(INVERSE)
_COMPARES = "comparison"
_LISTED = (DECISION.casefold(), NEGATIVE_RESULT.casefold())


class Mentions:
    """What entries say of one another, from their files, in order. `read` parses an entry; that happens only where its
    text names a relation.

    An entry speaks of earlier ones, so that of a new entry no other file is read. What cannot be read is reported where
    it is shown.
    """

    def __init__(self, records: Records, order: Sequence[str], read: Callable[[str], Entry]) -> None:
        self._records, self._order, self._read = records, order, read
        self._place = {entry_id: place for place, entry_id in enumerate(order)}
        self._unread = len(order)
        self._speaking: set[str] = set()
        self._said_of: dict[str | None, list[SaidByEntry]] = {}

    def standing(self, entry: Entry) -> Standing:
        """The standing of an entry. Of `taken_up_by`, those that only continue it are not known."""
        self._read_back_to(self._place.get(entry.id, -1) + 1)
        return standing_of(entry.id, entry.state or "noted", self._said_of.get(entry.id, ()))

    def entries(self) -> list[Entry]:
        """The entries that name others, have a decision or negative result, or state a comparison."""
        self._read_back_to(0)
        found = (self._parsed(i) for i in self._order if i in self._speaking)
        return [entry for entry in found if entry is not None]

    def _read_back_to(self, first: int) -> None:
        for entry_id in reversed(self._order[first : self._unread]):
            try:
                text = self._records.entry_text(entry_id)
            except StoreError:
                continue
            folded = text.casefold()
            if not any(key in folded for key in (*_RELATIONS, _COMPARES, *_LISTED)):
                continue
            self._speaking.add(entry_id)
            entry = self._parsed(entry_id) if any(key in text for key in _RELATIONS) else None
            if entry is not None:
                for target in {getattr(entry, name) for name in INVERSE} - {None}:
                    self._said_of.setdefault(target, []).insert(0, said_by(entry))
        self._unread = min(self._unread, first)

    def _parsed(self, entry_id: str) -> Entry | None:
        try:
            return self._read(entry_id)
        except StoreError:
            return None
