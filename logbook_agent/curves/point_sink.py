"""Keeps the points of a run while its command runs: in memory, and in a file that is at most a second behind."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from logbook_agent.curves.event_files import event_points as event_points
from logbook_agent.curves.point_file import FIRST_LINE, Series, packed, point_lines, read_series, series_line
from logbook_agent.curves.reduction import curve_of, standing
from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Curve
from logbook_agent.model.values import Key, row_key
from logbook_agent.running.results.curve_points import PointRow, Reduced
from logbook_agent.running.results.result_lines import cut
from logbook_agent.store.folder import Folder
from logbook_agent.store.layout import CURVES, CURVES_LARGE, CURVES_PART

MOST_SERIES = 500
MOST_POINTS = 5_000_000
# A file of points up to this size is kept in git.
SMALL_BYTES = 100_000
_FLUSH_S = 1.0
_MOST_FORMS = 64
_QUOTES = ("'", '"', "\\")
# Numbers as most lines have them: what has another form is read by the slow way.
_STEP = r"([-+]?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{0,25})?(?:[eE][-+]?[0-9]{1,2})?)"
_VALUE = f"({_STEP[1:-1]}|nan|-?inf)"


def point_sink(files: Folder) -> RunPoints:
    """The sink of the run whose files lie in a folder."""
    return RunPoints(files)


@dataclass(frozen=True, slots=True)
class _LineForm:
    """Lines of which only the numbers differ: what matches one, and by point of it what keeps its step and its value,
    and at which places of the match these are."""

    match: Callable[[str], re.Match[str] | None]
    points: tuple[tuple[Callable[[float], None], Callable[[float], None], int, int], ...]


class RunPoints:
    """The points of one run. `clock` is that of the pauses between two writes."""

    def __init__(self, files: Folder, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._files, self._clock = files, clock
        self._series: dict[tuple[str, str, Key], Series] = {}
        # How many points of each series are in the file.
        self._written: list[int] = []
        # The last one that matched first.
        self._forms: list[_LineForm] = []
        # How many more points are kept, and how many were not.
        self._room, self._beyond = MOST_POINTS, 0
        self._refused: dict[str, None] = {}
        self._problems: list[str] = []
        self._due = clock() + _FLUSH_S
        self._descriptor: int | None = None
        # Of a run that was cut off, whose points are read again from its log.
        self._before: list[Series] = []
        self._open()

    def _open(self) -> None:
        path = self._files.path / CURVES_PART
        try:
            if os.path.lexists(path):
                with self._files.open(path) as file:
                    self._before = read_series(file)
                self._files.remove(path)
            self._descriptor = self._files.create_log(path)
            os.write(self._descriptor, FIRST_LINE)
        except (OSError, StoreError) as error:
            self._fail(error)

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

    def add(self, row: PointRow, line: str | None = None) -> None:
        """As `PointSink.add`."""
        key = row_key(row.config)
        taken: list[tuple[str, str, Series]] = []
        for point in row.points:
            # A series without a point would have no value to reduce to.
            if self._room <= 0:
                self._beyond += 1
                continue
            series = self._of(point.name, point.over, key, row)
            if series is None:
                continue
            series.steps.append(point.step)
            series.values.append(point.value)
            self._room -= 1
            taken.append((point.name, point.over, series))
        if line is not None and len(taken) == len(row.points):
            self._learn(line, row, taken)

    def _of(self, name: str, over: str, key: Key, row: PointRow) -> Series | None:
        place = (name, over, key)
        found = self._series.get(place)
        if found is None:
            if len(self._series) >= MOST_SERIES:
                self._refused.setdefault(name)
                return None
            found = self._series[place] = Series(name=name, over=over, config=dict(row.config))
        return found

    def _learn(self, line: str, row: PointRow, taken: list[tuple[str, str, Series]]) -> None:
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

    def flush(self) -> None:
        """As `PointSink.flush`: at most once a second."""
        now = self._clock()
        if now >= self._due:
            self._due = now + _FLUSH_S
            self._write()

    def _write(self) -> None:
        if self._descriptor is None:
            return
        pieces = []
        for number, series in enumerate(self._series.values()):
            if number == len(self._written):
                pieces.append(series_line(series))
                self._written.append(0)
            done = self._written[number]
            if done < len(series.steps):
                pieces.append(point_lines(number, series.steps[done:], series.values[done:]))
                self._written[number] = len(series.steps)
        data = memoryview(b"".join(pieces))
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError | StoreError) -> None:
        said = error.strerror if isinstance(error, OSError) else error.message
        self._problems.append(f"points of curves were not written while the command ran ({CURVES_PART}: {said})")
        self._close()

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def finish(self, reduced: Callable[[str], Reduced]) -> tuple[list[Curve], list[str]]:
        """As `PointSink.finish`. The file gets its final name: another one for a large one."""
        self._write()
        self._close()
        for series in self._before:
            # A log ends at its limit, and the file of points went on.
            place = (series.name, series.over, row_key(series.config))
            if place not in self._series or len(self._series[place].steps) < len(series.steps):
                self._series[place] = series
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
            self._files.remove(CURVES_PART)
        except StoreError as error:
            problems.append(f"the points of its curves were not kept: {error.message}")
        return curves, [*self._problems, *self._limits(), *problems]

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
