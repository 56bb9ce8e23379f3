"""Cases to a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from logbook_agent.findings.cases import counting
from logbook_agent.findings.tables.axes import Layout, lay_out
from logbook_agent.findings.tables.compare import MEANS, mean_notes, mean_of
from logbook_agent.findings.tables.difference import difference
from logbook_agent.findings.tables.frame import Frame, Item, frame_of, listed, show, varies
from logbook_agent.findings.tables.grid import check_pivot, choose_values, lay_cells, unequal_rows
from logbook_agent.findings.tables.metrics import choose
from logbook_agent.findings.tables.notes import cell_notes
from logbook_agent.findings.tables.spec import Case, Column, Table, TableSpec
from logbook_agent.findings.tables.strips import Strip, axis_strip, failure_strips, metric_strips, sample_strips
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Scalar
from logbook_agent.model.units import known


def tabulate(cases: Sequence[Case], spec: TableSpec, *, declared: Sequence[Metric]) -> Table:
    """The table that `spec` asks for; an empty one when there is no case.

    Values are medians of samples, and over the runs that repeat a case. Rows stand in the order they ran.
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
    frame = frame.joining(spec.joined)
    frame.check(spec.axes, option="--axis")
    frame.check([spec.pivot] if spec.pivot is not None else [], option="--pivot")
    frame.check(spec.implied, option="--implied")
    metrics, metric_notes = choose(frame, spec, declared)
    frame, shown, value_notes = choose_values(frame, spec)
    layout = lay_out(frame, spec)
    units = {m.name: m.unit or known(m.name).unit for m in declared}
    grid = replace(lay_cells(frame, spec, layout, shown), units=units)
    if (spec.delta or spec.ratio) and (unequal := unequal_rows(frame, layout, grid)):
        value_notes.append(f"no change is shown: {unequal}, and no config tells them apart")
        spec = replace(spec, delta=False, ratio=False, means=False)
    strips = [axis_strip(grid, name, is_label=name == frame.pseudo["label"]) for name in layout.axes]
    width = len(strips)
    strips += metric_strips(grid, metrics, spec) or failure_strips(grid)
    if spec.pivot is None:
        strips += sample_strips(grid, metrics)
    comparisons = [s.comparison for s in strips if s.comparison is not None]
    notes = [*warm_up_notes, *value_notes, *layout.notes, *metric_notes, *cell_notes(frame, layout, grid, metrics)]
    if spec.means:
        notes += mean_notes(comparisons)
    if spec.difference is not None:
        notes.insert(0, difference(frame, spec.difference).text)
    return _assembled(strips, width, spec, constants=_constants(frame, layout), notes=notes)


def _warm(cases: Sequence[Case], spec: TableSpec) -> tuple[Sequence[Case], list[str]]:
    """The cases, and what is said of those of warm-ups: shown by their state beside the others, they are left out where
    numbers are held against each other."""
    rest = counting(cases)
    rows = len(cases) - len(rest)
    if not rows:
        return cases, []
    said = f"{rows} row{'s' * (rows > 1)} of warm-ups (--discard), which count{'s' * (rows == 1)} for nothing"
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


def _constants(frame: Frame, layout: Layout) -> dict[str, str]:
    """Config that every case has with one value, and that no column shows. A null says nothing, and is left out."""
    shown = {*layout.axes, layout.pivot, *frame.covered}
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
