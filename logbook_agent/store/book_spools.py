"""What goes on in a logbook.

A run that has not ended has a marker in `open/`, or a spool in the user's state if a worker makes it. Both are called
after the run.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from logbook_agent.model.errors import StoreError
from logbook_agent.model.record import Life
from logbook_agent.store.book_runs import BookRuns
from logbook_agent.store.folder import Folder
from logbook_agent.store.layout import LOG
from logbook_agent.store.names import marker_name, run_of_marker
from logbook_agent.store.processes import life
from logbook_agent.store.user_config import make_state

if TYPE_CHECKING:
    from logbook_agent.model.run import Run
    from logbook_agent.store.spool import Heartbeat, Spool

# What the folder of a detached series of runs is called, behind its entry.
SERIES = ".series"


class BookSpools(BookRuns):
    """The runs of a logbook that have not ended, and its detached series."""

    def spool_named(self, name: str) -> Spool:
        """The spool of this name in the user's state; where there is no such folder, a spool that is not there."""
        # Most commands meet none.
        from logbook_agent.store.spool import Spool

        state = self.state or Folder(Path(os.devnull))
        return Spool(files=state.below(f"{self.topic}/{name}"), redactor=self._redactor)

    def spool(self, run: Run) -> Spool:
        """Where the worker of a run leaves what it finds."""
        return self.spool_named(marker_name(run.name))

    def create_spool(self, spool: Spool) -> Spool:
        """Create the folder of a spool in the user's state. Raises UsageError where there is no place for it."""
        make_state(self.state, self.root)
        spool.files.make()
        return spool

    def spools(self) -> list[Spool]:
        """The spools there are, of runs that go on or whose end was not taken in yet; in the order of their names."""
        found = (self.spool_named(name) for name in self._spool_names() if run_of_marker(name) is not None)
        return [spool for spool in found if spool.folder.is_dir() and not spool.folder.is_symlink()]

    def _spool_names(self) -> list[str]:
        return [] if self.state is None else sorted(self.state.names(self.topic))

    def files_of(self, path: Path) -> Folder:
        """The way to a file of this logbook: through the root, or through the user's state."""
        return self.files if self.state is None or not path.is_relative_to(self.state.path) else self.state

    def log_path(self, entry_id: str, run: int) -> Path:
        """Where the log of a run lies: beside its record, or in its spool until it is taken in."""
        path = self.run_folder(entry_id, run) / LOG
        in_spool = self.spool_named(marker_name(self.run_name(entry_id, run))).folder / LOG
        return in_spool if not os.path.lexists(path) and os.path.lexists(in_spool) else path

    def open_runs(self) -> list[Run]:
        """Runs that were started here and have not been finished, in no order; most of them are going on."""
        found = []
        names = {*self.files.names(self.open_folder), *self._spool_names()}
        for name in filter(None, map(run_of_marker, names)):
            with contextlib.suppress(StoreError):  # `doctor` tells of markers that lead nowhere
                run = self.run_called(name)
                found += [run] if run is not None else []
        return found

    def is_marked(self, run: Run) -> bool:
        """Whether a run that has not ended is marked as it should be: by its spool where a worker makes it, else by a
        file."""
        return (run.executor is not None) == self.spool(run).folder.is_dir()

    def life(self, run: Run) -> Life:
        """Which processes of a run that has not ended are left."""
        if run.executor is None:
            return life(run)
        spool = self.spool(run)
        if spool.folder.is_dir():
            return spool.life()
        # Its spool may belong to another clone on this machine.
        found = life(run)
        return "lost" if found == "gone" else found

    def has_begun(self, run: Run) -> bool:
        """Whether it is known that the command of a run that goes on was started."""
        if run.executor is None or run.child is not None:
            return True
        return self.spool(run).has_begun()

    def heartbeat(self, run: Run) -> Heartbeat | None:
        """The last sign of life of a worker; None where there is none, or it cannot be read."""
        with contextlib.suppress(StoreError):
            return self.spool(run).heartbeat()
        return None

    def series(self, entry_id: str) -> Spool:
        """Where a series of runs of an entry that goes on by itself keeps its lock, its log and its end."""
        return self.spool_named(f"{self.whole_name(entry_id)}{SERIES}")

    def series_names(self) -> list[str]:
        """The entries that such a series was started for, and what it left is still there."""
        found = [name.removesuffix(SERIES) for name in self._spool_names() if name.endswith(SERIES)]
        return [self.names.id_of(name) for name in found]
