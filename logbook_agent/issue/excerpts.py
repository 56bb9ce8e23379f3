"""Parts of an issue's documents: prose that is inert there and no longer than its room, links, numbers; and the room
of a document, shared among its long parts.

Each part may take the same number of bytes (a table or a command several times that): the most with which the document
fits. So what is short stays whole, however long the rest is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from logbook_agent.issue import neutral
from logbook_agent.issue.links import Links
from logbook_agent.model.units import format_value, known
from logbook_agent.text import fit
from logbook_agent.text import markdown as md
from logbook_agent.text.phrases import counted

T = TypeVar("T")

# No document is longer.
_MOST_BYTES = 65_536
# A part that says less says nothing. Where not even this fits, the document is cut as a whole.
_LEAST_BYTES = 128
# What stands around each text in a template, about, and of the whole what stands around everything.
_AROUND_BYTES = 3
_AROUND = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A value of a template that may be long. `size`: its bytes when it is whole; `within` is what a template gets to
    see of it in so many; `weight`: how many shares it may take."""

    size: int
    within: Callable[[int], Any]
    weight: int = 1


def newest(
    found: Sequence[T],
    value_of: Callable[[T], Mapping[str, object]],
    told: Callable[[list[Any], int], Any],
    weight: int = 1,
) -> Piece:
    """The last items that have room, in their order; the very last is always there. `told` makes the value of the
    template from their values and the number of those left out."""
    values: list[Mapping[str, object]] = []
    ends: list[int] = []
    for item in reversed(found):
        values.append(value_of(item))
        ends.append(_size(values[-1]) + (ends[-1] if ends else 0))
        if ends[-1] > _MOST_BYTES:
            break

    def within(room: int) -> Any:
        count = max(1, bisect_right(ends, room))
        return told(values[:count][::-1], len(found) - len(values[:count]))

    return Piece(size=ends[-1] if ends else 0, within=within, weight=weight)


def share(values: Mapping[str, object], room: int) -> int:
    """The bytes of one share, so that all that is in the values of a document takes no more than the room."""
    pieces = sorted((p for p in _parts(values) if isinstance(p, Piece)), key=lambda p: p.size / p.weight)
    left = int(room * (1 - _AROUND)) - _size(values)
    shares = sum(piece.weight for piece in pieces)
    for piece in pieces:
        if piece.size * shares > left * piece.weight:
            return max(left // shares, _LEAST_BYTES)
        left -= piece.size
        shares -= piece.weight
    return room


def shown(value: Any, room: int) -> Any:
    """The values, each piece cut to its shares of `room` bytes."""
    if isinstance(value, Piece):
        return value.within(room * value.weight)
    if isinstance(value, Mapping):
        return {key: shown(held, room) for key, held in value.items()}
    return [shown(held, room) for held in value] if isinstance(value, list) else value


def _size(value: Any) -> int:
    """Of the texts in a value, without its pieces."""
    return sum(fit.size(part) + _AROUND_BYTES for part in _parts(value) if isinstance(part, str))


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for held in value:
            yield from _parts(held)
    else:
        yield value


# Characters behind what could have room, so that the block in which a text is cut is known.
_AHEAD = 4096
_ENTITY = "&#8203;"
_ADDRESS = re.compile(r"https?://[^\s<>\\`|\x00-\x1f\x7f]+", re.IGNORECASE)


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


def entry_link(links: Links, entry_id: str) -> str:
    """An ID, linked to where the entry stands in the pushed view."""
    return link(entry_id, links.entry(entry_id))


def left_out(links: Links, number: int, noun: str, plural: str) -> str:
    """`3 earlier ones in the logbook`: how many have no room, and where they are; empty for none."""
    if not number:
        return ""
    where = link("in the logbook", links.view) if links.view else f"in the logbook ({links.why})"
    return f"{counted(number, noun, plural)} {where}"


def prose(text: str | None) -> Piece | str:
    """Markdown by people, as much of it as there is room for; the rest is in the logbook."""
    if text is None or not (text := md.clean(text)).strip():
        return ""
    return _piece(text, neutral.contained)


def shortened(text: str, weight: int = 1) -> Piece:
    """Markdown that we made ourselves, as much of it as there is room for."""
    return _piece(text.replace(_ENTITY, neutral.ZERO_WIDTH), lambda shown: shown, weight)


def _piece(text: str, safe: Callable[[str], str], weight: int = 1) -> Piece:
    def within(room: int) -> str:
        shown, left_out = _shortened(text, room)
        note = f"*({left_out:,} more bytes in the logbook)*" if left_out else ""
        return "\n\n".join(t for t in (safe(shown), note) if t)

    return Piece(size=fit.size(text), within=within, weight=weight)


def one_line(text: str | None) -> Piece | str:
    """Markdown by people on one line, for a place within one."""
    return Piece(size=fit.size(text), within=lambda room: line(text, room)) if text else ""


def line(text: str | None, room: int) -> str:
    """Markdown by people on one line, in at most `room` bytes."""
    if text is None or not (text := md.one_line(text)):
        return ""
    shown, left_out = _cut_line(text, room)
    note = f" … ({left_out:,} more bytes)" if left_out else ""
    # Behind a word, what would open a block is text.
    return neutral.contained(f"x {shown}").removeprefix("x ") + note


def code(text: str, behind: str = "") -> Piece:
    """Plain text as a code span, with what stands behind it."""
    return Piece(size=fit.size(text), within=lambda room: md.inline_code(words(text, room)) + behind)


def words(text: str, room: int) -> str:
    """Plain text with nothing of Markdown in it, on one line."""
    shown, left_out = _cut_line(md.one_line_code(text), room)
    return shown + ("…" if left_out else "")


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
