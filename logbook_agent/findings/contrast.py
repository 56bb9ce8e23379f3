"""Measured rows side by side, without an answer: `logbook compare` of rows whose order was not drawn. A contrast is a
table with the sides as columns and the change of each from the base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from logbook_agent.findings.advice import ab_like
from logbook_agent.findings.cases import Case
from logbook_agent.findings.identity import COMMAND, CWD, residue
from logbook_agent.findings.protocol import Records
from logbook_agent.findings.references import Contrast, beside_baseline, rows_of
from logbook_agent.findings.tables.axes import differing
from logbook_agent.findings.tables.build import tabulate
from logbook_agent.findings.tables.frame import ABSENT, Item, by, frame_of, show, unknown, varies
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.model.entry import entry_of
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Metric
from logbook_agent.model.record import Record
from logbook_agent.text.phrases import counted, listed

MOST_ROWS = 40
# So many differences are named in a sentence.
_SHOWN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrasted:
    """The rows of a contrast as a table. `residue` has the values of each side by the names in which the sides differ
    beside the axis; `answered_by` is the entry whose comparison answers the question, and `command` makes one where
    there is none. `is_paired`: a row has values of two sides."""

    asked: Contrast
    table: Table
    sides: tuple[str, ...]
    residue: Mapping[str, tuple[str, ...]]
    is_paired: bool
    command: str = ""
    answered_by: str = ""

    @property
    def settle(self) -> str:
        """The text that says what these numbers settle, and what would settle more."""
        if self.answered_by:
            return f"{self.answered_by} answers this: {self.command}"
        if not self.residue and self.asked.axis is None:
            if self.is_paired:
                return "where both were measured, the sides differ in nothing that is recorded"
            return f"no case was measured on both sides; to see what was: logbook table {' '.join(self.asked.entries)}"
        why = "these numbers settle nothing, because the order of the runs was not drawn by chance"
        if not self.command:
            names = [*self.residue] if self.asked.axis is None else [self.asked.axis]
            return f"{why}, and logbook ab cannot vary {listed(names, _SHOWN)}"
        what = "it" if self.asked.axis is not None or len(self.residue) == 1 else "one difference alone"
        return f"{why}; to settle {what}: {self.command}"

    def notes(self) -> list[str]:
        """What would settle it, and the notes of the table."""
        return [self.settle, *self.table.notes]

    def data(self) -> dict[str, object]:
        """A contrast with its table, complete."""
        return {
            "references": list(self.asked.references),
            "axis": self.asked.axis,
            "where": dict(self.asked.where),
            "sides": list(self.sides),
            **{name: value for name, value in self.table.data().items() if name != "constants"},
            "residue": {name: dict(zip(self.sides, values, strict=True)) for name, values in self.residue.items()},
            "settle": self.settle,
            "command": self.command or None,
            "answered_by": self.answered_by or None,
        }


def contrast(records: Records, asked: Contrast) -> Contrasted:
    """The contrast of rows as their records are now. Raises UsageError for names or values that the rows do not
    have."""
    own = {entry_id: records.record(entry_id) for entry_id in asked.entries}
    rows = rows_of(asked, own)
    if asked.axis is None and len(rows) < 2:
        raise _one_reference(records, asked.references[0], rows[0])
    found = beside(asked, rows, records.header.metrics)
    answered = next((record.id for record in own.values() if _answers(record, found)), None)
    if answered is None:
        return found
    return replace(found, answered_by=answered, command=f"logbook compare {answered}")


def against_baseline(records: Records, asked: Contrast) -> Contrasted:
    """The contrast of rows with those of the baseline. Raises UsageError where no entry measured them."""
    return beside(*beside_baseline(records, asked), records.header.metrics)


# -- the table -----------------------------------------------------------------------------------------


def beside(asked: Contrast, rows: Sequence[Sequence[Case]], declared: Sequence[Metric]) -> Contrasted:
    """The contrast of the rows of each reference."""
    axis = asked.axis or next(name for name in ("side", "side of", "compared") if not _has(rows, name))
    if asked.axis is None:
        rows = _named(axis, asked.references, rows)
    # A row that two references hold is one row.
    found, notes = _finished(axis, list({id(c): c for side in rows for c in side}.values()))
    of = _sides(asked, axis, found)
    sides = tuple(show(items[0].place.get(axis)) for items in of)
    side_of = {id(item.case): n for n, items in enumerate(of) for item in items if item.row.failed is None}
    apart = _residue(axis, of)
    spec = TableSpec(
        metrics=asked.metrics,
        pivot=axis,
        base=sides[0],
        values=sides,
        delta=True,
        # What goes with the sides keeps no rows apart: a note says how it differs.
        implied=tuple(apart),
    )
    expected = [m for m in declared if m.primary or asked.metrics]
    table = tabulate(found, spec, declared=expected)
    for name in apart.keys() & {COMMAND, CWD}:
        shown = ", ".join(f"{side} {value}" for side, value in zip(sides, apart[name], strict=True))
        notes.append(f"{name} differs with {axis}: {shown}")
    return Contrasted(
        asked=asked,
        table=replace(table, notes=(*table.notes, *notes)),
        sides=sides,
        residue=apart,
        is_paired=any(len({side_of[id(case)] for case in row if id(case) in side_of}) > 1 for row in table.cases),
        command=next(filter(None, (_settling(name, of) for name in ([asked.axis] if asked.axis else apart))), ""),
    )


def _residue(axis: str, sides: Sequence[Sequence[Item]]) -> dict[str, tuple[str, ...]]:
    """What is one value in all rows of a side and differs between the sides, beside the axis: the values by name."""
    of = [[item.case for item in items] for items in sides]
    within = {name for own in of for name in residue(own)}
    firsts = [items[0] for items in sides]
    commands = [text or ABSENT for text in differing([item.case for item in firsts])]
    return {
        name: tuple(commands)
        if name == COMMAND
        else tuple(item.case.cwd or ABSENT if name == CWD else show(item.place.get(name)) for item in firsts)
        for name in residue([case for own in of for case in own])
        if name != axis and name not in within
    }


def _settling(axis: str, sides: Sequence[Sequence[Item]]) -> str:
    firsts = [items[0] for items in sides]
    return ab_like(axis, [show(item.place.get(axis)) for item in firsts], firsts)


def _has(rows: Sequence[Sequence[Case]], name: str) -> bool:
    return any(name in (case.row.config | case.row.labels) for side in rows for case in side)


def _named(axis: str, references: Sequence[str], rows: Sequence[Sequence[Case]]) -> list[list[Case]]:
    """The rows of two references, with the reference as the value of the axis."""
    if {id(c) for c in rows[0]} & {id(c) for c in rows[1]}:
        raise UsageError(
            f"{' and '.join(references)} hold the same rows",
            cause="a row cannot be compared with itself",
            hint="name different runs, by number or label: logbook compare ID/1 ID/2",
        )

    def named(case: Case, reference: str) -> Case:
        return replace(case, row=replace(case.row, labels={**case.row.labels, axis: reference}))

    return [[named(case, reference) for case in side] for reference, side in zip(references, rows, strict=True)]


def _one_reference(records: Records, reference: str, rows: Sequence[Case]) -> UsageError:
    frame = frame_of(rows)
    varied = [name for name in frame.config if varies(frame.items, name)]
    return UsageError(
        f"{reference} states no comparison, and one reference does not name two sides",
        cause=f"its rows differ in {listed(varied)}" if varied else "its rows differ in no config key",
        hint=f"logbook compare {reference} --axis {varied[0]}" if varied else _with_another(records, reference),
    )


def _with_another(records: Records, reference: str) -> str:
    """The command that compares the rows of an entry with those of the latest other one that has some."""
    entry = entry_of(reference)
    others = (other for other in reversed(records.entry_ids()) if other != entry)
    measured = (other for other in others if any(s.counts and s.run.rows for s in records.record(other).runs))
    other = next(measured, None)
    return f"logbook compare {reference} {other}" if other is not None else f"logbook show {entry}"


def _finished(axis: str, rows: Sequence[Case]) -> tuple[list[Case], list[str]]:
    """The rows of runs that finished, and all of a side that has no others; and notes on the rows left out and on
    cautions of the benchmark."""
    frame = frame_of(rows)
    frame.check([axis], option="--axis")
    good: list[Case] = []
    for items in by(frame.items, lambda item: item.key(axis)).values():
        of_side = [item.case for item in items]
        good += [c for c in of_side if c.state in ("finished", None)] or of_side
    left = len(rows) - len(good)
    notes = [f"{counted(left, 'row')} of runs that did not finish left out"] if left else []
    beside = {(c.entry, c.run) for c in good if c.contended}
    notes += [f"{counted(len(beside), 'run')} started while others held an accelerator"] if beside else []
    return good, notes + list(dict.fromkeys(c.row.labels["caution"] for c in good if "caution" in c.row.labels))


def _sides(asked: Contrast, axis: str, rows: Sequence[Case]) -> list[list[Item]]:
    """The items of each side, the base first. Raises UsageError when there is nothing to compare: no such value, or no
    other one."""
    frame = frame_of(rows)
    of = by((item for item in frame.items if item.says(axis)), lambda item: item.key(axis))
    names = {key: show(items[0].place.get(axis)) for key, items in of.items()}
    base = next(iter(of), None) if asked.base_value is None else frame.key_of(axis, asked.base_value)
    if asked.base_value is not None and base not in of:
        raise unknown(f"value of {axis}", asked.base_value, names.values(), option="--base")
    if len(of) < 2:
        raise UsageError(
            f"{axis} has one value in these rows: {next(iter(names.values()), '—')}",
            cause="two values of it are needed to compare",
            hint="name further entries, or another axis: logbook compare ID ID --axis NAME",
        )
    return [of[base], *(items for key, items in of.items() if key != base)]


def _answers(record: Record, found: Contrasted) -> bool:
    """Whether the comparison of an entry is about the sides of a contrast."""
    stated = record.entry.comparison
    return (
        stated is not None and found.asked.axis == stated.question.axis and {*found.sides} <= {*stated.question.values}
    )
