"""Text within a number of bytes of UTF-8, cut where nothing breaks.

What is kept is the start of the text: whole blocks, and of the block that does not fit whole items, rows or lines.
A paragraph ends at a word, when less than half the room would be used without it. Nothing is cut inside a code span,
a link or a character (with all that is drawn as one). What must be closed is closed: fenced code and <details>.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from markdown_it.token import Token

from logbook_agent.text.pieces import code_spans, fences, inside, split_lines, tokens

_AHEAD = 2000  # characters read behind the cut, to know what block it falls into
_LONGEST_BRACKET = 1000
_WORD_END = re.compile(r"\S(?=\s|$)")
_NAMED = re.compile(r"[^\W_]|[^\x00-\x7f]")
_BLANK_LINE = re.compile(r"[\r\n][ \t>]*(?:\r?\n|\r)")
_FENCES = ("```", "~~~")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BLOCKS = ("paragraph_open", "heading_open", "fence", "code_block", "html_block", "hr", "tr_open")
_NOTHING = Token("", "", 0)
_ADDRESS = re.compile(r"https?://|www\.|<", re.IGNORECASE)
_BRACKETS = re.compile(r"\\.|[\[\]()]", re.DOTALL)
_DETAILS = re.compile(r"[ \t>]*<(/?)details>")
_JOINER = "\u200d"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """`left_out`: bytes of the original that `text` does not show; 0 when it is the original."""

    text: str
    left_out: int


def size(text: str) -> int:
    """In bytes of UTF-8. Half a surrogate pair, which UTF-8 does not have, counts as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def shorten(text: str, max_bytes: int) -> Shortened:
    """The text, or as much of its start as fits. It may be empty when not even the first piece fits."""
    whole = size(text)
    if whole <= max_bytes:
        return Shortened(text=text, left_out=0)
    room = max_bytes
    while room > 0:
        kept = text[: _Cut(text, room).best()]
        shown = kept + _closers(kept)
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


class _Cut:
    """The start of a text, as lines. `limit` characters of it fit into the room."""

    def __init__(self, text: str, room: int) -> None:
        self.text = text
        self.room = room
        # What is no character takes as much as the one that says so.
        whole = _SURROGATE.sub("\ufffd", text[:room]).encode()[:room]
        self.limit = len(whole.decode("utf-8", "ignore"))
        self.window = text[: self.limit + _AHEAD]
        self.lines = split_lines(self.window)
        self.starts = [0, *accumulate(map(len, self.lines))]

    def best(self) -> int:
        """Where to cut, an offset into the text: behind the last whole block that fits, or in the one that does not."""
        best = 0
        for token, held in pairwise([*tokens(self.window), _NOTHING]):
            # A table is cut between its rows; its header is not shown alone.
            if token.map is None or token.type not in _BLOCKS or held.type == "th_open":
                continue
            end = token.map[1]
            # The last line of the window may go on behind it, so a block that ends there is not known to be whole.
            known = self.starts[end] < len(self.window) or len(self.window) == len(self.text)
            if not known or self._end(end) > self.limit:
                return max(best, self._part(token, held.content, best))
            best = max(best, self._end(end))
        return best

    def _line_end(self, line: int) -> int:
        """Where the line before this one ends, blanks at its end included."""
        return self.starts[line - 1] + len(self.lines[line - 1].rstrip("\r\n"))

    def _end(self, line: int) -> int:
        """Where the text of the lines before this one ends, without blank lines and blanks."""
        while line > 0 and not self.lines[line - 1].strip():
            line -= 1
        return self.starts[line - 1] + len(self.lines[line - 1].rstrip()) if line else 0

    def _part(self, token: Token, content: str, so_far: int) -> int:
        """The best cut in a block that does not fit; `so_far` when nothing of it can be shown."""
        first, end = token.map or (0, 0)
        match token.type:
            case "fence" | "code_block":
                # Whole lines of code, and not the opening of a fence alone.
                least = 2 if token.type == "fence" else 1
                ends = range(first + least, end + 1)
                fitting = bisect_right(ends, self.limit, key=self._line_end)
                return self._line_end(ends[fitting - 1]) if fitting else so_far
            case "heading_open" if not token.markup.startswith("#"):
                return so_far
            case "paragraph_open" | "heading_open" if size(self.text[:so_far]) * 2 < self.room:
                return self._words(first, end, content, so_far)
            case _:
                return so_far

    def _words(self, first: int, end: int, content: str, so_far: int) -> int:
        """The end of the last word that fits; within a word, when there would be nothing else to show."""
        closed = self._closed(first, end)
        contents = content.split("\n")
        for number in range(min(end, bisect_right(self.starts, self.limit)) - 1, first - 1, -1):
            begin, behind = self._content(number, contents[number - first : number - first + 1])
            if self.text.startswith(_FENCES, begin):
                continue  # it is none because of what stands behind; without that, it would be one
            named = _NAMED.search(self.text, begin, behind)
            words = [m.end() for m in _WORD_END.finditer(self.text, named.start() if named else behind, behind)]
            for word in reversed(words):
                if word <= self.limit and not inside(closed, word):
                    return word
        return so_far or self._characters_of(self._content(first, contents[:1])[0], closed)

    def _closed(self, first_line: int, end_line: int) -> list[tuple[int, int]]:
        """Where a paragraph must not be cut; the spans are sorted and apart."""
        first, end = self.starts[first_line], self.starts[end_line]
        if end == len(self.window):  # what opens here may be closed behind the window
            blank = _BLANK_LINE.search(self.text, end)
            end = blank.start() if blank else len(self.text)
        merged: list[tuple[int, int]] = []
        for start, behind in sorted([*code_spans(self.text, first, end), *_links(self.text, first, end)]):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(behind, merged[-1][1]))
            else:
                merged.append((start, behind))
        return merged

    def _content(self, number: int, content: Sequence[str]) -> tuple[int, int]:
        """Where the words of a line start and end: behind quotes and list markers."""
        end = self.starts[number] + len(self.lines[number].rstrip())
        return max(self.starts[number], end - len("".join(content).strip())), end

    def _characters_of(self, begin: int, closed: Sequence[tuple[int, int]]) -> int:
        """Within the first word, between two characters; 0 when that would change an address."""
        if _ADDRESS.match(self.text, begin) or self.text.startswith(_FENCES, begin):
            return 0
        at = self.limit
        while at > begin and (inside(closed, at) or not _parts(self.text, at)):
            at -= 1
        return at if at > begin else 0


