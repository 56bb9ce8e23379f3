"""The view as text: blocks between markers, each with the hash of its own text, and free text around.

    <!-- logbook:block header 3f2a… -->
    ...
    <!-- logbook:end header -->

The tool owns what stands inside a block whose hash matches; a block that does not match was edited by
hand and is left alone. What stands between blocks belongs to people. A marker counts only as a whole
line at the left margin: block text is indented or escaped by `protect`, so no text can forge one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_BEGIN = re.compile(r"<!-- logbook:block (?P<name>\S+) (?P<hash>[0-9a-f]{16}) -->")
_END = re.compile(r"<!-- logbook:end (?P<name>\S+) -->")
_MARKER = re.compile(r"^<!-- logbook:(?=block |end )", re.MULTILINE)
_CONFLICT = re.compile(r"^(<{7} |={7}$|>{7} )", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of a view; `edited` when its text is not what the tool wrote."""

    name: str
    text: str
    edited: bool


Segment = Block | str


class ViewError(ValueError):
    """The markers do not pair; the message says where."""


def digest(text: str) -> str:
    """The hash a block carries: 16 hex digits of the SHA-256 of its text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def protect(text: str) -> str:
    """Text in which no line is a marker."""
    return _MARKER.sub("<!-- logbook: ", text)


def render_block(name: str, text: str) -> str:
    """A block with its markers."""
    text = protect(text.strip("\n"))
    return f"<!-- logbook:block {name} {digest(text)} -->\n{text}\n<!-- logbook:end {name} -->"


def has_conflict(view: str) -> bool:
    """Whether a merge left its markers in the view."""
    return bool(_CONFLICT.search(view))


def parse(view: str) -> list[Segment]:
    """The segments of a view: blocks, and the text between them. Raises ViewError on unpaired markers."""
    segments: list[Segment] = []
    free: list[str] = []
    lines = view.split("\n")
    at = 0
    seen: set[str] = set()
    while at < len(lines):
        begin = _BEGIN.fullmatch(lines[at])
        if begin is None:
            if _END.fullmatch(lines[at]):
                raise ViewError(f"line {at + 1}: end marker without a begin")
            free.append(lines[at])
            at += 1
            continue
        name = begin["name"]
        end = _find_end(lines, at, name)
        if name in seen:
            raise ViewError(f"line {at + 1}: block {name} stands twice")
        seen.add(name)
        if free:
            segments.append("\n".join(free))
            free = []
        text = "\n".join(lines[at + 1 : end])
        segments.append(Block(name=name, text=text, edited=digest(text) != begin["hash"]))
        at = end + 1
    if free:
        segments.append("\n".join(free))
    return segments


def _find_end(lines: list[str], begin: int, name: str) -> int:
    for at in range(begin + 1, len(lines)):
        end = _END.fullmatch(lines[at])
        if end is not None and end["name"] == name:
            return at
        if end is not None or _BEGIN.fullmatch(lines[at]):
            break
    raise ViewError(f"line {begin + 1}: block {name} has no end marker")


def splice(view: str, blocks: Mapping[str, str | None], order: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """The view with `blocks` (name -> new text, None to remove) put in, and the names left alone.

    A block that exists is replaced unless it was edited by hand; a new one goes right behind the last
    block that precedes it in `order`. Everything else stays as it is, to the byte.
    """
    pieces: list[tuple[str | None, str]] = []
    kept: list[str] = []
    todo = dict(blocks)
    for name, raw, edited in _raw(view):
        if name is None or name not in todo:
            pieces.append((name, raw))
            continue
        text = todo.pop(name)
        if edited:
            # Kept with its old marker, so that it is still seen as edited.
            if text is None or protect(text.strip("\n")) != _inside(raw):
                kept.append(name)
            pieces.append((name, raw))
        elif text is not None:
            pieces.append((name, render_block(name, text)))
        elif pieces and pieces[-1] == (None, ""):
            pieces.pop()
    rank = {name: i for i, name in enumerate(order)}
    for name, text in todo.items():
        if text is not None:
            pieces.insert(_insertion(pieces, rank, rank[name]), (name, render_block(name, text)))
    return _join(pieces), tuple(kept)


def _inside(raw: str) -> str:
    return "\n".join(raw.split("\n")[1:-1])


def _raw(view: str) -> list[tuple[str | None, str, bool]]:
    raw: list[tuple[str | None, str, bool]] = []
    lines = view.split("\n")
    at = 0
    for segment in parse(view):
        if isinstance(segment, str):
            count = segment.count("\n") + 1
            raw.append((None, segment, False))
        else:
            count = segment.text.count("\n") + 3
            raw.append((segment.name, "\n".join(lines[at : at + count]), segment.edited))
        at += count
    return raw


def _insertion(pieces: list[tuple[str | None, str]], rank: Mapping[str, int], wanted: int) -> int:
    """Right after the last block that comes before the wanted one, so text below stays where it was."""
    for at in range(len(pieces) - 1, -1, -1):
        name = pieces[at][0]
        if name is not None and rank.get(name, -1) < wanted:
            return at + 1
    return 0


def _join(pieces: list[tuple[str | None, str]]) -> str:
    """Pieces joined by line ends; two blocks that touch get a blank line between them."""
    out: list[str] = []
    for i, (name, text) in enumerate(pieces):
        if i and name is not None and pieces[i - 1][0] is not None:
            out.append("")
        out.append(text)
    whole = "\n".join(out)
    return whole if whole.endswith("\n") else whole + "\n"


def build(blocks: Iterable[tuple[str, str]]) -> str:
    """A whole view from its blocks, in order."""
    return "\n\n".join(render_block(name, text) for name, text in blocks) + "\n"
