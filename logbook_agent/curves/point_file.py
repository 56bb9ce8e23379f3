"""The points of a run in a file: plain lines while it runs, so that a killed process leaves whole ones; a compressed
array at its end.

A line of a series is JSON, and the series are numbered in their order; a line of a point is the number of its series,
its step and its value. The array begins with a line of all series, and holds the steps and values of each.
"""

from __future__ import annotations

import itertools
import json
import sys
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from logbook_agent.model.values import Scalar

FIRST_LINE, _PACKED = b"logbook-agent curves 2, lines\n", b"logbook-agent curves 2, array\n"
# Of a file that is read: at once, in all, and how many numbers an array may unpack to.
_READ_BYTES, _MOST_BYTES, _MOST_NUMBERS = 1 << 20, 1 << 28, 1 << 24
_DAMAGED = (ValueError, KeyError, TypeError, IndexError, OverflowError, zlib.error)


@dataclass(slots=True, kw_only=True)
class Series:
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


def series_line(series: Series) -> bytes:
    """The line that a series begins with."""
    return f"{json.dumps(series.plain())}\n".encode()


def point_lines(number: int, steps: array[float], values: array[float]) -> bytes:
    """The lines of these points of a series."""
    return "".join(f"{number} {step!r} {value!r}\n" for step, value in zip(steps, values, strict=True)).encode()


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
    return _PACKED + f"{json.dumps(heads)}\n".encode() + zlib.compress(b"".join(data[at::8] for at in range(8)), 6)


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


class PointReader:
    """Reads lines of points, which may still grow: feed it what was added."""

    def __init__(self) -> None:
        self.series: list[Series] = []
        self.read_bytes = 0
        self._left = b""
        self._is_begun = self._is_damaged = False

    def feed(self, data: bytes) -> bool:
        """Take what was added; False where a line is damaged, or none of points: what stood before counts."""
        self.read_bytes += len(data)
        *lines, self._left = (self._left + data).split(b"\n")
        for line in lines if not self._is_damaged else ():
            try:
                self._take(line)
            except _DAMAGED:
                self._is_damaged = True
                break
        return not self._is_damaged

    def _take(self, line: bytes) -> None:
        if not self._is_begun:
            if line + b"\n" != FIRST_LINE:
                raise ValueError(line)
            self._is_begun = True
        elif line.startswith(b"{"):
            self.series.append(Series.of(json.loads(line)))
        else:
            number, step, value = line.split(b" ")
            one, at, of = self.series[int(number)], float(step), float(value)
            one.steps.append(at)
            one.values.append(of)


def read_series(file: BinaryIO) -> list[Series]:
    """The series in a file of points that have some, of lines up to where one is damaged."""
    data, reader = file.read(len(_PACKED)), PointReader()
    if data == _PACKED:
        try:
            return [series for series in _unpacked(file.read(_MOST_BYTES)) if series.steps]
        except _DAMAGED:
            return []
    while data and reader.read_bytes < _MOST_BYTES and reader.feed(data):
        data = file.read(_READ_BYTES)
    return [series for series in reader.series if series.steps]
