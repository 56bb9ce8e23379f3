"""The header of a logbook from a YAML file: `logbook start --from FILE`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from logbook_agent.findings.criteria.predicate import checked_predicate
from logbook_agent.model.checks import checked_baseline
from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Baseline, CommandTemplate, Criterion, Link, MatrixAxis, Metric
from logbook_agent.start.header_options import parse_axis, parse_link, parse_metric, parse_template
from logbook_agent.store.parse import parse_yaml
from logbook_agent.text.markdown import clean

_FILE_KEYS = ["topic", "title", "prefix", "zone", "goal", "summary", "metrics", "constraints", "links"]
_FILE_KEYS += ["baseline", "stop_criteria", "matrix", "command_templates"]


def read_header_file(path: Path) -> dict[str, Any]:
    """The parts of a header in a YAML file; short forms (a text for a metric, link, criterion) are read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}",
            cause="--from names a YAML file",
            hint="docs/reference/header.md shows one",
        ) from error
    data = parse_yaml(text, str(path))
    if not isinstance(data, dict):
        raise UsageError(f"{path} holds no keys", cause="a header is a mapping", hint="start with: topic: NAME")
    unknown = [k for k in data if k not in _FILE_KEYS]
    if unknown:
        raise UsageError(
            f"{path}: unknown key {unknown[0]!r}",
            cause=f"a header has: {', '.join(_FILE_KEYS)}",
            hint="correct or remove it",
        )
    try:
        return {key: _part(key, value) for key, value in data.items() if value is not None}
    except CodecError as error:
        raise UsageError(
            f"{path}: {error}",
            cause="the header does not have that form",
            hint="see docs/reference/header.md",
        ) from error


def _part(key: str, value: Any) -> Any:
    if key == "baseline":
        return checked_baseline(decode(Baseline, _dates_as_text(value), "baseline"))
    if key not in _ITEMS:
        if not isinstance(value, str):
            raise CodecError(f"{key}: expected text, got {type(value).__name__}")
        return value
    if isinstance(value, dict) and key == "links":
        value = [f"{label}={url}" for label, url in value.items()]
    if not isinstance(value, list):
        raise CodecError(f"{key}: expected a list, got {type(value).__name__}")
    short, cls = _ITEMS[key]
    return tuple(_item(item, short, cls, key) for item in value)


def _item(item: Any, short: Callable[[str], Any], cls: type | None, key: str) -> Any:
    """One item of a list: a text in its short form, or a mapping in full."""
    if isinstance(item, str):
        return short(item)
    if cls is None:
        raise CodecError(f"{key}: expected text, got {type(item).__name__}")
    if cls is Criterion and isinstance(item, Mapping) and item.get("predicate") is not None:
        item = {**item, "predicate": checked_predicate(item["predicate"])}
    return decode(cls, _values_as_written(item), key)


def _values_as_written(value: Any) -> Any:
    """YAML reads `values: [2, 4, 8]` of an axis as numbers; planned values are kept as written."""
    if isinstance(value, dict) and isinstance(value.get("values"), list):
        return {**value, "values": [_as_written(v) for v in value["values"]]}
    return value


def _as_written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _dates_as_text(value: Any) -> Any:
    """YAML reads 2026-02-09 as a date; a header holds text."""
    if isinstance(value, Mapping) and hasattr(value.get("date"), "isoformat"):
        return {**value, "date": value["date"].isoformat()}
    return value


_ITEMS: dict[str, tuple[Callable[[str], Any], type | None]] = {
    "metrics": (parse_metric, Metric),
    "constraints": (clean, None),
    "links": (parse_link, Link),
    "stop_criteria": (lambda text: Criterion(text=clean(text)), Criterion),
    "matrix": (parse_axis, MatrixAxis),
    "command_templates": (parse_template, CommandTemplate),
}
