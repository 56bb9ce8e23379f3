"""The blocks of a view as text: which there are, where each stands, and which of them a person changed."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

_BLOCK = re.compile(r"^<!-- logbook:block (\S+) (\w{16}) -->\n(.*?)\n?^<!-- logbook:end \1 -->$", re.M | re.S)


class Block(NamedTuple):
    """A block: its text, where that begins and ends, and where the block does."""

    text: str
    text_start: int
    text_end: int
    start: int
    end: int
    is_edited: bool


def digest(text: str) -> str:
    """What the tool writes beside the name of a block, of its text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def blocks(view: str) -> dict[str, Block]:
    """The blocks of a view by name, in their order."""
    return {m[1]: Block(m[3], *m.span(3), *m.span(), digest(m[3]) != m[2]) for m in _BLOCK.finditer(view)}


def edited(view: str) -> list[str]:
    """The names of the blocks whose text is not what the tool wrote."""
    return [name for name, block in blocks(view).items() if block.is_edited]
