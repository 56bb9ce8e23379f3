"""The plan of a sync: the writes that bring an issue, as read, to what the logbook says. A pure function.

What was posted is read from the markers of comments whose author counts, so a plan made again after a lost answer, on
another machine or in a fresh clone goes on from what is there, and is empty when nothing is left to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct, field, structs

from logbook_agent.issue import marking
from logbook_agent.issue.documents import BookTexts
from logbook_agent.issue.marking import FINAL, SNAPSHOT, UPDATE
from logbook_agent.issue.values import Comment, Issue, SyncedEntry, SyncPlan, Wanted, Write
from logbook_agent.model.errors import Rejected, StoreError
from logbook_agent.model.record import digest
from logbook_agent.text.fit import size

# As many entries in a comment as a reader takes in at once.
UPDATE_ENTRIES = 10
# What a block needs to say anything at all.
_LEAST_BLOCK_BYTES = 2_000


def make_plan(wanted: Wanted, texts: BookTexts, issue: Issue, comments: Sequence[Comment]) -> SyncPlan:
    """The writes, in order. Raises MarkersDamaged when the block's place is not known, Rejected when people's text
    leaves no room for it, and StoreError for a first block with records missing."""
    plan = _Planning(wanted, texts, _ours(wanted, comments))
    plan.block(issue)
    plan.updates()
    if wanted.unreadable:
        plan.warnings.append(
            f"while {wanted.unreadable[0]} cannot be read, the issue's body, its summaries and the comments that are"
            " there stay as they are: logbook doctor"
        )
    else:
        plan.snapshots()
        plan.final(issue)
    return SyncPlan(writes=(*plan.writes, *plan.deletions), warnings=tuple(plan.warnings))


class _Ours(Struct, frozen=True):
    """A comment of ours, with its marker and the names of the entries that it tells of."""

    comment: Comment
    marked: marking.Marked
    names: tuple[str, ...]

    @property
    def shown(self) -> int:
        text = self.marked.fields.get("shown", "")
        return int(text) if text.isdecimal() else 0


def _ours(wanted: Wanted, comments: Sequence[Comment]) -> list[_Ours]:
    """The comments of this logbook by accounts whose markers count, oldest first."""
    found = []
    for comment in sorted(comments, key=lambda c: c.id):
        marked = marking.read_comment(comment.body, wanted.book) if comment.counts(wanted.login) else None
        if marked is not None:
            # In the first version of a marker a digest follows each name.
            words = marked.fields.get("entries", "").split(",")
            found.append(_Ours(comment, marked, tuple(word.partition(":")[0] for word in words if word)))
    return found


class _Planning(Struct):
    """The writes of a plan as they are found."""

    wanted: Wanted
    texts: BookTexts
    ours: Sequence[_Ours]
    writes: list[Write] = field(default_factory=list)
    deletions: list[Write] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def block(self, issue: Issue) -> None:
        """The block of the body, between its two markers, or below what people wrote."""
        wanted = self.wanted
        found = marking.find_block(issue.body, wanted.book)
        if found is None:
            if self.ours and not wanted.new_block:
                raise marking.damaged("both markers are missing, and the block was there before")
            if wanted.unreadable:
                raise StoreError(
                    f"{', '.join(wanted.unreadable[:5])} cannot be read, so the issue was not opened",
                    cause="the first text of the issue must cover all entries",
                    hint="logbook doctor",
                )
        elif wanted.unreadable:
            return
        room = marking.room(issue.body, wanted.book)
        if room < _LEAST_BLOCK_BYTES:
            raise Rejected(
                f"the text that people wrote in the issue leaves {max(room, 0)} bytes for ours",
                cause=f"a body holds {marking.LIMIT_BYTES:,} bytes",
                hint="shorten that text in the issue, then: logbook sync",
            )
        text = self.texts.block(room)
        if found is None:
            self.writes.append(Write(kind="block", what="add the block to the issue's body", text=text))
        elif marking.normalised(found.text) != marking.normalised(text):
            if not found.intact:
                self.warnings.append(
                    "the block in the issue's body was edited by hand (a ticked box is an edit): it follows the logbook"
                    " and is rewritten; the issue keeps the edit in its history"
                )
            what = "write the block of the issue's body"
            self.writes.append(Write(kind="block", what=what, text=text, old=found.text))

    def updates(self) -> None:
        """The comments about entries. An entry belongs to the oldest comment that names it, of those that nobody
        edited by hand if there are any; others drop it, and go when nothing of theirs is left."""
        # By their names in markers: their whole names, or, as the first version wrote them, their IDs.
        by_name = {e.id: e for e in self.wanted.entries} | {e.name: e for e in self.wanted.entries}
        updates = [one for one in self.ours if one.marked.kind == UPDATE]
        owner: dict[str, _Ours] = {}
        for one in sorted(updates, key=lambda one: not one.marked.intact):
            for entry in (by_name[name] for name in one.names if name in by_name):
                owner.setdefault(entry.name, one)
        for one in updates:
            self._update(one, owner, by_name)
        chosen = self.wanted.chosen
        new = [e for e in self.wanted.entries if (e.id in chosen if chosen else e.stage == "settled")]
        new = [e for e in new if e.name not in owner]
        for at in range(0, len(new), UPDATE_ENTRIES):
            entries = new[at : at + UPDATE_ENTRIES]
            self._comment(UPDATE, _fields(entries), partial(self.texts.update_of, _ids(entries)), _ids(entries))

    def _update(self, one: _Ours, owner: Mapping[str, _Ours], by_name: Mapping[str, SyncedEntry]) -> None:
        """A comment that is there: written again when it would say something else, it is as we left it, and all its
        entries are here and at rest."""
        known = [by_name[name] for name in one.names if name in by_name]
        entries = [entry for entry in dict.fromkeys(known) if owner[entry.name] is one]
        missing = [name for name in one.names if name not in by_name]
        if not entries and not missing:
            self._delete(one, owner[known[0].name] if known else one)
            return
        if self.wanted.unreadable:
            return
        fields, is_same = _fields(entries), [e.name for e in entries] == list(one.names)
        if is_same and fields["digest"] == one.marked.fields.get("digest") and int(fields["shown"]) <= one.shown:
            return
        url, names = one.comment.url, ", ".join(_ids(entries))
        if missing:
            lacking = f"it names {missing[0]}, which is not in this clone: git pull"
            self.warnings.append(f"{url} is left alone: {lacking}")
        elif not one.marked.intact:
            self.warnings.append(f"{url} was edited by hand and is left alone, though {names} changed")
        elif not any(entry.stage == "open" for entry in entries):
            self._comment(UPDATE, fields, partial(self.texts.update_of, _ids(entries)), _ids(entries), one)

    def snapshots(self) -> None:
        """A comment about each snapshot."""
        for name, commit in self.wanted.snapshots:
            fields = {"name": name, "commit": commit}
            there = [one for one in self.ours if one.marked.kind == SNAPSHOT and dict(one.marked.fields) == fields]
            if not there:
                self._comment(SNAPSHOT, fields, partial(self.texts.snapshot_of, name), (name,))
            for one in there[1:]:
                self._delete(one, there[0])

    def final(self, issue: Issue) -> None:
        """One final summary, and with it the issue is closed; who opens it again later means it. A thread that is
        closed with other words has its summary written again and its issue closed again. One whose entries were
        corrected has its summary written again, unless a person edited it."""
        if self.wanted.final is None:
            return
        fields = {"closing": self.wanted.final, "of": self.wanted.final_of}
        there = [one for one in self.ours if one.marked.kind == FINAL]
        same = [one for one in there if dict(one.marked.fields) == fields]
        told = [one for one in there if one.marked.fields.get("closing") == self.wanted.final]
        if not same and (not told or any(one.marked.intact for one in told)):
            if not told and issue.state == "open":
                self._close(issue)
            last = next((one for one in reversed(there) if one.marked.intact), None)
            self._comment(FINAL, fields, self.texts.final, there=last)
        for one in same[1:]:
            self._delete(one, same[0])

    def _close(self, issue: Issue) -> None:
        if marking.holds_another(issue.body, self.wanted.book):
            self.warnings.append(f"{issue.url} also shows another logbook, so it is not closed")
        else:
            self.writes.append(Write(kind="close", what="close the issue"))

    def _comment(
        self,
        kind: str,
        fields: Mapping[str, str],
        render: Callable[[int], str],
        about: tuple[str, ...] = (),
        there: _Ours | None = None,
    ) -> None:
        """Post a comment, or write one that is `there` again."""
        room = marking.LIMIT_BYTES - size(marking.stamped(kind, self.wanted.book, fields, ""))
        text, span = marking.stamped(kind, self.wanted.book, fields, render(room)), _span(about)
        write = Write(kind="post", what=f"comment: {kind} {span}".rstrip(), text=text, document=kind, about=about)
        if there is not None:
            number, what = there.comment.id, f"edit comment {there.comment.id}: {span or kind}"
            write = structs.replace(write, kind="edit", what=what, old=there.comment.body, comment=number)
        self.writes.append(write)

    def _delete(self, one: _Ours, older: _Ours) -> None:
        """Remove a duplicate, unless a person has written in it."""
        number, of = one.comment.id, older.comment.id
        if one.marked.intact:
            what = f"delete comment {number}, a duplicate of {of}"
            self.deletions.append(Write(kind="delete", what=what, old=one.comment.body, comment=number))
        else:
            self.warnings.append(
                f"{one.comment.url} repeats what comment {of} says, and was edited by hand: left alone"
            )


def _ids(entries: Sequence[SyncedEntry]) -> tuple[str, ...]:
    return tuple(entry.id for entry in entries)


def _fields(entries: Sequence[SyncedEntry]) -> dict[str, str]:
    """What the marker of an update says of its entries."""
    names, shown = ",".join(entry.name for entry in entries), sum(entry.shown for entry in entries)
    return {"entries": names, "digest": digest([entry.digest for entry in entries]), "shown": str(shown)}


def _span(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 4 else f"{min(names)} to {max(names)} ({len(names)} entries)"
