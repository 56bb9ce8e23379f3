"""Rows from RESULT_JSON and from the file at $LOGBOOK_RESULT_FILE. Nothing raises; what does not fit is a
problem, and what does fit is kept."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from logbook_agent.model.run import Device, Failure, Measurement, Row, Scalar
from logbook_agent.model.units import DIRECTIONS, Direction
from logbook_agent.model.values import finite, is_number
from logbook_agent.running.results.curve_points import JsonPoint
from logbook_agent.running.results.result_lines import MAX_KEYS, cut

Problem = Callable[[str], None]

_ROW_KEYS = ("config", "metrics", "observations", "labels", "devices", "software", "host", "failed")
_POINT_KEYS = ("config", "metrics", "observations", "labels")


@dataclass(slots=True)
class JsonRows:
    """The measured rows of a JSON text, and its points of curves."""

    measured: list[Row] = field(default_factory=list)
    points: list[JsonPoint] = field(default_factory=list)


def rows_from_json(
    text: str,
    problem: Problem,
    clean: Callable[[Any], Any],
    translated: Callable[[Any], Any] = lambda data: data,
    step_keys: Sequence[str] = (),
) -> JsonRows:
    """The rows of one JSON text: an object, a list of them, or `{"rows": [...]}`. `translated` brings data of another
    form to this one, and `clean` takes the secrets out of it. An object that has a key of `step_keys` beside its
    metrics holds points of curves."""
    rows = JsonRows()
    try:
        data = json.loads(text)
        if "\\ud" in text.lower():
            # A lone surrogate, escaped, is JSON; it is no text that a file could hold.
            data = json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        problem(f"not JSON ({cut(str(error), 80)})")
        return rows
    data = clean(translated(data))
    if isinstance(data, dict) and "rows" in data:
        for key in data.keys() - {"rows"}:
            problem(f"unknown key {cut(key, 40)!r} beside rows")
        data = data["rows"]
        if not isinstance(data, list):
            problem("rows is not a list")
            return rows
    for item in data if isinstance(data, list) else [data]:
        if isinstance(item, dict) and any(key in item for key in step_keys):
            point = _point(item, step_keys, problem)
            rows.points += [point] if point is not None else []
        elif (row := _row(item, problem)) is not None:
            rows.measured.append(row)
    return rows


def _row(data: object, problem: Problem) -> Row | None:
    if not isinstance(data, dict):
        problem(f"a row is not an object: {cut(json.dumps(data), 40)}")
        return None
    for key in data:
        if key not in _ROW_KEYS:
            problem(f"unknown key {cut(key, 40)!r}")
    row = Row(
        config=_config(data, problem),
        metrics=dict(_metrics(_object(data, "metrics", problem), problem)),
        observations=dict(_observations(_object(data, "observations", problem), problem)),
        labels=_labels(data, problem),
        devices=tuple(_devices(data.get("devices"), problem)),
        software=_software(data, problem),
        host=_host(data, problem),
        failed=_failed(data.get("failed"), problem),
    )
    return None if row == Row() else row


def _point(data: Mapping[str, Any], step_keys: Sequence[str], problem: Problem) -> JsonPoint | None:
    """A row with steps; None where one of these is no number, or the row has no values."""
    for key in data:
        if key not in _POINT_KEYS and key not in step_keys:
            problem(f"unknown key {cut(key, 40)!r} beside a step: values stand under metrics")
    steps = {key: finite(data[key]) for key in step_keys if key in data}
    for key, step in steps.items():
        if step is None:
            problem(f"{cut(key, 40)}: {cut(str(data[key]), 40)!r} is not a number; the points were left out")
            return None
    values: dict[str, float] = {}
    units: dict[str, str | None] = {}
    for kind in ("metrics", "observations"):
        for name, given in _object(data, kind, problem).items():
            of = given if isinstance(given, dict) else {"value": given}
            value = of.get("value")
            if value is not None and not is_number(value):
                problem(f"{cut(name, 40)}: {cut(str(given), 40)} is not a value of one step")
                continue
            number = finite(value)
            values[name] = math.nan if number is None else number
            if kind == "metrics":
                units[name] = of["unit"] if isinstance(of.get("unit"), str) else None
    if not values:
        return None
    return JsonPoint(
        steps={key: step for key, step in steps.items() if step is not None},
        values=values,
        units=units,
        config=_config(data, problem),
        labels=_labels(data, problem),
    )


def _config(data: Mapping[str, Any], problem: Problem) -> dict[str, Scalar]:
    return {k: scalar(v) for k, v in _object(data, "config", problem).items()}


def _labels(data: Mapping[str, Any], problem: Problem) -> dict[str, str]:
    return {k: _text(v) for k, v in _object(data, "labels", problem).items()}


def _software(data: Mapping[str, Any], problem: Problem) -> dict[str, str]:
    return {k: _text(v) for k, v in _object(data, "software", problem).items() if v is not None}


def _host(data: Mapping[str, Any], problem: Problem) -> str | None:
    host = data.get("host")
    if host is not None and not isinstance(host, str):
        problem("host is not text")
        return None
    return host


def _object(data: Mapping[str, Any], key: str, problem: Problem) -> dict[str, Any]:
    value = data.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        problem(f"{key} is not an object")
        return {}
    if len(value) > MAX_KEYS:
        problem(f"{key}: {len(value) - MAX_KEYS} keys were not kept: at most {MAX_KEYS} are")
        return dict(list(value.items())[:MAX_KEYS])
    return value


def scalar(value: object) -> Scalar:
    """A config value: lists and objects as compact JSON text, a number that is not finite as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), sort_keys=True)


