"""The last lines of runs that go on, for whoever only looks: nothing is written to their spools.

To follow a run on another machine leaves traces in the client's spool (what was seen, a heartbeat, a log), and may
close the worker's spool when nobody holds the client's. So it is followed through a copy of the spool, in a folder of
the onlooker's own, whose lock the onlooker holds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from logbook_agent.model.errors import LogbookError
from logbook_agent.model.run import Run
from logbook_agent.running.executors.contract import Executor
from logbook_agent.running.executors.table import executor_of
from logbook_agent.running.launch.output import readable
from logbook_agent.store.book import Book
from logbook_agent.store.files import write_atomic
from logbook_agent.store.reading import RUN_BYTES, names_in, open_file, read_bytes
from logbook_agent.store.spool import SENT, Heartbeat, Spool
from logbook_agent.store.workspace import Workspace

# Topic, entry, number.
RunKey = tuple[str, str, int]
# Of a log, at most so much of its end is read at once.
TAIL_BYTES = 1 << 16
LINES = 12
# Of so many logs the lines are kept.
_KEPT = 200
# Another machine is asked no more often.
_PACE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSeen:
    """The end of what a run has printed so far, its last sign of life, what its engine says, and why nothing new is
    known."""

    lines: tuple[str, ...] = ()
    heartbeat: Heartbeat | None = None
    said: str | None = None
    trouble: str | None = None


@dataclass(slots=True)
class _Followed:
    """A run on another machine: the path of its spool, and the copy of the spool that is followed."""

    original: Path
    spool: Spool
    claim: int
    offset: int | None = None
    data: bytes = b""
    asked: float = float("-inf")
    last: LastSeen = field(default_factory=LastSeen)


class Onlookers:
    """Look at runs that go on, again and again. Machines elsewhere are asked in threads, one for each executor, so that
    one that does not answer holds up nothing. `folder` is their own; `redact` takes secrets out of a text."""

    def __init__(self, workspace: Workspace, folder: Path, redact: Callable[[str], str]) -> None:
        self._workspace, self._folder, self._redact = workspace, folder, redact
        self._tails: dict[Path, tuple[tuple[int, int], tuple[str, ...]]] = {}
        self._far: dict[str | None, tuple[ThreadPoolExecutor, _FarOnlooker]] = {}
        self._asked: dict[RunKey, Future[LastSeen | None]] = {}
        self._told: dict[RunKey, LastSeen] = {}

    def seen(self, book: Book, run: Run) -> LastSeen:
        """What is known of a run now, at once: the log, where it is written here, the last heartbeat, and what its
        machine said last. Meanwhile that is asked again."""
        beat = book.heartbeat(run)
        here = LastSeen(lines=self._tail(book.log_path(run.entry, run.run), book.root), heartbeat=beat)
        far = self._ask(book, run)
        if far is None:
            return here
        return replace(far, lines=far.lines or here.lines, heartbeat=far.heartbeat or beat)

    def forget(self, topic: str, going: Collection[tuple[str, int]]) -> None:
        """Drop what is kept of runs of a logbook that are not among these."""
        for kept in (self._asked, self._told):
            for key in [key for key in kept if key[0] == topic and key[1:] not in going]:
                kept.pop(key)

    def close(self) -> None:
        """End the threads, as soon as the machines that they ask have answered."""
        for pool, _ in self._far.values():
            pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, book: Book, run: Run) -> LastSeen | None:
        key = (book.topic, run.entry, run.run)
        asked = self._asked.get(key)
        if asked is not None and not asked.done():
            return self._told.get(key)
        if asked is not None:
            error = asked.exception()
            found = LastSeen(trouble=f"{type(error).__name__}: {error}") if error is not None else asked.result()
            if found is None:
                return None  # it is made here
            self._told[key] = found
        if run.executor not in self._far:
            far = _FarOnlooker(self._workspace, self._folder / f"far{len(self._far)}", self._redact)
            self._far[run.executor] = (ThreadPoolExecutor(1, thread_name_prefix="onlooker"), far)
        pool, far = self._far[run.executor]
        self._asked[key] = pool.submit(far.seen, book, run)
        return self._told.get(key)

    def _tail(self, path: Path, within: Path) -> tuple[str, ...]:
        try:
            found = path.lstat()
            stamp = (found.st_mtime_ns, found.st_size)
            if path in self._tails and self._tails[path][0] == stamp:
                return self._tails[path][1]
            with open_file(path, within=within) as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(max(0, size - TAIL_BYTES))
                data = log.read(TAIL_BYTES)
        except (LogbookError, OSError):
            return ()  # there is none yet, or none any more
        lines = _lines(self._redact, data, is_whole=size <= TAIL_BYTES)
        if len(self._tails) > _KEPT:
            self._tails.clear()
        self._tails[path] = (stamp, lines)
        return lines


class _FarOnlooker:
    """Asks the machines of one executor, in a thread of its own."""

    def __init__(self, workspace: Workspace, folder: Path, redact: Callable[[str], str]) -> None:
        self._workspace, self._folder, self._redact = workspace, folder, redact
        self._followed: dict[RunKey, _Followed] = {}

    def seen(self, book: Book, run: Run) -> LastSeen | None:
        """What the machine of a run says of it, which may take long; None where the run is made here. Between two
        questions the last answer stands."""
        try:
            far = executor_of(self._workspace, run)
            if far.place is None:
                return None
        except LogbookError:
            return None
        self._forget(book)
        if not book.spool(run).has(SENT):
            return LastSeen()  # it is just being submitted
        key = (book.topic, run.entry, run.run)
        try:
            followed = self._followed.get(key) or self._copied(book, run)
            self._followed[key] = followed
            if time.monotonic() - followed.asked >= max(_PACE_S, far.pace_s):
                followed.last = self._asked(followed, far)
                followed.asked = time.monotonic()
        except (LogbookError, OSError) as error:
            said = error.message if isinstance(error, LogbookError) else str(error)
            return LastSeen(heartbeat=book.heartbeat(run), trouble=_said(self._redact, said))
        return followed.last

    def _forget(self, book: Book) -> None:
        """Let go of the copies of spools that are not there any more."""
        for key in [k for k, one in self._followed.items() if k[0] == book.topic and not one.original.is_dir()]:
            os.close(self._followed.pop(key).claim)

    def _copied(self, book: Book, run: Run) -> _Followed:
        """The copy of a spool. Its lock is held, so that nothing is closed on the other machine."""
        spool = book.spool(run)
        within = self._folder / book.topic
        copy = Spool(folder=within / spool.folder.name, within=within, redactor=spool.redactor)
        copy.make()
        for name in names_in(spool.folder, within=spool.within):
            if name.endswith(".json"):
                data = read_bytes(spool.folder / name, within=spool.within, limit=RUN_BYTES)
                write_atomic(copy.folder / name, data, within=within, durable=False)
        claim = copy.claim()
        if claim is None:
            raise AssertionError(f"{copy.folder} is held by somebody else")
        return _Followed(original=spool.folder, spool=copy, claim=claim)

    def _asked(self, followed: _Followed, far: Executor) -> LastSeen:
        if followed.offset is None:
            # A long log is not brought here for its end.
            beat = followed.spool.heartbeat()
            followed.offset = max(0, beat.bytes - TAIL_BYTES) if beat is not None else 0
        found = far.follow(followed.spool, followed.offset)
        followed.offset += len(found.output)
        followed.data = (followed.data + found.output)[-TAIL_BYTES:]
        return LastSeen(
            lines=_lines(self._redact, followed.data, is_whole=followed.offset <= len(followed.data)),
            heartbeat=found.heartbeat,
            said=_said(self._redact, found.said),
            trouble=_said(self._redact, found.trouble),
        )


def _lines(redact: Callable[[str], str], data: bytes, *, is_whole: bool) -> tuple[str, ...]:
    """The last lines as a person would have seen them. The first of what was cut off is left out: half a secret is not
    known as one."""
    lines = data.split(b"\n")
    if not is_whole:
        lines = lines[1:] if len(lines) > 1 else [data.partition(b"\r")[2]]
    return tuple(readable(line, redact) for line in [one for one in lines if one.strip()][-LINES:])


def _said(redact: Callable[[str], str], text: str | None) -> str | None:
    return readable(text.replace("\n", " ").encode(errors="replace"), redact) if text else None
