"""A JSON object on each line: autoresearch.jsonl, and other logs of metrics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from logbook_agent.imports.delimited import Cells, as_entries
from logbook_agent.imports.document import Document, Named, SourceSpan, lines_of, partition
from logbook_agent.model.header import Metric
from logbook_agent.model.units import Direction

_DEPTH = 4
_BETTER: Mapping[str, Direction] = {
    "lower": "min",
    "min": "min",
    "minimize": "min",
    "higher": "max",
    "max": "max",
    "maximize": "max",
}


def parse(text: str, *, columns: Sequence[str] = (), declared: Mapping[str, Metric]) -> Document:
    """Objects as entries. One that names a metric says what `metric` is in those that follow."""
    lines = lines_of(text)
    named: list[Named] = []
    goal = None
    segments: list[tuple[Metric | None, list[tuple[int, dict[str, str]]]]] = [(None, [])]
    for number, line in enumerate(lines, 1):
        data = _object(line)
        if data is None and line.strip():
            named.append(Named(number, "no JSON object; it is kept as text"))
        if data is None:
            continue
        if isinstance(name := data.get("metricName"), str) and name:
            goal = goal or data.get("name")
            segments.append((_metric(data), []))
        elif data.get("type") != "config":
            segments[-1][1].append((number, _flat(data)))
    spans: list[SourceSpan] = []
    metrics: dict[str, Metric] = {}
    for metric, objects in segments:
        own = {**declared, **({metric.name: metric} if metric is not None else {})}
        found = [(n, _named(one, metric)) for n, one in objects]
        headings = [*dict.fromkeys(key for _, one in found for key in one)]
        rows = [Cells(first=n, last=n, cells=tuple(one.get(key, "") for key in headings)) for n, one in found]
        entries, more, said = as_entries(headings, rows, own)
        spans += entries
        named += said
        for one in ([metric] if metric is not None else []) + more:
            metrics.setdefault(one.name, replace(one, primary=one is metric or (metric is None and one.primary)))
    spans.sort(key=lambda span: span.first)
    return Document(
        spans=partition(spans, lines),
        metrics=tuple(metrics.values()),
        named=tuple(named),
        goal=goal if isinstance(goal, str) else None,
    )


def _object(line: str) -> dict[str, Any] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _metric(data: Mapping[str, Any]) -> Metric:
    unit, way = data.get("metricUnit"), str(data.get("bestDirection", "")).lower()
    return Metric(name=str(data["metricName"]), unit=str(unit) if unit else None, direction=_BETTER.get(way))


def _flat(data: Mapping[str, Any], before: str = "", depth: int = 0) -> dict[str, str]:
    """The values of an object as texts, those inside by names such as `metrics.loss`."""
    found: dict[str, str] = {}
    for key, value in data.items():
        name = f"{before}{key}"
        if isinstance(value, dict) and depth < _DEPTH:
            found |= _flat(value, f"{name}.", depth + 1)
        elif value is not None:
            found[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return found


def _named(one: Mapping[str, str], metric: Metric | None) -> dict[str, str]:
    """An object with its metric under the name that it has."""
    name = metric.name if metric is not None else "metric"
    return {name if key == "metric" else key: value for key, value in one.items()}


def is_jsonl(text: str) -> bool:
    """Whether the first line of a text that is not blank is an object."""
    return _object(next((line for line in text.split("\n") if line.strip()), "")) is not None
