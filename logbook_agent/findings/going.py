"""What runs now: runs that have not ended, with what their workers say, and detached series of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from logbook_agent.model.entry import State
from logbook_agent.model.record import run_state
from logbook_agent.model.run import Run
from logbook_agent.store.book import Book

if TYPE_CHECKING:
    from logbook_agent.store.spool import Heartbeat

# Whoever waits for a run waits while it is in one of these.
GOING: tuple[State, ...] = ("running", "submitted", "orphaned")


@dataclass(frozen=True, slots=True, kw_only=True)
class GoingRun:
    """A run that has not ended in the record; `heartbeat` is the last one of its worker, and `said` what its engine
    said last, such as why it waits. None where there is none."""

    run: Run
    state: State
    heartbeat: Heartbeat | None = None
    said: str | None = None

    def data(self) -> dict[str, Any]:
        """What runs where, since when, and its last sign of life."""
        run, beat = self.run, self.heartbeat
        return {
            "id": run.entry,
            "run": run.run,
            "label": run.label,
            "state": self.state,
            "executor": run.executor,
            "host": run.host.name,
            "since": run.started,
            "heartbeat": beat.at if beat is not None else None,
            "last": beat.last if beat is not None else None,
            "said": self.said,
        }


def going(book: Book) -> list[GoingRun]:
    """The runs of a logbook that have not ended, in the order of their names."""
    found = []
    for run in sorted(book.open_runs(), key=lambda run: (run.entry, run.run)):
        if run.exit is not None:
            continue
        beat, said = book.heartbeat(run), book.engine_said(run)
        found.append(GoingRun(run=run, state=run_state(run, book.life), heartbeat=beat, said=said))
    return found


def going_series(book: Book) -> list[str]:
    """The entries whose runs a detached series makes now."""
    return [entry_id for entry_id in book.series_names() if book.series(entry_id).is_held()]


def is_going(book: Book, entry_id: str) -> bool:
    """Whether a run of an entry, or a series of its runs, has not come to its end."""
    return book.series(entry_id).is_held() or any(
        one.run.entry == entry_id and one.state in GOING for one in going(book)
    )
