"""Rows from RESULT_JSON and from the file at $LOGBOOK_RESULT_FILE. Nothing raises; what does not fit is a
problem, and what does fit is kept."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from logbook_agent.model.run import Device, Failure, Measurement, Row, Scalar
from logbook_agent.model.units import DIRECTIONS, Direction
from logbook_agent.model.values import finite
from logbook_agent.running.results.lines import MAX_KEYS, cut

Problem = Callable[[str], None]

_ROW_KEYS = ("config", "metrics", "observations", "labels", "devices", "software", "host", "failed")


def rows_from_json(text: str, problem: Problem, clean: Callable[[Any], Any]) -> list[Row]:
    """The rows of one JSON text: an object, a list of them, or `{"rows": [...]}`. `clean` takes the secrets out of its
    data."""
    try:
        data = json.loads(text)
        if "\\ud" in text.lower():
            # A lone surrogate, escaped, is JSON; it is no text that a file could hold.
            data = json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        problem(f"not JSON ({cut(str(error), 80)})")
        return []
    data = clean(data)
    if isinstance(data, dict) and "rows" in data:
        for key in data.keys() - {"rows"}:
            problem(f"unknown key {cut(key, 40)!r} beside rows")
        data = data["rows"]
        if not isinstance(data, list):
            problem("rows is not a list")
            return []
    rows = []
    for item in data if isinstance(data, list) else [data]:
        row = _row(item, problem)
        if row is not None:
            rows.append(row)
    return rows


def _row(data: object, problem: Problem) -> Row | None:
    if not isinstance(data, dict):
        problem(f"a row is not an object: {cut(json.dumps(data), 40)}")
        return None
    for key in data:
        if key not in _ROW_KEYS:
            problem(f"unknown key {cut(key, 40)!r}")
    parts = {key: _object(data, key, problem) for key in ("config", "metrics", "observations", "labels", "software")}
    host = data.get("host")
    if host is not None and not isinstance(host, str):
        problem("host is not text")
        host = None
    row = Row(
        config={k: scalar(v) for k, v in parts["config"].items()},
        metrics=dict(_metrics(parts["metrics"], problem)),
        observations=dict(_observations(parts["observations"], problem)),
        labels={k: _text(v) for k, v in parts["labels"].items()},
        devices=tuple(_devices(data.get("devices"), problem)),
        software={k: _text(v) for k, v in parts["software"].items() if v is not None},
        host=host,
        failed=_failed(data.get("failed"), problem),
    )
    return None if row == Row() else row


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
        number = finite(value)
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
