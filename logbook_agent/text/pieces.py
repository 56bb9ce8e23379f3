"""How Markdown is read: which lines are fenced code, where code spans stand, where a block starts and ends.

Lines end at "\\n", "\\r\\n" or "\\r". Reference definitions are read as the paragraphs they look like, and inline
marks are not read at all: the block structure is the same, and the cost is linear.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

# What may stand in a line before a block starts there: quotes, list markers, indentation.
PREFIX = r"[ \t>]*(?:(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t])[ \t>]*)*"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_OPENING = re.compile(rf"(?P<prefix>{PREFIX})(?P<ticks>`{{3,}}|~{{3,}})")
_CONTAINER = re.compile(r"[^ \t>]")
_BARE_QUOTE = re.compile(r">(?=[^ \t>])")
_TICKS = re.compile(r"`+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Fenced code at the lines `first` to `end` (from 0, without `end`). `closing` is the line that closes it."""

    first: int
    end: int
    info: str
    closed: bool
    closing: str

    @property
    def language(self) -> str:
        return (self.info.split() or [""])[0].lower()


@cache
def _reader(tables: bool) -> MarkdownIt:
    reader = MarkdownIt("commonmark").disable(["reference", "inline", "text_join"])
    return reader.enable("table") if tables else reader


def tokens(text: str, *, tables: bool = True) -> list[Token]:
    # Without the last line's end, a last line of blanks would be lost from what a fence holds.
    return _reader(tables).parse(text if text.endswith("\n") else text + "\n")


def split_lines(text: str) -> list[str]:
    """The lines with their ends; together they are the text."""
    return _LINE.findall(text)


def fences(found: Sequence[Token], lines: Sequence[str]) -> Iterator[Fence]:
    """The fenced code among the tokens of these lines."""
    for token in found:
        if token.type == "fence" and token.map:
            first, end = token.map
            held = token.content.count("\n") + (token.content[-1:] not in ("", "\n"))
            yield Fence(
                first=first,
                end=end,
                info=token.info,
                closed=held < end - first - 1,
                closing=closing(lines[first], token.markup),
            )


def closing(opening: str, markup: str) -> str:
    """The line that closes a fence, in the same quote or list item as the line that opens it."""
    match = _OPENING.match(opening)
    # A quote's sign takes the space after it; where none follows, what follows would lose one of its own.
    prefix = _CONTAINER.sub(" ", _BARE_QUOTE.sub("> ", match["prefix"])) if match else ""
    return prefix + markup


def code_spans(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Where code spans start and end in the inline text between two offsets."""
    runs = [m.span() for m in _TICKS.finditer(text, start, len(text) if end is None else end)]
    by_length: dict[int, list[int]] = {}
    for first, behind in runs:
        by_length.setdefault(behind - first, []).append(first)
    spans = []
    at = start
    for first, behind in runs:
        if first < at:
            continue
        # A backslash takes one tick away from what opens a span, never from what closes it.
        backslashes = first - at - len(text[at:first].rstrip("\\"))
        opening = first + backslashes % 2
        starts = by_length.get(behind - opening, [])
        closer = bisect_left(starts, behind)
        if opening < behind and closer < len(starts):
            at = starts[closer] + (behind - opening)
            spans.append((opening, at))
    return spans


def inside(spans: Sequence[tuple[int, int]], at: int) -> bool:
    """Whether an offset lies within one of the sorted spans, not at its start or end."""
    index = bisect_right(spans, (at, -1)) - 1
    return index >= 0 and spans[index][0] < at < spans[index][1]
