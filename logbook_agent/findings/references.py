"""The rows that a contrast names: `ID`, `ID/RUN`, `ID:LABEL`, or the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from msgspec import Struct, field, structs

from logbook_agent.findings.advice import measure
from logbook_agent.findings.cases import Case, cases, counting
from logbook_agent.findings.protocol import Records
from logbook_agent.findings.summaries import baseline_cases, is_case
from logbook_agent.findings.tables.build import matching
from logbook_agent.findings.tables.frame import show
from logbook_agent.model.entry import entry_of
from logbook_agent.model.errors import UsageError
from logbook_agent.model.gates import REPORTED
from logbook_agent.model.record import Record
from logbook_agent.model.run import Failure, Row, Run, Scalar
from logbook_agent.text.phrases import listed


class Contrast(Struct, frozen=True, kw_only=True):
    """Measured rows that no design drew, to be shown beside each other without an answer.

    `references` are `ID`, `ID/RUN` or `ID:LABEL`: two, of which the first is the base; or with an `axis` any number,
    whose rows are set side by side by its values, against `base_value` (None: the first). `metrics` empty means the
    primary ones.
    """

    references: tuple[str, ...]
    axis: str | None = None
    base_value: str | None = None
    metrics: tuple[str, ...] = ()
    where: dict[str, Scalar] = field(default_factory=dict)

    @property
    def entries(self) -> tuple[str, ...]:
        """The IDs of the entries whose rows are shown."""
        return tuple(dict.fromkeys(entry_of(reference) for reference in self.references))


def checked(records: Records, asked: Contrast, *, baseline: bool) -> Contrast:
    """The contrast with the present IDs of its entries. Raises UsageError for too many or too few names, and
    NotFound."""
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
    return structs.replace(asked, references=tuple(resolved(records, reference) for reference in asked.references))


def resolved(records: Records, reference: str) -> str:
    """`ID`, `ID/RUN` or `ID:LABEL` as the logbook calls them. Raises NotFound, and UsageError for what two answer."""
    entry = records.resolve(entry_of(reference))
    rest = reference[len(entry_of(reference)) :]
    return f"{entry}/{records.run_named(entry, rest[1:])}" if rest.startswith("/") else entry + rest


def rows_of(asked: Contrast, records: Mapping[str, Record]) -> list[list[Case]]:
    """The rows of each reference, with the values asked for. `records` are by ID. Raises UsageError for a reference
    without rows."""
    # Together, so that one code has one name on all sides.
    found = counting(cases(*(_with_commands(records[entry]) for entry in asked.entries)))
    sides = [[c for c in found if c.entry == entry_of(name) and names_run(name, c)] for name in asked.references]
    for reference, side in zip(asked.references, sides, strict=True):
        if not side:
            raise _no_rows(reference, records[entry_of(reference)])
    if not asked.where:
        return sides
    wanted = {k: show(v) for k, v in asked.where.items()}
    chosen = {id(case) for case in matching([c for side in sides for c in side], wanted)}
    sides = [[c for c in side if id(c) in chosen] for side in sides]
    for reference, side in zip(asked.references, sides, strict=True):
        if not side and asked.axis is None:
            raise UsageError(
                f"no row of {reference} has {' '.join(f'{k}={v}' for k, v in wanted.items())}",
                cause="the other side has such rows, this side does not",
                hint=f"see what it has: logbook table {entry_of(reference)}",
            )
    return sides


def _with_commands(record: Record) -> Record:
    """The record with a row without numbers for each run of which an imported source quotes the command alone, so that
    commands can be set side by side."""
    empty = Row(failed=Failure(reason=REPORTED, message="its source states no number in a table"))
    runs = (
        structs.replace(s, run=structs.replace(s.run, rows=(empty,))) if s.run.is_reported and not s.run.rows else s
        for s in record.runs
    )
    return structs.replace(record, runs=tuple(runs))


def names_run(reference: str, run: Run | Case) -> bool:
    """Whether `ID`, `ID/RUN` or `ID:LABEL` names this run of its entry, or a row of it."""
    label = "" if run.label is None else f":{run.label}"
    return reference[len(entry_of(reference)) :] in ("", f"/{run.run}", label)


def _no_rows(reference: str, record: Record) -> UsageError:
    entry = record.id
    with_rows = [s.run for s in record.runs if s.run.rows and s.counts]
    if not with_rows or reference == entry:
        kinds = {s.discarded_as for s in record.runs if s.run.rows and not with_rows}
        return UsageError(
            f"{entry} has only rows of runs that do not count ({listed([*kinds])})"
            if kinds
            else f"{entry} has no rows",
            cause="none of its other runs has a row" if kinds else "none of its runs printed a RESULT line",
            hint=measure(record),
        )
    names = [name for run in with_rows for name in (f"{entry}/{run.run}", run.label and f"{entry}:{run.label}") if name]
    there = list(dict.fromkeys(names))
    near = (get_close_matches(reference, there, n=1) or there)[0]
    return UsageError(f"no rows in {reference}", cause=f"rows are in {listed(there)}", hint=f"{near!r} has rows")


def beside_baseline(records: Records, asked: Contrast) -> tuple[Contrast, list[list[Case]]]:
    """A contrast with the baseline as its first reference, and the rows of each. Raises UsageError where no entry
    measured them."""
    header = records.header
    if header.baseline is None or header.baseline.entry is None:
        stated = header.baseline is not None and bool(header.baseline.numbers)
        raise UsageError(
            f"no run measured the baseline of {header.topic}" if stated else f"{header.topic} has no baseline",
            cause="its header states numbers, and names no entry" if stated else "its header names none",
            hint="logbook baseline --entry ID --reason '...' names one; or name both sides: logbook compare A B",
        )
    entry = records.resolve(header.baseline.entry)
    asked = structs.replace(asked, references=(entry, *asked.references))
    base, *others = rows_of(asked, {i: records.record(i) for i in asked.entries})
    places, runs = baseline_cases(header), header.baseline.runs
    own = [t for t in base if not runs or t.run in runs]
    own = [t for t in own if not places or any(is_case(t.row.config, place) for place in places)]
    if not own:
        raise UsageError(
            f"no row of {entry} matches the baseline's case",
            cause="the header names the entry, and a config that none of its rows has",
            hint=f"name the rows themselves: logbook compare {entry}/1 {asked.references[1]}",
        )
    return asked, [own, *others]