def _metrics(data: Mapping[str, Any], problem: Problem) -> Iterator[tuple[str, Measurement]]:
    for name, given in data.items():
        unit: str | None = None
        direction: Direction | None = None
        samples = given
        if isinstance(given, dict):
            for key in given.keys() - {"samples", "unit", "direction"}:
                problem(f"{cut(name, 40)}: unknown key {cut(key, 40)!r}")
            samples = given.get("samples")
            unit = given["unit"] if isinstance(given.get("unit"), str) else None
            direction = next((d for d in DIRECTIONS if d == given.get("direction")), None)
            if direction is None and given.get("direction") is not None:
                problem(f"{cut(name, 40)}: unknown direction {cut(str(given['direction']), 40)!r}")
        taken = tuple(_samples(name, samples if isinstance(samples, list) else [samples], problem))
        if taken:
            yield name, Measurement(samples=taken, unit=unit, direction=direction)
        elif samples == []:
            problem(f"{cut(name, 40)} has no samples")


def _samples(name: str, given: list[Any], problem: Problem) -> Iterator[float]:
    for value in given:
        number = finite(value)
        if number is None:
            problem(f"{cut(name, 40)}: {cut(str(value), 40)} is not a measurement")
        else:
            yield number


def _observations(data: Mapping[str, Any], problem: Problem) -> Iterator[tuple[str, float | None]]:
    for name, value in data.items():
        number = float(value) if isinstance(value, bool) else finite(value)
        if number is None and value is not None:
            problem(f"{cut(name, 40)}: {cut(str(value), 40)} is not a number; kept as unknown")
        yield name, number


def _devices(data: object, problem: Problem) -> Iterator[Device]:
    if data is None:
        return
    if not isinstance(data, list):
        problem("devices is not a list")
        return
    for item in data:
        if not isinstance(item, dict) or not isinstance(item.get("platform"), str):
            problem("a device has no platform")
            continue
        for key in item.keys() - {"platform", "kind", "count", "used"}:
            problem(f"device: unknown key {cut(key, 40)!r}")
        kind = item.get("kind")
        yield Device(
            platform=item["platform"],
            kind=kind if isinstance(kind, str) else None,
            count=_count(item.get("count")),
            used=_count(item.get("used")),
        )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _failed(data: object, problem: Problem) -> Failure | None:
    if data is None:
        return None
    if isinstance(data, str):
        return Failure(reason=data)
    if not isinstance(data, dict):
        problem("failed is not an object")
        return Failure(reason="unknown")
    reason, message = data.get("reason"), data.get("message")
    return Failure(reason=_text(reason) if reason is not None else "unknown", message=_text(message or ""))
