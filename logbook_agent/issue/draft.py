"""A plan in the making: what is wanted, what was told, and the steps so far."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from logbook_agent.issue import block
from logbook_agent.issue import marking as markers
from logbook_agent.issue.steps import Delete, EditStep, Render, Step
from logbook_agent.issue.values import Comment, Documents, EntryWanted, Wanted, marked_name

# How an entry was told: with links and with all its plots (p), with links (l), without since it was not pushed (n), or
# before it was settled (o).
PICTURED, LINKED, UNLINKED, OPEN = "p", "l", "n", "o"
# Of those that are settled, from the least that is shown to the most.
BY_SHOWN = (UNLINKED, LINKED, PICTURED)


class ToldEntry(NamedTuple):
    """One entry of an update, as its marker has it: `MOE-I8-003.1f2e:9f86d081884c7d65:l`."""

    name: str
    digest: str
    how: str

    def __str__(self) -> str:
        return ":".join(self)


def told_of(marked: markers.Marked) -> tuple[ToldEntry, ...]:
    words = [word.split(":") for word in marked.fields.get("entries", "").split(",") if word]
    return tuple(ToldEntry(*w) for w in words if len(w) == 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """A comment of ours, with what it tells."""

    comment: Comment
    marked: markers.Marked
    told: tuple[ToldEntry, ...] = ()

    @property
    def is_open(self) -> bool:
        return any(t.how == OPEN for t in self.told)


def ours_of(book: str, trusted: Iterable[str], comments: Sequence[Comment]) -> list[Ours]:
    """The comments of this logbook by trusted accounts, oldest first."""
    found = []
    # Typed by hand they may be in another case.
    known = {login.casefold() for login in trusted}
    for comment in sorted(comments, key=lambda c: c.id):
        marked = markers.read_comment(comment.body, book) if comment.author.casefold() in known else None
        if marked is not None:
            found.append(Ours(comment=comment, marked=marked, told=told_of(marked)))
    return found


def by_name(entries: Sequence[EntryWanted]) -> dict[str, EntryWanted]:
    """Entries by what they are called in markers, and by what they were called before they were renumbered."""
    before = {marked_name(alias, entry.mark): entry for entry in reversed(entries) for alias in entry.aliases}
    return before | {entry.name: entry for entry in entries}


@dataclass(slots=True, kw_only=True)
class Draft:
    wanted: Wanted
    documents: Documents
    ours: Sequence[Ours]
    entries: Mapping[str, EntryWanted]
    named: Mapping[str, EntryWanted]
    steps: list[Step] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    deletions: list[Step] = field(default_factory=list)

    @classmethod
    def of(cls, wanted: Wanted, documents: Documents, comments: Sequence[Comment]) -> Draft:
        return cls(
            wanted=wanted,
            documents=documents,
            ours=ours_of(wanted.book, wanted.trusted, comments),
            entries={entry.id: entry for entry in wanted.entries},
            named=by_name(wanted.entries),
        )

    def stamped(self, kind: str, fields: Mapping[str, str], render: Callable[[int], str]) -> Render:
        """A text with its marker, rendered when it is asked for; `render` takes the bytes it may have."""
        room = block.LIMIT_BYTES - len(markers.stamped(kind, self.wanted.book, fields, "").encode())
        return functools.cache(lambda: markers.stamped(kind, self.wanted.book, fields, render(room)))

    def update(self, entries: Sequence[EntryWanted], told: Sequence[ToldEntry]) -> Render:
        fields = {"entries": ",".join(map(str, told))}
        ids = [entry.id for entry in entries]
        return self.stamped(markers.UPDATE, fields, functools.partial(self.documents.update_of, ids))

    def edit(self, ours: Ours, render: Render, about: tuple[str, ...] = ()) -> None:
        """Write a comment of ours anew."""
        kind, comment = ours.marked.kind, ours.comment
        self.steps.append(EditStep(kind=kind, comment=comment.id, old=comment.body, about=about, render=render))

    def delete(self, ours: Ours, older: int) -> None:
        """Remove a duplicate, unless a person has written in it."""
        if ours.marked.intact:
            self.deletions.append(Delete(comment=ours.comment.id, of=older))
        else:
            self.warnings.append(
                f"{ours.comment.url} repeats what comment {older} says, and was edited by hand: left alone"
            )
