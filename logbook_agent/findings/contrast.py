"""Measured rows side by side, without an answer: `logbook compare` of rows whose order was not drawn. A contrast is a
table with the sides as columns and the change of each from the base."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, structs

from logbook_agent.findings.advice import ab_like
from logbook_agent.findings.cases import Case
from logbook_agent.findings.identity import COMMAND, CWD, residue
from logbook_agent.findings.protocol import Records, TypingPlace
from logbook_agent.findings.references import Contrast, beside_baseline, rows_of
from logbook_agent.findings.tables.axes import differing
from logbook_agent.findings.tables.build import tabulate
from logbook_agent.findings.tables.frame import Item, by, frame_of, show, unknown, varies
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.model.comparison import CODE_AXIS, COMMIT, OF_CODE, WORK, Comparison
from logbook_agent.model.entry import Entry, entry_of
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Metric
from logbook_agent.model.record import Record
from logbook_agent.text.commands.flags import ANY
from logbook_agent.text.phrases import bounded, counted, listed

MOST_ROWS = 40
# So many differences are named in a sentence, and so many problems of runs.
_SHOWN = 4


class Contrasted(Struct, frozen=True, kw_only=True):
    """The rows of a contrast as a table. `residue` has the values of each side by the names in which the sides differ
    beside the axis, `mixed` names in which rows of one side do; `is_reported`: an imported source tells about rows;
    `answered_by` is the entry whose comparison answers the question, and `command` makes one where there is none.
    `first` has a row of each side."""

    asked: Contrast
    table: Table
    sides: tuple[str, ...]
    residue: Mapping[str, tuple[str, ...]]
    mixed: tuple[str, ...] = ()
    command: str = ""
    answered_by: str = ""
    is_reported: bool = False
    first: tuple[Case, ...] = ()

    @property
    def settle(self) -> str:
        """The text that says what these numbers settle, and what would settle more."""
        if self.answered_by:
            return f"{self.answered_by} answers this: {self.command}"
        names = [*self.residue] if self.asked.axis is None else [self.asked.axis]
        if self.is_reported:
            return "these numbers settle nothing, because a source reports them and nobody has measured them here"
        if not names and self.mixed:
            run = f"{self.asked.references[-1].partition('/')[0]}/RUN"
            return (
                f"the rows of one side differ in {listed(self.mixed, _SHOWN)}; to compare a single run, name it: {run}"
            )
        if not names:
            return "where both were measured, the sides differ in no setting and no code that is recorded"
        why = "these numbers settle nothing, because the order of the runs was not drawn by chance"
        if not self.command and {*names} <= {*OF_CODE}:
            return f"{why}, and the changes of one side are in no commit, nor in the working tree"
        if not self.command:
            return f"{why}, and logbook ab cannot vary {listed(names, _SHOWN)}"
        return f"{why}; to settle {'it' if len(names) == 1 else 'one difference alone'}: {self.command}"

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


def contrast(records: Records, asked: Contrast, here: TypingPlace) -> Contrasted:
    """The contrast of rows as their records are now, with commands as they are typed `here`. Raises
    UsageError for names or values that the rows do not have."""
    own = {entry_id: records.record(entry_id) for entry_id in asked.entries}
    rows = rows_of(asked, own)
    if asked.axis is None and len(rows) < 2:
        raise _one_reference(records, asked.references[0], rows[0])
    found = beside(asked, rows, records.header.metrics, here)
    answered = next((record.id for record in own.values() if _answers(record, found)), None)
    if answered is None:
        return found
    return structs.replace(found, answered_by=answered, command=f"logbook compare {answered}")


def against_baseline(records: Records, asked: Contrast, here: TypingPlace) -> Contrasted:
    """The contrast of rows with those of the baseline. Raises UsageError where no entry measured them."""
    return beside(*beside_baseline(records, asked), records.header.metrics, here)


# -- the table -----------------------------------------------------------------------------------------


def beside(
    asked: Contrast, rows: Sequence[Sequence[Case]], declared: Sequence[Metric], here: TypingPlace
) -> Contrasted:
    """The contrast of the rows of each reference."""
    axis = asked.axis or _free_name(rows)
    if asked.axis is None:
        rows = _named(axis, asked.references, rows)
    if axis == CODE_AXIS and not all(CODE_AXIS in case.row.config for side in rows for case in side):
        # Rows that no A/B of code measured name theirs by its commit.
        axis = COMMIT
    # A row that two references hold is one row.
    every = list({id(case): case for side in rows for case in side}.values())
    # Rows of runs that did not finish stand for a side that has no others.
    of = {
        name: [i for i in own if i.case.state in ("finished", None)] or own for name, own in _sides(asked, axis, every)
    }
    found = [item.case for own in of.values() for item in own]
    apart = _residue(axis, [*of.values()])
    # What goes with the sides keeps no rows apart: a note says how it differs.
    spec = TableSpec(metrics=asked.metrics, pivot=axis, values=tuple(of), delta=True, implied=tuple(apart))
    table = tabulate(found, spec, declared=[m for m in declared if m.primary or asked.metrics])
    left = len(every) - len(found)
    notes = [f"{counted(left, 'row')} of runs that did not finish left out"] if left else []
    if COMMIT not in (axis, *apart) and len({case.files for case in found} - {None}) > 1:
        notes.append("tracked files that are no code differ between the rows")
    notes += bounded(list(dict.fromkeys(text for case in found for text in _doubts(case))), _SHOWN)
    firsts = [own[0] for own in of.values()]
    is_reported = any(case.is_reported for case in found)
    commands = (
        ab_like(name, [_typed(name, item, here) for item in firsts], firsts, here=here)
        for name in ([axis] if asked.axis else apart)
        if not is_reported
    )
    return Contrasted(
        asked=asked,
        table=structs.replace(table, notes=(*table.notes, *notes)),
        sides=tuple(of),
        residue=apart,
        mixed=tuple(dict.fromkeys(name for own in of.values() for name in residue([item.case for item in own]))),
        is_reported=is_reported,
        first=tuple(item.case for item in firsts),
        command=next(filter(None, commands), ""),
    )


def _typed(name: str, item: Item, here: TypingPlace) -> str:
    """The value of an axis as it is typed: changes that no commit holds are the working tree, while it has them."""
    value = show(item.place.get(name))
    return WORK if name in (CODE_AXIS, COMMIT) and "+" in value and here.is_of(item.case) else value


def _doubts(case: Case) -> tuple[str, ...]:
    """The problems of a row's run, and what the benchmark says against its numbers."""
    caution = case.row.labels.get("caution")
    return (*case.problems, *([caution] if caution else []))


