"""Values as cells of CSV (RFC 4180), which a spreadsheet shows and never computes."""

from __future__ import annotations

from logbook_agent.model.values import Scalar, is_number, parse_scalar, spelt

# What makes a program for spreadsheets compute a cell, or leave it: also the full-width signs, which some read alike.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_MARK = "'"


def neutral_cell(text: str) -> str:
    """A text that no spreadsheet computes: with `'` in front where it begins like a formula and is no number, or where
    such a text would begin like that behind marks of its own."""
    bare = text.lstrip(_MARK)
    return _MARK + text if bare.startswith(_FORMULA) and (bare != text or not is_number(parse_scalar(text))) else text


def csv_cell(value: Scalar) -> str:
    """A value in full precision; unknown is an empty field, empty text is `""`."""
    if not isinstance(value, str):
        return "" if value is None else spelt(value)
    # Half a surrogate pair is no text in any encoding; nothing else is changed.
    text = neutral_cell(value.encode("utf-8", "replace").decode())
    if text and text == text.strip() and not any(character in text for character in ',"\r\n;\t'):
        return text
    return '"' + text.replace('"', '""') + '"'
