"""What is odd in the entries of a source: problems of one, doubled or disordered numbers, and units that change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from logbook_agent.imports.document import Named, ReportedEntry, SourceSpan

_T = TypeVar("_T", int, str)
# A unit changes a number by 1,000 or 1,024 at least.
_OTHER_SIZE = 300


def oddities(spans: Sequence[SourceSpan]) -> Iterator[Named]:
    """What a reader of these entries must know."""
    entries = [(span.first, span.entry) for span in spans if span.entry is not None]
    yield from (Named(line, problem) for line, entry in entries for problem in entry.problems)
    numbers = [(entry.number, line) for line, entry in entries if entry.number is not None]
    yield from _doubled(numbers)
    yield from _doubled([(entry.name, line) for line, entry in entries if entry.heading and entry.name])
    yield from _disordered(numbers)
    yield from _disordered([(entry.opened, line) for line, entry in entries if entry.opened])
    yield from _units(entries)


def _doubled(values: Sequence[tuple[_T, int]]) -> Iterator[Named]:
    """The values that several lines have."""
    lines: dict[_T, list[int]] = {}
    for value, line in values:
        lines.setdefault(value, []).append(line)
    yield from (Named(of[1], f"{value} stands on line {of[0]}, too") for value, of in lines.items() if len(of) > 1)


def _disordered(values: Sequence[tuple[_T, int]]) -> list[Named]:
    """The first value that is out of order. What begins with the newest is in order."""
    is_down = is_newest_first([value for value, _ in values])
    wrong = [(a, b, line) for (a, _), (b, line) in pairwise(values) if (b > a if is_down else b < a)]
    return [Named(line, f"{b} comes after {a}: the source is not in order") for a, b, line in wrong[:1]]


def is_newest_first(values: Sequence[_T]) -> bool:
    """Whether most of the values are smaller than the one before."""
    steps = Counter((b > a) - (b < a) for a, b in pairwise(values))
    return steps[-1] > steps[1]


def _units(entries: Sequence[tuple[int, ReportedEntry]]) -> Iterator[Named]:
    """Where the unit of a metric changes, or its values become hundreds of times larger or smaller, for good."""
    found: dict[str, list[tuple[int, str | None, float]]] = {}
    for line, entry in entries:
        for row in entry.rows:
            for name, m in row.metrics.items():
                found.setdefault(name, []).append((line, m.unit, abs(m.samples[0])))
    for name, values in found.items():
        units = [(unit, line) for line, unit, _ in values if unit is not None]
        changed = next(((a, b, line) for (a, _), (b, line) in pairwise(units) if a != b), None)
        sizes = [(size, line) for line, _, size in values if size]
        jumps = [at for at, ((a, _), (b, _)) in enumerate(pairwise(sizes), 1) if max(a, b) >= _OTHER_SIZE * min(a, b)]
        if changed is not None:
            yield Named(changed[2], f"{name} is in {changed[1]} from here on, and in {changed[0]} above")
        elif len(jumps) == 1 and 2 <= jumps[0] <= len(sizes) - 2:
            line = sizes[jumps[0]][1]
            yield Named(line, f"from here on, {name} is of another size than above: its unit may have changed")
