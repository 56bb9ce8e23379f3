"""One logbook on disk: where its files are, and the few operations that read and write them."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy as copy_of
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from logbook_agent.model.entry import Entry, id_number, parse_id, run_number, sorted_ids, typed_id
from logbook_agent.model.errors import LogbookError, NotFound, RecordError, StoreError, UsageError
from logbook_agent.model.header import Header
from logbook_agent.model.record import Contents, Life, Record, Summaries, record_of
from logbook_agent.store import records
from logbook_agent.store.files import (
    copy,
    create_folder,
    locked,
    make_folder,
    move,
    remove,
    remove_folder,
    write_text,
)
from logbook_agent.store.ids import Void, reservations_of, reserve, voids
from logbook_agent.store.index import Index, Stamp, TriedIndex, remember, stamp_of
from logbook_agent.store.markers import HINT, hint_of, is_marker_name, marker_name, place_of_hint
from logbook_agent.store.processes import life
from logbook_agent.store.reading import CODE, LOG, VIEW_BYTES, names_in, read_text
from logbook_agent.store.user_folders import NO_PLACES, UserPlaces
from logbook_agent.text.redaction.plain import clean_record, clean_run
from logbook_agent.text.redaction.redactor import Redactor, by_shape

if TYPE_CHECKING:
    from logbook_agent.model.run import Run
    from logbook_agent.store.spool import Heartbeat, Spool

_R = TypeVar("_R")
# What the folder of a detached series of runs is called, behind its entry.
SERIES = ".series"
# The file in the user's state that names the root it is for.
ROOT_NOTE = ".root"
_HINT_BYTES = 1000


class Book:
    """An existing logbook. `durable=False` leaves out fsync (for tests and benchmarks alone).

    Whatever is written passes the redactor that `redactor` gives at that moment: no caller can forget it. What is read
    is as it stands in the files; `outgoing` is the same logbook for whoever tells of it. `places`: the user's folders
    for the root; without a cache no index is kept, without state no worker can be started.
    """

    # Whether what is read may be told: it is without the secrets that somebody typed into the files.
    is_outgoing = False

    def __init__(
        self,
        root: Path,
        topic: str,
        *,
        durable: bool = True,
        redactor: Callable[[], Redactor] = by_shape,
        places: UserPlaces = NO_PLACES,
    ) -> None:
        self._redactor = redactor
        self.root = root
        self.topic = topic
        self.durable = durable
        self.folder = root / topic
        self.header_path = self.folder / "logbook.yaml"
        self.view_path = root / f"{topic}.md"
        self.entries_folder = self.folder / "entries"
        self.runs_folder = self.folder / "runs"
        # Markers of runs that go on, and locks that others must see.
        self.open_folder = self.folder / "open"
        self.index_path = None if places.cache is None else places.cache / f"{topic}.sqlite"
        # Spools, and what else is this user's alone.
        self._state = places.state
        self.state_folder = None if places.state is None else places.state / topic
        # What was written here and the view does not show yet: entries with those that they speak of, and the header.
        self.changed: set[str] = set()
        self.header_changed = False
        self._header: Header | None = None
        self._header_stamp = ""

    @property
    def header(self) -> Header:
        """As it was read last: others may have changed it since."""
        if self._header is None:
            # Taken first: what is found under it may be newer than that, but never older.
            self._header_stamp = self._stamp_of_header()
            with self._without_secrets():
                self._header = self._told(records.read_header(self.header_path))
        return self._header

    def outgoing(self) -> Self:
        """The same logbook, of which what is read holds no secret. Whoever shows or sends what it says reads this."""
        if self.is_outgoing:
            return self
        other = copy_of(self)
        other.is_outgoing = True
        other._header = None if self._header is None else other._told(self._header)
        return other

    def _told(self, record: _R) -> _R:
        return clean_record(record, self.redactor) if self.is_outgoing else record

    @contextlib.contextmanager
    def _without_secrets(self) -> Iterator[None]:
        """Errors raised in the block, which quote what is wrong in a record, lose the secrets in it."""
        try:
            yield
        except LogbookError as error:
            if error.redact(self.redactor.text):
                raise error from None  # what it came from quotes the same
            raise

    def _stamp_of_header(self) -> str:
        """Changes with the file of the header; empty while there is none."""
        try:
            found = self.header_path.lstat()
        except OSError:
            return ""  # whoever reads it says what is wrong
        return f"{found.st_ctime_ns} {found.st_size}"

    def reread_header(self) -> Header:
        """The header as it stands on disk now."""
        self._header = None
        return self.header

    def lock(self) -> AbstractContextManager[None]:
        return locked(self.folder / ".lock", within=self.root)

    def sync_lock(self) -> AbstractContextManager[None]:
        """Held for the length of a sync; raises StoreError at once when another one holds it."""
        make_folder(self.open_folder, within=self.root)
        return locked(self.open_folder / ".sync.lock", within=self.root, timeout_s=0)

    # -- entries ---------------------------------------------------------------------------------

    def entry_path(self, entry_id: str) -> Path:
        return self.entries_folder / f"{entry_id}.yaml"

    def entry_ids(self) -> list[str]:
        """IDs of all entries in order of their numbers."""
        return sorted_ids(self.entry_names(), self.header.prefix)

    def entry_names(self) -> list[str]:
        """Names of the entry files, without their ending, in no order."""
        names = names_in(self.entries_folder, within=self.root)
        return [name[:-5] for name in names if name.endswith(".yaml")]

    def entries_changed_ns(self) -> int:
        """When the folder of entries last changed: a file came, went or was replaced. 0 when there is none yet."""
        try:
            return os.stat(self.entries_folder).st_mtime_ns  # noqa: PTH116
        except FileNotFoundError:
            return 0

    @property
    def tried(self) -> TriedIndex:
        """Hints at which entries hold a command."""
        return TriedIndex(self.index_path)

    def reserve_id(self, owner: dict[str, object]) -> tuple[str, str | None]:
        """The next ID, never handed out before, and a warning when other worktrees cannot know of it."""
        place = reservations_of(self.root, self.header.prefix)
        data = json.dumps(owner).encode()
        found = reserve(place, self.header.prefix, self.entry_names(), data, runs=self.runs_folder)
        return found, place.warning

    def voids(self) -> list[Void]:
        """IDs that were reserved here and never became an entry."""
        place = reservations_of(self.root, self.header.prefix)
        return voids(place, self.root, self.header.prefix, self.entry_ids())

    def has_entry(self, entry_id: str) -> bool:
        # A link that leads nowhere is an entry that cannot be read, not none.
        return os.path.lexists(self.entry_path(entry_id))

    def resolve(self, entry_id: str) -> str:
        """The ID of the entry that is, or once was, called `entry_id`. Raises NotFound with the nearest IDs."""
        entry_id = typed_id(entry_id)
        # An ID is part of a path: only what looks like one of ours may be.
        if id_number(entry_id, self.header.prefix) is not None:
            if self.has_entry(entry_id):
                return entry_id
            for other in self.entry_ids():
                with contextlib.suppress(StoreError):  # another entry's damage is told elsewhere
                    text = self.entry_text(other)
                    if entry_id in text and "\naliases:" in text and entry_id in self.entry(other).aliases:
                        return other
        raise self._unknown(entry_id)

    def entry_text(self, entry_id: str) -> str:
        """The file of an entry as it stands."""
        return read_text(self.entry_path(entry_id), within=self.root)

    def entry(self, entry_id: str) -> Entry:
        """One entry. Raises NotFound with the nearest IDs."""
        if id_number(entry_id, self.header.prefix) is None or not self.has_entry(entry_id):
            entry_id = self.resolve(entry_id)
        with self._without_secrets():
            return self._told(records.read_entry(self.entry_path(entry_id)))

    @property
    def redactor(self) -> Redactor:
        """What everything passes that is written here."""
        return self._redactor()

    def write_entry(self, entry: Entry) -> Entry:
        """Write an entry without its secrets; returns what was written."""
        entry = clean_record(entry, self.redactor)
        make_folder(self.entries_folder, within=self.root)
        path = self.entry_path(entry.id)
        if os.path.lexists(path):
            with contextlib.suppress(StoreError):
                self.changed.update(records.load_entry(path).touches)
        records.write_entry(path, entry, durable=self.durable)
        self.changed.update(entry.touches)
        return entry

    def write_header(self, header: Header) -> Header:
        """Write the header without its secrets; returns what was written."""
        header = clean_record(header, self.redactor)
        make_folder(self.folder, within=self.root)
        records.write_header(self.header_path, header, durable=self.durable)
        self.header_changed = True
        self._header, self._header_stamp = header, self._stamp_of_header()
        return header

    def change_header(self, change: Callable[[Header], Header]) -> Header:
        """Rewrite the header, starting from what is on disk now."""
        with self.lock():
            before = self.reread_header()
            header = change(before)
            return before if header == before else self.write_header(header)

    def _unknown(self, entry_id: str) -> NotFound:
        ids = self.entry_ids()
        if id_number(entry_id, self.header.prefix) is not None and self.run_numbers(entry_id):
            cause, hint = (
                "its file was removed, but its runs are there",
                "logbook doctor --fix writes an entry for them",
            )
        elif not ids:
            cause, hint = f"{self.topic} has no entries yet", "record one with: logbook run -- COMMAND"
        elif parse_id(entry_id) is None:
            cause, hint = f"an ID looks like {ids[-1]}", f"try: logbook show {ids[-1]}"
        else:
            cause = f"{self.topic} holds {ids[0]}" + (f" to {ids[-1]}" if len(ids) > 1 else " alone")
            hint = "list them with: logbook list"
        return NotFound(f"no entry {entry_id}", cause=cause, hint=hint)

    # -- plots -----------------------------------------------------------------------------------

    @property
    def plots_folder(self) -> Path:
        """Where the pictures lie that the view shows."""
        return self.folder / "plots"

    def plot_names(self) -> list[str]:
        """The keys of the plots that are kept, in no order."""
        return [name[:-4] for name in names_in(self.plots_folder, within=self.root) if name.endswith(".svg")]

    def plot_path(self, key: str) -> Path:
        return self.plots_folder / f"{key}.svg"

    # -- runs ------------------------------------------------------------------------------------

    def run_folder(self, entry_id: str, run: int) -> Path:
        return self.runs_folder / entry_id / f"{run:02d}"

    def run(self, entry_id: str, number: int) -> Run:
        """The record of one run."""
        with self._without_secrets():
            run = records.read_run(self.run_folder(entry_id, number) / "run.json")
        return clean_run(run, self.redactor) if self.is_outgoing else run

    def log_path(self, entry_id: str, run: int) -> Path:
        """Where the log of a run lies: beside its record, or in its spool until it is taken in."""
        path = self.run_folder(entry_id, run) / LOG
        if not os.path.lexists(path) and self.spools():
            with contextlib.suppress(StoreError):
                in_spool = self.spool(self.run(entry_id, run)).folder / LOG
                return in_spool if os.path.lexists(in_spool) else path
        return path

    def sweep_csv(self, entry_id: str) -> Path:
        """The rows of a sweep, beside the records of its runs."""
        return self.runs_folder / entry_id / "sweep.csv"

    def sweep_log(self, entry_id: str) -> Path:
        """What the runs of a sweep printed, one after another: made of their logs."""
        return self.runs_folder / entry_id / "sweep.log"

    def new_run(self, entry_id: str) -> int:
        """The next run number of an entry; its folder is created exclusively."""
        make_folder(self.runs_folder / entry_id, within=self.root)
        number = max(self._run_numbers(entry_id), default=0) + 1
        while not create_folder(self.run_folder(entry_id, number), within=self.root):
            number += 1
        return number

    def write_run(self, run: Run) -> Run:
        """Write a run without its secrets, and the marker of one that goes on; returns what was written."""
        run = clean_run(run, self.redactor)
        self._share_code(run)
        records.write_run(self._run_path(run), run, durable=self.durable)
        self._wrote(run)
        return run

    def write_runs(self, runs: Sequence[Run]) -> list[Run]:
        """`write_run` for many, together."""
        if not self.durable:
            return [self.write_run(run) for run in runs]
        runs = [clean_run(run, self.redactor) for run in runs]
        for run in runs:
            self._share_code(run)
        records.write_runs([(self._run_path(run), run) for run in runs])
        for run in runs:
            self._wrote(run)
        return runs

    def _run_path(self, run: Run) -> Path:
        return self.run_folder(run.entry, run.run) / "run.json"

    def _share_code(self, run: Run) -> None:
        """Move the files of a run's code, which are named by their content, to where all runs of it share them."""
        own = self.run_folder(run.entry, run.run) / CODE
        if not own.is_dir():
            return
        make_folder(self.folder / CODE, within=self.root)
        for name in names_in(own, within=self.root):
            if os.path.lexists(self.folder / CODE / name):
                remove(own / name, within=self.root)
            else:
                move(own / name, self.folder / CODE / name, within=self.root)
        remove_folder(own, within=self.root)

    def _wrote(self, run: Run) -> None:
        self.changed.add(run.entry)
        # Where a worker makes the run, its spool marks it, until it is taken in.
        if run.executor is None:
            marker = self.open_folder / marker_name(run)
            if run.exit is None:
                make_folder(self.open_folder, within=self.root)
                write_text(marker, hint_of(run), within=self.root, durable=False)
            else:
                remove(marker, within=self.root)

    def spool(self, run: Run) -> Spool:
        """Where the worker of a run leaves what it finds."""
        return self.spool_named(marker_name(run))

    def make_spool(self, run: Run) -> Spool:
        """Create the spool of a run, with its hint."""
        spool = self.create_spool(self.spool(run))
        self.write_hint(spool, run)
        return spool

    def create_spool(self, spool: Spool) -> Spool:
        """Create the folder of a spool in the user's state. Raises UsageError where there is no place for it."""
        self.note_root()
        spool.make()
        return spool

    def note_root(self) -> None:
        """Note in the user's state of which root it is. Raises UsageError where there is no place for it."""
        if self._state is None:
            raise UsageError(
                "no folder for the files of detached runs",
                cause="neither XDG_STATE_HOME nor HOME names an absolute path",
                hint="set HOME",
            )
        make_folder(self._state, within=self._state, private=True)
        note = self._state / ROOT_NOTE
        if not os.path.lexists(note):
            write_text(note, os.path.realpath(self.root), within=self._state, durable=False)

    def write_hint(self, spool: Spool, run: Run) -> None:
        """Write into a spool which run it belongs to."""
        write_text(spool.folder / HINT, hint_of(run), within=spool.within, durable=False)

    def run_of(self, marker: str) -> Run | None:
        """The run whose record names this marker, also after it was renumbered. None if there is none, for example
        because its record is on another branch. Raises StoreError if the record cannot be read."""
        hint = self.hint(marker)
        place = place_of_hint(hint) or place_of_hint(marker)
        damage: StoreError | None = None
        if place is not None and os.path.lexists(self.run_folder(*place) / "run.json"):
            try:
                run = self.run(*place)
                if marker_name(run) == marker:
                    return run
            except StoreError as error:
                damage = error
        for entry_id in sorted(names_in(self.runs_folder, within=self.root)):
            for _, found in self.each_run(entry_id):
                if not isinstance(found, LogbookError) and marker_name(found) == marker:
                    return found
        if damage is not None:
            raise damage
        return None

    def reread(self, run: Run) -> Run:
        """The current record of a run, also after it was renumbered. Raises StoreError if it is gone."""
        with contextlib.suppress(StoreError):
            found = self.run(run.entry, run.run)
            if marker_name(found) == marker_name(run):
                return found
        moved = self.run_of(marker_name(run))
        if moved is None:
            raise StoreError(
                f"the record of {run.entry} run {run.run} is gone",
                cause="it was removed, or another branch was checked out while it ran",
                hint="logbook doctor",
            )
        return moved

    def hint(self, marker: str) -> str:
        """The run that a marker was made for, such as `MOE-I8-003.02`; empty if unknown."""
        path = self.open_folder / marker
        if not path.is_file():
            path = self.spool_named(marker).folder / HINT
        if not os.path.lexists(path):
            return ""
        with contextlib.suppress(StoreError):
            return read_text(path, within=self.within(path), limit=_HINT_BYTES)
        return ""

    def spool_named(self, name: str) -> Spool:
        """The spool of this name: in the user's state, or in the logbook while an earlier version's is there."""
        # Most commands meet none.
        from logbook_agent.store.spool import Spool

        old = self.open_folder / name
        is_old = old.is_dir() and not old.is_symlink()
        if is_old or self._state is None or self.state_folder is None:
            return Spool(folder=old, within=self.root, redactor=self._redactor, is_old=True)
        return Spool(folder=self.state_folder / name, within=self._state, redactor=self._redactor)

    def within(self, path: Path) -> Path:
        """The folder that a file of this logbook must not leave: the root, or the user's state."""
        return self.root if self._state is None or not path.is_relative_to(self._state) else self._state

    def _spool_names(self) -> list[str]:
        """The names of all spools, also of those that an earlier version left in the logbook."""
        found = {name for name in self._marker_names() if (self.open_folder / name).is_dir()}
        if self._state is not None and self.state_folder is not None and self.state_folder.is_dir():
            found.update(names_in(self.state_folder, within=self._state))
        return sorted(found)

    def _marker_names(self) -> list[str]:
        return names_in(self.open_folder, within=self.root)

    def series(self, entry_id: str) -> Spool:
        """Where a series of runs of an entry that goes on by itself keeps its lock, its log and its end."""
        return self.spool_named(f"{entry_id}{SERIES}")

    def series_names(self) -> list[str]:
        """The entries that such a series was started for, and what it left is still there."""
        return [name.removesuffix(SERIES) for name in self._spool_names() if name.endswith(SERIES)]

    def spools(self) -> list[Spool]:
        """The spools there are, of runs that go on or whose end was not taken in yet; in the order of their names."""
        found = (self.spool_named(name) for name in self._spool_names() if is_marker_name(name))
        return [spool for spool in found if spool.folder.is_dir() and not spool.folder.is_symlink()]

    def life(self, run: Run) -> Life:
        """What is left of a run that has not ended."""
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
        from logbook_agent.store.spool import BEGAN

        return self.spool(run).has(BEGAN)

    def heartbeat(self, run: Run) -> Heartbeat | None:
        """The last sign of life of a worker; None where there is none, or it cannot be read."""
        if run.executor is None:
            return None
        with contextlib.suppress(StoreError):
            return self.spool(run).heartbeat()
        return None

    def engine_said(self, run: Run) -> str | None:
        """What the engine of a run on another machine said of it last, such as why it waits; None where it said
        nothing, or that cannot be read."""
        if run.executor is None:
            return None
        with contextlib.suppress(StoreError):
            spool = self.spool(run)
            seen = spool.seen()
            return (seen.said if seen is not None else None) or spool.trouble()
        return None

    def is_marked(self, run: Run) -> bool:
        """Whether a run that has not ended is marked as it should be: by its spool where a worker makes it, else by a
        file."""
        return (run.executor is not None) == self.spool(run).folder.is_dir()

    def open_runs(self) -> list[Run]:
        """Runs that were started here and have not been finished, in no order; most of them are going on."""
        found = []
        for name in {*self._marker_names(), *self._spool_names()}:
            if is_marker_name(name):
                with contextlib.suppress(StoreError):  # `doctor` tells of markers that lead nowhere
                    run = self.run_of(name)
                    found += [run] if run is not None else []
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
        for number in self.run_stamps(entry_id):
            try:
                found.append((number, self.run(entry_id, number)))
            except StoreError as error:
                found.append((number, error))
        return found

    def run_stamps(self, entry_id: str) -> dict[int, tuple[int, int]]:
        """By number, when (ns) each record of an entry's runs last changed in any way, and its size; in order."""
        folder, found = self.runs_folder / entry_id, {}
        for number in self.run_numbers(entry_id):
            with contextlib.suppress(OSError):  # cut off before it had a record
                state = os.lstat(f"{folder}/{number:02d}/run.json")
                found[number] = (state.st_ctime_ns, state.st_size)
        return found

    def run_numbers(self, entry_id: str) -> list[int]:
        """The numbers of an entry's runs by the names of their folders, in order; some may have no record yet."""
        return sorted(self._run_numbers(entry_id))

    def remember(self, place: str, key: str, make: Callable[[], str]) -> str:
        """The text that was kept in a place under this key; else what `make` returns, which is kept."""
        return remember(self.index_path, place, key, make)

    def _run_numbers(self, entry_id: str) -> list[int]:
        names = names_in(self.runs_folder / entry_id, within=self.root)
        return [number for name in names if (number := run_number(name)) is not None]

    # -- the whole -------------------------------------------------------------------------------

    def record(self, entry_id: str) -> Record:
        """An entry with its runs and state."""
        entry = self.entry(entry_id)
        return record_of(entry, self.runs(entry.id), self.life)

    def contents(self, known: Mapping[str, Record] | None = None) -> Contents:
        """All records in order; one that cannot be read is reported and the others still come. `known` are not read
        again."""
        good: list[Record] = []
        damaged: list[LogbookError] = []
        for entry_id in self.entry_ids():
            try:
                good.append((known or {}).get(entry_id) or self.record(entry_id))
            except (RecordError, StoreError) as error:
                damaged.append(error)
        return Contents(header=self.header, records=tuple(good), damaged=tuple(damaged))

    def summaries(self, summarise: Callable[[Record], dict[str, Any]]) -> Summaries:
        """What `summarise` says of every entry, from the index where its files have not changed.

        An entry with an unfinished run is always looked at anew: its state depends on living processes.
        """
        header = self.header
        redactor = self.redactor
        # Summaries hold no secret that was known when they were made.
        index = self.index(f"{self._header_stamp} {redactor.settings_key}", redactor.needles)
        found: list[dict[str, Any]] = []
        fresh: dict[str, tuple[Stamp, dict[str, Any]]] = {}
        damaged: list[LogbookError] = []
        ids = self.entry_ids()
        entries, runs = f"{self.entries_folder}/", f"{self.runs_folder}/"
        for entry_id in ids:
            known = functools.partial(index.runs_known, entry_id)
            try:
                stamp = stamp_of(f"{entries}{entry_id}.yaml", f"{runs}{entry_id}", known)
                summary = index.get(entry_id, stamp)
                if summary is None:
                    record = self.record(entry_id)
                    summary = summarise(record)
                    if all(s.run.exit is not None for s in record.runs):
                        fresh[entry_id] = (stamp, summary)
            except OSError as error:
                if self.has_entry(entry_id):
                    damaged.append(StoreError(f"cannot read {self.entry_path(entry_id)}: {error.strerror}"))
                continue  # else it was removed since it was listed
            except (RecordError, StoreError) as error:
                damaged.append(error)
                continue
            found.append(summary)
        index.save(fresh, ids)
        return Summaries(header=header, entries=tuple(found), damaged=tuple(damaged))

    def index(self, version: str, secrets: Sequence[bytes]) -> Index:
        """What is known of summaries that were made in this version, but for those that hold one of these secrets."""
        index = Index(self.index_path, version)
        index.load(secrets)
        return index

    def read_view(self) -> str | None:
        if not os.path.lexists(self.view_path):
            return None
        # Some editors put a byte order mark in front, which would hide the first marker.
        return read_text(self.view_path, within=self.root, limit=VIEW_BYTES).removeprefix("\ufeff")

    def write_view(self, text: str) -> None:
        write_text(self.view_path, text, within=self.root, durable=self.durable, derived=True)

    def backup(self, path: Path, stamp: str) -> Path:
        """Keep a file as it is before something mends it, once for each `stamp`; where it is kept."""
        kept = self.folder / "backups" / f"doctor-{stamp}" / path.relative_to(self.folder)
        make_folder(kept.parent, within=self.root)
        if not os.path.lexists(kept):
            copy(path, kept, within=self.root)
        return kept

    def backup_view(self, stamp: str) -> Path:
        """Save the view as it is beside it, under a name that is git-ignored."""
        backup = self.folder / "backups" / f"{self.topic}.{stamp}.md"
        make_folder(backup.parent, within=self.root)
        copy(self.view_path, backup, within=self.root, durable=self.durable)
        return backup
