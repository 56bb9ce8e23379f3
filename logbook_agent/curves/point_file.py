"""The points of a run in a file: a line that says what it is, a line of all series as JSON, and their steps and values
as one compressed array; which of the points of a series stand, and what they amount to."""

from __future__ import annotations

import itertools
import json
import math
import operator
import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, BinaryIO

from msgspec import Struct, field

from logbook_agent.model.header import Metric, mean_of
from logbook_agent.model.run import Curve
from logbook_agent.model.values import Scalar

FIRST_LINE = b"logbook-agent curves 2\n"
# Of a file that is read, and how many numbers it may unpack to.
_MOST_BYTES, _MOST_NUMBERS = 1 << 28, 1 << 24
_DAMAGED = (ValueError, KeyError, TypeError, IndexError, OverflowError, zlib.error)


class Series(Struct, kw_only=True):
    """The points of one metric of one case, in the order in which they were reported."""

    name: str
    over: str
    config: dict[str, Scalar]
    steps: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Series:
        return cls(name=str(plain["name"]), over=str(plain["over"]), config=dict(plain["config"]))

    def plain(self) -> dict[str, Any]:
        """What it is called, without its points."""
        return {"name": self.name, "over": self.over, "config": self.config}


def packed(series: Sequence[Series]) -> bytes:
    """All series as an array. Steps are written as their differences where these add up to them exactly."""
    heads, numbers = list[dict[str, Any]](), array("d")
    for one in series:
        gaps = array("d", [*one.steps[:1], *(b - a for a, b in itertools.pairwise(one.steps))])
        is_exact = array("d", itertools.accumulate(gaps)) == one.steps
        heads.append({**one.plain(), "count": len(one.steps), "gaps": is_exact})
        numbers.extend(gaps if is_exact else one.steps)
        numbers.extend(one.values)
    # The first byte of all numbers together, then the second: they compress better so.
    data = _little(numbers).tobytes()
    return FIRST_LINE + f"{json.dumps(heads)}\n".encode() + zlib.compress(b"".join(data[at::8] for at in range(8)), 6)


def _unpacked(data: bytes) -> list[Series]:
    heads, _, rest = data.partition(b"\n")
    found, plain = list[Series](), json.loads(heads)
    total = 2 * sum(int(head["count"]) for head in plain)
    # A forged file unpacks to no more than a run may have.
    body = zlib.decompressobj().decompress(rest, 8 * min(total, _MOST_NUMBERS))
    whole = bytearray(8 * total if len(body) == 8 * total else 0)
    for at in range(8):
        whole[at::8] = body[at * total : (at + 1) * total]
    numbers, start = _little(array("d", bytes(whole))), 0
    for head in plain:
        one, middle, end = Series.of(head), start + head["count"], start + 2 * head["count"]
        steps, one.values, start = numbers[start:middle], numbers[middle:end], end
        one.steps = array("d", itertools.accumulate(steps)) if head["gaps"] else steps
        found.append(one)
    return found


def _little(numbers: array[float]) -> array[float]:
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers


def read_series(file: BinaryIO) -> list[Series]:
    """The series in a file of points that have some; none where it is damaged."""
    if file.read(len(FIRST_LINE)) != FIRST_LINE:
        return []
    try:
        return [series for series in _unpacked(file.read(_MOST_BYTES)) if series.steps]
    except _DAMAGED:
        return []


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
