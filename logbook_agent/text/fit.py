"""Shortens Markdown to a number of bytes of UTF-8.

What is kept is the start of the text up to the end of a word, of a row of a table, or of a line of fenced code; never a
part of a code span. Fenced code and <details> that are still open there are closed. Only a text without any
word end is cut within a word, between two code points.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec import Struct

# A row of a table, else a word: with a letter in it, so that its end makes no heading or list.
_END = re.compile(
    r"""(?P<row>^[ ]*\|.*$) | (?:[^\W_]|[^\x00-\x7f])[!-/:-@\[-`{-~]*(?=\s|$)""", re.MULTILINE | re.VERBOSE
)
_DELIMITERS = re.compile(r"\n?[ |:]*-[ |:-]*$", re.MULTILINE)
_UNCUT = re.compile(r"https?://|www\.|<|```|~~~", re.IGNORECASE)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_DETAILS = re.compile(r"[ \t>]*<(/?)details>")


class Shortened(Struct, frozen=True, kw_only=True):
    """`left_out`: bytes of the original that `text` does not show; 0 when it is the original."""

    text: str
    left_out: int


def size(text: str) -> int:
    """In bytes of UTF-8. Half a surrogate pair, which UTF-8 does not have, counts as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def shorten(text: str, max_bytes: int) -> Shortened:
    """The text, or as much of its start as fits. It may be empty when not even the first word fits."""
    whole = size(text)
    if whole <= max_bytes:
        return Shortened(text=text, left_out=0)
    room = max_bytes
    while room > 0:
        kept, closing = _start(text, room)
        shown = kept + closing + _open_details(kept)
        over = size(shown) - max_bytes
        if over <= 0:
            return Shortened(text=shown, left_out=whole - size(kept))
        room -= over
    return Shortened(text="", left_out=whole)


def cut(text: str, room: int) -> str:
    """A document of at most `room` bytes. One that is longer ends where it is cut, and says by how much."""
    if size(text) <= room:
        return text
    short = shorten(text, max(0, room - size(_note(size(text)))))
    noted = short.text + _note(short.left_out)
    return noted if short.text and size(noted) <= room else shorten(text, max(0, room)).text


def _note(left_out: int) -> str:
    return f"\n\n_{left_out:,} bytes are left out here._\n"


def _start(text: str, room: int) -> tuple[str, str]:
    """The start of a longer text in at most so many bytes, and what closes the fenced code at its end."""
    # What is no character takes as much as the one that says so.
    limit = len(_SURROGATE.sub("\ufffd", text[:room]).encode()[:room].decode("utf-8", "ignore"))
    lines = split_lines(text[:limit])
    found = list(fences(tokens(text[:limit]), lines))
    if found and not found[-1].closed and found[-1].end >= len(lines):
        fence = found[-1]
        opening = sum(map(len, lines[: fence.first]))
        at = text.rfind("\n", text.find("\n", opening) + 1, limit + 1)
        return (text[:at], f"\n{fence.closing}") if at >= 0 else (text[:opening].rstrip(), "")
    # Fenced code that ends before the limit is shown to its end.
    behind = sum(map(len, lines[: found[-1].end])) if found else 0
    return text[: max(behind, _word_end(text, limit))], ""


def _word_end(text: str, limit: int) -> int:
    """The end of the last word or row before an offset; within a word when there would be nothing else to show."""
    begin = max(text.rfind("\n\n", 0, limit), 0)
    behind, line_end = (at if (at := text.find(end, limit)) >= 0 else len(text) for end in ("\n\n", "\n"))
    spans = code_spans(text, begin, behind)
    for end in reversed([*_END.finditer(text, begin, line_end)]):
        # A header is not shown without rows.
        is_head = end["row"] and (_DELIMITERS.match(text, end.start()) or _DELIMITERS.match(text, end.end()))
        if end.end() <= limit and not is_head and not inside(spans, end.end()):
            return end.end()
    if begin:
        return len(text[:begin].rstrip())
    return 0 if _UNCUT.match(text) or text.startswith("|") or inside(spans, limit) else limit


def _open_details(kept: str) -> str:
    """What ends the details that are open where the text was cut."""
    lines = split_lines(kept)
    fenced = {n for f in fences(tokens(kept), lines) for n in range(f.first, f.end)}
    depth = 0
    for mark in (m for n, line in enumerate(lines) if n not in fenced and (m := _DETAILS.match(line))):
        depth = max(0, depth - 1) if mark[1] else depth + 1
    return "\n\n</details>" * depth


# -- how Markdown is read ---------------------------------------------------------------------------------

# Reference definitions are read as the paragraphs they look like, and inline marks
# are not read at all: the block structure is the same, and the cost is linear.

# What may stand in a line before a block starts there: quotes, list markers, indentation.
PREFIX = r"[ \t>]*(?:(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t])[ \t>]*)*"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_OPENING = re.compile(rf"(?P<prefix>{PREFIX})(?P<ticks>`{{3,}}|~{{3,}})")
_CONTAINER = re.compile(r"[^ \t>]")
_BARE_QUOTE = re.compile(r">(?=[^ \t>])")
_TICKS = re.compile(r"`+")


class Fence(Struct, frozen=True, kw_only=True):
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
