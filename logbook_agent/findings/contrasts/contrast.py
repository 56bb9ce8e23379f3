"""Measured rows beside each other, like for like, without a verdict: `logbook compare` of rows that no design drew, and
the contrasts that entries keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from logbook_agent.findings.cases import cases, counting
from logbook_agent.findings.contrasts.likeness import Terms
from logbook_agent.findings.contrasts.matching import Ground, Pairing, compare_sides, compare_values
from logbook_agent.findings.contrasts.settle import settled_by
from logbook_agent.findings.tables.build import matching
from logbook_agent.findings.tables.frame import frame_of, listed, show, varies
from logbook_agent.findings.tables.metrics import choose
from logbook_agent.findings.tables.spec import Case, TableSpec
from logbook_agent.model.entry import Contrast, Entry, entry_of
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.header import Metric
from logbook_agent.model.record import Record
from logbook_agent.store.book import Book


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrasted:
    """The rows of a contrast in pairs of cases, for each other side one `Pairing`, and the `metrics` to show of them.
    `settle` says what would settle it. `answered`: the entry whose comparison is about these sides, or empty.
    `uncounted`: `MOE-I8-002 is void`. `error`: why there are no pairs."""

    asked: Contrast
    sides: tuple[Pairing, ...] = ()
    metrics: tuple[str, ...] = ()
    settle: str = ""
    answered: str = ""
    uncounted: tuple[str, ...] = ()
    error: LogbookError | None = None


def contrast(book: Book, asked: Contrast) -> Contrasted:
    """The rows from the records as they are. Raises UsageError for names or values that the rows do not have."""
    records = {entry_id: book.record(entry_id) for entry_id in asked.entries}
    found = beside(asked, rows_of(asked, records), book.header.metrics)
    answered = next((record.id for record in records.values() if _answers(record, found)), "")
    if not answered:
        return found
    return replace(found, answered=answered, settle=f"{answered} answers this: logbook compare {answered}")


def checked(book: Book, asked: Contrast, *, baseline: bool) -> Contrast:
    """With the present IDs of the entries. Raises UsageError for what names too little or too much, and NotFound."""
    count = len(asked.references)
    if asked.axis is None and asked.base_value is not None:
        raise UsageError(
            f"--base {asked.base_value} without --axis",
            cause="--base names the value of an axis that the others are compared with",
            hint=f"--axis NAME --base {asked.base_value}",
        )
    if count > 1 if baseline else asked.axis is None and count > 2:
        raise UsageError(
            f"cannot compare {count} references" + " and --baseline" * baseline,
            cause="give two references, one with --baseline, or any number with --axis",
            hint="logbook compare A B, logbook compare A --baseline, or logbook compare ID --axis NAME",
        )
    found = (book.resolve(entry_of(r)) + r[len(entry_of(r)) :] for r in asked.references)
    return replace(asked, references=tuple(found))


def kept(book: Book, entry: Entry) -> list[Contrasted]:
    """The contrasts that an entry keeps."""
    found = []
    for asked in entry.contrasts:
        try:
            found.append(contrast(book, asked))
        except LogbookError as error:
            found.append(Contrasted(asked=asked, error=error))
    return found


def _one_reference(reference: str, rows: Sequence[Case]) -> UsageError:
    frame = frame_of(rows)
    varied = [name for name in frame.config if varies(frame.items, name)]
    return UsageError(
        f"{reference} states no comparison, and one reference does not name two sides",
        cause=f"its rows differ in {listed(varied)}" if varied else "its rows differ in no config key",
        hint=f"logbook compare {reference} --axis {varied[0]}" if varied else f"logbook compare {reference} OTHER",
    )


def beside(asked: Contrast, rows: Sequence[Sequence[Case]], declared: Sequence[Metric]) -> Contrasted:
    """The rows of each reference, side by side."""
    if asked.axis is not None:
        # A row that two references hold is one row.
        ground = Ground(list({id(c): c for side in rows for c in side}.values()), Terms(axis=asked.axis))
        sides = compare_values(ground, asked.base_value)
    elif len(rows) < 2:
        raise _one_reference(asked.references[0], rows[0])
    else:
        base, other = asked.references
        if {id(c) for c in rows[0]} & {id(c) for c in rows[1]}:
            raise UsageError(
                f"{base} and {other} hold the same rows",
                cause="a row cannot be compared with itself",
                hint="name different runs, by number or label: logbook compare ID/1 ID/2",
            )
        ground = Ground([*rows[0], *rows[1]], Terms())
        sides = [compare_sides(ground, len(rows[0]), (base, other))]
    expected = [m for m in declared if m.primary or asked.metrics]
    columns, _ = choose(ground.frame, TableSpec(metrics=asked.metrics), expected)
    metrics = tuple(column.name for column in columns)
    return Contrasted(asked=asked, sides=tuple(sides), metrics=metrics, settle=_settle(asked, sides))


def _settle(asked: Contrast, sides: Sequence[Pairing]) -> str:
    """What would settle it; empty where the sides have no case in common."""
    pairs = [pair for side in sides for pair in side.pairs]
    if not pairs:
        return ""
    items = [pairs[0].base.items[0], *(side.pairs[0].other.items[0] for side in sides if side.pairs)]
    axis, values = asked.axis, [sides[0].base, *(side.other for side in sides)]
    if axis is None:
        found = {d.name for pair in pairs for d in pair.likeness.withheld_by}
        if not found:
            return "the sides differ in nothing that is recorded"
        axis = next(iter(found)) if len(found) == 1 else None
        values = [show(item.place.get(axis or "")) for item in items]
    return f"no design drew the order of these runs; to settle it: {settled_by(axis, values, items)}"


def _answers(record: Record, found: Contrasted) -> bool:
    """Whether the comparison of an entry is about the sides of a contrast."""
    stated = record.entry.comparison
    if stated is None or found.asked.axis != stated.question.axis:
        return False
    return all({side.base, side.other} <= {*stated.question.values} for side in found.sides)


# -- rows --------------------------------------------------------------------------------------------


def rows_of(asked: Contrast, records: Mapping[str, Record]) -> list[list[Case]]:
    """The rows of each reference, with the values asked for, out of `records` by ID. Raises UsageError for one that
    has none."""
    # Together, so that one code has one name on all sides.
    found = counting(cases(*(records[entry] for entry in asked.entries)))
    sides = [[case for case in found if is_of(reference, case)] for reference in asked.references]
    for reference, side in zip(asked.references, sides, strict=True):
        if not side:
            raise _no_rows(reference, records[entry_of(reference)])
    if not asked.where:
        return sides
    wanted = {k: show(v) for k, v in asked.where.items()}
    kept = {id(case) for case in matching([c for side in sides for c in side], wanted)}
    sides = [[c for c in side if id(c) in kept] for side in sides]
    for reference, side in zip(asked.references, sides, strict=True):
        if not side and asked.axis is None:
            raise UsageError(
                f"no row of {reference} has {' '.join(f'{k}={v}' for k, v in wanted.items())}",
                cause="the other side has such rows, this side does not",
                hint=f"see what it has: logbook table {entry_of(reference)}",
            )
    return sides


def is_of(reference: str, case: Case) -> bool:
    """Whether a row is one of `ID`, `ID/RUN` or `ID:LABEL`."""
    entry = entry_of(reference)
    rest = reference[len(entry) :]
    if case.entry != entry or not rest:
        return case.entry == entry
    return rest[1:] == (str(case.run) if rest.startswith("/") else case.label)


def _no_rows(reference: str, record: Record) -> UsageError:
    entry = record.id
    with_rows = [s.run for s in record.runs if s.run.rows and s.counts]
    if not with_rows or reference == entry:
        is_warm_up = not with_rows and any(s.run.rows for s in record.runs)
        return UsageError(
            f"{entry} has only rows of warm-ups" if is_warm_up else f"{entry} has no rows",
            cause="its runs were made with --discard" if is_warm_up else "none of its runs printed a RESULT line",
            hint=f"logbook run --id {entry} -- COMMAND",
        )
    names = [name for run in with_rows for name in (f"{entry}/{run.run}", run.label and f"{entry}:{run.label}") if name]
    there = list(dict.fromkeys(names))
    near = (get_close_matches(reference, there, n=1) or there)[0]
    return UsageError(f"no rows in {reference}", cause=f"rows are in {listed(there)}", hint=f"{near!r} names some")
