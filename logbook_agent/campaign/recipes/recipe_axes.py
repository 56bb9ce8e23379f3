"""The axes of a recipe: lists, ranges, shapes of several keys, explicit cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logbook_agent.campaign.recipes.placed import MOST, Placed, RecipeProblem, check_known, key_name
from logbook_agent.campaign.recipes.recipe import Axis, Point
from logbook_agent.model.values import Scalar

CASES = "cases"
_RANGE_KEYS = ("from", "to", "step", "count")
_MOST_POINTS = 1_000_000


def parse_axis(name: str, axis: Placed, fixed: Mapping[str, Scalar]) -> Axis:
    """An axis of one of its forms. RecipeProblem for one without values or of another form."""
    value = axis.value
    if isinstance(value, list):
        points = _listed(name, axis)
    elif isinstance(value, dict) and ({"from", "to"} & value.keys() or not value):
        points = [Point(values={name: number}) for number in _range(value, axis.place)]
    else:
        raise RecipeProblem(
            f"axis {name} is neither a list nor a range",
            place=axis.place,
            cause="it is a list, {from, to, step}, or {from, to, count}",
            hint=f"write: {name}: [1, 2, 4]",
        )
    if not points:
        raise RecipeProblem(
            f"axis {name} has no values, so there is no case to run",
            place=axis.place,
            cause="a grid is the product of its axes, and one of them is empty",
            hint=f"give {name} a value, or remove it",
        )
    keys = tuple(dict.fromkeys(key for point in points for key in point.values))
    filled = (_filled(point, keys, fixed, f"{axis.place}[{i}]") for i, point in enumerate(points))
    return Axis(name=name, keys=keys, points=tuple(filled))


def _listed(name: str, axis: Placed) -> list[Point]:
    parts = axis.list()
    others = [part for part in parts if not isinstance(part.value, dict)]
    if len(others) == len(parts) and axis.place != CASES:
        key_name(name, "axes")
        return [Point(values={name: part.scalar()}) for part in parts]
    if others:
        raise RecipeProblem(
            f"{others[0].place}: {others[0].value!r} is not a mapping of keys to values",
            place=others[0].place,
            cause="either every value of an axis is a mapping or none is",
            hint="write: - {name: S, tokens: 512, hidden: 128}",
        )
    return [_shape(part) for part in parts]


def _shape(shape: Placed) -> Point:
    """A point of several keys. `name` is what people call it and no config."""
    name = shape.get("name")
    if not isinstance(name.value, str | int | None):
        raise name.wrong("text", "name: S")
    values = Placed({key: item for key, item in shape.value.items() if key != "name"}, shape.place).scalars()
    if not values and name.value is None:
        raise RecipeProblem(f"{shape.place} sets no key", place=shape.place, cause="it is empty", hint="add: topk: 2")
    return Point(name=name.given(lambda part: str(part.value)), values=values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST


def _range(value: Mapping[str, Any], place: str) -> list[Scalar]:
    """Both ends included. Decimal arithmetic, so that the third of 0.1 to 0.9 by 0.1 is 0.3."""
    from decimal import Decimal

    check_known("key of a range", value, _RANGE_KEYS, place=place)
    numbers = {key: value.get(key) for key in _RANGE_KEYS}
    wrong = [k for k, n in numbers.items() if n is not None and not _is_number(n)]
    given = {key for key, number in numbers.items() if number is not None}
    if wrong or given not in ({"from", "to", "step"}, {"from", "to", "count"}):
        raise RecipeProblem(
            f"{place} is not a range" + (f": {wrong[0]} is {value[wrong[0]]!r}" if wrong else ""),
            place=place,
            cause="a range has the numbers from and to, and either step or count",
            hint="write: {from: 0.1, to: 0.9, step: 0.1}",
        )
    first, last = (Decimal(repr(numbers[key])) for key in ("from", "to"))
    if numbers["count"] is not None:
        count = int(numbers["count"])
        step = (last - first) / (count - 1) if count > 1 else Decimal(0)
    else:
        step = Decimal(repr(numbers["step"]))
        count = int((last - first) / step) + 1 if step and (last - first) / step >= 0 else 0
    if not 0 < count <= _MOST_POINTS:
        raise RecipeProblem(
            f"{place} has {'no' if count < 1 else count} values",
            place=place,
            cause=f"from {first} to {last} in steps of {step}" if numbers["count"] is None else f"count is {count}",
            hint="choose a step that leads from `from` to `to` in fewer than a million steps",
        )
    whole = all(isinstance(numbers[key], int) for key in ("from", "to")) and step == step.to_integral_value()
    return [int(first + i * step) if whole else float(first + i * step) for i in range(count)]


def _filled(point: Point, keys: Sequence[str], fixed: Mapping[str, Scalar], place: str) -> Point:
    """The point with a value for every key of its axis: its own, else the fixed one."""
    missing = [key for key in keys if key not in point.values and key not in fixed]
    if missing:
        raise RecipeProblem(
            f"{place} has no value for {missing[0]}",
            place=place,
            cause="other points of this axis have one, and `fixed` has no default for it",
            hint=f"add {missing[0]} there, or under fixed",
        )
    return Point(name=point.name, values={k: point.values[k] if k in point.values else fixed[k] for k in keys})
