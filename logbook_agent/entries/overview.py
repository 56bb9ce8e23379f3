"""`logbook status` of a logbook on this machine: what its records amount to, and what runs here now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from logbook_agent.findings.progress import GOING, UnfinishedRun
from logbook_agent.findings.read import Findings, read
from logbook_agent.findings.status import OnMachine, status
from logbook_agent.model.errors import StoreError
from logbook_agent.model.record import run_state
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


def open_runs(book: Book) -> list[UnfinishedRun]:
    """The runs of a logbook that have not ended, in the order of their names."""
    found = []
    for run in sorted(book.open_runs(), key=lambda run: (run.entry, run.run)):
        if run.exit is not None:
            continue
        beat, said = book.heartbeat(run), book.engine_said(run)
        at, last = (beat.at, beat.last) if beat is not None else (None, None)
        found.append(UnfinishedRun(run=run, state=run_state(run, book.life), heartbeat=at, last=last, said=said))
    return found


def open_series(book: Book) -> list[str]:
    """The entries whose runs a detached series makes now."""
    return [entry_id for entry_id in book.series_names() if book.series(entry_id).is_held()]


def is_open(book: Book, entry_id: str) -> bool:
    """Whether a run of an entry, or a series of its runs, has not come to its end."""
    return book.series(entry_id).is_held() or any(
        one.run.entry == entry_id and one.state in GOING for one in open_runs(book)
    )


_WARNING_CHARACTERS = 150


def overview(workspace: Workspace, book: Book, found: Findings | None = None) -> dict[str, Any]:
    """The answer of `logbook status`; what cannot be read is warned about. `found`: the logbook as it was just read."""
    found = read(workspace, book) if found is None else found
    workspace.warnings += [_unreadable(workspace, message) for message in found.unreadable[:3]]
    # Those of the criteria stand with these.
    workspace.warnings += [doubt[:_WARNING_CHARACTERS] for doubt in found.baseline_doubts]
    here = OnMachine(
        view=str(book.view_path),
        edited=_if_readable(workspace, lambda: found.edited),
        reserved=_if_readable(workspace, lambda: [v.id for v in book.voids()]),
        runs=open_runs(book.outgoing()),
        series=open_series(book),
    )
    return status(found, here)


def _if_readable(workspace: Workspace, ask: Callable[[], list[str]]) -> list[str]:
    """An answer from a single file; where that is damaged, the rest still is told."""
    try:
        return ask()
    except StoreError as error:
        workspace.warnings.append(_unreadable(workspace, error.message))
        return []


def _unreadable(workspace: Workspace, message: str) -> str:
    return f"cannot be read: {workspace.redactor.text(message)}"[:_WARNING_CHARACTERS]
