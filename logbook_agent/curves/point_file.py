"""The file of points: a first line, then records that each stand for themselves, so that what a killed process was
writing is left out and nothing else.

A record is a kind, the length of its content, the content, and its checksum. `S`: a series, as JSON, numbered in order.
`P`: points of a series: its number, how many, and their steps and values, compressed. Numbers are little-endian.
"""

from __future__ import annotations

import itertools
import json
import struct
import sys
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from logbook_agent.model.values import Scalar

FIRST_LINE = b"logbook-agent curves 1\n"
_HEAD = struct.Struct("<cI")
_CHECKSUM = struct.Struct("<I")
_POINTS = struct.Struct("<IIBdd")
# How steps are written: equally spaced, by the differences of whole numbers, or as they are.
_EVEN, _WHOLE, _ANY = range(3)
_MOST_POINTS = 1 << 16
_EXACT = 2.0**53
# Of a file that is read: at once, and in all.
_READ_BYTES, _MOST_BYTES = 1 << 20, 1 << 28


@dataclass(slots=True, kw_only=True)
class Series:
    """The points of one metric of one case, in the order in which they were reported."""

    name: str
    over: str
    config: dict[str, Scalar]
    steps: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))


def series_record(series: Series) -> bytes:
    """The record that a series begins with."""
    plain = {"name": series.name, "over": series.over, "config": series.config}
    return _record(b"S", json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace"))


def point_records(number: int, steps: array[float], values: array[float], *, level: int = 1) -> Iterator[bytes]:
    """The records of these points of a series."""
    for start in range(0, len(steps), _MOST_POINTS):
        some, of = steps[start : start + _MOST_POINTS], values[start : start + _MOST_POINTS]
        how, gap, rest = _packed(some)
        head = _POINTS.pack(number, len(some), how, some[0], gap)
        yield _record(b"P", head + zlib.compress(rest + _by_place(of), level))


def _record(kind: bytes, content: bytes) -> bytes:
    return _HEAD.pack(kind, len(content)) + content + _CHECKSUM.pack(zlib.crc32(content))


def _packed(steps: array[float]) -> tuple[int, float, bytes]:
    """How steps are written, the gap of equally spaced ones, and what is written of the others."""
    gap = steps[1] - steps[0] if len(steps) > 1 else 1.0
    first = steps[0]
    if not all(step.is_integer() and abs(step) < _EXACT for step in steps):
        return _ANY, 0.0, _by_place(steps)
    if all(step == first + gap * i for i, step in enumerate(steps)):
        return _EVEN, gap, b""
    whole = array("q", map(int, steps))
    return _WHOLE, 0.0, _by_place(array("q", [b - a for a, b in itertools.pairwise(whole)]))


def _by_place(numbers: array[float] | array[int]) -> bytes:
    """The bytes of numbers, the first of each together, then the second: they compress better so."""
    data = _little(numbers).tobytes()
    return b"".join(data[place::8] for place in range(8))


def _numbers(kind: str, data: bytes, count: int) -> array[float] | array[int]:
    whole = bytearray(8 * count)
    for place in range(8):
        whole[place::8] = data[place * count : (place + 1) * count]
    found: array[float] = array(kind)
    found.frombytes(bytes(whole))
    return _little(found)


def _little(numbers: array[float] | array[int]) -> array[float] | array[int]:
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers


# -- reading ---------------------------------------------------------------------------------------------


class PointReader:
    """Reads a file of points that may still grow: feed it what was added."""

    def __init__(self) -> None:
        self.series: list[Series] = []
        self.read_bytes = 0
        self._left = b""
        self._is_ours: bool | None = None

    def feed(self, data: bytes) -> bool:
        """Take what was added; False where the file is damaged, or none of points: what stood before counts."""
        self.read_bytes += len(data)
        if self._is_ours is False:
            return False
        self._left += data
        if self._is_ours is None and len(self._left) >= len(FIRST_LINE):
            self._is_ours = self._left.startswith(FIRST_LINE)
            self._left = self._left[len(FIRST_LINE) :]
        if not self._is_ours:
            return self._is_ours is None
        at = 0
        while len(self._left) - at >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._left, at)
            end = at + _HEAD.size + length
            if len(self._left) < end + _CHECKSUM.size:
                break
            content = self._left[at + _HEAD.size : end]
            if zlib.crc32(content) != _CHECKSUM.unpack_from(self._left, end)[0] or not self._take(kind, content):
                self._is_ours, self._left = False, b""
                return False
            at = end + _CHECKSUM.size
        self._left = self._left[at:]
        return True

    def _take(self, kind: bytes, content: bytes) -> bool:
        try:
            if kind == b"S":
                plain = json.loads(content)
                self.series.append(
                    Series(name=str(plain["name"]), over=str(plain["over"]), config=dict(plain["config"]))
                )
                return True
            if kind == b"P":
                self._take_points(content)
                return True
        except (ValueError, KeyError, TypeError, IndexError, OverflowError, struct.error, zlib.error):
            pass
        return False

    def _take_points(self, content: bytes) -> None:
        number, count, how, first, gap = _POINTS.unpack_from(content)
        if count > _MOST_POINTS:
            raise ValueError(count)
        series = self.series[number]
        unpacking = zlib.decompressobj()
        # A forged record unpacks to no more than it may hold.
        data = unpacking.decompress(content[_POINTS.size :], 16 * _MOST_POINTS)
        steps: array[float]
        if how == _EVEN:
            steps, used = array("d", [first + gap * i for i in range(count)]), 0
        elif how == _WHOLE:
            used, step, steps = 8 * (count - 1), int(first), array("d", [first])
            for more in _numbers("q", data[:used], count - 1):
                step += int(more)
                steps.append(step)
        else:
            used = 8 * count
            steps = array("d", _numbers("d", data[:used], count))
        values = _numbers("d", data[used : used + 8 * count], count)
        series.steps.extend(steps)
        series.values.extend(array("d", values))


def read_series(file: BinaryIO) -> list[Series]:
    """The series in a file of points that have some, up to where it is damaged."""
    reader = PointReader()
    while (data := file.read(_READ_BYTES)) and reader.read_bytes < _MOST_BYTES and reader.feed(data):
        pass
    return [series for series in reader.series if series.steps]
