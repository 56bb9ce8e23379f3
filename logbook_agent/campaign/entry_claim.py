"""The claim of an entry by the process that makes its runs: one at a time, in all worktrees of this clone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.findings.advice import ab_afresh
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import Locked, StoreError
from logbook_agent.model.record import is_made
from logbook_agent.store.book import Book
from logbook_agent.store.book_runs import going_runs
from logbook_agent.store.names import PlanClaim, refused
from logbook_agent.store.places import places_of
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
    before = claims.of(entry.id).claim
    if before is not None and not claims.is_held(before) and _still_runs(workspace, book, before):
        raise refused(
            before, claim.root, another, why="that process is gone, but the command that it started still runs"
        )
    with claims.taken(claim, another):
        _check_executed(workspace, book, entry.id)
        try:
            yield
        finally:
            claims.note(claim, sum(map(is_made, book.runs(entry.id))), workspace.stamp())


def check_free(workspace: Workspace, book: Book, entry_id: str) -> None:
    """Raises Locked where another process holds an entry, or another worktree has runs of it that are not here."""
    claim = book.claims.of(entry_id).claim
    if claim is not None and book.claims.is_held(claim):
        raise refused(claim, str(workspace.root), ab_afresh(entry_id))
    _check_executed(workspace, book, entry_id)


def _check_executed(workspace: Workspace, book: Book, entry_id: str) -> None:
    record = book.record(entry_id)
    last = book.claims.elsewhere(record)
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
        hint=f"merge that branch; to execute it once more: logbook note --plan --release {entry_id}",
    )


def _still_runs(workspace: Workspace, book: Book, before: PlanClaim) -> bool:
    """Whether a process that died in another worktree left a command that still runs."""
    root = Path(before.root)
    if root == workspace.root or not (root / book.topic).is_dir():
        return False
    other = Book(root, book.topic, places=places_of(root, workspace.environ))
    with contextlib.suppress(StoreError):  # what is wrong with it is said there
        return any(one.run.entry == before.entry for one in going_runs(other))
    return False
