"""Parts that recipes of both forms have, read from plain data; each problem names its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logbook_agent.model.header import Criterion, Metric
from logbook_agent.model.units import DIRECTIONS, known
from logbook_agent.sweeps.recipes.problem import MOST, RecipeProblem, unknown


def description_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """What recipes of both forms say of themselves, as the fields of their classes."""
    return {
        "name": text_of(data, "name"),
        "question": text_of(data, "question"),
        "method": text_of(data, "method") if data.get("method") is not None else None,
        "criteria": tuple(criterion(item, f"criteria[{i}]") for i, item in enumerate(list_of(data, "criteria"))),
        "prerequisites": texts_of(data, "prerequisites"),
        "constraints": texts_of(data, "constraints"),
        "metrics": tuple(metric(item, f"metrics[{i}]") for i, item in enumerate(list_of(data, "metrics"))),
    }


def text_of(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        raise RecipeProblem(
            f"{key} is missing" if value is None else f"{key} must be text",
            place=key,
            cause="a recipe needs a name and a question",
            hint=f"add: {key}: ...",
        )
    return value.strip()


def list_of(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise RecipeProblem(f"{key} must be a list", place=key, cause=f"it is {value!r}", hint=f"write: {key}: [...]")
    return value


def mapping_of(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RecipeProblem(
            f"{key} must be a mapping of keys to values", place=key, cause=f"it is {value!r}", hint=f"{key}: {{...}}"
        )
    return value


def texts_of(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = list_of(data, key)
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise RecipeProblem(
                f"{key}[{i}] must be text", place=f"{key}[{i}]", cause=f"it is {value!r}", hint="quote it"
            )
    return tuple(values)


def only_keys(value: Any, allowed: Sequence[str], place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RecipeProblem(
            f"{place} must be a mapping of keys to values",
            place=place,
            cause=f"it is {value!r}",
            hint=f"keys: {', '.join(allowed)}",
        )
    for key in value:
        if key not in allowed:
            raise unknown("key", key, allowed, place=f"{place}.{key}")
    return value


def criterion(value: Any, place: str) -> Criterion:
    if isinstance(value, str):
        return Criterion(text=value)
    parts = only_keys(value, ("text", "predicate"), place)
    predicate = parts.get("predicate")
    if predicate is not None and not isinstance(predicate, dict):
        raise RecipeProblem(
            f"{place}.predicate must be a mapping of keys to values",
            place=f"{place}.predicate",
            cause=f"it is {predicate!r}",
            hint="see docs/reference/recipes.md",
        )
    return Criterion(text=text_of(parts, "text"), predicate=predicate)


def metric(value: Any, place: str) -> Metric:
    """A name, or a mapping; what is left out comes from the table of known metrics."""
    parts = {"name": value} if isinstance(value, str) else only_keys(value, ("name", "direction", "unit"), place)
    name = text_of(parts, "name")
    direction, unit = parts.get("direction", known(name).direction), parts.get("unit", known(name).unit)
    if direction is not None and direction not in DIRECTIONS:
        raise unknown("direction", direction, DIRECTIONS, place=f"{place}.direction")
    return Metric(name=name, direction=direction, unit=unit)


def count(data: Mapping[str, Any], key: str, default: int, *, least: int, place: str = "") -> int:
    value = data.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise RecipeProblem(
            f"{place}{key} must be a whole number, {least} or more",
            place=f"{place}{key}",
            cause=f"it is {value!r}",
            hint=f"write: {key}: {default}",
        )
    return value


def number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST:
        raise RecipeProblem(
            f"{place} must be a number above zero", place=place, cause=f"it is {value!r}", hint="write: 60"
        )
    return float(value)