def _residue(axis: str, sides: Sequence[Sequence[Item]]) -> dict[str, tuple[str, ...]]:
    """What is one value in all rows of a side and differs between the sides, beside the axis: the values by name."""
    of = [[item.case for item in items] for items in sides]
    within = {name for own in of for name in residue(own)}
    firsts = [items[0] for items in sides]
    for item, text in zip(firsts, differing([item.case for item in firsts]), strict=True):
        # Of a config key with one of these names, the residue tells them by a mark.
        for name, value in ((COMMAND, text), (CWD, item.case.cwd)):
            item.place.setdefault(name, value)
            item.place[f"@{name}"] = value
    names = residue([case for own in of for case in own])
    return {
        name: tuple(show(item.place.get(name)) for item in firsts)
        for name in names
        if name != axis and name not in within
    }


def _free_name(rows: Sequence[Sequence[Case]]) -> str:
    """`side`, or `@side` where rows have a key of this name."""
    return "@side" if any("side" in (c.row.config | c.row.labels) for side in rows for c in side) else "side"


def _named(axis: str, references: Sequence[str], rows: Sequence[Sequence[Case]]) -> list[list[Case]]:
    """The rows of two references, with the reference as the value of the axis."""
    if {id(c) for c in rows[0]} & {id(c) for c in rows[1]}:
        raise UsageError(
            f"{' and '.join(references)} hold the same rows",
            cause="a row cannot be compared with itself",
            hint="name different runs, by number or label: logbook compare ID/1 ID/2",
        )
    return [
        [
            structs.replace(case, row=structs.replace(case.row, labels={**case.row.labels, axis: reference}))
            for case in side
        ]
        for reference, side in zip(references, rows, strict=True)
    ]


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


def _sides(asked: Contrast, axis: str, rows: Sequence[Case]) -> list[tuple[str, list[Item]]]:
    """The items of each side by its name, the base first. Raises UsageError when there is nothing to compare: no such
    value, or no other one."""
    frame = frame_of(rows)
    frame.check([axis], option="--axis")
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
    return [(names[key], of[key]) for key in (base, *(key for key in of if key != base))]


def _answers(record: Record, found: Contrasted) -> bool:
    """Whether the comparison of an entry is about the sides of a contrast."""
    stated = record.entry.comparison
    return (
        stated is not None and found.asked.axis == stated.question.axis and {*found.sides} <= {*stated.question.values}
    )


def asked_of(found: Contrasted, entries: Iterable[Entry]) -> Contrasted:
    """The contrast; one whose rows differ in one thing that an A/B of these entries has compared by their command, with
    that instead of another one to make."""
    names = [found.asked.axis] if found.asked.axis is not None else [*found.residue]
    [name, *more] = names or [""]
    by = next((e.id for e in entries if not more and e.comparison and _asks(e.comparison, name, found.first)), None)
    return structs.replace(found, answered_by=by, command=f"logbook compare {by}") if by and found.command else found


def _asks(stated: Comparison, name: str, rows: Sequence[Case]) -> bool:
    """Whether an A/B compares rows, which differ in what has this name, by their command."""
    axis, run = stated.question.axis, stated.run
    is_meant = name == axis or {name, axis} <= {*OF_CODE}
    if run is None or not is_meant:
        return False
    words = {tuple(word.replace(ANY, value) for word in run.argv) for value in stated.question.values}
    if axis == CODE_AXIS:
        sides = {code.key for code in stated.code.values()}
        return {row.code for row in rows} == sides and {row.command for row in rows} == words
    values = {item.key(axis) for item in frame_of(rows).items}
    return values <= {*stated.question.values} and {row.command for row in rows} <= words
