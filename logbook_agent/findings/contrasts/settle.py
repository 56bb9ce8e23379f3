"""What would settle rows that no design drew: the command to type, for the axis and the values at hand."""

from __future__ import annotations

import re
from collections.abc import Sequence

from logbook_agent.findings.tables.frame import ABSENT, Item
from logbook_agent.model.comparison import CODE_AXIS, code_hash
from logbook_agent.model.values import canonical
from logbook_agent.text.commands.flags import is_value, normal_name
from logbook_agent.text.lists import axis_option
from logbook_agent.text.words import command_line

_COMMAND = "COMMAND"
_COMMAND_CHARS = 400
_ENV = "env:"
# What names a commit where it is typed; neither a commit with changes, `3f2a9c01d+`, nor none.
_REVISION = re.compile(r"(?!null$)\w[\w./-]*")


def settled_by(axis: str | None, values: Sequence[str], items: Sequence[Item]) -> str:
    """The `logbook ab` command that compares these values of an axis, the base first; `items` hold one case of each, as
    far as there are some.
    Where the values cannot be typed, names stand in their place."""
    first = _line(items[0].case.command if items else ())
    if axis in ("commit", CODE_AXIS):
        names = [code_hash(value) for value in values[:2]]
        codes = [
            text if _REVISION.fullmatch(text) else name for text, name in zip(names, ("BASE", "OTHER"), strict=True)
        ]
        return f"logbook ab --code {' '.join(codes)} -- {first}"
    if axis is not None and axis.startswith(_ENV):
        given = ["" if value == ABSENT else value for value in values]
        return f"logbook ab {axis_option(axis, given)} -- {first}"
    if axis is None or (items and axis not in items[0].row.config | items[-1].row.config):
        where = f", with NAME what sets {axis}" if axis is not None else ""
        return f"logbook ab --axis NAME=A,B -- {_COMMAND}{where}"
    typed = [words for item in items if (words := flagged(item.case.command, axis))]
    command = typed or [words for item in items if (words := _with_place(item, axis))]
    if not typed and ABSENT in values:
        values = ["A", "B"]
    given = [canonical(None) if value == ABSENT else value for value in values]
    return f"logbook ab {axis_option(axis, given)} -- {_line(command[0] if command else ())}"


def _line(words: Sequence[str]) -> str:
    """A command as it is typed; a name for one that is long or a script."""
    text = command_line(words)
    is_script = len(words) < 2 and any(map(str.isspace, text))
    return _COMMAND if not words or is_script or len(text) > _COMMAND_CHARS or "\n" in text else text


def flagged(command: Sequence[str], axis: str) -> Sequence[str]:
    """A command whose flag of this name has a value, which `logbook ab` replaces; else nothing."""
    for at, word in enumerate(command[1:], start=1):
        name, equals, _ = word.partition("=")
        has_next = word.startswith("-") and at + 1 < len(command) and is_value(command[at + 1])
        if normal_name(name) == normal_name(axis) and (equals or has_next):
            return command
    return ()


def _with_place(item: Item, axis: str) -> Sequence[str]:
    """A command with `{axis}` in place of the one word that is its value; else nothing."""
    words, value = item.case.command, item.key(axis)
    places = [at for at, word in enumerate(words) if at and canonical(word) == value]
    return [*words[: places[0]], "{axis}", *words[places[0] + 1 :]] if len(places) == 1 else ()
