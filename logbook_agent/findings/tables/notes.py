"""What the cells of a table cannot say: samples, repeats, failures, and cells that are empty."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.findings.levels import level_in
from logbook_agent.findings.tables.axes import Layout, blocked_by
from logbook_agent.findings.tables.frame import Frame, show
from logbook_agent.findings.tables.grid import Grid
from logbook_agent.findings.tables.metrics import MetricColumn
from logbook_agent.findings.tables.reading import Reading

_SHOWN_LEVELS = 6


def cell_notes(frame: Frame, layout: Layout, grid: Grid, metrics: Sequence[MetricColumn]) -> list[str]:
    """Notes on samples, repeats, failures and gaps, in this order."""
    readings = [r for m in metrics for column in grid.readings(m.name) for r in column if r is not None]
    notes = [*_samples(readings), *_repeats(grid), *_levels(layout, grid, metrics), *_failures(frame, grid)]
    unknown = sum(r.value is None and not r.all_failed for r in readings)
    if unknown:
        notes.append(f"{_count(unknown, 'value')} not reported (?)")
    return notes + _missing(frame, layout, grid)


def _samples(readings: Sequence[Reading]) -> list[str]:
    counts = {count for reading in readings for count in reading.samples}
    if not counts or counts == {1}:
        return []
    return [f"medians of {_range(counts)} samples"]


def _repeats(grid: Grid) -> list[str]:
    runs = {len(items) for items in grid.cells.values()}
    if runs == {1}:
        return []
    return [f"{_range(runs)} runs in one cell: their median [lowest, highest]"]


def _levels(layout: Layout, grid: Grid, metrics: Sequence[MetricColumn]) -> list[str]:
    """The cells whose level changed on the way."""
    axes = [*layout.axes, *([layout.pivot] if layout.pivot is not None else [])] if len(grid.cells) > 1 else []
    found = []
    for items in grid.cells.values():
        own = [item.case for item in items]
        where = " ".join(f"{name}={show(items[0].place.get(name))}" for name in axes)
        several = len({case.entry for case in own}) > 1
        levels = [level for m in metrics if (level := level_in(own, m.name)) is not None]
        found += [(f"{where}: " if where else "") + level.text(of_entry=several) for level in levels]
    more = len(found) - _SHOWN_LEVELS
    return [*found[:_SHOWN_LEVELS], *([f"and {more} more levels that changed"] if more > 0 else [])]


def _failures(frame: Frame, grid: Grid) -> list[str]:
    failed = [item for item in frame.items if item.row.failed is not None]
    left_out = sum(
        sum(item.row.failed is not None for item in items)
        for items in grid.cells.values()
        if any(item.row.failed is None for item in items)
    )
    notes = [f"{len(failed)} of {_count(len(frame.items), 'case')} failed"] if failed else []
    if left_out:
        notes.append(f"{_count(left_out, 'failed run')} left out of the median of the other runs in the cell")
    return notes


def _missing(frame: Frame, layout: Layout, grid: Grid) -> list[str]:
    cells = len(grid.rows) * len(grid.pivots)
    missing = cells - len(grid.cells)
    if not missing:
        return []
    notes = [f"{missing} of {_count(cells, 'cell')} not run (—)"]
    held = blocked_by(frame, layout)
    if held and all(sum((row, c) in grid.cells for c in range(len(grid.pivots))) == 1 for row in range(len(grid.rows))):
        notes.append(
            f"no row has two values of {layout.pivot}: it changes together with {', '.join(held)} "
            f"({' '.join(f'--implied {name}' for name in held)} compares them anyway)"
        )
    return notes


def _range(counts: set[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
