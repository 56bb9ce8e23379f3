"""The room of a document, shared out among those of its parts that may be long.

All of them may take the same number of bytes, a table or a command several times that: the most with which the document
fits. So what is short is whole, however long the rest is, and a document that has room for everything shows everything.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from logbook_agent.text import fit

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
    value_of: Callable[[T], Mapping[str, Any]],
    told: Callable[[list[Any], int], Any],
    weight: int = 1,
) -> Piece:
    """The last ones that have room, in their order; the very last is always there. `told` is given their values, and
    how many are left out."""
    values: list[Mapping[str, Any]] = []
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


def share(values: Mapping[str, Any], room: int) -> int:
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
    """The values with what there is to see of each piece when a share has so many bytes."""
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
