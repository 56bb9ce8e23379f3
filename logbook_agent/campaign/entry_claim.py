"""The claim of an entry by the process that makes its runs: one at a time, in all worktrees of this clone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import Locked
from logbook_agent.model.record import is_made
from logbook_agent.store.book import Book
from logbook_agent.store.names import PlanClaim, refused
from logbook_agent.store.processes import this_host
from logbook_agent.store.workspace import Workspace


@contextlib.contextmanager
def claimed(workspace: Workspace, book: Book, entry: Entry, another: str) -> Iterator[None]:
    """Hold an entry until the block is left, and note how many runs it has then that came to their end.

    Raises Locked where another process holds it, where a command of one that died still runs in another worktree, or
    where another worktree has more runs of it. `another`: what makes runs of another entry.
    """
    claims = book.claims
    claim = PlanClaim(entry=entry.id, host=this_host(), pid=os.getpid(), root=str(workspace.root), at=workspace.stamp())
    # Before it is noted that it was begun here.
    check_free(workspace, book, entry.id, another)
    with claims.taken(claim, another):
        _check_executed(workspace, book, entry.id)
        try:
            yield
        finally:
            claims.note(claim, sum(map(is_made, book.runs(entry.id))), workspace.stamp())


def check_free(workspace: Workspace, book: Book, entry_id: str, another: str) -> None:
    """Raises Locked where another process holds an entry, or another worktree has runs of it that are not here;
    `another` makes runs of another entry."""
    claim = book.claims.of(entry_id).claim
    if claim is not None and book.claims.is_held(claim):
        raise refused(claim, str(workspace.root), another)
    _check_executed(workspace, book, entry_id)


def _check_executed(workspace: Workspace, book: Book, entry_id: str) -> None:
    record = book.record(entry_id)
    last = book.elsewhere(record)
    is_here = last is not None and last.root == str(workspace.root)
    # A sweep makes again what was removed here.
    if last is None or (is_here and record.entry.recipe is not None):
        return
    raise Locked(
        f"{entry_id} was executed already, in {last.root} at {last.at}",
        holder=last.text,
        cause="its runs are on another branch, or were removed"
        if is_here
        else "its runs are in that worktree; this one does not have them before their branch is merged",
        hint=f"merge that branch, or go on there; to execute it once more: logbook note --plan --release {entry_id}",
    )
