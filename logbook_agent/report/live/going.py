"""What goes on in a logbook now, as plain data: which run, where, since when, how far, and what it printed last."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from logbook_agent.entries.overview import open_runs, open_series
from logbook_agent.findings.progress import RunProgress, UnfinishedRun, progress_of
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.run import Run
from logbook_agent.report.live.last_lines import LastLines
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


class GoingNow:
    """Looks at the runs that go on, again and again."""

    def __init__(self, workspace: Workspace, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._lines = LastLines(workspace, redact)
        self._planned: dict[tuple[str, int], tuple[object, str, RunProgress | None]] = {}

    def look(self, book: Book, version: object) -> dict[str, Any]:
        """`runs` that go on and `series` that make some. `version` is another one whenever the records have changed."""
        runs = open_runs(book)
        data = [self._data(book, one, version) for one in runs]
        keys = {(one.run.entry, one.run.run) for one in runs}
        self._planned = {key: known for key, known in self._planned.items() if key in keys}
        self._lines.forget(book.topic, keys)
        return {"runs": data, "series": open_series(book)}

    def close(self) -> None:
        self._lines.close()

    def _data(self, book: Book, one: UnfinishedRun, version: object) -> dict[str, Any]:
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
            "said": seen.said or (self._redact(one.said) if one.said else None),
            "trouble": seen.trouble,
            "ended": _ended(book, run),
            "progress": progress.data() if progress is not None else None,
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
        end = spool.end() if spool.folder.is_dir() else None
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
