"""Keeps the points of a run while its output is read, and writes them at the end."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from logbook_agent.curves.event_files import event_points as event_points
from logbook_agent.curves.point_file import Series, curve_of, packed, standing
from logbook_agent.model.errors import StoreError
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Curve, Row
from logbook_agent.model.values import Key, row_key
from logbook_agent.running.results.classifier import CurvePoint
from logbook_agent.running.results.result_lines import cut
from logbook_agent.store.folder import Folder
from logbook_agent.store.run_files import CURVES, CURVES_LARGE

MOST_SERIES = 500
MOST_POINTS = 5_000_000
# A file of points up to this size is kept in git.
SMALL_BYTES = 100_000
_MOST_FORMS = 64
_QUOTES = ("'", '"', "\\")
# Numbers as most lines have them: what has another form is read by the slow way.
_STEP = r"([-+]?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{0,25})?(?:[eE][-+]?[0-9]{1,2})?)"
_VALUE = f"({_STEP[1:-1]}|nan|-?inf)"


def point_sink(files: Folder) -> RunPoints:
    """The sink of the run whose files lie in a folder."""
    return RunPoints(files)


class _LineForm(Struct, frozen=True):
    """Lines of which only the numbers differ: what matches one, and by point of it what keeps its step and its value,
    and at which places of the match these are."""

    match: Callable[[str], re.Match[str] | None]
    points: tuple[tuple[Callable[[float], None], Callable[[float], None], int, int], ...]


class RunPoints:
    """The points of one run. `clock` is that of the pauses between two writes."""

    def __init__(self, files: Folder) -> None:
        self._files = files
        self._series: dict[tuple[str, str, Key], Series] = {}
        # The last one that matched first.
        self._forms: list[_LineForm] = []
        # How many more points are kept, and how many were not.
        self._room, self._beyond = MOST_POINTS, 0
        self._refused: dict[str, None] = {}

    @property
    def series(self) -> list[Series]:
        """What was taken so far."""
        return [*self._series.values()]

    # -- taking points -------------------------------------------------------------------------------

    def line(self, line: str) -> bool:
        """As `PointSink.line`: the fast way, for lines of which only the numbers are new."""
        for form in self._forms:
            if (match := form.match(line)) is not None:
                break
        else:
            return False
        numbers = [*map(float, match.groups())]
        if form is not self._forms[0]:
            self._forms.remove(form)
            self._forms.insert(0, form)
        self._room -= len(form.points)
        if self._room < 0:
            self._beyond += len(form.points)
            return True
        for keep_step, keep_value, at, of in form.points:
            keep_step(numbers[at])
            keep_value(numbers[of])
        return True

    def add(self, row: Row, points: Sequence[CurvePoint], line: str | None = None) -> None:
        """As `PointSink.add`."""
        key = row_key(row.config)
        taken: list[tuple[str, str, Series]] = []
        for name, over, step, value in points:
            # A series without a point would have no value to reduce to.
            if self._room <= 0:
                self._beyond += 1
                continue
            series = self._of(name, over, key, row)
            if series is None:
                continue
            series.steps.append(step)
            series.values.append(value)
            self._room -= 1
            taken.append((name, over, series))
        if line is not None and len(taken) == len(points):
            self._learn(line, row, taken)

    def _of(self, name: str, over: str, key: Key, row: Row) -> Series | None:
        place = (name, over, key)
        found = self._series.get(place)
        if found is None:
            if len(self._series) >= MOST_SERIES:
                self._refused.setdefault(name)
                return None
            found = self._series[place] = Series(name=name, over=over, config=dict(row.config))
        return found

    def _learn(self, line: str, row: Row, taken: list[tuple[str, str, Series]]) -> None:
        """Remember the form of a line; of one with quotes, or that gives a name twice, none."""
        words = line.split(" ")
        names = [word.partition("=")[0] for word in words if "=" in word]
        if len(self._forms) >= _MOST_FORMS or len({*names}) < len(names) or any(sign in line for sign in _QUOTES):
            return
        steps, places, pattern = {over for _, over, _ in taken}, dict[str, int](), list[str]()
        for word in words:
            name, _, value = word.partition("=")
            form = _STEP if name in steps else _VALUE
            if name in row.config or name in row.labels or re.fullmatch(form, value) is None:
                pattern.append(re.escape(word))
            else:
                places[name] = len(places)
                pattern.append(f"{re.escape(name)}={form}")
        if all(name in places and over in places for name, over, _ in taken):
            points = [(s.steps.append, s.values.append, places[over], places[name]) for name, over, s in taken]
            self._forms.append(_LineForm(re.compile(" ".join(pattern)).fullmatch, tuple(points)))

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
