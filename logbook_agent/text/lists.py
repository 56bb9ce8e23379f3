"""Lists of values in one word of a command: `2,4,8`, and in quotation marks those that hold a comma: `"16,4","8"`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

# As in CSV: between quotation marks a doubled one is one of them.
_VALUE = re.compile(r'\s*+(?:"(?P<quoted>(?:[^"]|"")*+)"\s*+|(?!")(?P<plain>[^,]*+))(?P<end>,|\Z)')


def parse_list(text: str) -> tuple[str, ...]:
    """The values, without the space around them.

    Raises:
        ValueError: a quotation mark at the start of a value is not closed, or text follows the closing one.
    """
    values: list[str] = []
    at = 0
    while True:
        found = _VALUE.match(text, at)
        if found is None:
            raise ValueError(f"a value that begins with a quotation mark ends with one: {text[at:].lstrip()}")
        quoted = found["quoted"]
        values.append(found["plain"].strip() if quoted is None else quoted.replace('""', '"'))
        if not found["end"]:
            return tuple(values)
        at = found.end()


def list_text(values: Sequence[str]) -> str:
    """The text that `parse_list` reads as these values."""
    return ",".join(map(_value, values))


def _value(value: str) -> str:
    if "," in value or value.startswith('"') or value != value.strip():
        return '"' + value.replace('"', '""') + '"'
    return value


def axis_option(name: str, values: Sequence[str]) -> str:
    """`--axis 'tile="8,128,128",8'`, as it is pasted into a shell."""
    return f"--axis {shlex.quote(f'{name}={list_text(values)}')}"
