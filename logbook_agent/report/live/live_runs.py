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
from typing import Any

from logbook_agent.features import hook_module
from logbook_agent.findings.progress import RunProgress, progress_of
from logbook_agent.findings.read import Findings
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.record import UnfinishedRun, UnfinishedRunData
from logbook_agent.model.run import Run
from logbook_agent.model.worker_report import End
from logbook_agent.running.executors.contract import PIECE_BYTES
from logbook_agent.running.executors.table import executor_named
from logbook_agent.running.launch.output_log import readable
from logbook_agent.running.reading import known_keys
from logbook_agent.store.book import Book
from logbook_agent.store.run_files import LOG, SENT
from logbook_agent.store.spool import Spool
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.redaction.plain import redacted

# Of a log, at most so much of its end is read at once.
_TAIL_BYTES = 1 << 16
_LINES = 12
# Another machine is asked no more often.
_PACE_S = 5.0


class LiveRun(UnfinishedRunData):
    """A run that goes on, as plain data: of its entry the `title` and how far it is, its last `lines`, when it last
    `printed`, why nothing new is known of it, and how it `ended` if that is not in the record yet."""

    title: str
    lines: list[str]
    printed: str | None
    trouble: str | None
    ended: str | None
    progress: RunProgress | None


class LiveRuns:
    """Looks at runs that go on, again and again. Other machines are asked in threads, so that one that does not
    answer delays nothing."""

    def __init__(self) -> None:
        # By the labels of their runs: why nothing new is known of one elsewhere, and the curves of one here.
        self._trouble: dict[str, str | None] = {}
        self._curves: dict[str, Any] = {}
        # By executor who asks it, and when it is asked again.
        self._asked: dict[str, tuple[threading.Thread, float]] = {}

    def look(
        self, space: Workspace, book: Book, found: Findings | None, runs: Sequence[UnfinishedRun]
    ) -> list[LiveRun]:
        """The runs as they are now; their titles and progress as `found`."""
        going = {_label(one.run) for one in runs}
        for known in (self._trouble, self._curves):
            for gone in known.keys() - going:
                del known[gone]
        # Only what was submitted to another machine has that in its spool.
        self._ask(space, book, [one.run for one in runs if book.spool(one.run).has(SENT)])
        for one in runs:
            self._follow(space, book, one.run)
        return [self._run(space, book, found, one) for one in runs]

    def charts(self, book: Book) -> list[dict[str, Any]]:
        """The charts of the curves of these runs, as a page draws them."""
        metrics = [metric.name for metric in book.header.metrics] if self._curves else []
        return [chart for label, curves in sorted(self._curves.items()) for chart in curves.charts(label, metrics)]

    def _run(self, space: Workspace, book: Book, found: Findings | None, one: UnfinishedRun) -> LiveRun:
        run, redact = one.run, space.redactor.text
        beat, (title, progress) = book.heartbeat(run), _progress(found, run)
        return {
            **one.data(),
            "title": title,
            "heartbeat": beat.at if beat is not None else None,
            "last": redact(beat.last) if beat is not None and beat.last else None,
            "lines": _log_lines(book, run, redact),
            "printed": _printed(book, run),
            "said": redact(one.said) if one.said else None,
            "trouble": self._trouble.get(_label(run)),
            "ended": ended(book, run),
            "progress": progress,
        }

    def _ask(self, space: Workspace, book: Book, runs: Sequence[Run]) -> None:
        """Have what is new of runs on other machines brought, each executor asked in a thread of its own."""
        by_executor: dict[str, list[Run]] = {}
        for run in runs:
            by_executor.setdefault(str(run.executor), []).append(run)
        for name, own in by_executor.items():
            asking, due_s = self._asked.get(name, (None, 0.0))
            if (asking is None or not asking.is_alive()) and time.monotonic() >= due_s:
                thread = threading.Thread(target=self._bring, args=(space, book, name, own), daemon=True)
                self._asked[name] = thread, time.monotonic() + _PACE_S
                thread.start()

    def _bring(self, space: Workspace, book: Book, name: str, runs: Sequence[Run]) -> None:
        """Bring what is new of the runs of an executor, piece by piece."""
        spools, grown = [book.spool(run) for run in runs], PIECE_BYTES
        try:
            while grown >= PIECE_BYTES:
                before = _bytes_of(spools)
                said = executor_named(space, name).look(spools, with_log=True)
                grown = _bytes_of(spools) - before
        except Exception as error:  # noqa: BLE001 - nobody waits for this thread
            text = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
            said = dict.fromkeys((spool.folder for spool in spools), text)
        for run, spool in zip(runs, spools, strict=True):
            text = said.get(spool.folder, "")
            self._trouble[_label(run)] = in_line(text, space.redactor.text) if text else None

    def _follow(self, space: Workspace, book: Book, run: Run) -> None:
        """Read the curves of a run whose log is written here."""
        label, path = _label(run), book.log_path(run.entry, run.run)
        if label not in self._curves:
            feature = hook_module("curves") if os.path.lexists(path) else None
            if feature is None:
                return
            clean = functools.partial(redacted, redactor=space.redactor)
            self._curves[label] = feature.FollowedCurves(path, book.files, known_keys(book.header, run), clean)
        self._curves[label].look()


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


def _bytes_of(spools: Sequence[Spool]) -> int:
    """How long the logs of runs elsewhere are here."""
    return sum((spool.folder / LOG).stat().st_size for spool in spools if spool.has(LOG))
