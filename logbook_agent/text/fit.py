"""Text within a number of bytes of UTF-8, cut where nothing breaks.

What is kept is the start of the text: whole blocks, and of the block that does not fit whole items, rows or lines.
A paragraph ends at a word, when less than half the room would be used without it. Nothing is cut inside a code span,
a link or a character (with all that is drawn as one). What must be closed is closed: fenced code and <details>.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from logbook_agent.text.pieces import Node, code_spans, fences, inside, split_lines, tokens, tree

BUDGETS = (65536, 32768, 16384, 8192, 4096, 2048, 1024, 512, 256, 128)

_AHEAD = 2000  # characters read behind the cut, to know what block it falls into
_LONGEST_BRACKET = 1000
_WORD_END = re.compile(r"\S(?=\s|$)")
_NAMED = re.compile(r"[^\W_]|[^\x00-\x7f]")
_BLANK_LINE = re.compile(r"[\r\n][ \t>]*(?:\r?\n|\r)")
_FENCES = ("```", "~~~")
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
        cut = _Cut.of(text, room)
        kept = text[: cut.best()]
        shown = kept + cut.closers(kept)
        over = size(shown) - max_bytes
        if over <= 0:
            return Shortened(text=shown, left_out=whole - size(kept))
        room -= over
    return Shortened(text="", left_out=whole)


def fitted(render: Callable[[int], str], room: int, budgets: Sequence[int] = BUDGETS) -> str:
    """A document of at most `room` bytes. `render` is given the bytes that each piece of prose may have.

    When all budgets are too large, the document with the smallest is shortened, and says by how much.
    """
    text = ""
    for budget in budgets:
        text = render(budget)
        if size(text) <= room:
            return text
    return _with_note(text, room)


def _with_note(text: str, room: int) -> str:
    reserve = size(_note(size(text)))
    short = shorten(text, max(0, room - reserve))
    noted = short.text + _note(short.left_out)
    return noted if short.text and size(noted) <= room else shorten(text, max(0, room)).text


def _note(left_out: int) -> str:
    return f"\n\n_{left_out:,} bytes are left out here._\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """The start of a text, as blocks. `limit` characters of it fit into the room; `starts` are those of its lines."""

    text: str
    limit: int
    room: int
    window: str
    starts: Sequence[int]
    blocks: Sequence[Node]

    @classmethod
    def of(cls, text: str, room: int) -> _Cut:
        limit = _characters(text, room)
        window = text[: limit + _AHEAD]
        starts = [0]
        for line in split_lines(window):
            starts.append(starts[-1] + len(line))
        return cls(text=text, limit=limit, room=room, window=window, starts=starts, blocks=tree(tokens(window)))

    def best(self) -> int:
        """Where to cut: an offset into the text, at most the limit."""
        return self._among(self.blocks, 0)

    def closers(self, kept: str) -> str:
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

    def _line(self, number: int) -> str:
        return self.window[self.starts[number] : self.starts[number + 1]]

    def _line_end(self, line: int) -> int:
        """Where the line before this one ends, blanks at its end included."""
        return self.starts[line - 1] + len(self._line(line - 1).rstrip("\r\n"))

    def _end(self, line: int) -> int:
        """Where the text of the lines before this one ends, without blank lines and blanks."""
        while line > 0 and not self._line(line - 1).strip():
            line -= 1
        return self.starts[line - 1] + len(self._line(line - 1).rstrip()) if line else 0

    def _among(self, nodes: Sequence[Node], so_far: int) -> int:
        """The best cut in a row of blocks; `so_far` when none of them can be shown."""
        # All whole blocks, and a part of the first one that is not.
        low, high = 0, len(nodes)
        while low < high:
            middle = (low + high) // 2
            if self._whole(nodes[middle]):
                low = middle + 1
            else:
                high = middle
        if low:
            so_far = max(so_far, self._end(nodes[low - 1].end))
        return max(so_far, self._part(nodes[low], so_far)) if low < len(nodes) else so_far

    def _whole(self, node: Node) -> bool:
        # The last line of the window may go on behind it, so a block that ends there is not known to be whole.
        known = self.starts[node.end] < len(self.window) or len(self.window) == len(self.text)
        return known and self._end(node.end) <= self.limit

    def _part(self, node: Node, so_far: int) -> int:
        """The best cut in a block that does not fit."""
        match node.kind:
            case "table":
                return self._table(node, so_far)
            case "fence" | "code_block":
                return self._lines(node, 2 if node.kind == "fence" else 1, so_far)
            case "html_block" | "hr":
                return so_far
            case "paragraph" | "heading":
                whole_only = node.kind == "heading" and not node.markup.startswith("#")
                return so_far if whole_only or size(self.text[:so_far]) * 2 >= self.room else self._words(node, so_far)
            case _:
                return self._among(node.children, so_far)

    def _table(self, node: Node, so_far: int) -> int:
        """Header and as many whole rows as fit; nothing, when not even one does."""
        rows = [row for part in node.children if part.kind == "tbody" for row in part.children]
        return self._rows([row.end for row in rows], so_far)

    def _lines(self, node: Node, least: int, so_far: int) -> int:
        """Whole lines; nothing, when fewer than the least fit."""
        return self._rows(range(node.first + least, node.end + 1), so_far)

    def _rows(self, ends: Sequence[int], so_far: int) -> int:
        fitting = bisect_right(ends, self.limit, key=self._line_end)
        return self._line_end(ends[fitting - 1]) if fitting else so_far

    def _words(self, node: Node, so_far: int) -> int:
        """The end of the last word that fits; within a word, when there would be nothing else to show."""
        closed = self._closed(node)
        contents = node.content.split("\n")
        last = min(node.end, bisect_right(self.starts, self.limit))
        for number in range(last - 1, node.first - 1, -1):
            begin, end = self._content(number, contents[number - node.first : number - node.first + 1])
            if self.text.startswith(_FENCES, begin):
                continue  # it is none because of what stands behind; without that, it would be one
            named = _NAMED.search(self.text, begin, end)
            words = [m.end() for m in _WORD_END.finditer(self.text, named.start() if named else end, end)]
            for word in reversed(words):
                if word <= self.limit and not inside(closed, word):
                    return word
        return so_far or self._characters_of(self._content(node.first, contents[:1])[0], closed)

    def _closed(self, node: Node) -> list[tuple[int, int]]:
        """Where a paragraph must not be cut; the spans are sorted and apart."""
        first, end = self.starts[node.first], self.starts[node.end]
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
        end = self.starts[number] + len(self._line(number).rstrip())
        return max(self.starts[number], end - len("".join(content).strip())), end

    def _characters_of(self, begin: int, closed: Sequence[tuple[int, int]]) -> int:
        """Within the first word, between two characters; 0 when that would change an address."""
        if _ADDRESS.match(self.text, begin) or self.text.startswith(_FENCES, begin):
            return 0
        at = self.limit
        while at > begin and (inside(closed, at) or not _parts(self.text, at)):
            at -= 1
        return at if at > begin else 0


def _characters(text: str, room: int) -> int:
    """How many characters of the text fit into so many bytes."""
    start = text[:room]
    if start.isascii():
        return len(start)
    low, high = room // 4, len(start)
    while low < high:
        middle = (low + high + 1) // 2
        if size(start[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return min(low, len(start))


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
