"""What goes on now: runs that have not ended in the record, those of them whose command runs, and detached series."""

from __future__ import annotations

import contextlib

from logbook_agent.model.errors import StoreError
from logbook_agent.model.record import GOING, UnfinishedRun, run_state
from logbook_agent.model.run import Run
from logbook_agent.store.book import Book
from logbook_agent.store.spool import Seen


def open_runs(book: Book) -> list[UnfinishedRun]:
    """The runs of a logbook that have not ended, in the order of their names."""
    found = []
    for run in sorted(book.open_runs(), key=lambda run: (run.entry, run.run)):
        if run.exit is not None:
            continue
        beat, said = book.heartbeat(run), engine_said(book, run)
        at, last = (beat.at, beat.last) if beat is not None else (None, None)
        found.append(UnfinishedRun(run=run, state=run_state(run, book.stage), heartbeat=at, last=last, said=said))
    return found


def engine_said(book: Book, run: Run) -> str | None:
    """What the engine of a run on another machine said of it last, such as why it waits; None where it said nothing, or
    that cannot be read."""
    with contextlib.suppress(StoreError):
        seen = book.spool(run).get(Seen)
        return seen.said if seen is not None else None
    return None


def going_runs(book: Book) -> list[UnfinishedRun]:
    """The open runs whose command may still run, or is still to begin."""
    return [one for one in open_runs(book) if one.state in GOING]


def open_series(book: Book) -> list[str]:
    """The entries whose runs a detached series makes now."""
    return [entry_id for entry_id in book.series_names() if book.series(entry_id).is_held()]


def is_open(book: Book, entry_id: str) -> bool:
    """Whether a run of an entry, or a series of its runs, has not come to its end."""
    return book.series(entry_id).is_held() or any(one.run.entry == entry_id for one in going_runs(book))
