"""The points of runs as they are stored, and charts of them for pages: what other features ask this one for."""

from __future__ import annotations

import contextlib
import os
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import structs

from logbook_agent.curves.chart import ChartLine, CurveChart, chart_of
from logbook_agent.curves.chart import thinned as thinned
from logbook_agent.curves.followed import FollowedCurves as FollowedCurves
from logbook_agent.curves.point_file import Series, read_series, standing
from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Curve, Run
from logbook_agent.model.values import Key, canonical, row_key
from logbook_agent.store.book import Book
from logbook_agent.store.run_files import CURVES, CURVES_LARGE

# Of one chart.
MOST_LINES = 12


def series_of(book: Book, run: Run) -> list[Series]:
    """The points of a run, by growing step, as far as they can be read; none where they were not kept here."""
    for path in _places(book, run):
        with contextlib.suppress(StoreError, OSError), book.files.open(path) as file:
            return [_by_step(series) for series in read_series(file)]
    return []


def _places(book: Book, run: Run) -> Iterator[Path]:
    folder = book.run_folder(run.entry, run.run)
    return (folder / name for name in (CURVES, CURVES_LARGE))


def _by_step(series: Series) -> Series:
    steps, values = standing(series.steps, series.values)
    return Series(name=series.name, over=series.over, config=series.config, steps=steps, values=values)


def points(book: Book, run: Run) -> Iterator[tuple[Curve, array[float], array[float]]]:
    """The curves of a run with their steps and values. One whose points were not kept here has none."""
    # A record holds the config of the run as well.
    found = {(s.name, s.over, row_key({**run.config, **s.config})): s for s in series_of(book, run)}
    for curve in run.curves:
        series = found.get((curve.name, curve.over, row_key(curve.config)))
        if series is None:
            yield curve, array("d"), array("d")
        else:
            yield curve, series.steps, series.values


# A page that is live asks for the same lines again and again.
_drawn: dict[tuple[str, int, int, int], dict[tuple[str, str, Key], ChartLine]] = {}
_DRAWN = 512


def _lines_of(book: Book, run: Run, most: int) -> dict[tuple[str, str, Key], ChartLine]:
    """By name, key and case the lines of a run, without labels, thinned to so many points."""
    path = next((path for path in _places(book, run) if os.path.lexists(path)), None)
    if path is None:
        return {}
    state = os.lstat(path)
    key = (os.fspath(path), state.st_mtime_ns, state.st_size, most)
    if key not in _drawn:
        while len(_drawn) >= _DRAWN:
            _drawn.pop(next(iter(_drawn)), None)
        _drawn[key] = {
            (curve.name, curve.over, row_key(curve.config)): ChartLine.of(
                "", run.entry, curve.unit, steps, values, most
            )
            for curve, steps, values in points(book, run)
            if steps
        }
    return _drawn[key]


def charts(
    book: Book,
    runs: Sequence[Run],
    *,
    metrics: Sequence[str] = (),
    only: Sequence[str] | None = None,
    most_points: int,
) -> list[CurveChart]:
    """A chart for each metric (of `only`) that has curves in these runs, over each other: `metrics` first, in their
    order. The latest runs have their lines on it, thinned to so many points each."""
    found: dict[tuple[str, str], list[ChartLine]] = {}
    labels = _labels(runs)
    wanted: dict[tuple[str, str], int] = {}
    for run in reversed(runs):
        asked = [curve for curve in run.curves if only is None or curve.name in only]
        is_read = any(wanted.get((c.name, c.over), 0) < MOST_LINES for c in asked)
        lines = _lines_of(book, run, most_points) if is_read else {}
        for curve in asked:
            key, case = (curve.name, curve.over), row_key(curve.config)
            if (*key, case) in lines and len(found.get(key, ())) < MOST_LINES:
                label = labels.get((run.entry, run.run, case), f"{run.entry}/{run.run}")
                found.setdefault(key, []).insert(0, structs.replace(lines[*key, case], label=label))
            wanted[key] = wanted.get(key, 0) + 1
    left = {key: count - MOST_LINES for key, count in wanted.items() if count > MOST_LINES}
    order = {name: place for place, name in enumerate(metrics)}
    keys = sorted(found, key=lambda key: order.get(key[0], len(order)))
    return [chart_of(key, found[key], left.get(key, 0)) for key in keys]


def _labels(runs: Sequence[Run]) -> dict[tuple[str, int, object], str]:
    """What the lines of runs are called: entry and run, their label, and of their config what tells them apart."""
    configs = [curve.config for run in runs for curve in run.curves]
    values: dict[str, set[str]] = {}
    for config in configs:
        for name, value in config.items():
            values.setdefault(name, set()).add(canonical(value))
    apart = [name for name, seen in values.items() if len(seen) > 1 or any(name not in config for config in configs)]
    found: dict[tuple[str, int, object], str] = {}
    for run in runs:
        for curve in run.curves:
            case = [f"{name}={canonical(curve.config[name])}" for name in apart if name in curve.config]
            words = [f"{run.entry}/{run.run}", *([run.label] if run.label else []), *case]
            found[run.entry, run.run, row_key(curve.config)] = " ".join(words)
    return found
