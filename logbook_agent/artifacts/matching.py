"""Which files may be kept: paths that a command names, patterns, and pictures in prose. Text only: no file is looked
at."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from logbook_agent.model.codec import utf8

_MOST_CHARS = 500
_PICTURE = re.compile(r"!\[[^\]\n]*\]\(\s*(?:<([^<>\n]+)>|([^\s()<>]+))(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


class NotAllowed(ValueError):
    """Why a path may not be kept."""


def place_of(text: str, folder: str) -> str:
    """The path of a file relative to `folder`, the absolute path of the working folder. Raises NotAllowed for one that
    is not below it, or whose name cannot be printed."""
    text = _unquoted(text.strip())
    if text.startswith("/"):
        top = folder.rstrip("/") + "/"
        if not text.startswith(top):
            raise NotAllowed("it is not below the working folder of the command")
        text = text.removeprefix(top)
    steps = [step for step in text.split("/") if step not in ("", ".")]
    if not steps:
        raise NotAllowed("it names no file")
    if ".." in steps:
        raise NotAllowed("it is not below the working folder of the command")
    check_name(text)
    return "/".join(steps)


def check_name(place: str) -> None:
    """Raises NotAllowed for a name that a record cannot hold or a terminal cannot print."""
    if utf8(place) != place:
        raise NotAllowed("its name is not UTF-8")
    if not place.isprintable():
        raise NotAllowed("its name has control characters")
    if len(place) > _MOST_CHARS:
        raise NotAllowed(f"its path has more than {_MOST_CHARS} characters")


def _unquoted(text: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if quoted else text


def is_pattern(text: str) -> bool:
    """Whether a text stands for several files: it has `*`, `?` or `[`."""
    return glob.has_magic(text)


def patterns_in(texts: Iterable[str]) -> Iterator[str]:
    """A pattern for each file that Markdown shows as a picture, `![caption](loss.png)`; addresses are none."""
    for text in texts:
        for found in pictures_in(text):
            yield glob.escape(found)


def pictures_in(text: str) -> list[str]:
    """The paths of the pictures in a Markdown text."""
    named = (unquote(match[1] or match[2]) for match in _PICTURE.finditer(text))
    return [name.removeprefix("./") for name in named if not _SCHEME.match(name)]
