"""A series of points in numbers: which of its points stand, and what they amount to."""

from __future__ import annotations

import itertools
import math
import operator
from array import array
from bisect import bisect_left

from logbook_agent.curves.point_file import Series
from logbook_agent.model.header import Metric, mean_of
from logbook_agent.model.run import Curve


def standing(steps: array[float], values: array[float]) -> tuple[array[float], array[float]]:
    """The points of a series by growing step. One that goes back takes the place of all from its step on: the command
    started again from there."""
    if all(map(operator.lt, steps, itertools.islice(steps, 1, None))):
        return steps, values
    kept_steps, kept_values = array("d"), array("d")
    for step, value in zip(steps, values, strict=True):
        if kept_steps and step <= kept_steps[-1]:
            place = bisect_left(kept_steps, step)
            del kept_steps[place:], kept_values[place:]
        kept_steps.append(step)
        kept_values.append(value)
    return kept_steps, kept_values


def restarts(steps: array[float]) -> int:
    """How many times a step was smaller than the one before it."""
    return sum(map(operator.gt, steps, itertools.islice(steps, 1, None)))


def curve_of(series: Series, metric: Metric) -> tuple[Curve, list[str]]:
    """A series in numbers, and what is wrong with it."""
    steps, values = standing(series.steps, series.values)
    finite = [value for value in values if math.isfinite(value)]
    best = best_step = None
    if finite and metric.direction is not None:
        best = min(finite) if metric.direction == "min" else max(finite)
        best_step = steps[values.index(best)]
    value, why = _reduced(metric.reduce, values, best)
    curve = Curve(
        name=series.name,
        over=series.over,
        config=series.config,
        count=len(steps),
        first_step=steps[0],
        last_step=steps[-1],
        last=values[-1] if math.isfinite(values[-1]) else None,
        best=best,
        best_step=best_step,
        reduction=metric.reduce,
        value=value,
        unit=metric.unit,
        direction=metric.direction,
        not_finite=len(values) - len(finite),
        replaced=len(series.steps) - len(steps),
    )
    return curve, _problems(series, curve, why)


def _reduced(how: str, values: array[float], best: float | None) -> tuple[float | None, str]:
    """The measurement of a curve; None where there is none, and why."""
    if how == "best":
        return best, "no value is finite" if best is None else ""
    count = mean_of(how)
    last = values[-1:] if count is None else values[-count:]
    if all(map(math.isfinite, last)):
        return math.fsum(last) / len(last), ""
    return None, "its last value is not finite" if count is None else f"of its last {count} values some are not finite"


def _problems(series: Series, curve: Curve, why: str) -> list[str]:
    found = []
    if why and curve.direction is None and curve.reduction == "best":
        why = "best needs a direction: --metric NAME:min or :max"
    if why:
        found.append(f"{curve.name}: no measurement: {why} ({curve.over}={curve.last_step:g})")
    elif curve.not_finite:
        found.append(f"{curve.name}: {curve.not_finite:,} of {curve.count:,} values are not finite")
    if curve.replaced:
        back = restarts(series.steps)
        times = (
            f"{curve.over} went back {back:,} time{'' if back == 1 else 's'}"
            if back
            else f"a {curve.over} was repeated"
        )
        were = "point was" if curve.replaced == 1 else "points were"
        found.append(f"{curve.name}: {times}; {curve.replaced:,} {were} replaced by later ones")
    return found
