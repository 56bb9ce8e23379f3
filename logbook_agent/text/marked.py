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
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

_START = "<!-- logbook:"
_MARKER = re.compile(r"<!-- logbook:(?:block (\S+) ([0-9a-f]{16})|end (\S+)) -->$", re.MULTILINE)
_FORGED = re.compile(r"^<!-- logbook:(?=block |end )", re.MULTILINE)
_CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)
_LINE_END = re.compile("\n")


class ViewError(ValueError):
    """The markers do not pair; the message says where."""


class Block(NamedTuple):
    """A block and where it stands: `start` to `end` with its markers, its text between them."""

    name: str
    hash: str
    start: int
    text_start: int
    text_end: int
    end: int

    def text(self, view: str) -> str:
        return view[self.text_start : self.text_end]

    def edited(self, view: str) -> bool:
        """Whether its text is not what the tool wrote."""
        return digest(self.text(view)) != self.hash


def digest(text: str) -> str:
    """The hash a block carries: 16 hex digits of the SHA-256 of its text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def protect(text: str) -> str:
    """Text in which no line is a marker."""
    return _FORGED.sub("<!-- logbook: ", text)


def written(text: str) -> str:
    """The text of a block as it stands in the view, and as it is read from there."""
    return protect(text.replace("\r\n", "\n").replace("\r", "\n").strip("\n"))


def render_block(name: str, text: str) -> str:
    """A block with its markers."""
    text = written(text)
    return f"<!-- logbook:block {name} {digest(text)} -->\n{text}\n<!-- logbook:end {name} -->"


def build(blocks: Iterable[tuple[str, str]]) -> str:
    """A whole view from its blocks, in order."""
    return "\n\n".join(render_block(name, text) for name, text in blocks) + "\n"


def has_conflict(view: str) -> bool:
    """Whether a merge left its markers in the view."""
    return "<<<<<<< " in view and _CONFLICT.search(view) is not None


def parse(view: str, strays: list[str] | None = None) -> dict[str, Block]:
    """The blocks of a view by name, in their order. Raises ViewError on markers that do not pair.

    With `strays`, such a marker counts as text that somebody wrote, and what is wrong with it is added there.
    """
    found: dict[str, Block] = {}
    open_name, open_hash, open_start, open_end = "", "", 0, 0

    line_ends: list[int] = []

    def stray(at: int, what: str) -> None:
        # Most views have none. Counting again for each of many would take the square of their number.
        if not line_ends:
            line_ends.extend(match.start() for match in _LINE_END.finditer(view))
        text = f"line {bisect(line_ends, at) + 1}: {what}"
        if strays is None:
            raise ViewError(text)
        strays.append(text)

    for marker in _markers(view):
        name, hash_, end = marker.groups()
        if name is not None:
            if open_name:
                stray(open_start, f"block {open_name} has no end marker")
            open_name, open_hash, (open_start, open_end) = name, hash_, marker.span()
            if name in found:
                stray(open_start, f"block {name} appears twice")
                open_name = ""
        elif end != open_name:
            stray(marker.start(), f"the end marker of {end} has no begin marker")
        else:
            # An empty block has no line between its markers, not an empty one.
            text_start = min(open_end + 1, marker.start())
            text_end = max(text_start, marker.start() - 1)
            found[end] = Block(end, open_hash, open_start, text_start, text_end, marker.end())
            open_name = ""
    if open_name:
        stray(open_start, f"block {open_name} has no end marker")
    return found


def our_side(text: str) -> str:
    """A text with conflict markers as it was here, before the merge."""
    kept: list[str] = []
    side = ""
    for line in text.split("\n"):
        if line.startswith("<<<<<<< "):
            side = "ours"
        elif side == "ours" and line.startswith("||||||| "):
            side = "base"
        elif side in ("ours", "base") and line.rstrip("\r") == "=======":
            side = "theirs"
        elif side == "theirs" and line.startswith(">>>>>>> "):
            side = ""
        elif side in ("", "ours"):
            kept.append(line)
    return "\n".join(kept)


def _markers(view: str) -> Iterator[re.Match[str]]:
    """Every marker: a whole line from the left margin. (Looked for by `find`: views have megabytes.)"""
    at = view.find(_START)
    while at >= 0:
        if at == 0 or view[at - 1] == "\n":
            marker = _MARKER.match(view, at)
            if marker is not None:
                yield marker
        at = view.find(_START, at + len(_START))


def splice(
    view: str,
    blocks: Mapping[str, str | None],
    order: Iterable[str],
    there: Mapping[str, Block] | None = None,
    *,
    over_edits: bool = False,
) -> tuple[str, tuple[str, ...]]:
    """The view with `blocks` (name -> new text, None to remove) put in, and the names left alone.

    A block that exists is replaced unless it was edited by hand, and then, too, with `over_edits`; a new one goes right
    behind the last block that precedes it in `order`. Everything else stays as it is, to the byte. `there` is what
    `parse` found in the view, when the caller has it already.
    """
    there = parse(view) if there is None else there
    kept: list[str] = []
    # Replacements of view[start:end], in any order.
    changes: list[tuple[int, int, str]] = []
    new: dict[str, str] = {}
    for name, text in blocks.items():
        block = there.get(name)
        if block is None:
            if text is not None:
                new[name] = text
        elif not over_edits and block.edited(view):
            if text is None or written(text) != block.text(view):
                kept.append(name)
        elif text is None:
            changes.append((*_with_gap(view, block), ""))
        else:
            changes.append((block.start, block.end, render_block(name, text)))
    if new:
        changes += _insertions(view, there, new, order)
    return _changed(view, changes), tuple(kept)


def _insertions(
    view: str, there: Mapping[str, Block], new: Mapping[str, str], order: Iterable[str]
) -> list[tuple[int, int, str]]:
    """Where each new block goes; several at one place stand in their order."""
    rank = {name: i for i, name in enumerate(order)}
    # `parse` gives blocks in the order of the document.
    placed = [(rank.get(name, -1), block) for name, block in there.items()]
    changes = []
    for name in sorted(new, key=lambda n: rank[n]):
        after = next((b for r, b in reversed(placed) if r < rank[name]), None)
        text = render_block(name, new[name])
        if after is None:
            changes.append((0, 0, text + "\n\n" if view else text + "\n"))
        else:
            touches = view.startswith("\n<!-- logbook:block ", after.end)
            changes.append((after.end, after.end, f"\n\n{text}" + ("\n" if touches else "")))
    return changes


def _with_gap(view: str, block: Block) -> tuple[int, int]:
    """A block with the blank line that sets it apart: the one before it, else the one behind."""
    if view.endswith("\n\n", 0, block.start):
        return block.start - 2, block.end
    return block.start, block.end + (2 if view.startswith("\n\n", block.end) else 0)


def _changed(view: str, changes: list[tuple[int, int, str]]) -> str:
    out: list[str] = []
    at = 0
    for start, end, text in sorted(changes, key=lambda change: change[:2]):
        out += [view[at:start], text]
        at = end
    return "".join([*out, view[at:]])
