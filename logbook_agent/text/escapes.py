"""Escape sequences of terminals, as ECMA-48 has them: colours, titles, links, character sets."""

from __future__ import annotations

import re

# Nothing in a sequence but its end is an escape, so each is read once.
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|[PX^_][^\x1b]*\x1b\\"  # DCS, SOS, PM, APC
    r"|[ -/]+[0-~]"  # character sets
    r"|[0-~])"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_BEGINS = re.compile(rb"\x1b|\xc2\x9b")


def without_escapes(text: str) -> str:
    """The text without escape sequences; itself where it has none. Of a string without an end only its opening goes."""
    return _ESCAPE.sub("", text) if "\x1b" in text or "\x9b" in text else text


def has_escape(data: bytes) -> bool:
    """Whether an escape sequence begins in the data."""
    return _BEGINS.search(data) is not None
