"""The plan: the steps that bring an issue, as read, to what the logbook has to say. A pure function.

It keeps no state of its own. What was posted is read from the markers of comments whose author counts, so a plan made
again after a lost answer, on another machine or in a fresh clone goes on from what is there. When nothing is left to
do, it has no steps.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from logbook_agent.issue import marking
from logbook_agent.issue.steps import (
    Close,
    Comment,
    Documents,
    Issue,
    Post,
    SyncPlan,
    Wanted,
    WriteBlock,
)
from logbook_agent.issue.updates import Draft, plan_updates
from logbook_agent.model.errors import Rejected, StoreError

# What a block needs to say anything at all.
_LEAST_BLOCK_BYTES = 2_000


def make_plan(wanted: Wanted, documents: Documents, issue: Issue, comments: Sequence[Comment]) -> SyncPlan:
    """The steps, in order. Raises MarkersDamaged when the block's place is not known, Rejected when people's text
    leaves no room for it, and StoreError for a first block with records missing."""
    draft = Draft.of(wanted, documents, comments)
    _plan_block(draft, issue)
    plan_updates(draft)
    if not wanted.unreadable:
        _plan_snapshots(draft)
        _plan_final(draft, issue)
    elif wanted.snapshots or wanted.final is not None:
        # Texts that count the whole thread wait until all of it can be read.
        draft.warnings.append(
            f"snapshots and the final summary wait while {wanted.unreadable[0]} cannot be read: logbook doctor"
        )
    return SyncPlan(steps=(*draft.steps, *draft.deletions), warnings=tuple(draft.warnings))


def first_body(wanted: Wanted, documents: Documents) -> str:
    """The body of an issue that is to be created. Raises StoreError when records cannot be read."""
    _check_whole(wanted)
    return marking.wrapped(wanted.book, documents.block(marking.room("", wanted.book)))


def _check_whole(wanted: Wanted) -> None:
    if wanted.unreadable:
        raise StoreError(
            f"{', '.join(wanted.unreadable[:5])} cannot be read, so the issue was not opened",
            cause="the first text of the issue must cover all entries",
            hint="logbook doctor",
        )


def _plan_block(draft: Draft, issue: Issue) -> None:
    wanted = draft.wanted
    found = marking.find_block(issue.body, wanted.book)
    if found is None:
        if (wanted.managed or draft.ours) and not wanted.new_block:
            raise marking.damaged("both markers are missing, and the block was there before")
        _check_whole(wanted)
    elif wanted.unreadable:
        draft.warnings.append(
            f"the block in the issue's body stays as it is while {wanted.unreadable[0]} cannot be read: it would count"
            " only what can be read"
        )
        return
    room = marking.room(issue.body, wanted.book)
    if room < _LEAST_BLOCK_BYTES:
        raise Rejected(
            f"the text that people wrote in the issue leaves {max(room, 0)} bytes for ours",
            cause=f"a body holds {marking.LIMIT_BYTES:,} bytes",
            hint="shorten that text in the issue, then: logbook sync",
        )
    text = draft.documents.block(room)
    if found is None:
        draft.steps.append(WriteBlock(text=text, old=None))
    elif marking.normalised(found.text) != marking.normalised(text):
        if not found.intact:
            draft.warnings.append(
                "the block in the issue's body was edited by hand (a ticked box is an edit): it follows the logbook and"
                " is rewritten; the issue keeps the edit in its history"
            )
        draft.steps.append(WriteBlock(text=text, old=found.text))


def _plan_snapshots(draft: Draft) -> None:
    for name, commit in draft.wanted.snapshots:
        fields = {"name": name, "commit": commit}
        there = [o for o in draft.ours if o.marked.kind == marking.SNAPSHOT and dict(o.marked.fields) == fields]
        if not there:
            render = draft.stamped(marking.SNAPSHOT, fields, functools.partial(draft.documents.snapshot_of, name))
            draft.steps.append(Post(kind=marking.SNAPSHOT, about=(name,), render=render))
        for ours in there[1:]:
            draft.delete(ours, there[0].comment.id)


def _plan_final(draft: Draft, issue: Issue) -> None:
    """One final summary, and with it the issue is closed; who opens it again later means it. A thread that is closed
    anew, with other words, has its summary written anew and its issue closed again. One whose entries were corrected
    has its summary written anew, unless a person edited it."""
    if draft.wanted.final is None:
        return
    closing = {"closing": draft.wanted.final}
    fields = closing | {"of": draft.wanted.final_of}
    there = [o for o in draft.ours if o.marked.kind == marking.FINAL]
    same = [o for o in there if dict(o.marked.fields) == fields]
    told = [o for o in there if closing.items() <= dict(o.marked.fields).items()]
    if not same and not (told and not any(o.marked.intact for o in told)):
        if not told:
            _plan_close(draft, issue)
        render = draft.stamped(marking.FINAL, fields, draft.documents.final)
        last = next((o for o in reversed(there) if o.marked.intact), None)
        if last is None:
            draft.steps.append(Post(kind=marking.FINAL, render=render))
        else:
            draft.edit(last, render)
    for ours in same[1:]:
        draft.delete(ours, same[0].comment.id)


def _plan_close(draft: Draft, issue: Issue) -> None:
    if issue.state != "open":
        return
    if marking.holds_another(issue.body, draft.wanted.book):
        draft.warnings.append(f"{issue.url} also shows another logbook, so it is not closed")
    else:
        draft.steps.append(Close())
