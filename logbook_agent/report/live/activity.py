"""The runs of a logbook that are going on, as plain data: where, since when, how far, and their last lines.

Last lines come from the logs here; what runs on other machines print is brought here first.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

from logbook_agent.findings.progress import RunProgress, progress_of
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.record import UnfinishedRun, UnfinishedRunData
from logbook_agent.model.run import Run
from logbook_agent.model.worker_report import End
from logbook_agent.report.live.live_curves import LastPoint, LiveCurves
from logbook_agent.running.executors.contract import PIECE_BYTES
from logbook_agent.running.executors.table import executor_named
from logbook_agent.running.launch.output_log import readable
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.layout import LOG
from logbook_agent.store.open_runs import open_runs, open_series
from logbook_agent.store.spool import SENT, Heartbeat, Spool
from logbook_agent.store.workspace import Workspace

# Topic, entry, number.
RunKey = tuple[str, str, int]
# Of a log, at most so much of its end is read at once.
_TAIL_BYTES = 1 << 16
_LINES = 12
# Another machine is asked no more often.
_PACE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSeen:
    """The end of what a run has printed so far, its last sign of life, and why nothing new is known."""

    lines: tuple[str, ...] = ()
    heartbeat: Heartbeat | None = None
    trouble: str | None = None


@dataclass(slots=True)
class _Far:
    """A run on another machine: when it was asked, and why nothing new is known."""

    asked: Future[str | None] | None = None
    asked_at: float = float("-inf")
    trouble: str | None = None


class LiveRun(UnfinishedRunData):
    """A run that goes on, as plain data: of its entry the `title` and how far it is, its last `lines`, when it last
    `printed`, why nothing new is known of it, and how it `ended` if that is not in the record yet; of each of its
    `curves` the last point."""

    title: str
    lines: list[str]
    printed: str | None
    trouble: str | None
    ended: str | None
    progress: RunProgress | None
    curves: list[LastPoint]


class GoingOn(TypedDict):
    """The runs that go on, the entries whose runs a detached series makes now, and charts of the curves of these
    runs."""

    runs: list[LiveRun]
    series: list[str]
    charts: list[dict[str, Any]]


class LastLines:
    """Looks at runs that go on, again and again. Other machines are asked in threads, one for each executor, so that
    one that does not answer delays nothing. `redact` takes secrets out of a text."""

    def __init__(self, workspace: Workspace, redact: Callable[[str], str]) -> None:
        self._workspace, self._redact = workspace, redact
        self._tails: dict[Path, tuple[tuple[int, int], tuple[str, ...]]] = {}
        self._far: dict[RunKey, _Far] = {}
        self._pools: dict[str, ThreadPoolExecutor] = {}

    def seen(self, book: Book, run: Run) -> LastSeen:
        """The last known state of a run, at once; its machine is asked again in the background, and what is new there
        comes here."""
        spool, lines = book.spool(run), self._tail(book.log_path(run.entry, run.run), book.files)
        # Only what was submitted to another machine has that in its spool.
        if not spool.has(SENT):
            return LastSeen(lines=lines, heartbeat=book.heartbeat(run))
        far = self._far.setdefault((book.topic, run.entry, run.run), _Far())
        if far.asked is not None and far.asked.done():
            error = far.asked.exception()
            far.trouble = f"{type(error).__name__}: {error}" if error else far.asked.result()
            far.asked = None
        if far.asked is None and time.monotonic() - far.asked_at >= _PACE_S:
            name = str(run.executor)
            if name not in self._pools:
                self._pools[name] = ThreadPoolExecutor(1, thread_name_prefix="last-lines")
            far.asked, far.asked_at = self._pools[name].submit(self._ask, spool, name), time.monotonic()
        return LastSeen(lines=lines, heartbeat=book.heartbeat(run), trouble=self._said(far.trouble))

    def forget(self, topic: str, going: Collection[tuple[str, int]]) -> None:
        """Drop what is kept of runs of a logbook that are not among these."""
        self._far = {key: far for key, far in self._far.items() if key[0] != topic or key[1:] in going}
        self._tails = {} if not going else self._tails

    def close(self) -> None:
        """End the threads, as soon as the machines that they ask have answered."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, spool: Spool, executor: str) -> str | None:
        """Bring what is new of a run, piece by piece; why that cannot be done."""
        before, size, trouble = -PIECE_BYTES, 0, None
        while size - before >= PIECE_BYTES and trouble is None:
            try:
                trouble = executor_named(self._workspace, executor).look([spool], with_log=True).get(spool.folder)
                before, size = size, (spool.folder / LOG).stat().st_size if spool.has(LOG) else 0
            except (LogbookError, OSError) as error:
                trouble = getattr(error, "message", str(error))
        return trouble

    def _tail(self, path: Path, files: Folder) -> tuple[str, ...]:
        try:
            found = path.lstat()
            stamp = (found.st_mtime_ns, found.st_size)
            if path in self._tails and self._tails[path][0] == stamp:
                return self._tails[path][1]
            with files.open(path) as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(max(0, size - _TAIL_BYTES))
                data = log.read(_TAIL_BYTES)
        except (LogbookError, OSError):
            return ()  # there is none yet, or none any more
        lines = self._lines(data, is_whole=size <= _TAIL_BYTES)
        self._tails[path] = (stamp, lines)
        return lines

    def _lines(self, data: bytes, *, is_whole: bool) -> tuple[str, ...]:
        """The last lines as a person would have seen them. The first of what was cut off is left out: half a secret is
        not known as one."""
        lines = data.split(b"\n")
        if not is_whole:
            lines = lines[1:] if len(lines) > 1 else [data.partition(b"\r")[2]]
        return tuple(readable(line, self._redact) for line in [one for one in lines if one.strip()][-_LINES:])

    def _said(self, text: str | None) -> str | None:
        return readable(text.replace("\n", " ").encode(errors="replace"), self._redact) if text else None


