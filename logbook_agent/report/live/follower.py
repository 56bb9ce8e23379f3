"""One logbook, looked at again and again: what its records say, read again when its files show a change, and what
runs now. Nothing is written or locked."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from msgspec import Struct, field, structs

from logbook_agent.cli.options import Common
from logbook_agent.findings.read import Findings, read
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.record import Record
from logbook_agent.report.live.live_runs import LiveRun, LiveRuns, ended, in_line
from logbook_agent.store.book import Book, stamp_of
from logbook_agent.store.book_runs import open_runs, open_series
from logbook_agent.store.records import RACY_NS
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.redaction.redactor import by_shape


def looking(common: Common) -> Workspace:
    """A new workspace in the root of the command that changes nothing there: it collects no run."""
    space = common.space()
    return structs.replace(space, root_option=str(space.root), arrive=None, warnings=[])


@contextlib.contextmanager
def ends_well(code: int, *numbers: signal.Signals) -> Iterator[None]:
    """These signals end the block, and the command with this exit code."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(code)

    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# A look is made at most so often (s). The next one waits for so many times its processor time: looking takes at most a
# twentieth of a processor, reading what changed a third.
LOOK_S = 1.0
_REST, _REST_AFTER_READING = 19.0, 2.0


class LiveBook(Struct, frozen=True, kw_only=True):
    """What is known of a logbook. `found`: its records, another object whenever they have changed; None before they
    could be read. `trouble` says why they cannot be read now; the rest is then what it was before. `series`: entries
    whose runs a detached series makes now; `charts`: the curves of what runs."""

    found: Findings | None = None
    runs: list[LiveRun] = field(default_factory=list)
    series: list[str] = field(default_factory=list)
    charts: list[dict[str, Any]] = field(default_factory=list)
    trouble: str | None = None


class Follower:
    """Looks at a logbook for any number of viewers. `space()` makes a workspace that only looks."""

    def __init__(self, space: Callable[[], Workspace], topic: str) -> None:
        self._space, self._topic = space, topic
        self._lock, self._due = threading.Lock(), 0.0
        self._files: Hashable = None
        self._last = LiveBook()
        self._runs = LiveRuns()
        self._open(space())

    def look(self) -> LiveBook:
        """What is known now. Never raises for what the store holds; several threads may ask."""
        with self._lock:
            if time.monotonic() >= self._due:
                # Processor time: a process that was held up in its look would be blind for long.
                began_s = time.thread_time()
                before, self._last = self._last, self._looked()
                rest = _REST if self._last.found is before.found else _REST_AFTER_READING
                self._due = time.monotonic() + max(LOOK_S, rest * (time.thread_time() - began_s))
            return self._last

    def _looked(self) -> LiveBook:
        last = self._last
        try:
            runs, found = open_runs(self.book), last.found
            # A process that died changes no file.
            files = _files(self.book), [(one.run.name, one.state, ended(self.book, one.run)) for one in runs]
            if files != self._files:
                self._files = None
                found = self._read()
                # Taken before: what was read may be newer than that, but never older.
                self._files = files
            shown = self._runs.look(self.workspace, self.book, found, runs)
            return LiveBook(found=found, runs=shown, series=open_series(self.book), charts=self._runs.charts(self.book))
        except Exception as error:  # noqa: BLE001 - whatever a store holds that changes meanwhile, the next look may read it
            return structs.replace(last, trouble=told(error, self.workspace))

    def _read(self) -> Findings:
        space = self._space()
        if space.config != self.workspace.config:
            # Another branch may hide other secrets: what is remembered was read by the settings before.
            self._open(space)
        found = read(self.workspace, self.book)
        _ = found.summaries, found.header, found.contents
        return found

    def _open(self, space: Workspace) -> None:
        self.workspace = space
        self.book = _KnownBook(space.root, self._topic, redactor=lambda: space.redactor, places=space.places)


class _KnownBook(Book):
    """A logbook whose records stay in memory while their files do not change. A file that changed less than a second
    ago is read again, and so is what has not ended: its state follows from living processes."""

    is_outgoing = True

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._records: dict[str, tuple[str, Record]] = {}

    def record(self, entry_id: str) -> Record:
        """As `Book.record`."""
        try:
            stamp, newest_ns = stamp_of(str(self.entry_path(entry_id)), str(self.entry_runs_folder(entry_id)))
        except OSError:
            return super().record(entry_id)
        known = self._records.get(entry_id)
        if known is not None and known[0] == stamp:
            return known[1]
        record = super().record(entry_id)
        if time.time_ns() - newest_ns > RACY_NS and all(s.run.exit is not None for s in record.runs):
            self._records[entry_id] = stamp, record
        return record


def _files(book: Book) -> Hashable:
    """When the files of a logbook last changed, and their sizes; a missing store counts, too."""
    entries, runs = _inside(book.entries_folder), [*map(_inside, _inside(book.runs_folder))]
    # A record that is written in place shows in its file alone, a log that was deleted in the folder of its run.
    own = (place for folder in runs for path in folder for place in (path, f"{path}/run.json"))
    return tuple((path, _mark(path)) for path in (str(book.header_path), str(book.open_folder), *entries, *own))


def _inside(folder: str | Path) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return sorted(one.path for one in found)
    except OSError:
        return []


def _mark(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns, found.st_size


def told(error: Exception, workspace: Workspace) -> str:
    """An error on one line, without secrets."""
    try:
        redact = workspace.redactor.text
    except LogbookError:  # the settings, with rules of their own, cannot be read
        redact = by_shape().text
    return in_line(error.message if isinstance(error, LogbookError) else f"{type(error).__name__}: {error}", redact)
