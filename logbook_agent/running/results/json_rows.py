"""Rows from RESULT_JSON and from the file at $LOGBOOK_RESULT_FILE. Nothing raises; what does not fit is a
problem, and what does fit is kept."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.run import Failure, Measurement, Row, Scalar
from logbook_agent.model.units import DIRECTIONS
from logbook_agent.model.values import finite, is_number
from logbook_agent.model.worker_report import Device
from logbook_agent.running.results.result_lines import MAX_KEYS, cut

Problem = Callable[[str], None]

_POINT_KEYS = ("config", "metrics", "observations", "labels")
_ROW_KEYS = (*_POINT_KEYS, "devices", "software", "host", "failed")


class JsonRow(NamedTuple):
    """A row, with its steps by their keys where its metrics and observations are points of curves."""

    row: Row
    steps: dict[str, float]


def rows_from_json(
    text: str,
    problem: Problem,
    clean: Callable[[Any], Any],
    translated: Callable[[Any], Any] = lambda data: data,
    step_keys: Sequence[str] = (),
) -> list[JsonRow]:
    """The rows of one JSON text: an object, a list of them, or `{"rows": [...]}`. `translated` brings data of another
    form to this one, and `clean` takes the secrets out of it. An object that has a key of `step_keys` beside its
    metrics holds points of curves."""
    try:
        data = json.loads(text)
        if "\\ud" in text.lower():
            # A lone surrogate, escaped, is JSON; it is no text that a file could hold.
            data = json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        problem(f"not JSON ({cut(str(error), 80)})")
        return []
    data = clean(translated(data))
    if isinstance(data, dict) and "rows" in data:
        for key in data.keys() - {"rows"}:
            problem(f"unknown key {cut(key, 40)!r} beside rows")
        data = data["rows"]
        if not isinstance(data, list):
            problem("rows is not a list")
            return []
    rows = (_row(item, step_keys, problem) for item in (data if isinstance(data, list) else [data]))
    return [one for one in rows if one is not None and one.row != Row()]


def _row(data: object, step_keys: Sequence[str], problem: Problem) -> JsonRow | None:
    """The row of an object; None for another value, and where a step is no number."""
    if not isinstance(data, dict):
        problem(f"a row is not an object: {cut(json.dumps(data), 40)}")
        return None
    steps: dict[str, float] = {}
    for key in step_keys:
        if key in data and (step := finite(data[key])) is not None:
            steps[key] = step
        elif key in data:
            problem(f"{cut(key, 40)}: {cut(str(data[key]), 40)!r} is not a number; the points were left out")
            return None
    for key in data.keys() - {*(_POINT_KEYS if steps else _ROW_KEYS), *steps}:
        problem(f"unknown key {cut(key, 40)!r}{' beside a step: values stand under metrics' if steps else ''}")
    if not isinstance(host := data.get("host"), str | None):
        problem("host is not text")
        host = None
    row = Row(
        config={k: scalar(v) for k, v in _object(data, "config", problem).items()},
        metrics=dict(_metrics(_object(data, "metrics", problem), bool(steps), problem)),
        observations=dict(_observations(_object(data, "observations", problem), problem)),
        labels={k: _text(v) for k, v in _object(data, "labels", problem).items()},
        devices=tuple(_devices(data.get("devices"), problem)),
        software={k: _text(v) for k, v in _object(data, "software", problem).items() if v is not None},
        host=host,
        failed=_failed(data.get("failed")),
    )
    return JsonRow(row, steps)


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


def scalar(value: object) -> Scalar:
    """A config value: lists and objects as compact JSON text, a number that is not finite as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, int | float) else _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), sort_keys=True)


def _metrics(data: Mapping[str, Any], is_point: bool, problem: Problem) -> Iterator[tuple[str, Measurement]]:
    for name, given in data.items():
        stated = given if isinstance(given, dict) else {"samples": given}
        for key in stated.keys() - {"samples", "unit", "direction"}:
            problem(f"{cut(name, 40)}: unknown key {cut(key, 40)!r}")
        samples = stated.get("samples")
        if is_point and isinstance(samples, list) and len(samples) != 1:
            problem(f"{cut(name, 40)}: {cut(str(samples), 40)} is not a value of one step")
            continue
        unit, direction = stated.get("unit"), stated.get("direction")
        if direction not in (None, *DIRECTIONS):
            problem(f"{cut(name, 40)}: unknown direction {cut(str(direction), 40)!r}")
        taken = tuple(_samples(name, samples if isinstance(samples, list) else [samples], is_point, problem))
        if taken:
            yield (
                name,
                Measurement(
                    samples=taken,
                    unit=unit if isinstance(unit, str) else None,
                    direction=next((d for d in DIRECTIONS if d == direction), None),
                ),
            )
        elif samples == []:
            problem(f"{cut(name, 40)} has no samples")


def _samples(name: str, given: list[Any], is_point: bool, problem: Problem) -> Iterator[float]:
    """The measurements; nan for what is none. A point may be unknown, or not finite."""
    for value in given:
        number = finite(value)
        if number is None and not (is_point and (value is None or is_number(value))):
            problem(f"{cut(name, 40)}: {cut(str(value), 40)} is not a measurement")
        yield math.nan if number is None else number


def _observations(data: Mapping[str, Any], problem: Problem) -> Iterator[tuple[str, float | None]]:
    for name, value in data.items():
        number = float(value) if isinstance(value, bool) else finite(value)
        if number is None and value is not None:
            problem(f"{cut(name, 40)}: {cut(str(value), 40)} is not a number; kept as unknown")
        yield name, number


def _devices(data: object, problem: Problem) -> Iterator[Device]:
    for item in data if isinstance(data, list) else [] if data is None else [data]:
        try:
            yield decode(Device, item, "devices")
        except CodecError as error:
            problem(cut(str(error), 120))


def _failed(data: object) -> Failure | None:
    if data is None or data is False:
        return None
    given = data if isinstance(data, dict) else {"reason": data}
    return Failure(reason=_text(given.get("reason") or "unknown"), message=_text(given.get("message") or ""))
