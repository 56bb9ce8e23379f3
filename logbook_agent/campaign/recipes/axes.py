"""The axes of a recipe: lists, ranges, shapes of several keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from logbook_agent.model.codec import CodecError, converter
from logbook_agent.model.values import Spelt

# A value that reaches the command as it was written.
Value = str | int | float | bool | Spelt | None
# A plan with more is a slip: it is refused.
MOST_CASES = 10_000

_VALUE, _NUMBERS = converter(Value), converter(Mapping[str, int | float])


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One place on an axis: the config that it sets, and its name where it is a shape of several keys."""

    name: str | None = None
    extra: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def natural(cls, data: object) -> object:
        """A plain value is one of the key that the axis is named by."""
        return data if isinstance(data, Mapping) else cls(extra={"": _VALUE(data)})

    def on(self, axis: str) -> Point:
        """The point with a plain value under the name of its axis."""
        return dataclasses.replace(self, extra={key or axis: value for key, value in self.extra.items()})


_POINTS = converter(tuple[Point, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What is varied, and how: in a `Recipe` each point has a value for each of the keys."""

    points: tuple[Point, ...]

    @classmethod
    def natural(cls, data: object) -> object:
        """A list of values or of shapes, or a range."""
        return cls(points=_POINTS(_range(data) if isinstance(data, Mapping) else data))

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for point in self.points for key in point.extra))

    def filled(self, name: str, fixed: Mapping[str, Value], path: tuple[str, ...]) -> Axis:
        """The axis with a value for every key in every point: its own, else the fixed one. Raises CodecError."""
        axis = Axis(points=tuple(point.on(name) for point in self.points))
        if not axis.points:
            raise CodecError("no values, so there is no case to run", *path)
        points = []
        for number, point in enumerate(axis.points):
            lacking = [key for key in axis.keys if key not in point.extra and key not in fixed]
            if lacking:
                raise CodecError(f"no value for {lacking[0]}: add it here, or under fixed", *path, f"[{number}]")
            values = {key: point.extra[key] if key in point.extra else fixed[key] for key in axis.keys}
            points.append(dataclasses.replace(point, extra=values))
        return Axis(points=tuple(points))


def _range(data: Mapping[str, Any]) -> list[int | float]:
    """Both ends included. Decimal arithmetic, so that the third of 0.1 to 0.9 by 0.1 is 0.3."""
    numbers = _NUMBERS(data)
    if {*numbers} not in ({"from", "to", "step"}, {"from", "to", "count"}):
        raise CodecError("expected a list of values, {from, to, step} or {from, to, count}")
    first, last, by = (Decimal(repr(numbers[key])) for key in ("from", "to", "count" if "count" in numbers else "step"))
    if "count" in numbers:
        count, step = int(by), (last - first) / (by - 1) if by > 1 else Decimal(0)
    else:
        count, step = int((last - first) / by) + 1 if by and (last - first) / by >= 0 else 0, by
    if not 0 < count <= MOST_CASES:
        raise CodecError(f"from {first} to {last} there are {count if count > 0 else 'no'} values")
    is_whole = all(type(numbers[key]) is int for key in ("from", "to")) and step == step.to_integral_value()
    return [(int if is_whole else float)(first + at * step) for at in range(count)]
