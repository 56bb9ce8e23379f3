"""The measured rows for `logbook export` and data frames: every row there is, each with what it is worth.

A table leaves out what does not count. Here nothing is: rows of entries that were superseded or withdrawn, warm-ups and
failures stand beside the others and say why they do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from logbook_agent.findings.cases import Case, cases
from logbook_agent.findings.read import Findings
from logbook_agent.findings.tables.build import matching
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.model.gates import failed_text
from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.record import Record, RunStatus, mended
from logbook_agent.model.run import Row, Run

MADE_AGAIN = "made again"


class MeasuredRow(Struct, frozen=True, kw_only=True):
    """One row with its entry and run. `place` is its number in the run, from 1, of `places`; `why_not` says why it does
    not count (empty: it does)."""

    entry: Entry
    entry_state: str
    status: RunStatus
    case: Case
    place: int
    places: int
    why_not: str

    @property
    def run(self) -> Run:
        return self.status.run

    @property
    def row(self) -> Row:
        """With the devices of its run, and units and directions as declared, where it reports none itself."""
        return self.case.row

    @property
    def counts(self) -> bool:
        """Whether a best case, an answer or a criterion may rest on it."""
        return not self.why_not

    @property
    def name(self) -> str:
        """`MOE-I8-003/2`, or `MOE-I8-003/2#5` of a run with several rows."""
        return f"{self.entry.id}/{self.run.run}" + (f"#{self.place}" if self.places > 1 else "")


class Exported(Struct, frozen=True, kw_only=True):
    """The rows, in the order they were measured, and what is no row: runs that measured nothing, rows that
    `--where` left out, and what is wrong with entries that cannot be read."""

    rows: tuple[MeasuredRow, ...]
    runs_without_rows: int = 0
    not_asked_for: int = 0
    damaged: tuple[str, ...] = ()

    def notes(self) -> list[str]:
        """What is left out and what does not count, a line each."""
        idle = sum(not row.counts for row in self.rows)
        said = [
            (idle, "row", f"do{'es' * (idle == 1)} not count (see column why_not)"),
            (self.not_asked_for, "row", "left out by --where"),
            (self.runs_without_rows, "run", "without a measured row, not exported"),
        ]
        return [f"{n:,} {what}{'s' * (n > 1)} {text}" for n, what, text in said if n]


def exported(found: Findings, *, entry_ids: Sequence[str] = (), where: Mapping[str, str] | None = None) -> Exported:
    """The rows of the entries that are named, of none those of all. Raises NotFound for an entry that is not there, and
    UsageError for a name or value of `where` that no row has."""
    named = list(dict.fromkeys(found.records.resolve(i) for i in entry_ids))
    records = [found.records.record(i) for i in named] if named else list(found.contents.records)
    rows = rows_of(found, records)
    runs = [status.run for record in records for status in record.runs]
    kept = rows
    if where and rows:
        wanted = {id(case) for case in matching([row.case for row in rows], where)}
        kept = tuple(row for row in rows if id(row.case) in wanted)
    return Exported(
        rows=kept,
        runs_without_rows=sum(not run.rows for run in runs),
        not_asked_for=len(rows) - len(kept),
        damaged=() if named else tuple(error.message for error in found.contents.damaged),
    )


def rows_of(found: Findings, records: Sequence[Record]) -> tuple[MeasuredRow, ...]:
    """Every row of some records of a logbook, in order."""
    source = iter(cases(*records))
    rows: list[MeasuredRow] = []
    for record in records:
        again = mended([s.run for s in record.runs]) if record.entry.recipe is not None else frozenset()
        lost = found.standing(record.entry).why
        for status in record.runs:
            for place, row in enumerate(status.run.rows, 1):
                rows.append(
                    MeasuredRow(
                        entry=record.entry,
                        entry_state=record.state,
                        status=status,
                        case=_with_units(next(source), found.records.header.metrics),
                        place=place,
                        places=len(status.run.rows),
                        why_not=_why_not(lost, status, row, was_made_again=status.run.run in again),
                    )
                )
    return tuple(rows)


def _with_units(case: Case, declared: Sequence[Metric]) -> Case:
    """The case, its measurements with unit and direction as the logbook declares them where the command said none."""
    measured = case.row.metrics
    if all(m.unit is not None and m.direction is not None for m in measured.values()):
        return case
    named = {name: metric_named(name, declared) for name in measured}
    filled = {
        name: structs.replace(m, unit=m.unit or named[name].unit, direction=m.direction or named[name].direction)
        for name, m in measured.items()
    }
    return structs.replace(case, row=structs.replace(case.row, metrics=filled))


def _why_not(lost: str, status: RunStatus, row: Row, *, was_made_again: bool) -> str:
    reasons = (
        lost,
        status.discarded_as,
        "" if status.state == "finished" or (status.state == "failed" and row.failed is not None) else status.state,
        failed_text([row.failed.reason]) if row.failed is not None else "",
        MADE_AGAIN if was_made_again else "",
    )
    return "; ".join(reason for reason in reasons if reason)


def without_rows(topic: str, entry_ids: Sequence[str]) -> UsageError:
    """The error for an export of nothing."""
    return UsageError(
        f"{', '.join(entry_ids) or topic} has no measured rows",
        cause="none of its runs printed a RESULT, METRIC or RESULT_JSON line",
        hint=f"logbook show {entry_ids[0]}" if entry_ids else "logbook run -- COMMAND",
    )
