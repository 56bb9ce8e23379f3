"""The claim of a planned entry while its commands are executed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import Locked, StoreError
from logbook_agent.model.record import is_made
from logbook_agent.model.run import Run
from logbook_agent.running.prepare import Command
from logbook_agent.store.book import Book
from logbook_agent.store.claims import Claims, ExecutedAt, PlanClaim, command_key, refused
from logbook_agent.store.open_runs import going_runs
from logbook_agent.store.processes import this_host
from logbook_agent.store.user_config import places_of
from logbook_agent.store.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedPlan:
    """The `commands` of a plan that are left for this process, and what notes that they were executed. Commands that
    are not planned are not claimed."""

    workspace: Workspace
    entry: Entry | None
    commands: Sequence[Command]
    claims: Claims | None = None
    claim: PlanClaim | None = None

    def executed(self, run: Run) -> None:
        """Note that a run came to its end."""
        if self.claims is None or self.claim is None or self.entry is None or run.planned is None or not is_made(run):
            return
        self.claims.note(self.claim, command_key(self.entry.commands[run.planned]), self.workspace.stamp())


@contextlib.contextmanager
def claimed(
    workspace: Workspace, book: Book, entry: Entry | None, commands: Sequence[Command]
) -> Iterator[ClaimedPlan]:
    """The claim of this process on planned commands of an entry, until the block is left. What was executed since they
    were looked up is left out.

    Raises Locked where another process has the claim, or a command of it still runs, or where they were executed in
    another worktree or on another branch.
    """
    if entry is None or all(command.planned is None for command in commands):
        yield ClaimedPlan(workspace=workspace, entry=entry, commands=commands)
        return
    claims = book.claims
    if (before := claims.of(entry.id).claim) is not None and not claims.is_held(before):
        _check_ended(workspace, book, before)
    claim = _claim(workspace, entry.id)
    with claims.taken(claim):
        pending = {place: command_key(entry.commands[place]) for place in book.record(entry.id).pending}
        executed = {k: one for k, one in claims.of(entry.id).executed.items() if k in pending.values()}
        left = [c for c in commands if c.planned in pending and pending[c.planned] not in executed]
        if not left and executed:
            raise _executed(entry.id, max(executed.values(), key=lambda one: one.at), claim.root)
        yield ClaimedPlan(workspace=workspace, entry=entry, commands=left, claims=claims, claim=claim)


@contextlib.contextmanager
def claimed_entry(workspace: Workspace, book: Book, entry: Entry) -> Iterator[None]:
    """Hold an entry, in all worktrees of this clone, until the block is left, and note how many runs it has then.
    Raises Locked where another process holds it, or another worktree has more runs of it."""
    claims, claim = book.claims, _claim(workspace, entry.id)
    with claims.taken(claim):
        check_executed(workspace, book, entry.id)
        try:
            yield
        finally:
            claims.note(claim, str(len(book.run_numbers(entry.id))), workspace.stamp())


def check_free(workspace: Workspace, book: Book, entry_id: str) -> None:
    """Raises Locked where another process holds an entry, or another worktree has runs of it that are not here."""
    claim = book.claims.of(entry_id).claim
    if claim is not None and book.claims.is_held(claim):
        raise refused(claim)
    check_executed(workspace, book, entry_id)


def check_executed(workspace: Workspace, book: Book, entry_id: str) -> None:
    """Raises Locked where another worktree has runs of an entry that are not here."""
    if (last := book.claims.elsewhere(book.record(entry_id))) is not None:
        raise _executed(entry_id, last, str(workspace.root))


def _claim(workspace: Workspace, entry_id: str) -> PlanClaim:
    return PlanClaim(
        entry=entry_id,
        host=this_host(),
        pid=os.getpid(),
        root=str(workspace.root),
        at=workspace.stamp(),
    )


def _check_ended(workspace: Workspace, book: Book, before: PlanClaim) -> None:
    """Raises Locked where a process that died in another worktree left a command that still runs."""
    root = Path(before.root)
    if root == workspace.root or not (root / book.topic).is_dir():
        return
    other = Book(root, book.topic, places=places_of(root, workspace.environ))
    try:
        is_going = any(one.run.entry == before.entry for one in going_runs(other))
    except StoreError:
        return  # what is wrong with it is said there
    if is_going:
        raise refused(before, why="that process is gone, but the command that it started still runs")


def _executed(entry_id: str, last: ExecutedAt, root: str) -> Locked:
    is_here = last.root == root
    return Locked(
        f"{entry_id} was executed already, in {last.root} at {last.at}",
        holder=last.text,
        cause="its runs are on another branch, or were removed"
        if is_here
        else "its runs are in that worktree; this one does not have them before their branch is merged",
        hint=f"merge that branch; to execute it once more: logbook note --plan --release {entry_id}",
    )