def _closers(kept: str) -> str:
    """What ends the fenced code and the details that are open where the text was cut."""
    lines = split_lines(kept)
    found = list(fences(tokens(kept), lines))
    end = ""
    if found and not found[-1].closed and found[-1].end >= len(lines):
        end = "\n" + found[-1].closing
    fenced = {n for f in found for n in range(f.first, f.end)}
    marks = [m for n, line in enumerate(lines) if n not in fenced and (m := _DETAILS.match(line))]
    depth = 0
    for mark in marks:
        depth = max(0, depth - 1) if mark[1] else depth + 1
    return end + "\n\n</details>" * depth


def _links(text: str, first: int, end: int) -> list[tuple[int, int]]:
    """Where links start and end, and short brackets, which may be links too."""
    partner: dict[int, int] = {}
    brackets: list[int] = []
    round_ones: list[int] = []
    for sign in _BRACKETS.finditer(text, first, end):
        match sign[0]:
            case "[":
                brackets.append(sign.start())
            case "(":
                round_ones.append(sign.start())
            case "]" if brackets:
                partner[brackets.pop()] = sign.end()
            case ")" if round_ones:
                partner[round_ones.pop()] = sign.end()
    found = []
    for at, behind in partner.items():
        if text[at] == "[":
            more = partner.get(behind) if text[behind : behind + 1] in ("(", "[") else None
            if more is not None or behind - at <= _LONGEST_BRACKET:
                found.append((at - (text[at - 1 : at] == "!"), more or behind))
    return found


def _parts(text: str, at: int) -> bool:
    """Whether the characters before and behind an offset are drawn apart."""
    if at <= 0 or at >= len(text):
        return True
    before, behind = text[at - 1], text[at]
    if before == _JOINER or _extends(behind) or (before == "\r" and behind == "\n"):
        return False
    if _regional(before) and _regional(behind):
        run = 0
        while run < at and _regional(text[at - 1 - run]):
            run += 1
        return run % 2 == 0
    return True


def _extends(character: str) -> bool:
    """Whether it is drawn together with the one before it."""
    code = ord(character)
    return code >= 0x300 and (
        character == _JOINER
        or unicodedata.category(character) in ("Mn", "Me", "Mc")
        or 0x1F3FB <= code <= 0x1F3FF  # skin tones
        or 0xE0020 <= code <= 0xE007F  # flags of regions
        or 0x1160 <= code <= 0x11FF  # vowels and finals of a Korean syllable
    )


def _regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
