"""The records of runs on disk, `runs/MOE-003.k3x9q/01.p2m4a/run.json`, and what goes on in a logbook.

A run that has not been taken into its record has a folder `work/` (`spool`), and a marker in `open/` by which it is
found. The marker holds the number of the folder's inode: a folder that a branch or a copy of the repository brought has
another one, and counts as not there.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from logbook_agent.model.errors import LogbookError, NotFound, StoreError, UsageError
from logbook_agent.model.record import GOING, UnfinishedRun, run_state
from logbook_agent.model.values import typed_run
from logbook_agent.store import records
from logbook_agent.store.folder import SETTINGS_BYTES, Folder
from logbook_agent.store.names import EntryNames, marker_name, new_uid, run_names, run_of_marker
from logbook_agent.store.places import NO_PLACES, UserPlaces
from logbook_agent.store.processes import this_host
from logbook_agent.store.run_files import ARTIFACTS, CODE, CURVES, CURVES_LARGE, LOG, SAFE_ARTIFACTS, SAFE_LOG, WORKING
from logbook_agent.text.phrases import listed
from logbook_agent.text.redaction.plain import clean_run
from logbook_agent.text.redaction.redactor import Redactor, by_shape

if TYPE_CHECKING:
    from logbook_agent.model.run import Run
    from logbook_agent.model.worker_report import Stage
    from logbook_agent.store.spool import Heartbeat, Spool

# What the folder of a detached series of runs is called, behind its entry.
SERIES = ".series"
# Longer than a tick of the clock of any kernel.
_TICK_NS = 20_000_000


class BookRuns:
    """A logbook's runs: their records, and what goes on. `Book` has its header, entries and view as well."""

    # Whether reads are without the secrets that somebody typed into the files.
    is_outgoing = False

    def __init__(
        self,
        root: Path,
        topic: str,
        *,
        redactor: Callable[[], Redactor] = by_shape,
        places: UserPlaces = NO_PLACES,
    ) -> None:
        self._redactor = redactor
        self.root = root
        # What lies below the root, the only way to it.
        self.files = Folder(root)
        self.topic = topic
        self.folder = root / topic
        self.header_path = self.folder / "logbook.yaml"
        self.view_path = root / f"{topic}.md"
        self.runs_folder = self.folder / "runs"
        # Markers of runs that go on, and locks that others must see.
        self.open_folder = self.folder / "open"
        # What is this user's alone.
        self.state = places.state
        self._cache_folder = places.cache
        # The entries that were written here, or the header, and the view does not show yet.
        self.changed: set[str] = set()
        self.entries_folder = self.folder / "entries"
        # What was found in the folder of entries, and when that had changed last; and the folders of each entry's runs.
        self._names: tuple[int, EntryNames] | None = None
        self._run_names: dict[Path, Mapping[int, str]] = {}
        # The entries that were written here: an entry with the same number may come in from another clone meanwhile.
        self._own: dict[str, str] = {}

    @property
    def names(self) -> EntryNames:
        """The entries that there are now."""
        try:
            changed_ns = os.stat(self.entries_folder).st_mtime_ns  # noqa: PTH116
        except FileNotFoundError:
            changed_ns = 0
        if self._names is None or self._names[0] != changed_ns:
            there = self.files.names(self.entries_folder)
            names = EntryNames(name[:-5] for name in there if name.endswith(".yaml"))
            if time.time_ns() - changed_ns < _TICK_NS:
                return names  # a second change within a tick of the clock could not be told from the first
            self._names = changed_ns, names
        return self._names[1]

    def whole_name(self, entry_id: str) -> str:
        """What the file of an entry and the folder of its runs are called; of one that is not here, its ID."""
        return self._own.get(entry_id) or self.names.whole(entry_id) or entry_id

    @property
    def redactor(self) -> Redactor:
        """The redactor of this moment, which every write passes."""
        return self._redactor()

    @contextlib.contextmanager
    def _without_secrets(self) -> Iterator[None]:
        """Errors raised in the block, which quote what is wrong in a record, lose the secrets in it."""
        try:
            yield
        except LogbookError as error:
            if error.redact(self.redactor.text):
                raise error from None  # what it came from quotes the same
            raise

    def entry_runs_folder(self, entry_id: str) -> Path:
        """The folder of the runs of an entry."""
        return self.runs_folder / self.whole_name(entry_id)

    def run_folder(self, entry_id: str, run: int) -> Path:
        folder = self.entry_runs_folder(entry_id)
        known = self._run_names.get(folder)
        if known is None or run not in known:
            known = self._list_runs(folder)
        return folder / (known.get(run) or f"{run:02d}")

    def run_name(self, entry_id: str, run: int) -> str:
        """The whole name of a run: `MOE-003.k3x9q/01.p2m4a`."""
        return self.run_folder(entry_id, run).relative_to(self.runs_folder).as_posix()

    def _list_runs(self, folder: Path) -> Mapping[int, str]:
        found = self._run_names[folder] = run_names(self.files.names(folder))
        return found

    def run(self, entry_id: str, number: int) -> Run:
        """The record of one run."""
        with self._without_secrets():
            found = records.read_run(self.files, self.run_folder(entry_id, number) / "run.json")
            run = structs.replace(found, entry=entry_id, run=number)
            run = self._with_facts(run) if run.exit is None else run
        return clean_run(run, self.redactor) if self.is_outgoing else run

    def _with_facts(self, run: Run) -> Run:
        """A run that has no end in the record, with what was found before its command started."""
        from logbook_agent.model.run import with_facts
        from logbook_agent.model.worker_report import Began

        spool = self._spool_of(run.name)
        try:
            began = spool.get(Began) if spool.folder.is_dir() else None
        except StoreError:
            if spool.folder.is_dir():
                raise
            began = None  # it was taken in meanwhile
        return run if began is None else with_facts(run, began)

    def _whole_run(self, entry_id: str, number: int) -> int:
        """A run as files name it, which never changes: `2.p2m4a`."""
        return typed_run(self._list_runs(self.entry_runs_folder(entry_id)).get(number, "")) or number

    def _present_run(self, entry_id: str, number: int) -> int:
        """A run that a file names: `2`, where no other run of its entry has the number."""
        there = self._list_runs(self.entry_runs_folder(entry_id))
        return next((n for n, name in there.items() if name == f"{number:02d}"), number)

    def run_named(self, entry_id: str, text: str) -> int:
        """The number of the run that is meant by `2`, or by `2.p2m4a`, whether another run has the number or not.
        Raises NotFound, and UsageError where two runs have the number."""
        there, typed = self._list_runs(self.entry_runs_folder(entry_id)), typed_run(text)
        found = [
            n for n, name in there.items() if typed is not None and (typed in (n, int(n)) or name == f"{typed:02d}")
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(
                f"{len(found)} runs are called {entry_id}/{text}: {', '.join(f'{entry_id}/{n}' for n in found)}",
                cause="two clones gave out one number",
                hint=f"name one of them: {entry_id}/{found[0]}",
            )
        raise NotFound(
            f"no run {entry_id}/{text}",
            cause=f"its runs are {listed([str(n) for n in there], 5)}" if there else f"{entry_id} has no runs",
            hint=f"name one of them: {entry_id}/{[*there][-1]}" if there else f"logbook show {entry_id}",
        )

    def new_run(self, entry_id: str) -> int:
        """The next run number of an entry; its folder is created."""
        folder = self.entry_runs_folder(entry_id)
        while True:
            number = max(map(int, self._list_runs(folder)), default=0) + 1
            own = folder / f"{number:02d}.{new_uid()}"
            self.files.make(own)
            # Another process may have taken the number at the same moment: whoever sees another's folder tries again.
            if number in self._list_runs(folder):
                return number
            self.files.remove_folder(own)

    def write_run(self, run: Run) -> Run:
        """Write a run without its secrets; returns what was written."""
        run = clean_run(run, self.redactor)
        records.write(self.files, self.runs_folder / run.name / "run.json", run)
        self.changed.add(run.entry)
        return run

    def run_called(self, name: str) -> Run | None:
        """The run with this whole name; None where its record is not here, for example because that is on another
        branch. Raises StoreError if the record cannot be read."""
        if not os.path.lexists(self.runs_folder / name / "run.json"):
            return None
        entry, _, own = name.partition("/")
        numbers = {name: number for number, name in self._list_runs(self.runs_folder / entry).items()}
        return self.run(self.names.id_of(entry), numbers[own]) if own in numbers else None

    def reread(self, run: Run) -> Run:
        """The current record of a run. Raises StoreError if it is gone."""
        found = self.run_called(run.name)
        if found is None:
            raise StoreError(
                f"the record of {run.entry} run {run.run} is gone",
                cause="it was removed, or another branch was checked out while it ran",
                hint="logbook doctor",
            )
        return found

    def runs(self, entry_id: str) -> tuple[Run, ...]:
        """The runs of an entry in order. A run folder without a record yet was cut off
        before it started."""
        found = []
        for _, run in self.each_run(entry_id):
            if isinstance(run, LogbookError):
                raise run
            found.append(run)
        return tuple(found)

    def each_run(self, entry_id: str) -> list[tuple[int, Run | LogbookError]]:
        """The runs of an entry with their numbers, in order; for a record that cannot be read, why."""
        found: list[tuple[int, Run | LogbookError]] = []
        folder = self.entry_runs_folder(entry_id)
        for number, name in self._list_runs(folder).items():
            if not os.path.lexists(f"{folder}/{name}/run.json"):
                continue  # cut off before it had a record
            try:
                found.append((number, self.run(entry_id, number)))
            except StoreError as error:
                found.append((number, error))
        return found

    def run_numbers(self, entry_id: str) -> list[int]:
        """The numbers of an entry's runs by the names of their folders, in order; some may have no record yet."""
        return list(self._list_runs(self.entry_runs_folder(entry_id)))

    def cut_off(self) -> int:
        """How many runs have no record, as who was to write it on this host ended before."""
        bare = (s for s in self.spools() if not os.path.lexists(self.runs_folder / s.run_name / "run.json"))
        holders = ((spool, spool.holder()) for spool in bare)
        return sum(h is not None and h.host == this_host() and not spool.is_held() for spool, h in holders)

    # -- what goes on ----------------------------------------------------------------------------

    def spool(self, run: Run) -> Spool:
        """Where what is found in a run is left, until it is taken in."""
        return self._spool_of(run.name)

    def _spool_of(self, run_name: str) -> Spool:
        from logbook_agent.store.spool import Spool  # most commands meet none

        folder = self.runs_folder / run_name / WORKING
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

    def keep_files(self, spool: Spool) -> None:
        """Move the log and the files that the command left to beside the record, and those of its code to where all
        runs share them, without what patterns find."""
        folder = self.runs_folder / spool.run_name
        log = SAFE_LOG if spool.has(SAFE_LOG) else LOG
        names = {log: LOG, SAFE_ARTIFACTS: ARTIFACTS, CURVES: CURVES, CURVES_LARGE: CURVES_LARGE}
        for name, kept in names.items():
            if spool.has(name) and not os.path.lexists(folder / kept):
                spool.files.move(name, folder / kept)
        code, shared = spool.files.below(CODE), self.folder / CODE
        for name in code.names():
            if not os.path.lexists(shared / name):
                self.files.make(shared)
                self.files.write(shared / name, self.redactor.data(b"".join(code.pieces(name))), durable=False)

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
        paths = folder / LOG, folder / WORKING / LOG
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
            beat = self.spool(run).get(Heartbeat)
            if beat is None or beat.last is None:
                return beat
            return structs.replace(beat, last=self.redactor.text(beat.last))
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


def open_runs(book: BookRuns) -> list[UnfinishedRun]:
    """The runs of a logbook that have not ended, in the order of their names."""
    found = []
    for run in sorted(book.open_runs(), key=lambda run: (run.entry, run.run)):
        if run.exit is not None:
            continue
        beat, said = book.heartbeat(run), engine_said(book, run)
        at, last = (beat.at, beat.last) if beat is not None else (None, None)
        found.append(UnfinishedRun(run=run, state=run_state(run, book.stage), heartbeat=at, last=last, said=said))
    return found


def engine_said(book: BookRuns, run: Run) -> str | None:
    """What the engine of a run on another machine said of it last, such as why it waits; None where it said nothing, or
    that cannot be read."""
    from logbook_agent.store.spool import Seen

    with contextlib.suppress(StoreError):
        seen = book.spool(run).get(Seen)
        return book.redactor.text(seen.said) if seen is not None and seen.said is not None else None
    return None


def going_runs(book: BookRuns) -> list[UnfinishedRun]:
    """The open runs whose command may still run, or is still to begin."""
    return [one for one in open_runs(book) if one.state in GOING]


def open_series(book: BookRuns) -> list[str]:
    """The entries whose runs a detached series makes now."""
    return [entry_id for entry_id in book.series_names() if book.series(entry_id).is_held()]


def is_open(book: BookRuns, entry_id: str) -> bool:
    """Whether a run of an entry, or a series of its runs, has not come to its end."""
    return book.series(entry_id).is_held() or any(one.run.entry == entry_id for one in going_runs(book))
