"""The comments about entries: which are to be posted, edited or deleted. Pure functions.

An entry belongs to the oldest comment that mentions it; younger ones drop it, and go when nothing of theirs is left.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from logbook_agent.issue import marking
from logbook_agent.issue.marking import UPDATE
from logbook_agent.issue.steps import (
    Comment,
    Delete,
    Documents,
    EditStep,
    EntryWanted,
    Post,
    Render,
    Step,
    Wanted,
)
from logbook_agent.model.entry import bare_id
from logbook_agent.model.run_numbers import UID

# How a comment shows an entry: with links and all its plots (p), with links (l), without since it was not pushed (n),
# or before it was settled (o).
PICTURED, LINKED, UNLINKED, OPEN = "p", "l", "n", "o"
# Of those that are settled, from the least that is shown to the most.
BY_SHOWN = (UNLINKED, LINKED, PICTURED)


class Mention(NamedTuple):
    """One entry in the marker of an update: `MOE-I8-003.1f2e:9f86d081884c7d65:l`."""

    name: str
    digest: str
    how: str

    def __str__(self) -> str:
        return ":".join(self)


def mentions_of(marked: marking.Marked) -> tuple[Mention, ...]:
    words = [word.split(":") for word in marked.fields.get("entries", "").split(",") if word]
    return tuple(Mention(_name_in(w[0]), *w[1:]) for w in words if len(w) == 3)


def _name_in(word: str) -> str:
    """The name that a marker has; earlier versions wrote four other characters behind the ID."""
    return word if UID.fullmatch(word.partition(".")[2]) is not None else bare_id(word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """A comment of ours, with the entries that it mentions."""

    comment: Comment
    marked: marking.Marked
    mentions: tuple[Mention, ...] = ()

    @property
    def is_open(self) -> bool:
        return any(t.how == OPEN for t in self.mentions)


def ours_of(book: str, login: str, comments: Sequence[Comment]) -> list[Ours]:
    """The comments of this logbook by accounts whose markers count, oldest first."""
    found = []
    for comment in sorted(comments, key=lambda c: c.id):
        marked = marking.read_comment(comment.body, book) if comment.counts(login) else None
        if marked is not None:
            found.append(Ours(comment=comment, marked=marked, mentions=mentions_of(marked)))
    return found


def by_name(entries: Sequence[EntryWanted]) -> dict[str, EntryWanted]:
    """Entries by their names in markers: their whole names, or, as earlier versions wrote them, their IDs."""
    return {entry.id: entry for entry in entries} | {entry.name: entry for entry in entries}


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
            ours=ours_of(wanted.book, wanted.login, comments),
            entries={entry.id: entry for entry in wanted.entries},
            named=by_name(wanted.entries),
        )

    def stamped(self, kind: str, fields: Mapping[str, str], render: Callable[[int], str]) -> Render:
        """A text with its marker, rendered when it is asked for; `render` takes the bytes it may have."""
        room = marking.LIMIT_BYTES - len(marking.stamped(kind, self.wanted.book, fields, "").encode())
        return functools.cache(lambda: marking.stamped(kind, self.wanted.book, fields, render(room)))

    def update(self, entries: Sequence[EntryWanted], mentions: Sequence[Mention]) -> Render:
        fields = {"entries": ",".join(map(str, mentions))}
        ids = [entry.id for entry in entries]
        return self.stamped(marking.UPDATE, fields, functools.partial(self.documents.update_of, ids))

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


# As many entries as a reader takes in at once.
UPDATE_ENTRIES = 10


def plan_updates(draft: Draft) -> None:
    """Add the steps for the comments about entries to the draft."""
    updates = [o for o in draft.ours if o.marked.kind == UPDATE]
    owner = _owners(draft, updates)
    corrections = _corrections(draft, owner)
    for ours in updates:
        if ours.is_open:
            _plan_open_duplicate(draft, ours, updates)
        else:
            placed = [draft.entries[entry_id] for entry_id, at in corrections.items() if at == ours.comment.id]
            _plan_existing(draft, ours, owner, placed)
    placed_ids = {*owner, *corrections}
    if draft.wanted.chosen:
        _plan_chosen(draft, updates, placed_ids)
        return
    new = [e for e in draft.wanted.entries if e.stage == "settled" and e.id not in placed_ids]
    for at in range(0, len(new), UPDATE_ENTRIES):
        _post(draft, new[at : at + UPDATE_ENTRIES])


def _owners(draft: Draft, updates: Sequence[Ours]) -> dict[str, Ours]:
    """By entry, the oldest comment that mentions it as settled."""
    owner: dict[str, Ours] = {}
    for ours in updates:
        for mention in ours.mentions:
            entry = draft.named.get(mention.name)
            if entry is not None and mention.how != OPEN:
                owner.setdefault(entry.id, ours)
    return owner


def _corrections(draft: Draft, owner: Mapping[str, Ours]) -> dict[str, int | None]:
    """By new entry that supersedes a posted one, the ID of the comment it goes into: that of the posted one.

    None where it has to wait, since that comment mentions entries that are not in this clone. Where a person has edited
    the comment, the new entry is posted like any other."""
    found: dict[str, int | None] = {}
    place: dict[str, Ours] = dict(owner)
    chosen = draft.wanted.chosen
    for entry in draft.wanted.entries:
        target = place.get(entry.supersedes or "")
        if target is None or entry.id in owner or entry.stage != "settled" or (chosen and entry.id not in chosen):
            continue
        if not target.marked.intact:
            continue
        place[entry.id] = target
        found[entry.id] = target.comment.id
        if draft.wanted.unreadable or _unknown(draft, target):
            found[entry.id] = None
            draft.warnings.append(
                f"{entry.id} waits: it corrects {entry.supersedes} in {target.comment.url},"
                f" {_why_frozen(draft, target)}"
            )
    return found


def _plan_existing(draft: Draft, ours: Ours, owner: Mapping[str, Ours], corrections: Sequence[EntryWanted]) -> None:
    """Plan the edit of a comment that was posted: without what an older one mentions, with corrections and changed
    entries."""
    known = [entry for mention in ours.mentions if (entry := draft.named.get(mention.name)) is not None]
    kept = [entry for entry in dict.fromkeys(known) if owner[entry.id] is ours]
    unknown = _unknown(draft, ours)
    if not kept and not unknown:
        draft.delete(ours, owner[known[0].id].comment.id if known else 0)
        return
    entries = _with_corrections(kept, corrections)
    mentions = [_mention(draft, entry, ours) for entry in entries]
    if mentions == [t for t in ours.mentions if t.name not in unknown]:
        return
    changed = ", ".join(e.id for e, t in zip(entries, mentions, strict=True) if t not in ours.mentions) or "it"
    if unknown or draft.wanted.unreadable:
        draft.warnings.append(f"{ours.comment.url} is left alone, though {changed} changed, {_why_frozen(draft, ours)}")
    elif not ours.marked.intact:
        draft.warnings.append(f"{ours.comment.url} was edited by hand and is left alone, though {changed} changed")
    else:
        # The whole text is made anew, with the links that are known here and no others.
        render = draft.update(entries, [_mention(draft, entry, ours, anew=True) for entry in entries])
        draft.edit(ours, render, about=tuple(entry.id for entry in entries))


def _with_corrections(kept: Sequence[EntryWanted], corrections: Sequence[EntryWanted]) -> list[EntryWanted]:
    """Each correction behind the entry that it corrects."""
    entries = list(kept)
    for correction in corrections:
        ids = [entry.id for entry in entries]
        corrected = correction.supersedes
        entries.insert(ids.index(corrected) + 1 if corrected in ids else len(ids), correction)
    return entries


def _mention(draft: Draft, entry: EntryWanted, ours: Ours | None = None, *, anew: bool = False) -> Mention:
    """The mention of an entry in the marker of its comment. One that was shown with links or plots keeps them, unless
    its comment is written `anew`: another clone may not know what is pushed. One that has runs again waits until they
    have ended."""
    before = next((t for t in ours.mentions if draft.named.get(t.name) is entry), None) if ours is not None else None
    if before is not None and entry.stage == "open":
        return before._replace(name=entry.name)
    if entry.stage == "open":
        return Mention(entry.name, entry.digest, OPEN)
    how = (PICTURED if entry.pictured else LINKED) if entry.linked else UNLINKED
    if before is not None and before.digest == entry.digest and not anew:
        enough = BY_SHOWN[BY_SHOWN.index(how) :]
        if before.how in enough:
            return before._replace(name=entry.name)
    return Mention(entry.name, entry.digest, how)


def _unknown(draft: Draft, ours: Ours) -> list[str]:
    return [mention.name for mention in ours.mentions if mention.name not in draft.named]


def _why_frozen(draft: Draft, ours: Ours) -> str:
    """Why a comment is left as it is: an entry that it mentions is not in this clone, or cannot be read."""
    if draft.wanted.unreadable:
        return f"since {draft.wanted.unreadable[0]} cannot be read: logbook doctor"
    entry_id = _unknown(draft, ours)[0].partition(".")[0]
    if entry_id in draft.entries:
        return f"since its {entry_id} is another clone's entry with that ID: merge with git, then: logbook doctor --fix"
    return f"since it mentions {entry_id}, which is not in this clone: git pull"


def _plan_open_duplicate(draft: Draft, ours: Ours, updates: Sequence[Ours]) -> None:
    """Plan the deletion of a second comment on an entry that was not settled; the first stays as it is."""
    older = next((o for o in updates if o.mentions == ours.mentions and o.comment.id < ours.comment.id), None)
    if older is not None:
        draft.delete(ours, older.comment.id)


def _plan_chosen(draft: Draft, updates: Sequence[Ours], placed_ids: Collection[str]) -> None:
    """Plan a comment for each entry that was asked for, unless one has it already."""
    for entry_id in draft.wanted.chosen:
        entry = draft.entries[entry_id]
        mention = _mention(draft, entry)
        posted_open = mention.how == OPEN and any(mention in o.mentions for o in updates)
        if entry_id not in placed_ids and not posted_open:
            _post(draft, [entry])


def _post(draft: Draft, entries: Sequence[EntryWanted]) -> None:
    render = draft.update(entries, [_mention(draft, entry) for entry in entries])
    draft.steps.append(Post(kind=UPDATE, about=tuple(entry.id for entry in entries), render=render))
