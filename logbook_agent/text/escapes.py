"""What a terminal obeys: escape sequences, as ECMA-48 has them, control characters, and marks of direction."""

from __future__ import annotations

import re

# Nothing in a sequence but its end is an escape, so each is read once; and none goes beyond its line.
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|[PX^_][^\x1b\n]*\x1b\\"  # DCS, SOS, PM, APC
    r"|[ -/]+[0-~]"  # character sets
    r"|[0-~])"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
# Control characters but for tab and line feed, and what turns the direction of the text that follows.
CONTROLS = (
    *(code for code in (*range(32), *range(127, 160)) if code not in (9, 10)),
    *(0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
)
_SHOWN = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in CONTROLS}
# Beside these what ends a line or has no width, where a text stands among others on its line.
_IN_LINE = _SHOWN | {10: "\\x0a"} | {c: f"\\u{c:04x}" for c in (0x2028, 0x2029, *range(0x200B, 0x200E), 0xFEFF)}


def without_escapes(text: str) -> str:
    """The text without escape sequences; itself where it has none. Of a string without an end only its opening goes."""
    return _ESCAPE.sub("", text) if "\x1b" in text or "\x9b" in text else text


def with_places(text: str) -> tuple[str, list[int]]:
    """The text without escape sequences, and the place of each of its characters in the text."""
    at, places = 0, list[int]()
    for m in _ESCAPE.finditer(text):
        places += range(at, m.start())
        at = m.end()
    return _ESCAPE.sub("", text), [*places, *range(at, len(text))]


def visible(text: str, *, in_line: bool = False) -> str:
    """The text with whatever a terminal would obey as an escape: `\\x1b`. `in_line`: line ends, too."""
    return text.translate(_IN_LINE if in_line else _SHOWN)


def obeyed() -> re.Pattern[bytes]:
    """What a terminal obeys in UTF-8, but for tabs, line ends and colours."""
    controls = re.escape(bytes(code for code in CONTROLS if code < 128 and code not in (0x0D, 0x1B)))
    return re.compile(
        rb"\x1b(?!\[[0-9;]{0,40}m)|[" + controls + rb"]|\xc2[\x80-\x9f]|\xd8\x9c"
        rb"|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]"
    )
