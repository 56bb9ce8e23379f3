"""Keeps the points of a run while its output is read, and writes them at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from logbook_agent.curves.event_files import event_points as event_points
from logbook_agent.curves.point_file import Series, curve_of, packed, standing
from logbook_agent.model.errors import StoreError
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Curve, Row
from logbook_agent.model.values import Key, row_key
from logbook_agent.running.results.classifier import CurvePoint
from logbook_agent.running.results.result_lines import cut
from logbook_agent.store.folder import Folder
from logbook_agent.store.names import CURVES, CURVES_LARGE

MOST_SERIES = 500
MOST_POINTS = 5_000_000
# A file of points up to this size is kept in git.
SMALL_BYTES = 100_000


def point_sink(files: Folder) -> RunPoints:
    """The sink of the run whose files lie in a folder."""
    return RunPoints(files)


class RunPoints:
    """The points of one run."""

    def __init__(self, files: Folder) -> None:
        self._files = files
        self._series: dict[tuple[str, str, Key], Series] = {}
        # How many more points are kept, and how many were not.
        self._room, self._beyond = MOST_POINTS, 0
        self._refused: dict[str, None] = {}

    @property
    def series(self) -> list[Series]:
        """What was taken so far."""
        return [*self._series.values()]

    # -- taking points -------------------------------------------------------------------------------

    def add(self, row: Row, points: Sequence[CurvePoint]) -> None:
        """As `PointSink.add`."""
        key = row_key(row.config)
        for name, over, step, value in points:
            # A series without a point would have no value to reduce to.
            if self._room <= 0:
                self._beyond += 1
            elif (series := self._of(name, over, key, row)) is not None:
                series.steps.append(step)
                series.values.append(value)
                self._room -= 1

    def _of(self, name: str, over: str, key: Key, row: Row) -> Series | None:
        place = (name, over, key)
        found = self._series.get(place)
        if found is None:
            if len(self._series) >= MOST_SERIES:
                self._refused.setdefault(name)
                return None
            found = self._series[place] = Series(name=name, over=over, config=dict(row.config))
        return found

    # -- the files -----------------------------------------------------------------------------------

    def finish(self, reduced: Callable[[str], Metric]) -> tuple[list[Curve], list[str]]:
        """As `PointSink.finish`. A large file has another name."""
        curves: list[Curve] = []
        problems: list[str] = []
        for series in self._series.values():
            curve, wrong = curve_of(series, reduced(series.name))
            curves.append(curve)
            problems += wrong
            series.steps, series.values = standing(series.steps, series.values)
        data = packed([*self._series.values()])
        try:
            self._files.write(CURVES if len(data) <= SMALL_BYTES else CURVES_LARGE, data)
        except StoreError as error:
            problems.append(f"the points of its curves were not kept: {error.message}")
        return curves, [*self._limits(), *problems]

    def _limits(self) -> list[str]:
        found = []
        if self._refused:
            names = ", ".join(cut(name, 40) for name in list(self._refused)[:3])
            found.append(
                f"only the first {MOST_SERIES} curves were kept, and not those of {names}"
                f"{' and others' if len(self._refused) > 3 else ''}: print fewer metrics, or fewer cases in a run"
            )
        if self._beyond:
            found.append(
                f"{self._beyond:,} points were not kept: a run has at most {MOST_POINTS:,}; print every tenth step"
            )
        return found
