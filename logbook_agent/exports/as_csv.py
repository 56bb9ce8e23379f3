"""The table as CSV (RFC 4180): numbers in full precision, no formulas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from logbook_agent.exports.columns import DataColumn
from logbook_agent.model.values import is_number, parse_scalar, spelt

# What makes a program for spreadsheets compute a cell, or leave it: also the full-width signs, which some read alike.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_MARK = "'"


def csv_lines(columns: Sequence[DataColumn]) -> Iterator[bytes]:
    """The lines, the names first; each ends in CRLF. Unknown is an empty field, empty text is `""`, samples are a
    list in JSON. A text that a spreadsheet would take for a formula has a `'` in front (`neutral_cell`)."""
    yield _line([column.name for column in columns])
    fields = [[_field(value, column.type) for value in column.values] for column in columns]
    for row in zip(*fields, strict=True):
        yield (",".join(row) + "\r\n").encode()


def neutral_cell(text: str) -> str:
    """A text that no spreadsheet computes: with `'` in front where it begins like a formula and is no number, or where
    such a text would begin like that behind marks of its own. `original_cell` undoes it."""
    bare = text.lstrip(_MARK)
    return _MARK + text if bare.startswith(_FORMULA) and (bare != text or not _is_number(text)) else text


def original_cell(text: str) -> str:
    """The text that `neutral_cell` was given."""
    return text[1:] if text.startswith(_MARK) and text.lstrip(_MARK).startswith(_FORMULA) else text


def _is_number(text: str) -> bool:
    return is_number(parse_scalar(text))


def _line(names: Sequence[str]) -> bytes:
    return (",".join(_quoted(neutral_cell(name)) for name in names) + "\r\n").encode("utf-8", "replace")


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
