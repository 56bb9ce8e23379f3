"""The axes of a recipe: lists, ranges, several keys side by side, shapes, explicit cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logbook_agent.model.values import Scalar
from logbook_agent.sweeps.recipes.problem import MOST, RecipeProblem, unknown
from logbook_agent.sweeps.recipes.recipe import Axis, Point

CASES = "cases"
_RANGE_KEYS = ("from", "to", "step", "count")
_MOST_POINTS = 1_000_000


def parse_axis(name: str, value: Any, fixed: Mapping[str, Scalar]) -> Axis:
    """An axis of one of its forms. RecipeProblem for one without values or of another form."""
    place = name if name == CASES else f"axes.{name}"
    if isinstance(value, list):
        points = _listed(name, value, place)
    elif isinstance(value, dict) and "zip" in value:
        points = _zipped(value, place)
    elif isinstance(value, dict) and ({"from", "to"} & value.keys() or not value):
        points = [Point(values={name: number}) for number in _range(value, place)]
    else:
        raise RecipeProblem(
            f"axis {name} is neither a list nor a range",
            place=place,
            cause="it is a list, {from, to, step}, {from, to, count}, or {zip: {key: list, ...}}",
            hint=f"write: {name}: [1, 2, 4]",
        )
    if not points:
        raise RecipeProblem(
            f"axis {name} has no values, so there is no case to run",
            place=place,
            cause="a grid is the product of its axes, and one of them is empty",
            hint=f"give {name} a value, or remove it",
        )
    keys = tuple(dict.fromkeys(key for point in points for key in point.values))
    return Axis(
        name=name, keys=keys, points=tuple(_filled(p, keys, fixed, f"{place}[{i}]") for i, p in enumerate(points))
    )


def scalar(value: Any, place: str) -> Scalar:
    """A value of config: text, number, true, false or null."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return value
    raise RecipeProblem(
        f"{place}: {value!r} is not a config value",
        place=place,
        cause="a value is text, a finite number, true, false or null",
        hint="quote it if it is meant as text",
    )


def scalars(value: Any, place: str) -> dict[str, Scalar]:
    """Config: keys with one value each."""
    if not isinstance(value, dict):
        raise RecipeProblem(
            f"{place} must be a mapping of keys to values", place=place, cause=f"it is {value!r}", hint="write: topk: 2"
        )
    return {key_name(key, place): scalar(item, f"{place}.{key}") for key, item in value.items()}


def key_name(key: Any, place: str) -> str:
    """A config key: a name that a placeholder can hold."""
    if isinstance(key, str) and key.isidentifier():
        return key
    raise RecipeProblem(
        f"{key!r} is not a valid config key",
        place=f"{place}.{key}",
        cause="a key is letters, digits and _, so that {key} can stand for it",
        hint="write flags with underscores: mlp_dim for --mlp-dim",
    )


def _listed(name: str, values: Sequence[Any], place: str) -> list[Point]:
    mappings = [isinstance(value, dict) for value in values]
    if not any(mappings) and name != CASES:
        key_name(name, "axes")
        return [Point(values={name: scalar(value, f"{place}[{i}]")}) for i, value in enumerate(values)]
    if not all(mappings):
        i = mappings.index(False)
        raise RecipeProblem(
            f"{place}[{i}]: {values[i]!r} is not a mapping of keys to values",
            place=f"{place}[{i}]",
            cause="either every value of an axis is a mapping or none is",
            hint="write: - {name: S, tokens: 512, hidden: 128}",
        )
    return [_shape(value, f"{place}[{i}]") for i, value in enumerate(values)]


def _shape(value: Mapping[str, Any], place: str) -> Point:
    """A point of several keys. `name` is what people call it and no config."""
    name = value.get("name")
    if name is not None and not isinstance(name, str | int):
        raise RecipeProblem(
            f"{place}: name must be text", place=f"{place}.name", cause=f"it is {name!r}", hint="name: S"
        )
    values = scalars({key: item for key, item in value.items() if key != "name"}, place)
    if not values and name is None:
        raise RecipeProblem(f"{place} sets no key", place=place, cause="it is empty", hint="add: topk: 2")
    return Point(name=None if name is None else str(name), values=values)


def _zipped(value: Mapping[str, Any], place: str) -> list[Point]:
    for key in value:
        if key != "zip":
            raise unknown("key", key, ["zip"], place=f"{place}.{key}")
    lists = value["zip"]
    if not isinstance(lists, dict) or not all(isinstance(v, list) for v in lists.values()):
        raise RecipeProblem(
            f"{place}.zip must be a mapping of keys to lists",
            place=f"{place}.zip",
            cause="zip combines the first values of all keys, then the second ones",
            hint="write: zip: {hidden: [2048, 3072], mlp_dim: [2048, 3072]}",
        )
    lengths = {key: len(values) for key, values in lists.items()}
    if len(set(lengths.values())) > 1:
        raise RecipeProblem(
            f"the lists of {place}.zip differ in length",
            place=f"{place}.zip",
            cause=", ".join(f"{key} has {length}" for key, length in lengths.items()),
            hint="give every key the same number of values",
        )
    keys = [key_name(key, f"{place}.zip") for key in lists]
    return [
        Point(values={key: scalar(item, f"{place}.zip.{key}[{i}]") for key, item in zip(keys, row, strict=True)})
        for i, row in enumerate(zip(*lists.values(), strict=True))
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST


def _range(value: Mapping[str, Any], place: str) -> list[Scalar]:
    """Both ends included. Decimal arithmetic, so that the third of 0.1 to 0.9 by 0.1 is 0.3."""
    from decimal import Decimal

    for key in value:
        if key not in _RANGE_KEYS:
            raise unknown("key of a range", key, _RANGE_KEYS, place=f"{place}.{key}")
    numbers = {key: value.get(key) for key in _RANGE_KEYS}
    wrong = [k for k, n in numbers.items() if n is not None and not _is_number(n)]
    if (
        wrong
        or numbers["from"] is None
        or numbers["to"] is None
        or (numbers["step"] is None) == (numbers["count"] is None)
    ):
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
