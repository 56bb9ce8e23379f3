"""An entry file as people write it, and as earlier versions did, as the data that the tool writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from logbook_agent.model.entry import RELATIONS, typed_id
from logbook_agent.model.values import as_written

_FIELD_KEYS = {"label", "text"}


def entry_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of an entry, whose `fields` may be a mapping of labels to texts."""
    found = {**data, "opened": data.get("opened") or ""}  # `check_entry` says what to write
    if "fields" in found:
        found["fields"] = _fields(found["fields"])
    for relation in RELATIONS:
        if isinstance(target := found.get(relation), str):
            found[relation] = typed_id(target)
    found.pop("aliases", None)  # of earlier versions: no entry gets another ID any more
    return found


def _fields(value: object) -> list[object]:
    fields: list[object] = []
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, Mapping):
            fields.append(item)
        elif _FIELD_KEYS & item.keys():
            fields.append({key: _prose(text) if key == "text" else text for key, text in item.items()})
        else:
            fields += [{"label": label, "text": _prose(text)} for label, text in item.items()]
    return fields


def _prose(value: object) -> str:
    """Markdown of a text, or of what YAML takes for something else: `- speed: 3x` is a list of a mapping."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_prose(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "\n".join("- " + _prose(item).strip("\n").replace("\n", "\n  ") for item in value)
    return as_written(value)
