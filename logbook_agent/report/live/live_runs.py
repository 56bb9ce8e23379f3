"""The runs of a logbook that go on, as plain data: where, since when, how far, their last lines and curves.

Last lines come from the logs here; what runs on other machines print is brought here first.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypedDict

from msgspec import Struct

from logbook_agent.features import hook_module
from logbook_agent.findings.progress import RunProgress, progress_of
from logbook_agent.findings.read import Findings
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.record import UnfinishedRun, UnfinishedRunData
from logbook_agent.model.run import End, Run
from logbook_agent.running.executors.contract import PIECE_BYTES
from logbook_agent.running.executors.table import executor_named
from logbook_agent.running.launch.output_log import readable
from logbook_agent.running.reading import known_keys
from logbook_agent.store.book import Book
from logbook_agent.store.names import LOG
from logbook_agent.store.spool import SENT
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.redaction.plain import redacted

# Of a log, at most so much of its end is read at once.
_TAIL_BYTES = 1 << 16
_LINES = 12
# Another machine is asked no more often.
_PACE_S = 5.0


class LastPoint(TypedDict):
    """The latest point of a curve; `value` None: not finite."""

    name: str
    over: str
    step: float
    value: float | None


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


class _FarRun(Struct):
    """A run on another machine: when it is asked again, and why nothing new is known."""

    trouble: str | None = None
    asked: threading.Thread | None = None
    due: float = 0.0


class LiveRuns:
    """Looks at runs that go on, again and again. Other machines are asked in threads, so that one that does not
    answer delays nothing."""

    def __init__(self) -> None:
        # Both by the labels of their runs.
        self._far: dict[str, _FarRun] = {}
        self._curves: dict[str, Any] = {}
        # An executor is asked of one run at a time.
        self._turns: dict[str, threading.Lock] = {}

    def look(
        self, space: Workspace, book: Book, found: Findings | None, runs: Sequence[UnfinishedRun]
    ) -> list[LiveRun]:
        """The runs as they are now; their titles and progress as `found`."""
        going = {_label(one.run) for one in runs}
        for known in (self._far, self._curves):
            for gone in known.keys() - going:
                del known[gone]
        return [self._run(space, book, found, one) for one in runs]

    def charts(self, book: Book) -> list[dict[str, Any]]:
        """The charts of the curves of these runs, as a page draws them."""
        metrics = [metric.name for metric in book.header.metrics] if self._curves else []
        return [chart for label, curves in sorted(self._curves.items()) for chart in curves.charts(label, metrics)]

    def _run(self, space: Workspace, book: Book, found: Findings | None, one: UnfinishedRun) -> LiveRun:
        run, redact = one.run, space.redactor.text
        # Only what was submitted to another machine has that in its spool.
        trouble = self._asked(space, book, run).trouble if book.spool(run).has(SENT) else None
        beat, (title, progress) = book.heartbeat(run), _progress(found, run)
        return {
            **one.data(),
            "title": title,
            "heartbeat": beat.at if beat is not None else None,
            "last": redact(beat.last) if beat is not None and beat.last else None,
            "lines": _log_lines(book, run, redact),
            "printed": _printed(book, run),
            "said": redact(one.said) if one.said else None,
            "trouble": trouble,
            "ended": ended(book, run),
            "progress": progress,
            "curves": self._last_points(space, book, run),
        }

    def _asked(self, space: Workspace, book: Book, run: Run) -> _FarRun:
        """What is known of a run on another machine, at once; that is asked again in the background."""
        far = self._far.setdefault(_label(run), _FarRun())
        if (far.asked is None or not far.asked.is_alive()) and time.monotonic() >= far.due:
            turn = self._turns.setdefault(str(run.executor), threading.Lock())
            far.asked = threading.Thread(target=_bring, args=(space, book, run, far, turn), daemon=True)
            far.due = time.monotonic() + _PACE_S
            far.asked.start()
        return far

    def _last_points(self, space: Workspace, book: Book, run: Run) -> list[LastPoint]:
        """The last point of each curve of a run whose log is written here."""
        label, path = _label(run), book.log_path(run.entry, run.run)
        if label not in self._curves:
            feature = hook_module("curves") if os.path.lexists(path) else None
            if feature is None:
                return []
            clean = functools.partial(redacted, redactor=space.redactor)
            self._curves[label] = feature.FollowedCurves(path, book.files, known_keys(book.header, run), clean)
        self._curves[label].look()
        return [*self._curves[label].last()]


def ended(book: Book, run: Run) -> str | None:
    """How a run ended that is not in the record yet: its worker is done, and no command has collected it."""
    spool = book.spool(run)
    with contextlib.suppress(LogbookError, OSError):
        end = spool.get(End) if spool.folder.is_dir() else None
        if end is not None:
            signal = end.exit.signal
            return f"ended by {signal}" if signal is not None else f"ended with exit code {end.exit.code}"
    return None


def _label(run: Run) -> str:
    return f"{run.entry}/{run.run:02d}"


def _bring(space: Workspace, book: Book, run: Run, far: _FarRun, turn: threading.Lock) -> None:
    """Bring what is new of a run on another machine, piece by piece."""
    spool, before, size, trouble = book.spool(run), -PIECE_BYTES, 0, None
    try:
        with turn:
            while size - before >= PIECE_BYTES and trouble is None:
                trouble = executor_named(space, str(run.executor)).look([spool], with_log=True).get(spool.folder)
                before, size = size, (spool.folder / LOG).stat().st_size if spool.has(LOG) else 0
    except Exception as error:  # noqa: BLE001 - nobody waits for this thread
        trouble = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
    far.trouble = in_line(trouble, space.redactor.text) if trouble else None


def _log_lines(book: Book, run: Run, redact: Callable[[str], str]) -> list[str]:
    """The last lines of a log that is written here."""
    try:
        with book.files.open(book.log_path(run.entry, run.run)) as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - _TAIL_BYTES))
            return _lines(log.read(_TAIL_BYTES), redact, is_whole=size <= _TAIL_BYTES)
    except (LogbookError, OSError):
        return []  # there is none yet, or none any more


def _lines(data: bytes, redact: Callable[[str], str], *, is_whole: bool) -> list[str]:
    """The last lines as a person would have seen them. The first of what was cut off is left out: half a secret is not
    known as one."""
    lines = data.split(b"\n")
    if not is_whole:
        lines = lines[1:] if len(lines) > 1 else [data.partition(b"\r")[2]]
    return [readable(line, redact) for line in [line for line in lines if line.strip()][-_LINES:]]


def _progress(found: Findings | None, run: Run) -> tuple[str, RunProgress | None]:
    """The title of an entry and how far it is."""
    with contextlib.suppress(LogbookError):  # what cannot be read is told elsewhere
        if found is not None:
            record = found.record(run.entry)
            return record.entry.title, progress_of(record.entry, record.runs, run)
    return "", None


def _printed(book: Book, run: Run) -> str | None:
    """When its log last grew, where that is written here."""
    try:
        changed_s = book.log_path(run.entry, run.run).lstat().st_mtime
    except OSError:
        return None
    return datetime.fromtimestamp(changed_s, UTC).isoformat(timespec="seconds")


def in_line(text: str, redact: Callable[[str], str]) -> str:
    """A text on one line, without secrets."""
    return readable(text.replace("\n", " ").encode(errors="replace"), redact)
