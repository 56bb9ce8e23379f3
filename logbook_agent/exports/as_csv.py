"""The table as CSV (RFC 4180): numbers in full precision, no formulas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from logbook_agent.exports.columns import DataColumn
from logbook_agent.model.values import spelt
from logbook_agent.text.cells import neutral_cell


def csv_lines(columns: Sequence[DataColumn]) -> Iterator[bytes]:
    """The lines, the names first; each ends in CRLF. Unknown is an empty field, empty text is `""`, samples are a
    list in JSON. A text that a spreadsheet would take for a formula has a `'` in front (`neutral_cell`)."""
    yield csv_head(column.name for column in columns).encode("utf-8", "replace")
    fields = [[_field(value, column.type) for value in column.values] for column in columns]
    for row in zip(*fields, strict=True):
        yield (",".join(row) + "\r\n").encode()


def csv_head(names: Iterable[str]) -> str:
    """The line of names, with its end."""
    return ",".join(map(_quoted, names)) + "\r\n"


def _field(value: Any, kind: str) -> str:
    if value is None:
        return ""
    if kind == "samples":
        return _quoted(json.dumps(list(value)))
    if kind == "text":
        # Half a surrogate pair is no text in any encoding; nothing else is changed.
        return _quoted(neutral_cell(value.encode("utf-8", "replace").decode()))
    return value if isinstance(value, str) else spelt(value)


def _quoted(text: str) -> str:
    if text and text == text.strip() and not any(character in text for character in ',"\r\n;\t'):
        return text
    return '"' + text.replace('"', '""') + '"'