class Activity:
    """Looks at the runs that go on, again and again."""

    def __init__(self, workspace: Workspace, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._lines = LastLines(workspace, redact)
        self._curves = LiveCurves(workspace)
        self._planned: dict[tuple[str, int], tuple[object, str, RunProgress | None]] = {}

    def look(self, book: Book, version: object) -> GoingOn:
        """What goes on in a logbook now. `version` is another one whenever the records have changed."""
        runs = open_runs(book)
        data = [self._data(book, one, version) for one in runs]
        keys = {(one.run.entry, one.run.run) for one in runs}
        self._planned = {key: known for key, known in self._planned.items() if key in keys}
        self._lines.forget(book.topic, keys)
        self._curves.forget(keys)
        metrics = [metric.name for metric in book.header.metrics] if any(one["curves"] for one in data) else []
        return {"runs": data, "series": open_series(book), "charts": self._curves.charts(metrics)}

    def close(self) -> None:
        self._lines.close()

    def _data(self, book: Book, one: UnfinishedRun, version: object) -> LiveRun:
        run = one.run
        seen = self._lines.seen(book, run)
        beat = seen.heartbeat
        title, progress = self._progress(book, run, version)
        return {
            **one.data(),
            "title": title,
            "heartbeat": beat.at if beat is not None else None,
            "last": self._redact(beat.last) if beat is not None and beat.last else None,
            "lines": list(seen.lines),
            "printed": _printed(book, run),
            "said": self._redact(one.said) if one.said else None,
            "trouble": seen.trouble,
            "ended": _ended(book, run),
            "progress": progress,
            "curves": self._curves.look(book, run),
        }

    def _progress(self, book: Book, run: Run, version: object) -> tuple[str, RunProgress | None]:
        """The title of an entry and how far it is, found again when the records have changed."""
        key = (run.entry, run.run)
        known = self._planned.get(key)
        if known is None or known[0] != version:
            title, progress = "", None
            with contextlib.suppress(LogbookError):  # what cannot be read is told elsewhere
                title = book.entry(run.entry).title
                record = book.record(run.entry)
                progress = progress_of(record.entry, record.runs, run)
            known = self._planned[key] = (version, title, progress)
        return known[1], known[2]


def _ended(book: Book, run: Run) -> str | None:
    """How a run ended that is not in the record yet: its worker is done, and no command has collected it."""
    spool = book.spool(run)
    with contextlib.suppress(LogbookError, OSError):
        end = spool.get(End) if spool.folder.is_dir() else None
        if end is not None:
            if end.exit.signal is not None:
                return f"ended by {end.exit.signal}"
            return f"ended with exit code {end.exit.code}"
    return None


def _printed(book: Book, run: Run) -> str | None:
    """When its log last grew, where that is written here."""
    try:
        found = book.log_path(run.entry, run.run).lstat()
    except OSError:
        return None
    return datetime.fromtimestamp(found.st_mtime, UTC).isoformat(timespec="seconds")
