"""The curves of a run that goes on, read as its log grows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from logbook_agent.curves.chart import ChartLine, chart_of
from logbook_agent.curves.point_file import standing
from logbook_agent.curves.point_sink import RunPoints
from logbook_agent.model.errors import StoreError
from logbook_agent.model.values import canonical
from logbook_agent.running.results.classifier import KnownKeys
from logbook_agent.running.results.reader import ResultReader
from logbook_agent.running.results.result_lines import LineSplitter
from logbook_agent.store.folder import Folder

# Points of a line, and lines of a run.
_POINTS, _LINES = 500, 24
_READ_BYTES = 1 << 22


class FollowedCurves:
    """The log at `path`, read again and again; `clean` takes the secrets out of plain data."""

    def __init__(
        self,
        path: Path,
        files: Folder,
        known: KnownKeys,
        clean: Callable[[Any], Any],
    ) -> None:
        self._path, self._files = path, files
        self._points = RunPoints(files)
        self._reader, self._lines = ResultReader(clean, known, lambda: self._points), LineSplitter()
        self._read_bytes = 0
        self._drawn_bytes = 0
        self._charts: list[dict[str, object]] = []

    def look(self) -> None:
        """Read what was added since the last look."""
        with contextlib.suppress(StoreError, OSError), self._files.open(self._path) as file:
            file.seek(self._read_bytes)
            data = file.read(_READ_BYTES)
            self._read_bytes += len(data)
            for line in self._lines.feed(data):
                self._reader.feed(line)

    def charts(self, of: str, metrics: Sequence[str] = ()) -> list[dict[str, object]]:
        """A chart for each series as plain data, `metrics` first; `of` names the run."""
        if self._drawn_bytes == self._read_bytes:
            return self._charts
        self._drawn_bytes = self._read_bytes
        series = sorted(
            (s for s in self._points.series if s.steps),
            key=lambda s: metrics.index(s.name) if s.name in metrics else 99,
        )
        self._charts = []
        for one in series[:_LINES]:
            steps, values = standing(one.steps, one.values)
            case = [f"{name}={canonical(value)}" for name, value in one.config.items()]
            line = ChartLine.of(" ".join([of, *case]), None, None, steps, values, _POINTS)
            self._charts.append(chart_of((one.name, one.over), [line], of=of).data())
        return self._charts
