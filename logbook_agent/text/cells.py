"""Text as a cell of CSV, which a spreadsheet shows and never computes."""

from __future__ import annotations

from logbook_agent.model.values import is_number, parse_scalar

# What makes a program for spreadsheets compute a cell, or leave it: also the full-width signs, which some read alike.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_MARK = "'"


def neutral_cell(text: str) -> str:
    """A text that no spreadsheet computes: with `'` in front where it begins like a formula and is no number, or where
    such a text would begin like that behind marks of its own."""
    bare = text.lstrip(_MARK)
    return _MARK + text if bare.startswith(_FORMULA) and (bare != text or not _is_number(text)) else text


def _is_number(text: str) -> bool:
    return is_number(parse_scalar(text))
