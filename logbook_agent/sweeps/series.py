"""A series of runs in one entry that can be taken up again: what a sweep and an A/B share."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import Locked, StoreError
from logbook_agent.running.recover import finish
from logbook_agent.store.book import Book
from logbook_agent.store.files import locked, make_folder
from logbook_agent.store.processes import life
from logbook_agent.store.workspace import Workspace, naming, sweep_command

# A command that outlived its tool by a moment is waited for; one that goes on is the user's to stop.
_ORPHAN_S = 5.0
_PAUSE_S = 0.05


@contextlib.contextmanager
def taken_up(workspace: Workspace, book: Book, entry: Entry) -> Iterator[None]:
    """One process at a time makes the runs of an entry; those whose tool died are closed first.

    Raises Locked when another one does, StoreError when a command of an earlier one still goes on.
    """
    make_folder(book.open_folder, within=book.root)
    with contextlib.ExitStack() as stack:
        try:
            place = book.open_folder / f".{entry.id}.sweep.lock"
            stack.enter_context(locked(place, within=book.root, timeout_s=0))
        except Locked as error:
            raise _under_way(workspace, book, entry, error.holder) from error
        _close_dead_runs(workspace, book, entry)
        yield


def _under_way(workspace: Workspace, book: Book, entry: Entry, holder: str) -> Locked:
    """What a second terminal is told: nothing hangs, the runs are being made."""
    use = entry.recipe
    if use is None:
        again = "start another: leave --id out"
    else:
        name = str(workspace.root.parent / use.file) if use.file else use.name
        named = naming(workspace, book)
        again = f"start another: {sweep_command(name, '--new', scale=use.scale, sets=use.sets, on=use.on, named=named)}"
    return Locked(
        f"{entry.id} is being run by {holder}",
        holder=holder,
        cause=f"{entry.title!r} is in progress there, and only one process at a time can run an entry",
        hint=f"wait until it ends (progress: logbook show {entry.id}), or {again}",
    )


def _close_dead_runs(workspace: Workspace, book: Book, entry: Entry) -> None:
    stamp = workspace.now().strftime("%Y%m%dT%H%M%S%f")
    deadline = time.monotonic() + _ORPHAN_S
    for run in book.runs(entry.id):
        if run.exit is not None:
            continue
        while (left := life(run)) == "child" and time.monotonic() < deadline:
            time.sleep(_PAUSE_S)
        if left != "gone":
            raise StoreError(
                f"{entry.id} run {run.run} is still running",
                cause="its command outlived the tool that started it" if left == "child" else "another process runs it",
                hint=f"logbook doctor --stop {entry.id}" if left == "child" else f"logbook show {entry.id}",
            )
        finish(workspace, book, stamp, entry.id, run.run, "the series of runs was cut off")
