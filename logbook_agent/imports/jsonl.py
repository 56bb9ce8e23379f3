"""A JSON object on each line: autoresearch.jsonl, and other logs of metrics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from logbook_agent.imports.document import Document, Named
from logbook_agent.imports.tables import entries_of, metric_name, table_of_objects
from logbook_agent.model.header import Metric
from logbook_agent.model.units import Direction

_DEPTH = 4
_BETTER: Mapping[str, Direction] = {"l": "min", "h": "max"}


def parse(lines: Sequence[str], _: Sequence[str], declared: Mapping[str, Metric]) -> Document:
    """Objects as the rows of one table. One that names a metric says what `metric` is in those that follow."""
    named: list[Named] = []
    goal = None
    stated: dict[str, Metric] = {}
    name = "metric"
    objects: list[tuple[int, dict[str, str]]] = []
    for number, line in enumerate(lines, 1):
        data = _object(line)
        if data is None:
            named += [Named(number, "no JSON object; it is kept as text")] if line.strip() else []
        elif isinstance(metric := data.get("metricName"), str) and metric:
            name, goal = metric_name(metric), goal or data.get("name")
            stated.setdefault(name, _metric(name, data, is_primary=not stated))
        elif data.get("type") != "config":
            objects.append((number, {name if key == "metric" else key: v for key, v in _flat(data).items()}))
    table = table_of_objects(objects, {**declared, **stated})
    others = [structs.replace(m, primary=m.primary and not stated) for m in table.metrics if m.name not in stated]
    return Document(
        spans=tuple(entries_of(table)),
        metrics=(*stated.values(), *others),
        named=tuple(named),
        goal=goal if isinstance(goal, str) else None,
    )


def _object(line: str) -> dict[str, Any] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _metric(name: str, data: Mapping[str, Any], *, is_primary: bool) -> Metric:
    way = _BETTER.get(str(data.get("bestDirection", "")).lower()[:1])
    unit = str(data.get("metricUnit") or "") or None
    return Metric(name=name, unit=unit, direction=way, primary=is_primary)


def _flat(data: Mapping[str, Any], before: str = "", depth: int = 0) -> dict[str, str]:
    """The values of an object as texts, those inside by names such as `metrics.loss`."""
    found: dict[str, str] = {}
    for key, value in data.items():
        if isinstance(value, dict) and depth < _DEPTH:
            found |= _flat(value, f"{before}{key}.", depth + 1)
        elif value is not None:
            found[f"{before}{key}"] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return found


def is_jsonl(lines: Sequence[str]) -> bool:
    """Whether the first line of a text that is not blank is an object."""
    return _object(next((line for line in lines if line.strip()), "")) is not None
