"""One logbook, followed as it changes: read again when its files show that it has changed. For that, nothing is opened
or locked."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from logbook_agent.findings.read import Findings, read
from logbook_agent.model.errors import LogbookError
from logbook_agent.report.live.activity import Activity, GoingOn
from logbook_agent.report.live.cached_book import CachedBook
from logbook_agent.running.launch.output_log import readable
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.redaction.redactor import by_shape

# How often is looked for a change (s).
LOOK_S = 0.5
# A reading is made again no sooner than so many times its processor time.
_REST = 2.0
# What could not be read is tried again after so long, although nothing has changed.
_AGAIN_S = 1.0
# The part of a processor that looking at files may take.
_PART = 0.01


class Marks:
    """How a logbook's files looked last, to find out whether they have changed since; a missing store counts, too."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._folders: Hashable = None
        self._files: Hashable = None
        self._due = float("-inf")

    def have_changed(self) -> bool:
        """Whether anything is not as it was at the last look; True at the first one."""
        # Every command shows in these folders; an editor and git may show in a file alone.
        book = self._book
        folders = tuple(map(_mark, (book.header_path, book.open_folder, book.entries_folder, book.runs_folder)))
        if folders == self._folders and time.monotonic() < self._due:
            return False
        # Not by the clock: a process that was held up for a second in its look would be blind for minutes.
        began_s = time.thread_time()
        files = hash(tuple(self._marks()))
        self._due = time.monotonic() + (time.thread_time() - began_s) / _PART
        has = (folders, files) != (self._folders, self._files)
        self._folders, self._files = folders, files
        return has

    def _marks(self) -> Iterator[Hashable]:
        for path in _inside(self._book.entries_folder):
            yield path, _mark(path)
        for folder in _inside(self._book.runs_folder):
            # A record that is written in place shows in its file alone, a log that was deleted in the folder.
            for path in _inside(folder):
                yield path, _mark(path), _mark(f"{path}/run.json")


def _inside(folder: str | Path) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return sorted(one.path for one in found)
    except OSError:
        return []


def _mark(path: str | Path) -> tuple[int, int, int] | None:
    """The inode of a file or folder, its last change and its size; None where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns, found.st_size


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveBook:
    """What is known of a logbook. `version` is another one whenever the records have changed; `trouble` says why it
    cannot be read now: then all else is what it was before. `found` None: it could not be read yet."""

    version: int = 0
    found: Findings | None = None
    going: GoingOn = field(default_factory=lambda: GoingOn(runs=[], series=[], charts=[]))
    trouble: str | None = None


class Follower:
    """Reads a logbook when it has changed. `space()` makes a workspace that only looks."""

    def __init__(self, space: Callable[[], Workspace], topic: str) -> None:
        self._space, self._topic = space, topic
        self.workspace = space()
        self.book = self._new_book()
        self._marks = Marks(self.book)
        self._going = Activity(self.workspace, self._redact)
        self._due, self._is_stale = 0.0, True
        # Why the last reading failed.
        self._unread: str | None = None
        self.last = LiveBook()
        self._lock = threading.Lock()

    def look(self) -> LiveBook:
        """What is known now. Quick where nothing has changed; never raises for what the store holds. Several threads
        may ask."""
        with self._lock:
            return self._look()

    def _look(self) -> LiveBook:
        self._is_stale = self._marks.have_changed() or self._is_stale
        going, trouble = self._look_at_runs()
        if _states(going) != _states(self.last.going):
            self._is_stale = True  # a process that died changes no file
        if self._is_stale and time.monotonic() >= self._due:
            self._read()
        self.last = dataclasses.replace(self.last, going=going, trouble=self._unread or trouble)
        return self.last

    def close(self) -> None:
        self._going.close()

    def _read(self) -> None:
        began_s, rest_s = time.thread_time(), 0.0
        self._is_stale, self._unread = False, None
        try:
            space = self._space()
            if space.config != self.workspace.config:
                # Another branch may hide other secrets: what is remembered was read by the settings before.
                self.workspace = space
                self.book = self._new_book()
            found = read(self.workspace, self.book)
            _ = found.summaries, found.header
            self.last = LiveBook(version=self.last.version + 1, found=found)
        except Exception as error:  # noqa: BLE001 - whatever a store holds that changes meanwhile, the next look may read it
            self._unread = self.told(error)
            self._is_stale, rest_s = True, _AGAIN_S
        self._due = time.monotonic() + rest_s + _REST * (time.thread_time() - began_s)

    def _look_at_runs(self) -> tuple[GoingOn, str | None]:
        try:
            return self._going.look(self.book, self.last.version), None
        except Exception as error:  # noqa: BLE001 - as above
            return self.last.going, self.told(error)

    def _new_book(self) -> CachedBook:
        """The logbook, read anew by the settings of this workspace."""
        space = self.workspace
        return CachedBook(space.root, self._topic, redactor=lambda: space.redactor, places=space.places)

    def _redact(self, text: str) -> str:
        return self.workspace.redactor.text(text)

    def told(self, error: Exception) -> str:
        """What is said of an error, in a line without secrets."""
        return line_of(error, self.workspace)


def _states(going: GoingOn) -> list[tuple[Any, ...]]:
    return [(one["id"], one["run"], one["state"], one["ended"]) for one in going["runs"]]


def line_of(error: Exception, workspace: Workspace) -> str:
    """An error as one line without secrets, for a page or a terminal."""
    text = error.message if isinstance(error, LogbookError) else f"{type(error).__name__}: {error}"
    try:
        redact = workspace.redactor.text
    except LogbookError:  # the settings, with rules of their own, cannot be read
        redact = by_shape().text
    return readable(text.replace("\n", " ").encode(errors="replace"), redact)
