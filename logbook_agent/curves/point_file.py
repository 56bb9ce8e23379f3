"""The points of a run in a file: a line that says what it is, a line of all series as JSON, and their steps and values
as one compressed array."""

from __future__ import annotations

import itertools
import json
import sys
import zlib
from array import array
from collections.abc import Sequence
from typing import Any, BinaryIO

from msgspec import Struct, field

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
