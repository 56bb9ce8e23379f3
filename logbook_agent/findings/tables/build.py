"""A table of cases, with notes on samples, repeats, failures and empty cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from msgspec import structs

from logbook_agent.findings.case_repeats import level_in
from logbook_agent.findings.cases import Case, counting
from logbook_agent.findings.tables.axes import axis_notes, lay_out
from logbook_agent.findings.tables.frame import Frame, Item, frame_of, show, varies
from logbook_agent.findings.tables.grid import Grid, Reading, check_options, choose_values, lay_cells
from logbook_agent.findings.tables.metrics import choose
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.findings.tables.table_columns import MEANS, Strip, axis_strip, failure_strip, metric_strips
from logbook_agent.model.errors import UsageError
from logbook_agent.model.gates import REPORTED, WITHHELD
from logbook_agent.model.header import Metric
from logbook_agent.model.record import NOT_COUNTED, WARM_UP
from logbook_agent.text.phrases import bounded, counted, listed


def tabulate(cases: Sequence[Case], spec: TableSpec, *, declared: Sequence[Metric]) -> Table:
    """The table that `spec` asks for; an empty one when there is no case.

    Values are medians of samples, and over the runs that repeat a case. Rows stand in the order they ran,
    but for entries whose order was drawn.
    Cases that differ in config, facts, devices, command, entry, label or state never share a cell: what they differ in
    becomes a column. Raises UsageError for a name or value that the cases do not have, and for options that contradict
    each other.
    """
    check_options(spec)
    if not cases:
        return Table()
    cases, notes = _warm(cases, spec)
    frame = frame_of(cases)
    if spec.where:
        frame = frame.only(_having(frame, spec.where))
    frame.check([spec.pivot] if spec.pivot is not None else [], option="--pivot")
    metrics, metric_notes = choose(frame, spec, declared)
    values = {item.key(spec.pivot) for item in frame.items} if spec.pivot is not None else set()
    frame, shown = choose_values(frame, spec)
    if len(values) > len(shown):
        notes.append(f"{counted(len(values) - len(shown), 'other value')} of {spec.pivot} not shown")
    axes = lay_out(frame, spec)
    grid = lay_cells(frame, spec.pivot, axes, shown)
    if (spec.delta or spec.ratio) and spec.pivot is not None and frame.pseudo["row"] in axes:
        notes.append("no change is shown: only their order tells the rows of one run apart")
        spec = structs.replace(spec, delta=False, ratio=False, means=False)
    readings = {m.name: grid.readings(m.name, m.declared_unit) for m in metrics}
    strips = [axis_strip(grid, name, is_label=name == frame.pseudo["label"]) for name in axes]
    for metric in metrics:
        strips += metric_strips(grid, metric, readings[metric.name], spec, first=metric is metrics[0])
    strips += [] if metrics else [failure_strip(grid)]
    notes += [*axis_notes(frame, spec, axes), *metric_notes]
    notes += cell_notes([*axes, *([spec.pivot] if spec.pivot is not None else [])], grid, readings)
    made = Table(
        columns=tuple(s.column for s in strips),
        rows=tuple(zip(*(s.texts for s in strips), strict=True)),
        values=tuple(zip(*(s.values for s in strips), strict=True)),
        constants=_constants(frame, {*axes, spec.pivot}),
        notes=tuple(dict.fromkeys(notes)),
        axes=len(axes),
        cases=tuple(tuple(item.case for item in row) for row in grid.rows),
    )
    return _with_means(made, strips) if spec.means and axes else made


def _warm(cases: Sequence[Case], spec: TableSpec) -> tuple[Sequence[Case], list[str]]:
    """The cases without those that do not count where numbers are compared, else all of them; and notes on these."""
    rest = counting(cases)
    left_out = [case for case in cases if case.state in NOT_COUNTED]
    why = Counter(
        "of warm-ups (--discard), not counted" if case.state == WARM_UP else listed(case.problems[-1:])
        for case in left_out
    )
    notes = [f"{counted(rows, 'row')} {text}" for text, rows in why.items()]
    return (rest if rest and (spec.pivot is not None or spec.delta or spec.ratio) else cases), notes


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


def _with_means(made: Table, strips: Sequence[Strip]) -> Table:
    """The table with rows of means below its own, and notes on how many rows a mean leaves out."""
    rows, values, notes = list(made.rows), list(made.values), list(made.notes)
    for name in MEANS:
        texts, numbers = zip(*(strip.mean(name) for strip in strips[1:]), strict=True)
        rows.append((name, *texts))
        values.append((name, *numbers))
    notes += [
        f"means of {s.column.name}: over {len(s.quotients) - s.quotients.count(None)} of {len(s.quotients)} rows"
        for s in strips
        if None in s.quotients
    ]
    return structs.replace(made, rows=tuple(rows), values=tuple(values), notes=tuple(notes))


# -- notes ---------------------------------------------------------------------------------------------------

_SHOWN_LEVELS = 6


def cell_notes(
    axes: Sequence[str], grid: Grid, readings: Mapping[str, Sequence[Sequence[Reading | None]]]
) -> list[str]:
    """Notes on samples, repeats, levels, failures and gaps, in this order. `axes` tell the cells apart."""
    known = [r for columns in readings.values() for column in columns for r in column if r is not None]
    samples = {count for reading in known for count in reading.samples}
    filled = grid.filled
    runs = {len(items) for items in filled}
    unknown = sum(r.value is None and not r.all_failed for r in known)
    cells = len(grid.rows) * len(grid.pivots)
    missing = cells - len(filled)
    return [
        *([f"medians of {_range(samples)} samples"] if samples - {1} else []),
        *([f"{_range(runs)} runs in one cell: their median [lowest, highest]"] if runs != {1} else []),
        *_levels(axes if len(filled) > 1 else (), filled, [*readings]),
        *_failures(filled),
        *([f"{counted(unknown, 'value')} not reported (?)"] if unknown else []),
        *([f"{missing} of {counted(cells, 'cell')} not run (—)"] if missing else []),
    ]


def _levels(axes: Sequence[str], cells: Sequence[Sequence[Item]], metrics: Sequence[str]) -> list[str]:
    """Notes on the cells whose level changed."""
    found = []
    for items in cells:
        own = [item.case for item in items]
        where = " ".join(f"{name}={show(items[0].place.get(name))}" for name in axes)
        several = len({case.entry for case in own}) > 1
        levels = [level for name in metrics if (level := level_in(own, name)) is not None]
        found += [(f"{where}: " if where else "") + level.text(of_entry=several) for level in levels]
    return bounded(found, _SHOWN_LEVELS, "more levels that changed")


def _failures(cells: Sequence[Sequence[Item]]) -> list[str]:
    failed = [item.row.failed for cell in cells for item in cell if item.row.failed is not None]
    if not failed:
        return []
    bad = [one.reason for one in failed if one.reason != REPORTED]
    of = f"of {counted(sum(map(len, cells)), 'case')}"
    notes = [f"{len(bad)} {of} {'failed' if {*bad} - {WITHHELD} else WITHHELD}"] if bad else []
    if len(failed) > len(bad):
        notes.append(f"{len(failed) - len(bad)} {of} reported by a source, not measured here")
    of_cells = [[item.row.failed is not None for item in cell] for cell in cells]
    if left_out := sum(sum(cell) for cell in of_cells if not all(cell)):
        notes.append(f"{counted(left_out, 'failed run')} left out of the median of the other runs in the cell")
    return notes


def _range(counts: set[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"
