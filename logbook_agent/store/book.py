"""One logbook on disk: where its files are, and the few operations that read and write them."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy as copy_of
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from msgspec import Struct, structs

from logbook_agent.model.entry import RELATIONS, Entry, bare_id, id_number, parse_id, sorted_ids, typed_id
from logbook_agent.model.errors import LogbookError, NotFound, StoreError, UsageError
from logbook_agent.model.header import Header
from logbook_agent.model.record import GOING, Contents, Record, RunStatus, Summaries, is_made, record_of, run_state
from logbook_agent.model.values import run_number
from logbook_agent.store import records
from logbook_agent.store.book_runs import BookRuns
from logbook_agent.store.folder import VIEW_BYTES, Folder
from logbook_agent.store.names import HEADER, Claims, ExecutedAt, Reservations, new_uid, reservations_of
from logbook_agent.store.places import branch_of, repository_of
from logbook_agent.text.redaction.plain import clean_record

if TYPE_CHECKING:
    from logbook_agent.model.run import Run
    from logbook_agent.model.summary import Summary

_R = TypeVar("_R")
_PACKAGE = Path(__file__).resolve().parents[1]
# The place of summaries in the cache.
_SUMMARIES = "summaries"


class Book(BookRuns):
    """An existing logbook.

    Every write passes the redactor that `redactor` returns at that moment. Reads return what the files hold; those of
    `outgoing` hold no secrets. Errors never do. `places`: the user's folders for the root; without a cache nothing
    computed is kept, without state no worker can be started.
    """

    _header: Header | None = None
    _header_stamp: records.Stamp | None = None

    @property
    def header(self) -> Header:
        """As it was read last: others may have changed it since."""
        if self._header is None:
            # Taken first: what is found under it may be newer than that, but never older.
            self._header_stamp = records.file_stamp(self.header_path)
            with self._without_secrets():
                header = records.read_header(self.files, self.header_path, self.names.id_of)
            self._header = self._redacted(_with_baseline_runs(header, self._present_run))
        return self._header

    def outgoing(self) -> Self:
        """The same logbook, read without secrets: for everything that is shown or sent."""
        if self.is_outgoing:
            return self
        other = copy_of(self)
        other.is_outgoing = True
        other._header = None if self._header is None else other._redacted(self._header)
        return other

    def _redacted(self, record: _R) -> _R:
        return clean_record(record, self.redactor) if self.is_outgoing else record

    @functools.cached_property
    def cache(self) -> Cache:
        """What was computed of this logbook."""
        return Cache(self._cache_folder, self.topic)

    def reread_header(self) -> Header:
        """The header as it stands on disk now."""
        self._header = None
        return self.header

    def lock(self) -> AbstractContextManager[None]:
        return self.files.lock(self.folder / ".lock")

    # -- entries ---------------------------------------------------------------------------------

    def entry_path(self, entry_id: str) -> Path:
        return self.entries_folder / f"{self.whole_name(entry_id)}.yaml"

    def entry_ids(self) -> list[str]:
        """IDs of all entries in order of their numbers."""
        return sorted_ids(self.names.ids, self.header.prefix)

    @functools.cached_property
    def reservations(self) -> Reservations:
        """The IDs that were handed out, in all worktrees of this clone."""
        return reservations_of(self.root, self.header.prefix)

    @property
    def claims(self) -> Claims:
        """Which planned entries are being executed, in all worktrees of this clone."""
        return Claims(place=self.reservations)

    def has_entry(self, entry_id: str) -> bool:
        # A link that leads nowhere is an entry that cannot be read, not none.
        return os.path.lexists(self.entry_path(entry_id))

    def resolve(self, entry_id: str) -> str:
        """The ID of the entry that is called `entry_id`. Raises NotFound with the nearest IDs, and UsageError where two
        entries have the number."""
        entry_id = typed_id(entry_id)
        # An ID is part of a path: only what looks like one of ours may be.
        if id_number(entry_id, self.header.prefix) is None:
            raise self._unknown(entry_id)
        if self.has_entry(entry_id):
            return self.names.id_of(entry_id)
        if len(twins := self.names.twins(entry_id)) > 1 and entry_id == bare_id(entry_id):
            raise UsageError(
                f"{len(twins)} entries are called {entry_id}: {', '.join(twins)}",
                cause="two clones gave out one number",
                hint=f"logbook show {twins[0]}",
            )
        raise self._unknown(entry_id)

    def entry_text(self, entry_id: str) -> str:
        """The file of an entry as it stands."""
        return self.files.text(self.entry_path(entry_id))

    def entry(self, entry_id: str) -> Entry:
        """One entry. Raises NotFound with the nearest IDs."""
        entry_id = self.resolve(entry_id)
        with self._without_secrets():
            found = records.read_entry(self.files, self.entry_path(entry_id))
        return self._redacted(_naming(found, entry_id, self.names.id_of, self._present_run))

    def write_entry(self, entry: Entry) -> Entry:
        """Write an entry without its secrets; returns what was written."""
        entry = clean_record(entry, self.redactor)
        self.files.make(self.entries_folder)
        if entry.id not in self._own and not self.has_entry(entry.id):
            self.name_entry(entry.id)
        stored = _naming(entry, entry.id, self.whole_name, self._whole_run)
        records.write(self.files, self.entry_path(entry.id), stored)
        self.changed.add(entry.id)
        return structs.replace(entry, name=self.whole_name(entry.id))

    def name_entry(self, entry_id: str) -> None:
        """Give a new entry its whole name, so that runs can be written before it."""
        self._own[entry_id] = f"{entry_id}.{new_uid()}" if entry_id == bare_id(entry_id) else entry_id

    def change_entry(self, entry_id: str, change: Callable[[Entry], Entry]) -> Entry:
        """Rewrite an entry, starting from what is on disk now."""
        with self.lock():
            before = self.entry(entry_id)
            entry = change(before)
            return before if entry == before else self.write_entry(entry)

    def write_header(self, header: Header) -> Header:
        """Write the header without its secrets; returns what was written."""
        header = clean_record(header, self.redactor)
        self.files.make(self.folder)
        stored = _with_baseline_runs(header, self._whole_run)
        records.write(self.files, self.header_path, stored, self.whole_name)
        self.changed.add(HEADER)
        self._header, self._header_stamp = header, records.file_stamp(self.header_path)
        return header

    def change_header(self, change: Callable[[Header], Header]) -> Header:
        """Rewrite the header, starting from what is on disk now."""
        with self.lock():
            before = self.reread_header()
            header = change(before)
            return before if header == before else self.write_header(header)

    def _unknown(self, entry_id: str) -> NotFound:
        ids = self.entry_ids()
        left = map(bare_id, self.files.names(self.runs_folder))
        if id_number(entry_id, self.header.prefix) is not None and bare_id(entry_id) in left:
            cause, hint = (
                "its file was removed, but its runs are there",
                "logbook doctor",
            )
        elif self.reservations.files.has(entry_id):
            root = Path(str(self.reservations.root_of(entry_id)))
            place = repository_of(root) if root != self.root and root.is_dir() else None
            cause = f"its ID is taken, but its file is not here: another worktree made it, {root}"
            branch = (place and branch_of(place)) or "BRANCH"
            hint = f"go on there; or commit that folder there and merge its branch, with its code: git merge {branch}"
            if place is None:
                cause = "its ID is taken, but its file is not here: it is on another branch, or a command just began"
                hint = f"find its commit: git log --all --oneline -- ':/*{entry_id}.*'"
        elif not ids:
            cause, hint = f"{self.topic} has no entries yet", "record one with: logbook run -- COMMAND"
        elif parse_id(entry_id) is None:
            cause, hint = f"an ID looks like {ids[-1]}", f"try: logbook show {ids[-1]}"
        else:
            cause = f"{self.topic} holds {ids[0]}" + (f" to {ids[-1]}" if len(ids) > 1 else " alone")
            hint = f"list them with: logbook -L {self.topic} list"
        return NotFound(f"no entry {entry_id}", cause=cause, hint=hint)

    # -- the whole -------------------------------------------------------------------------------

    def record(self, entry_id: str) -> Record:
        """An entry with its runs and state."""
        return self._record_of(entry_id, self.runs(entry_id))

    def _record_of(self, entry_id: str, runs: tuple[Run, ...]) -> Record:
        header = self.header
        return record_of(self.entry(entry_id), runs, self.stage, header.gates, header.free, header.gates_since)

    def elsewhere(self, record: Record) -> ExecutedAt | None:
        """Where and when an entry got runs that are not here: another worktree has them, which may still make them, or
        there were more. None where it did not."""
        here = {status.run.name for status in record.runs if is_made(status.run)}
        missing = [
            one
            for runs, one in self.claims.of(record.id).executed.items()
            if (runs.isdecimal() and int(runs) > len(here)) or self._has_others(Path(one.root), record.id, here)
        ]
        return max(missing, key=lambda one: one.at, default=None)

    def _has_others(self, root: Path, entry_id: str, here: Collection[str]) -> bool:
        """Whether the logbook in another root has runs of an entry that are being made, or came to their end."""
        if root == self.root:
            return False
        other = Book(root, self.topic)
        with contextlib.suppress(StoreError):  # what is wrong with it is said there
            others = [run for run in other.runs(entry_id) if run.name not in here]
            return any(is_made(run) or run_state(run, other.stage) in GOING for run in others)
        return False

    def statuses(self, runs: Sequence[Run]) -> list[RunStatus]:
        """These runs as they are judged, with their states; where another run of their entry cannot be read, as they
        are judged without it."""
        found: dict[tuple[str, int], RunStatus] = {}
        for entry_id in {run.entry: None for run in runs}:
            own = tuple(run for run in runs if run.entry == entry_id)
            try:
                # Runs that are here already are not read again: one may have a million rows.
                is_whole = {run.run for run in own} == {*self.run_numbers(entry_id)}
                record = self._record_of(entry_id, own) if is_whole else self.record(entry_id)
            except StoreError:
                record = self._record_of(entry_id, own)
            found |= {(s.run.entry, s.run.run): s for s in record.runs}
        return [found[run.entry, run.run] for run in runs if (run.entry, run.run) in found]

    def contents(self, known: Mapping[str, Record] | None = None) -> Contents:
        """All records in order; one that cannot be read is reported and the others still come. `known` are not read
        again."""
        good: list[Record] = []
        damaged: list[LogbookError] = []
        for entry_id in self.entry_ids():
            try:
                good.append((known or {}).get(entry_id) or self.record(entry_id))
            except NotFound:
                continue  # it was removed since it was listed
            except StoreError as error:
                damaged.append(error)
        return Contents(records=tuple(good), damaged=tuple(damaged))

    def summaries(self, summarise: Callable[[Record], Summary]) -> Summaries:
        """The summary of every entry by `summarise`, from the cache where its files have not changed.

        An entry with an unfinished run is always looked at anew: its state depends on living processes.
        """
        ids, redactor, began_ns = self.entry_ids(), self.redactor, time.time_ns()  # the header is read by now
        version = f"{self._header_stamp} {redactor.settings_key}"
        kept = self.cache.values(_SUMMARIES, redactor.forms)
        found: list[Summary] = []
        fresh: dict[str, tuple[str, str]] = {}
        damaged: list[LogbookError] = []
        entries, runs = f"{self.entries_folder}/", f"{self.runs_folder}/"
        for entry_id in ids:
            try:
                whole = self.whole_name(entry_id)
                files, newest_ns = stamp_of(f"{entries}{whole}.yaml", f"{runs}{whole}")
                before, text = kept.get(entry_id, ("", ""))
                if before == (stamp := f"{version} {files}"):
                    with contextlib.suppress(ValueError):  # the cache is damaged
                        found.append(json.loads(text))
                        continue
                record = self.record(entry_id)
                found.append(summarise(record))
                if began_ns - newest_ns > records.RACY_NS and all(s.run.exit is not None for s in record.runs):
                    fresh[entry_id] = stamp, json.dumps(found[-1], ensure_ascii=False)
            except (NotFound, FileNotFoundError):
                continue  # as above
            except OSError as error:
                damaged.append(StoreError(f"cannot read {self.entry_path(entry_id)}: {error.strerror}"))
            except StoreError as error:
                damaged.append(error)
        there = {*ids}
        if fresh or not kept.keys() <= there:
            self.cache.keep(_SUMMARIES, {key: value for key, value in {**kept, **fresh}.items() if key in there})
        return Summaries(entries=tuple(found), damaged=tuple(damaged))

    def read_view(self) -> str | None:
        if not os.path.lexists(self.view_path):
            return None
        return self.files.text(self.view_path, limit=VIEW_BYTES)


def _naming(entry: Entry, own: str, name: Callable[[str], str], run: Callable[[str, int], int]) -> Entry:
    """The entry under its own name, with those of the entries and runs that it speaks of."""
    named: dict[str, Any] = {key: name(other) for key in RELATIONS if (other := getattr(entry, key)) is not None}
    if entry.accepted:
        named["accepted"] = tuple(
            structs.replace(one, runs=tuple(run(own, n) for n in one.runs)) for one in entry.accepted
        )
    return structs.replace(entry, id=own, **named)


def _with_baseline_runs(header: Header, run: Callable[[str, int], int]) -> Header:
    """The header with those names of the runs that measured the baseline."""
    base = header.baseline
    if base is None or base.entry is None or not base.runs:
        return header
    entry = base.entry
    return structs.replace(header, baseline=structs.replace(base, runs=tuple(run(entry, n) for n in base.runs)))


# -- the cache -----------------------------------------------------------------------------------------


class Cache(Struct, frozen=True):
    """A disposable cache in the user's folder (None: there is no place for one): `(place, key) -> stamp, value`, a file
    for each place. It keeps what `list` and `status` say of each entry and its block of the view, each with the stamp
    of the data that it follows from; and when an executor that did not answer is asked again.

    Deleting or damaging it costs time alone, and nothing here raises for it. What another version of this package made
    is not read.
    """

    folder: Path | None
    topic: str

    def values(self, place: str, secrets: Collection[str] = ()) -> dict[str, tuple[str, str]]:
        """What is kept for a place: stamp and value by key. A value with one of these secrets is left out: the secret
        became known later."""
        if self.folder is None or not os.path.lexists(self.folder / self._file(place)):
            return {}
        with contextlib.suppress(StoreError, ValueError, TypeError):
            code, kept = json.loads(Folder(self.folder).text(self._file(place), limit=VIEW_BYTES))
            if code == code_key():
                return {key: (s, value) for key, s, value in kept if not any(secret in value for secret in secrets)}
        return {}

    def keep(self, place: str, values: Mapping[str, tuple[str, str]]) -> None:
        """Keep these values for a place, and no others. Where that fails, or another process
        replaces them at the same time, the next reader makes them again."""
        if self.folder is None:
            return
        text = json.dumps([code_key(), [[key, *value] for key, value in values.items()]], ensure_ascii=False)
        with contextlib.suppress(StoreError):
            files = Folder(self.folder)
            files.make(private=True)
            files.write(self._file(place), text, durable=False, private=True)

    def _file(self, place: str) -> str:
        return f"{self.topic}.{place}.json"


@functools.cache
def code_key() -> int:
    """A number of 31 bits that stands for this package: for the list of files in its wheel, which states what each
    holds; else for the sizes and times of change of its files. Never 0."""
    listed = sorted(_PACKAGE.parent.glob("logbook_agent-*.dist-info/RECORD"))
    data = b"".join(path.read_bytes() for path in listed) or "\n".join(sorted(_stamps(str(_PACKAGE)))).encode()
    return int.from_bytes(hashlib.sha256(data).digest()[:4]) >> 1 or 1


def _stamps(folder: str) -> Iterator[str]:
    for found in os.scandir(folder):
        if found.is_dir(follow_symlinks=False):
            if found.name != "__pycache__":
                yield from _stamps(found.path)
        else:
            state = found.stat()
            yield f"{found.path} {state.st_size} {state.st_mtime_ns}"


# -- the stamp of an entry -----------------------------------------------------------------------------


def stamp_of(entry: str, runs: str) -> tuple[str, int]:
    """When an entry's file and the records in the folder of its runs last changed, and their sizes, as text; and the
    newest of these times (ns). Raises OSError when the entry's file is gone.

    The times are those of the last change of any kind (ctime): a modification time can be set to anything.
    """
    state = os.lstat(entry)
    found = [("", state.st_ctime_ns, state.st_size)]
    try:
        names = os.listdir(runs)  # noqa: PTH208
    except (FileNotFoundError, NotADirectoryError):
        names = []
    for name in sorted(name for name in names if run_number(name) is not None):
        try:
            state = os.lstat(f"{runs}/{name}/run.json")
        except (FileNotFoundError, NotADirectoryError):
            found.append((name, 0, 0))  # its record is still to come
        else:
            found.append((name, state.st_ctime_ns, state.st_size))
    return repr(found), max(changed_ns for _, changed_ns, _ in found)
