"""The plan: the steps that bring an issue, as read, to what the logbook has to say. A pure function.

It keeps no state of its own. What was posted is read from the markers of comments by trusted authors, so a plan made
again after a lost answer, on another machine or in a fresh clone goes on from what is there. When nothing is left to
do, it has no steps.

An entry belongs to the oldest comment that tells of it; younger ones drop it, and go when nothing of theirs is left.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from logbook_agent.errors import MarkersDamaged, Rejected
from logbook_agent.issues import block, markers
from logbook_agent.issues.markers import FINAL, SNAPSHOT, UPDATE, Marked
from logbook_agent.issues.steps import Close, Delete, Edit, Plan, Post, Render, Step, WriteBlock
from logbook_agent.issues.values import Comment, Issue
from logbook_agent.issues.wanted import Documents, EntryWanted, Wanted

# GitHub's limit for bodies and comments; it counts characters, and bytes are never fewer.
LIMIT_BYTES = 65_536
# As many entries as a reader takes in at once.
UPDATE_ENTRIES = 10
# What a block needs to say anything at all.
_LEAST_BLOCK_BYTES = 2_000

# How an entry was told: with links (l), without since it was not pushed (n), or before it was settled (o).
_LINKED, _UNLINKED, _OPEN = "l", "n", "o"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ours:
    """A comment of ours, with what it tells."""

    comment: Comment
    marked: Marked
    # (ID, digest, how) for each entry of an update.
    told: tuple[tuple[str, str, str], ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(entry_id for entry_id, _, _ in self.told)

    @property
    def is_open(self) -> bool:
        return any(how == _OPEN for _, _, how in self.told)


@dataclass(slots=True, kw_only=True)
class _Draft:
    wanted: Wanted
    documents: Documents
    ours: Sequence[_Ours]
    entries: Mapping[str, EntryWanted]
    steps: list[Step] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    deletions: list[Step] = field(default_factory=list)

    def stamped(self, kind: str, fields: Mapping[str, str], render: Callable[[int], str]) -> Render:
        """A text with its marker, rendered when it is asked for; `render` takes the bytes it may have."""
        room = LIMIT_BYTES - markers.marker_bytes(kind, self.wanted.book, fields)
        return functools.cache(lambda: markers.stamped(kind, self.wanted.book, fields, render(room)))

    def update(self, ids: Sequence[str], told: Sequence[tuple[str, str, str]]) -> Render:
        fields = {"entries": ",".join(":".join(t) for t in told)}
        return self.stamped(UPDATE, fields, functools.partial(self.documents.update, tuple(ids)))

    def delete(self, ours: _Ours, older: int) -> None:
        """Remove a duplicate, unless a person has written in it."""
        if ours.marked.intact:
            self.deletions.append(Delete(comment=ours.comment.id, of=older))
        else:
            self.warnings.append(
                f"{ours.comment.url} tells what comment {older} tells already, and was edited by hand: left alone"
            )


def make_plan(wanted: Wanted, documents: Documents, issue: Issue, comments: Sequence[Comment]) -> Plan:
    """The steps, in order. Raises MarkersDamaged when the block's place is not known, and Rejected when people's
    text leaves no room for it."""
    ours = _ours(wanted, comments)
    draft = _Draft(wanted=wanted, documents=documents, ours=ours, entries={e.id: e for e in wanted.entries})
    _plan_block(draft, issue)
    updates = [o for o in ours if o.marked.kind == UPDATE]
    _plan_updates(draft, updates)
    _plan_snapshots(draft)
    _plan_final(draft, issue)
    return Plan(steps=(*draft.steps, *draft.deletions), warnings=tuple(draft.warnings))


def first_body(wanted: Wanted, documents: Documents) -> str:
    """The body of an issue that is to be created."""
    return block.wrapped(wanted.book, documents.block(LIMIT_BYTES - block.wrapping_bytes(wanted.book)))


def _ours(wanted: Wanted, comments: Sequence[Comment]) -> list[_Ours]:
    found = []
    # Typed by hand they may be in another case.
    trusted = {login.casefold() for login in wanted.trusted}
    for comment in sorted(comments, key=lambda c: c.id):
        ours = comment.author.casefold() in trusted
        marked = markers.read_comment(comment.body, wanted.book) if ours else None
        if marked is not None:
            found.append(_Ours(comment=comment, marked=marked, told=_told(marked)))
    return found


def _told(marked: Marked) -> tuple[tuple[str, str, str], ...]:
    words = [word.split(":") for word in marked.fields.get("entries", "").split(",") if word]
    return tuple((w[0], w[1], w[2]) for w in words if len(w) == 3)


# -- the block -------------------------------------------------------------------------------------


def _plan_block(draft: _Draft, issue: Issue) -> None:
    wanted = draft.wanted
    found = block.find(issue.body, wanted.book)
    if found is None and (wanted.managed or draft.ours) and not wanted.new_block:
        raise block.damaged("both markers are missing, and the block was there before")
    room = LIMIT_BYTES - block.outside_bytes(issue.body, wanted.book) - block.wrapping_bytes(wanted.book)
    if room < _LEAST_BLOCK_BYTES:
        raise Rejected(
            f"the text that people wrote in the issue leaves {max(room, 0)} bytes for ours",
            cause=f"a body holds {LIMIT_BYTES:,} bytes",
            hint="shorten that text in the issue, then: logbook sync",
        )
    text = draft.documents.block(room)
    if found is None:
        draft.steps.append(WriteBlock(text=text, old=None))
    elif markers.normalised(found.text) != markers.normalised(text):
        if not found.intact:
            draft.warnings.append(
                "the block in the issue's body was edited by hand (a ticked box is an edit): it follows the logbook and"
                " is written anew; the issue keeps the edit in its history"
            )
        draft.steps.append(WriteBlock(text=text, old=found.text))


# -- updates ---------------------------------------------------------------------------------------


def _plan_updates(draft: _Draft, updates: Sequence[_Ours]) -> None:
    owner = _owners(updates)
    corrections = _corrections(draft, owner)
    for ours in updates:
        if ours.is_open:
            _plan_open_duplicate(draft, ours, updates)
        else:
            _plan_existing(draft, ours, owner, corrections.get(ours.comment.id, []))
    placed = {entry_id for ids in corrections.values() for entry_id in ids}
    if draft.wanted.chosen:
        _plan_chosen(draft, updates, owner, placed)
        return
    new = [e.id for e in draft.wanted.entries if e.stage == "settled" and e.id not in owner and e.id not in placed]
    for at in range(0, len(new), UPDATE_ENTRIES):
        _post_update(draft, new[at : at + UPDATE_ENTRIES])


def _owners(updates: Sequence[_Ours]) -> dict[str, _Ours]:
    """The oldest comment that tells of an entry as settled."""
    owner: dict[str, _Ours] = {}
    for ours in updates:
        for entry_id, _, how in ours.told:
            if how != _OPEN:
                owner.setdefault(entry_id, ours)
    return owner


def _corrections(draft: _Draft, owner: Mapping[str, _Ours]) -> dict[int, list[str]]:
    """New entries that correct one that was told: they go into the comment that they correct."""
    found: dict[int, list[str]] = {}
    place: dict[str, _Ours] = dict(owner)
    chosen = draft.wanted.chosen
    for entry in draft.wanted.entries:
        target = place.get(entry.supersedes or "")
        if target is None or entry.id in owner or entry.stage != "settled" or (chosen and entry.id not in chosen):
            continue
        if not target.marked.intact or _unknown(draft, target):
            continue
        place[entry.id] = target
        found.setdefault(target.comment.id, []).append(entry.id)
    return found


def _plan_existing(draft: _Draft, ours: _Ours, owner: Mapping[str, _Ours], corrections: Sequence[str]) -> None:
    """An update that was posted: drop what an older one tells, take in corrections, follow changed entries."""
    unknown = _unknown(draft, ours)
    kept = [entry_id for entry_id in ours.ids if owner[entry_id] is ours]
    if not kept and not unknown:
        draft.delete(ours, owner[ours.ids[0]].comment.id if ours.ids else 0)
        return
    ids = _with_corrections(draft, kept, corrections)
    told = tuple(_tell(draft.entries[i], ours) if i in draft.entries else ("", "", "") for i in ids)
    if told == ours.told:
        return
    if unknown:
        draft.warnings.append(f"{ours.comment.url} tells of {unknown[0]}, which is not in this clone: left alone")
    elif not ours.marked.intact:
        draft.warnings.append(
            f"{ours.comment.url} was edited by hand and is left alone, though {', '.join(_changed(told, ours))} changed"
        )
    else:
        # The whole text is made anew, with the links that are known here and no others.
        render = draft.update(ids, [_tell(draft.entries[i], ours, anew=True) for i in ids])
        draft.steps.append(Edit(comment=ours.comment.id, old=ours.comment.body, about=tuple(ids), render=render))


def _with_corrections(draft: _Draft, kept: Sequence[str], corrections: Sequence[str]) -> list[str]:
    """Each correction behind the entry that it corrects."""
    ids = list(kept)
    for entry_id in corrections:
        corrected = draft.entries[entry_id].supersedes
        ids.insert(ids.index(corrected) + 1 if corrected in ids else len(ids), entry_id)
    return ids


def _tell(entry: EntryWanted, ours: _Ours | None = None, *, anew: bool = False) -> tuple[str, str, str]:
    """How an entry is to be told. What was told with links keeps them, unless its comment is written `anew`: another
    clone may not know what is pushed. One that has runs again waits, as it stands, until they have ended."""
    before = next((t for t in ours.told if t[0] == entry.id), None) if ours is not None else None
    if before is not None and entry.stage == "open":
        return before
    if before is not None and before[1] == entry.digest and before[2] == _LINKED and not anew:
        return before
    return (entry.id, entry.digest, _LINKED if entry.linked else _UNLINKED)


def _unknown(draft: _Draft, ours: _Ours) -> list[str]:
    return [entry_id for entry_id in ours.ids if entry_id not in draft.entries]


def _changed(told: Sequence[tuple[str, str, str]], ours: _Ours) -> list[str]:
    return [t[0] for t in told if t not in ours.told] or list(ours.ids)


def _plan_open_duplicate(draft: _Draft, ours: _Ours, updates: Sequence[_Ours]) -> None:
    """An entry that was told before it was settled stays as it was told then."""
    older = next((o for o in updates if o.told == ours.told and o.comment.id < ours.comment.id), None)
    if older is not None:
        draft.delete(ours, older.comment.id)


def _plan_chosen(draft: _Draft, updates: Sequence[_Ours], owner: Mapping[str, _Ours], placed: set[str]) -> None:
    """The entries that were asked for, each in a comment of its own."""
    for entry_id in draft.wanted.chosen:
        entry = draft.entries[entry_id]
        told = (entry.id, entry.digest, _OPEN)
        if entry_id in owner or entry_id in placed or (entry.stage == "open" and any(told in o.told for o in updates)):
            continue
        _post_update(draft, [entry_id])


def _post_update(draft: _Draft, ids: Sequence[str]) -> None:
    told = []
    for entry_id in ids:
        entry = draft.entries[entry_id]
        told.append((entry.id, entry.digest, _OPEN) if entry.stage == "open" else _tell(entry))
    draft.steps.append(Post(kind=UPDATE, about=tuple(ids), render=draft.update(ids, told)))


# -- snapshots and the end ---------------------------------------------------------------------------


def _plan_snapshots(draft: _Draft) -> None:
    for name, commit in draft.wanted.snapshots:
        fields = {"name": name, "commit": commit}
        there = [o for o in draft.ours if o.marked.kind == SNAPSHOT and dict(o.marked.fields) == fields]
        if not there:
            render = draft.stamped(SNAPSHOT, fields, functools.partial(draft.documents.snapshot, name))
            draft.steps.append(Post(kind=SNAPSHOT, about=(name,), render=render))
        for ours in there[1:]:
            draft.delete(ours, there[0].comment.id)


def _plan_final(draft: _Draft, issue: Issue) -> None:
    """The final summary, and with it the issue is closed; who opens it again later means it."""
    if draft.wanted.final is None:
        return
    fields = {"closing": draft.wanted.final}
    there = [o for o in draft.ours if o.marked.kind == FINAL]
    same = [o for o in there if dict(o.marked.fields) == fields]
    if not same:
        if issue.state == "open":
            draft.steps.append(Close())
        draft.steps.append(Post(kind=FINAL, about=(), render=draft.stamped(FINAL, fields, draft.documents.final)))
    for ours in same[1:]:
        draft.delete(ours, same[0].comment.id)


__all__ = ["LIMIT_BYTES", "UPDATE_ENTRIES", "MarkersDamaged", "first_body", "make_plan"]
