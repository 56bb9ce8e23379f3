"""The curves of runs that go on here: their last points, and charts of them."""

from __future__ import annotations

import functools
import os
from collections.abc import Collection
from typing import Any, TypedDict

from logbook_agent.features import hook_module
from logbook_agent.model.run import Run
from logbook_agent.running.reading import known_keys
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.redaction.plain import redacted


class LastPoint(TypedDict):
    """The latest point of a curve; `value` None: not finite."""

    name: str
    over: str
    step: float
    value: float | None


class LiveCurves:
    """Follows the logs of runs that are written here."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._followed: dict[tuple[str, int], Any] = {}

    def look(self, book: Book, run: Run) -> list[LastPoint]:
        """The last points of a run as they are now."""
        key = (run.entry, run.run)
        if key not in self._followed:
            path = book.log_path(run.entry, run.run)
            feature = hook_module("curves") if os.path.lexists(path) else None
            if feature is None:
                return []
            clean = functools.partial(redacted, redactor=self._workspace.redactor)
            self._followed[key] = feature.FollowedCurves(path, book.files, known_keys(book.header, run), clean)
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
