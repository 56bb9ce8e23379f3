"""The curves of runs that go on here: their last points, and charts of them."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypedDict

from logbook_agent.features import hook_module
from logbook_agent.model.run import Run
from logbook_agent.store.book import Book
from logbook_agent.store.layout import CURVES_PART


class LastPoint(TypedDict):
    """The latest point of a curve; `value` None: not finite."""

    name: str
    over: str
    step: float
    value: float | None


class LiveCurves:
    """Follows the files of points of runs. Without such a file, nothing is loaded."""

    def __init__(self) -> None:
        self._followed: dict[tuple[str, int], Any] = {}

    def look(self, book: Book, run: Run) -> list[LastPoint]:
        """The last points of a run as they are now."""
        key = (run.entry, run.run)
        if key not in self._followed:
            path = self._path(book, run)
            feature = hook_module("curves") if path is not None else None
            if path is None or feature is None:
                return []
            self._followed[key] = feature.FollowedCurves(path, book.files)
        followed = self._followed[key]
        followed.look()
        return [*followed.last()]

    def charts(self, metrics: Collection[str]) -> list[dict[str, Any]]:
        """The charts of these runs, as a page draws them: the same ones, as long as nothing is new."""
        return [
            chart
            for (entry, run), followed in sorted(self._followed.items())
            for chart in followed.charts(f"{entry}/{run:02d}", [*metrics])
        ]

    def forget(self, going: Collection[tuple[str, int]]) -> None:
        """Drop what is kept of runs that are not among these."""
        self._followed = {key: found for key, found in self._followed.items() if key in going}

    def _path(self, book: Book, run: Run) -> Path | None:
        # In the spool, where a worker makes it.
        folders = (book.run_folder(run.entry, run.run), book.spool(run).folder)
        paths = (folder / CURVES_PART for folder in folders)
        return next((path for path in paths if os.path.lexists(path)), None)
