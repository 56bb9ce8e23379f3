"""What goes on in a logbook.

A run that has not been taken into its record has a folder `work/` (`spool`), and a marker in `open/` by which it is
found. The marker holds the number of the folder's inode: a folder that a branch or a copy of the repository brought has
another one, and counts as not there.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from logbook_agent.model.errors import StoreError
from logbook_agent.model.record import GOING, UnfinishedRun, run_state
from logbook_agent.model.worker_report import Stage
from logbook_agent.store.book_runs import BookRuns
from logbook_agent.store.folder import Folder
from logbook_agent.store.names import LOG, SETTINGS_BYTES, marker_name, run_of_marker
from logbook_agent.store.processes import this_host

if TYPE_CHECKING:
    from logbook_agent.model.run import Run
    from logbook_agent.store.spool import Heartbeat, Spool


# What the folder of a detached series of runs is called, behind its entry; that of the work of a run, in its own.
SERIES, _WORKING = ".series", "work"


class BookSpools(BookRuns):
    """The runs of a logbook that have not ended, and its detached series."""

    def spool(self, run: Run) -> Spool:
        """Where what is found in a run is left, until it is taken in."""
        return self._spool_of(run.name)

    def _spool_of(self, run_name: str) -> Spool:
        from logbook_agent.store.spool import Spool  # most commands meet none

        folder = self.runs_folder / run_name / _WORKING
        if os.path.lexists(folder) and folder.lstat().st_ino != self._inode(run_name):
            return Spool(files=Folder(Path(os.devnull)))
        return Spool(files=self.files.below(folder), redactor=self._redactor)

    def _inode(self, run_name: str) -> int:
        """The inode that a marker names; -1 where there is no marker, or it names none."""
        with contextlib.suppress(StoreError, ValueError):
            return int(self.files.text(self.open_folder / marker_name(run_name), limit=SETTINGS_BYTES))
        return -1

    def begin(self, run: Run) -> Spool:
        """Create the folder for the work of a run, and its marker."""
        spool = self._spool_of(run.name)
        spool.files.make(private=True)
        self.files.make(self.open_folder)
        inode = spool.folder.stat().st_ino
        self.files.write(self.open_folder / marker_name(run.name), str(inode), durable=False)
        return spool

    def drop(self, spool: Spool) -> None:
        """Remove the folder of a run that was taken in, and its marker."""
        spool.drop()
        self.files.remove(self.open_folder / marker_name(spool.run_name))

    def spools(self) -> list[Spool]:
        """The folders of runs that go on or whose end was not taken in yet; in the order of their names."""
        found = (self._spool_of(run) for run in self._open_names())
        return [spool for spool in found if spool.folder.is_dir()]

    def _open_names(self) -> list[str]:
        """The whole names of the runs that have a marker."""
        return sorted(filter(None, map(run_of_marker, self.files.names(self.open_folder))))

    def log_path(self, entry_id: str, run: int) -> Path:
        """Where the log of a run lies: beside its record, or with its work until it is taken in."""
        folder = self.run_folder(entry_id, run)
        paths = folder / LOG, folder / _WORKING / LOG
        return next(filter(os.path.lexists, paths), paths[0])

    def open_runs(self) -> list[Run]:
        """Runs that were started here and have not been finished, in no order; most of them are going on."""
        found = []
        for name in self._open_names():
            with contextlib.suppress(StoreError):  # `doctor` tells of markers that lead nowhere
                run = self.run_called(name)
                found += [run] if run is not None else []
        return found

    def stage(self, run: Run) -> Stage:
        """How far a run is that has no end in the record."""
        spool = self.spool(run)
        if spool.folder.is_dir():
            stage = spool.stage()
        else:
            # It was started in another clone, or its folder was removed.
            stage = "lost" if run.host.name in (None, this_host()) else "elsewhere"
        return "gone" if run.executor is None and stage in ("lost", "never-started") else stage

    def heartbeat(self, run: Run) -> Heartbeat | None:
        """The last sign of life of a worker; None where there is none, or it cannot be read."""
        from logbook_agent.store.spool import Heartbeat

        with contextlib.suppress(StoreError):
            return self.spool(run).get(Heartbeat)
        return None

    def series(self, entry_id: str) -> Spool:
        """Where a series of runs of an entry that goes on by itself keeps its lock, its log and its end."""
        from logbook_agent.store.spool import Spool

        folder = self.open_folder / f"{self.whole_name(entry_id)}{SERIES}"
        return Spool(files=self.files.below(folder), redactor=self._redactor)

    def series_names(self) -> list[str]:
        """The entries of such series whose files are still there."""
        names = self.files.names(self.open_folder)
        return [self.names.id_of(name.removesuffix(SERIES)) for name in names if name.endswith(SERIES)]


# -- what goes on now ------------------------------------------------------------------------------------


def open_runs(book: BookSpools) -> list[UnfinishedRun]:
    """The runs of a logbook that have not ended, in the order of their names."""
    found = []
    for run in sorted(book.open_runs(), key=lambda run: (run.entry, run.run)):
        if run.exit is not None:
            continue
        beat, said = book.heartbeat(run), engine_said(book, run)
        at, last = (beat.at, beat.last) if beat is not None else (None, None)
        found.append(UnfinishedRun(run=run, state=run_state(run, book.stage), heartbeat=at, last=last, said=said))
    return found


def engine_said(book: BookSpools, run: Run) -> str | None:
    """What the engine of a run on another machine said of it last, such as why it waits; None where it said nothing, or
    that cannot be read."""
    from logbook_agent.store.spool import Seen

    with contextlib.suppress(StoreError):
        seen = book.spool(run).get(Seen)
        return seen.said if seen is not None else None
    return None


def going_runs(book: BookSpools) -> list[UnfinishedRun]:
    """The open runs whose command may still run, or is still to begin."""
    return [one for one in open_runs(book) if one.state in GOING]


def open_series(book: BookSpools) -> list[str]:
    """The entries whose runs a detached series makes now."""
    return [entry_id for entry_id in book.series_names() if book.series(entry_id).is_held()]


def is_open(book: BookSpools, entry_id: str) -> bool:
    """Whether a run of an entry, or a series of its runs, has not come to its end."""
    return book.series(entry_id).is_held() or any(one.run.entry == entry_id for one in going_runs(book))
