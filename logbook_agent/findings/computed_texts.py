"""The computed texts of an entry: its commands, config and result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct, structs

from logbook_agent.findings import facts
from logbook_agent.findings.case_repeats import noise_lines, noise_of
from logbook_agent.findings.cases import cases, without_mended
from logbook_agent.findings.curve_lines import curve_lines
from logbook_agent.findings.tables.build import tabulate
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.model.gates import REPORTED
from logbook_agent.model.header import Metric
from logbook_agent.model.record import Record, RunStatus
from logbook_agent.model.run import Run
from logbook_agent.text import markdown as md
from logbook_agent.text.phrases import bounded, duration, listed

# A table and further notes, which are Markdown already.
RenderTable: TypeAlias = Callable[[Table, Sequence[str]], str]
# A page of an entry stays as short as a person can read, however many runs there are.
_TAIL_LINES = 8
_SHOWN_PROBLEMS = 5
_SHOWN_ROWS = 200
_SHOWN_OUTCOMES = 100


class ComputedTexts(Struct, frozen=True, kw_only=True):
    """The computed texts of an entry as Markdown: executed commands, config, results."""

    command: str
    config: str
    result: str


def said_of(record: Record, metrics: Sequence[Metric], render: RenderTable) -> ComputedTexts:
    """The computed texts of an entry; `render` makes Markdown of a table and further notes."""
    table = table_of(record, metrics) if record.runs else None
    noise = map(md.escape, noise_lines(noise_of(record, metrics))) if record.entry.noise else ()
    notes = [*curve_lines(record), *noise]
    return ComputedTexts(
        command=facts.command_section(record),
        config=facts.config_section(record, table) if record.runs else "",
        result=result_section(record, table, render, notes) if record.runs else "",
    )


# -- the result ------------------------------------------------------------------------------------------


def table_of(record: Record, metrics: Sequence[Metric]) -> Table | None:
    """All rows of an entry as a table; None when it has no rows."""
    if not any(s.run.rows for s in record.runs):
        return None
    found = cases(without_mended(record))
    measured = {name for c in found for name in (*c.row.metrics, *c.row.observations)}
    # That a secondary metric was not measured is no news.
    expected = [m for m in metrics if m.primary or m.name in measured]
    return tabulate(found, TableSpec(), declared=expected)


def result_section(record: Record, table: Table | None, render_table: RenderTable, further: Sequence[str]) -> str:
    """The measured rows, then failures with their reasons, problems of the records, and `further` notes.

    All that is said below a table is one list with the table's own notes: two lists in a row read as one.
    """
    outcomes = [text for status in record.runs for text in _outcome(status, alone=len(record.runs) == 1)]
    rest = f"more runs that have no row or did not succeed: `logbook show {record.id}`"
    notes = bounded(outcomes, _SHOWN_OUTCOMES, rest)
    problems = [str(p) for s in record.runs for p in s.run.problems]
    if problems:
        notes.append("Recorded with problems:\n" + md.items(bounded([*map(md.escape, problems)], _SHOWN_PROBLEMS)))
    notes += [f"Accepted in run {listed([*map(str, a.runs)], 5)}: {md.escape(a.why)}" for a in record.entry.accepted]
    notes += further
    if table is None:
        return md.items(notes)
    if len(table.rows) == 1:
        return md.items([*_single(table), *notes])
    # What all rows share stands in the section above.
    return render_table(structs.replace(_bounded(table, record.id), constants={}), notes)


def _bounded(table: Table, entry_id: str) -> Table:
    """The table with as many rows as a page can hold."""
    more = len(table.rows) - _SHOWN_ROWS
    if more <= 0:
        return table
    note = f"the first {_SHOWN_ROWS} of {len(table.rows):,} rows; all of them: logbook table {entry_id} --csv"
    return structs.replace(table, rows=table.rows[:_SHOWN_ROWS], notes=(note, *table.notes))


def _single(table: Table) -> list[str]:
    """The only row of a table as a list."""
    lines = []
    for column, value in zip(table.columns, table.rows[0], strict=True):
        if column.name == "label":
            continue  # it stands above, with the command
        unit = f" {column.unit}" if column.unit and column.numeric and not str(value).startswith("failed") else ""
        name = column.name.removesuffix(f" ({column.unit})")
        number = str(value).removesuffix(mark := f" ({REPORTED})")
        lines.append(f"{name}: {number}{unit}{mark if number != value else ''}")
    return [md.escape(line) for line in (*lines, *table.notes)]


def _unfinished(run: Run) -> dict[str, str]:
    """The text about a run whose end nobody saw, by its state."""
    return {
        "running": f"running since {run.started}",
        "submitted": f"submitted at {run.started}; it has not begun",
        "orphaned": "its tool is gone, the command still runs",
        "unknown": f"started on {run.host.name} at {run.started}; whether it still runs cannot be told from here",
        "interrupted": "interrupted: tool and command are gone; the output read until then is kept",
        "lost": "lost: its worker vanished, or its folder was removed",
        "never-started": "never started",
    }


def _outcome(status: RunStatus, *, alone: bool) -> list[str]:
    """A note on a run that did not succeed, or has no rows; nothing of others."""
    run = status.run
    name = run.label or (None if alone else f"run {run.run}")
    if not status.counts:
        name = ", ".join(filter(None, [name, status.discarded_as]))
    subject = f"{md.escape(name)}: " if name else ""
    if run.ended is None and (what := _unfinished(run).get(status.state)) is not None:
        return [subject + what]
    if run.is_reported or (status.state == "finished" and run.rows):
        return []
    shown: tuple[str, ...] = ()
    if run.output is not None:
        failed = status.state != "finished"
        shown = (run.output.error_tail if failed else ()) or run.output.tail
    is_told = bool(run.rows)
    said = f"{subject}{_ending(run)}" + ("" if is_told else ", no result lines")
    if not shown:
        return [said + ("" if is_told else "; it printed nothing")]
    return [f"{said}:\n{md.fence(chr(10).join(shown[-_TAIL_LINES:]), 'text')}"]


def _ending(run: Run) -> str:
    """How a run ended, in words."""
    took = f" after {duration(run.duration_s)}"
    ended = run.exit
    if ended is None:
        return "not ended"
    if ended.stalled:
        return f"stalled: stopped after {duration(run.stall_s)} without output"
    if ended.timeout:
        return f"stopped at its limit of {duration(run.timeout_s)}"
    if ended.interrupted:
        return f"interrupted by the user{took}"
    if ended.never_started:
        return "never started"
    if ended.signal:
        return f"ended by {ended.signal}{took}"
    return (f"exit {ended.code}" if ended.code else "exit 0") + took
