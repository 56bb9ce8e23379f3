"""The rows as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from logbook_agent.exports.measured_rows import Exported
from logbook_agent.exports.values import row_data
from logbook_agent.model.codec import encode
from logbook_agent.model.header import Header

SCHEMA = "logbook-rows/1"
# What such a document begins with.
OPENING = f'{{"schema": "{SCHEMA}"'


def json_pieces(found: Exported, header: Header) -> Iterator[bytes]:
    """The document, a row on each line."""
    yield f"{OPENING},\n".encode()
    logbook = {"topic": header.topic, "prefix": header.prefix, "title": header.title, "goal": header.goal}
    yield f'"logbook": {_text({**logbook, "metrics": [encode(m) for m in header.metrics]})},\n'.encode()
    yield f'"left_out": {_text(left_out(found))},\n"rows": [\n'.encode()
    for place, row in enumerate(found.rows):
        yield (",\n" * bool(place) + _text(row_data(row))).encode()
    yield b"\n]}\n"


def left_out(found: Exported) -> dict[str, Any]:
    """What is no row of the export."""
    return {
        "runs_without_rows": found.runs_without_rows,
        "predicted_rows": found.predicted_rows,
        "not_asked_for": found.not_asked_for,
        "damaged_entries": list(found.damaged),
    }


def _text(data: Any) -> str:
    return json.dumps(encode(data), ensure_ascii=False, allow_nan=False)
