"""What of a logbook goes on now: runs that have not ended in the record, and detached series of runs."""

from __future__ import annotations

from logbook_agent.model.record import GOING, UnfinishedRun, run_state
from logbook_agent.store.book import Book


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
