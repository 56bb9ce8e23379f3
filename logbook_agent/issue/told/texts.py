"""Pieces of an issue's documents: prose that is safe there and no longer than there is room, links, numbers."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from logbook_agent.model.units import format_value, known
from logbook_agent.text import fit, neutral
from logbook_agent.text import markdown as md

T = TypeVar("T")

# Of prose: from what hardly anybody exceeds to what still says something.
BUDGETS = (65_536, 32_768, 16_384, 8_192, 4_096, 2_048, 1_024, 512, 256, 128, 64)
# Characters behind what could have room, so that the block in which a text is cut is known.
_AHEAD = 4096
# Stands for a blank where words shall not be told apart.
_NO_SPACE = "\ue000"
_ENTITY = "&#8203;"
_ADDRESS = re.compile(r"https?://[^\s<>\\`|\x00-\x1f\x7f]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Bytes there are for the pieces of one document of at most `whole` bytes, each prose at most `prose`.

    With every step to shorter prose, lists get a smaller share of the whole, too.
    """

    whole: int
    prose: int

    @property
    def command(self) -> int:
        """A command is shown whole or not at all: half of one must not be copied."""
        return 4 * self.prose

    @property
    def table(self) -> int:
        return self._share(45)

    @property
    def list(self) -> int:
        return self._share(12)

    def _share(self, percent: int) -> int:
        """At most so much of the whole; a tenth of it less with each step."""
        steps = sum(budget > self.prose for budget in BUDGETS)
        return self.whole * percent * max(1, 10 - steps) // 1000


def is_address(text: str) -> bool:
    return _ADDRESS.fullmatch(text) is not None


def link(label: str, url: str | None) -> str:
    """A link with any words as its label; the words alone when there is no address. What is no address of the
    web is shown as it stands."""
    shown = re.sub(r"(?<!\\)([\[\]])", r"\\\1", escape(label))
    if url is None:
        return shown
    if not is_address(url):
        return f"{shown}: {md.inline_code(url)}"
    return f"[{shown}](<{url}>)" if re.search(r"[()]", url) else f"[{shown}]({url})"


def prose(text: str | None, room: int, *, more: str = "in the logbook") -> str:
    """Markdown by people, as much of it as there is room for; `more` says where the rest is."""
    if text is None or not (text := md.clean(text)).strip():
        return ""
    shown, left_out = _shortened(text, room)
    return _noted(neutral.contained(shown), left_out, more)


def shortened(text: str, room: int, *, more: str = "in the logbook") -> str:
    """Markdown that we made ourselves, as much of it as there is room for."""
    return _noted(*_shortened(text.replace(_ENTITY, neutral.ZERO_WIDTH), room), more)


def _noted(text: str, left_out: int, more: str) -> str:
    note = f"*({left_out:,} more bytes {more})*" if left_out else ""
    return "\n\n".join(t for t in (text, note) if t)


def line(text: str | None, room: int) -> str:
    """The same on one line, for a place within one."""
    if text is None or not (text := md.one_line(text)):
        return ""
    shown, left_out = _cut_line(text, room)
    note = f" … ({left_out:,} more bytes)" if left_out else ""
    # Behind a word, what would open a block is text.
    return _inert(f"x {shown}").removeprefix("x ") + note


# The same line goes into every attempt to fit a document.
@functools.lru_cache(maxsize=4096)
def _inert(text: str) -> str:
    return neutral.contained(text)


def words(text: str, room: int) -> str:
    """Plain text with nothing of Markdown in it, on one line."""
    shown, left_out = _cut_line(md.one_line_code(text), room)
    return shown + ("…" if left_out else "")


def title_start(text: str, room: int) -> str:
    """The start of a title, up to a word; within one, when little would be left of the title otherwise."""
    cut = words(text, room)
    if fit.size(cut) * 2 >= room:
        return cut
    return words(text.replace(" ", _NO_SPACE), room).replace(_NO_SPACE, " ")


def escape(text: str) -> str:
    """Text on one line, inert in Markdown. What keeps names apart is the character, not the entity: the last pass
    over a document takes a number in an entity for one of an issue."""
    return md.escape(text).replace(_ENTITY, neutral.ZERO_WIDTH)


def cell(text: str) -> str:
    return md.cell(text).replace(_ENTITY, neutral.ZERO_WIDTH)


def _cut_line(text: str, room: int) -> tuple[str, int]:
    if fit.size(text) <= room:
        return text, 0
    # A letter in front: what would open a block is text.
    letter = "" if is_address(text) else "x"
    shown = _shortened(letter + text, room)
    return " ".join(shown[0].split("\n")).removeprefix(letter), shown[1]


def _shortened(text: str, room: int) -> tuple[str, int]:
    """At most `room` bytes of a text, and how many are left out. Of a long text only the start is looked at."""
    head = text[: 2 * room + _AHEAD]
    cut = fit.shorten(head, room)
    return cut.text, cut.left_out + fit.size(text[len(head) :])


def number(name: str, value: float, unit: str | None, spread: float | None = None) -> str:
    """`239.150 TF/s`: a value of a metric with its usual digits, as far as its spread supports them."""
    return format_value(value, decimals=known(name).decimals, spread=spread) + (f" {escape(unit)}" if unit else "")


def newest(found: Sequence[T], text: Callable[[T], str], room: int) -> tuple[list[T], int]:
    """The last ones that have room, in their order, and how many are left out. The very last is always there."""
    kept: list[T] = []
    for item in reversed(found):
        room -= fit.size(text(item)) + 1
        if kept and room < 0:
            break
        kept.append(item)
    return kept[::-1], len(found) - len(kept)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(texts: Iterable[str]) -> str:
    return ", ".join(texts)
