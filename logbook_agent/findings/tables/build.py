"""A table of cases, with notes on samples, repeats, failures and empty cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from logbook_agent.findings.case_repeats import level_in
from logbook_agent.findings.cases import Case, counting
from logbook_agent.findings.tables.axes import axis_notes, blocked_by, lay_out
from logbook_agent.findings.tables.frame import Frame, Item, frame_of, show, varies
from logbook_agent.findings.tables.grid import Grid, Reading, check_pivot, choose_values, lay_cells, unequal_rows
from logbook_agent.findings.tables.metrics import MetricColumn, choose
from logbook_agent.findings.tables.spec import Column, Table, TableSpec
from logbook_agent.findings.tables.table_columns import (
    MEANS,
    Strip,
    axis_strip,
    failure_strips,
    mean_notes,
    mean_of,
    metric_strips,
    sample_strips,
)
from logbook_agent.model.errors import UsageError
from logbook_agent.model.gates import WITHHELD
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Scalar
from logbook_agent.model.units import known
from logbook_agent.text.phrases import bounded, counted, listed


def tabulate(cases: Sequence[Case], spec: TableSpec, *, declared: Sequence[Metric]) -> Table:
    """The table that `spec` asks for; an empty one when there is no case.

    Values are medians of samples, and over the runs that repeat a case. Rows stand in the order they ran,
    but for entries with a random order.
    Cases that differ in config, facts, devices, command, entry, label or state never share a cell: what they differ in
    becomes a column. Raises UsageError for a name or value that the cases do not have, and for options that contradict
    each other.
    """
    check_pivot(spec)
    if not cases:
        return Table()
    cases, warm_up_notes = _warm(cases, spec)
    frame = frame_of(cases)
    if spec.where:
        frame = frame.only(_having(frame, spec.where))
    frame.check([spec.pivot] if spec.pivot is not None else [], option="--pivot")
    metrics, metric_notes = choose(frame, spec, declared)
    frame, shown, value_notes = choose_values(frame, spec)
    axes = lay_out(frame, spec)
    units = {m.name: m.unit or known(m.name).unit for m in declared}
    grid = replace(lay_cells(frame, spec, axes, shown), units=units)
    if (spec.delta or spec.ratio) and (unequal := unequal_rows(frame, axes, spec.pivot)):
        value_notes.append(f"no change is shown: {unequal}, and no config tells them apart")
        spec = replace(spec, delta=False, ratio=False, means=False)
    strips = [axis_strip(grid, name, is_label=name == frame.pseudo["label"]) for name in axes]
    width = len(strips)
    strips += metric_strips(grid, metrics, spec) or failure_strips(grid)
    if spec.pivot is None:
        strips += sample_strips(grid, metrics)
    comparisons = [s.comparison for s in strips if s.comparison is not None]
    notes = [*warm_up_notes, *value_notes, *axis_notes(frame, spec, axes), *metric_notes]
    notes += cell_notes(frame, axes, spec.pivot, grid, metrics)
    if spec.means:
        notes += mean_notes(comparisons)
    made = _assembled(strips, width, spec, constants=_constants(frame, {*axes, spec.pivot}), notes=notes)
    return replace(made, axes=width, cases=tuple(tuple(item.case for item in row) for row in grid.rows))


def _warm(cases: Sequence[Case], spec: TableSpec) -> tuple[Sequence[Case], list[str]]:
    """The cases without those of warm-ups where numbers are compared, else all of them; and a note on the warm-ups."""
    rest = counting(cases)
    rows = len(cases) - len(rest)
    if not rows:
        return cases, []
    said = f"{counted(rows, 'row')} of warm-ups (--discard), which count{'s' * (rows == 1)} for nothing"
    if rest and (spec.pivot is not None or spec.delta or spec.ratio):
        return rest, [f"{said}, left out"]
    return cases, [said]


def matching(cases: Sequence[Case], where: Mapping[str, str]) -> list[Case]:
    """The cases with these values. Raises UsageError for a name or value that none of them has."""
    if not cases:
        return []
    return [item.case for item in _having(frame_of(cases), where)]


def _having(frame: Frame, where: Mapping[str, str]) -> list[Item]:
    frame.check(where, option="--where")
    if not (found := frame.having(where)):
        there = {name: list(dict.fromkeys(show(item.place.get(name)) for item in frame.items)) for name in where}
        raise UsageError(
            f"no row has {' and '.join(f'{name}={value}' for name, value in where.items())}",
            cause="in these rows " + "; ".join(f"{name} is {listed(values)}" for name, values in there.items()),
            hint=" ".join(f"--where {name}={show(frame.items[0].place.get(name))}" for name in where),
        )
    return found


def _constants(frame: Frame, shown: Collection[str | None]) -> dict[str, str]:
    """Config that every case has with one value, and that no column shows. A null says nothing, and is left out."""
    hidden = [k for k in frame.config if k not in shown]
    same = [k for k in hidden if not varies(frame.items, k)]
    held = {k: next(i.place[k] for i in frame.items if k in i.place) for k in same}
    return {k: show(value) for k, value in held.items() if value is not None}


def _assembled(
    strips: list[Strip], width: int, spec: TableSpec, *, constants: dict[str, str], notes: list[str]
) -> Table:
    if spec.means and width == 0:
        blank: list[Scalar] = [""] * len(strips[0].texts)
        strips = [Strip(column=Column(name="rows"), texts=[""] * len(blank), values=blank), *strips]
    rows = list(zip(*(s.texts for s in strips), strict=True))
    values = list(zip(*(s.values for s in strips), strict=True))
    if spec.means and any(s.comparison is not None for s in strips):
        for name in MEANS:
            means = [None if s.comparison is None else mean_of(s.comparison, name) for s in strips]
            pairs = list(zip(strips, means, strict=True))[1:]
            rows.append((name, *(s.comparison.format(m) if s.comparison else "" for s, m in pairs)))
            values.append((name, *(s.comparison.raw(m) if s.comparison else None for s, m in pairs)))
    return Table(
        columns=tuple(s.column for s in strips),
        rows=tuple(rows),
        values=tuple(values),
        constants=constants,
        notes=tuple(dict.fromkeys(notes)),
    )


_SHOWN_LEVELS = 6


def cell_notes(
    frame: Frame, axes: Sequence[str], pivot: str | None, grid: Grid, metrics: Sequence[MetricColumn]
) -> list[str]:
    """Notes on samples, repeats, failures and gaps, in this order."""
    readings = [r for m in metrics for column in grid.readings(m.name) for r in column if r is not None]
    notes = [
        *_samples(readings),
        *_repeats(grid),
        *_levels([*axes, *([pivot] if pivot is not None else [])], grid, metrics),
        *_failures(frame, grid),
    ]
    unknown = sum(r.value is None and not r.all_failed for r in readings)
    if unknown:
        notes.append(f"{counted(unknown, 'value')} not reported (?)")
    return notes + _missing(frame, axes, pivot, grid)


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


def _levels(axes: Sequence[str], grid: Grid, metrics: Sequence[MetricColumn]) -> list[str]:
    """Notes on the cells whose level changed."""
    axes = axes if len(grid.cells) > 1 else ()
    found = []
    for items in grid.cells.values():
        own = [item.case for item in items]
        where = " ".join(f"{name}={show(items[0].place.get(name))}" for name in axes)
        several = len({case.entry for case in own}) > 1
        levels = [level for m in metrics if (level := level_in(own, m.name)) is not None]
        found += [(f"{where}: " if where else "") + level.text(of_entry=several) for level in levels]
    return bounded(found, _SHOWN_LEVELS, "more levels that changed")


def _failures(frame: Frame, grid: Grid) -> list[str]:
    failed = [item for item in frame.items if item.row.failed is not None]
    left_out = sum(
        sum(item.row.failed is not None for item in items)
        for items in grid.cells.values()
        if any(item.row.failed is None for item in items)
    )
    how = "failed" if any(i.row.failed is not None and i.row.failed.reason != WITHHELD for i in failed) else WITHHELD
    notes = [f"{len(failed)} of {counted(len(frame.items), 'case')} {how}"] if failed else []
    if left_out:
        notes.append(f"{counted(left_out, 'failed run')} left out of the median of the other runs in the cell")
    return notes


def _missing(frame: Frame, axes: Sequence[str], pivot: str | None, grid: Grid) -> list[str]:
    cells = len(grid.rows) * len(grid.pivots)
    missing = cells - len(grid.cells)
    if not missing:
        return []
    notes = [f"{missing} of {counted(cells, 'cell')} not run (—)"]
    held = blocked_by(frame, axes, pivot)
    if held and all(sum((row, c) in grid.cells for c in range(len(grid.pivots))) == 1 for row in range(len(grid.rows))):
        notes.append(
            f"no row has two values of {pivot}: it changes together with {', '.join(held)} "
            f"(compare --axis {pivot} shows both)"
        )
    return notes


def _range(counts: set[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"
