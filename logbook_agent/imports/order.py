"""What is odd in the numbers of a source: doubled or disordered ones, and units that change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TypeVar

from logbook_agent.imports.document import Named, ReportedEntry, SourceSpan

_T = TypeVar("_T", int, str)
# A unit changes a number by 1,000 or 1,024 at least; values of one size lie within ten.
_OTHER_SIZE, _ONE_SIZE = 300, 10


def doubled(values: Sequence[tuple[_T, int]]) -> list[Named]:
    """The values that several lines have."""
    lines: dict[_T, list[int]] = {}
    for value, line in values:
        lines.setdefault(value, []).append(line)
    return [Named(of[1], f"{value} stands on line {of[0]}, too") for value, of in lines.items() if len(of) > 1]


def disordered(values: Sequence[tuple[_T, int]]) -> list[Named]:
    """The first value that is out of order. What begins with the newest is in order."""
    steps = [(a, b, line) for (a, _), (b, line) in pairwise(values) if a != b]
    down = [(a, b, line) for a, b, line in steps if b < a]
    wrong = down if 2 * len(down) <= len(steps) else [one for one in steps if one not in down]
    return [Named(line, f"{b} comes after {a}: the source is not in order") for a, b, line in wrong[:1]]


def is_newest_first(values: Sequence[str | int]) -> bool:
    """Whether most of the values are smaller than the one before."""
    steps = Counter((b > a) - (b < a) for a, b in pairwise(values))  # type: ignore[operator]
    return steps[-1] > steps[1]


def units_named(entries: Iterable[tuple[SourceSpan, ReportedEntry]]) -> Iterator[Named]:
    """Where the unit of a metric changes, or its values become a thousand times larger or smaller."""
    found: dict[str, list[tuple[int, str | None, float]]] = {}
    for span, entry in entries:
        for row in (row for table in entry.tables for row in table.rows):
            for name, m in row.metrics.items():
                found.setdefault(name, []).append((span.first, m.unit, abs(m.samples[0])))
    for name, values in found.items():
        units = [(unit, line) for line, unit, _ in values if unit is not None]
        changed = next(((a, b, line) for (a, _), (b, line) in pairwise(units) if a != b), None)
        if changed is not None:
            yield Named(changed[2], f"{name} is in {changed[1]} from here on, and in {changed[0]} above")
        elif (jump := _jump([(line, value) for line, _, value in values if value])) is not None:
            yield Named(jump, f"from here on, {name} is of another size than above: its unit may have changed")


def _jump(values: Sequence[tuple[int, float]]) -> int | None:
    """The line from which on all values are of another size than all above; None where there is none."""
    sizes = [value for _, value in values]
    above, below = _spans(sizes), _spans(sizes[::-1])[::-1]
    for at in range(2, len(values) - 1):
        (low, high), (least, most) = above[at - 1], below[at]
        is_even = high <= _ONE_SIZE * low and most <= _ONE_SIZE * least
        if is_even and max(low / most, least / high) >= _OTHER_SIZE:
            return values[at][0]
    return None


def _spans(sizes: Sequence[float]) -> list[tuple[float, float]]:
    """The least and the largest of the sizes up to each."""
    return [*zip(accumulate(sizes, min), accumulate(sizes, max), strict=True)]


def with_named(named: Iterable[Named], *more: Iterable[Named]) -> tuple[Named, ...]:
    """All of them, by line."""
    every: Mapping[Named, None] = dict.fromkeys([*named, *(one for of in more for one in of)])
    return tuple(sorted(every, key=lambda one: one.line))
