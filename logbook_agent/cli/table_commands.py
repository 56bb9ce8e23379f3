"""`logbook table` and `logbook compare`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from msgspec import structs

from logbook_agent.campaign.typing_place import typing_place
from logbook_agent.cli.options import (
    METRICS,
    ONLY_WHERE,
    Common,
    arguments,
    flag,
    option,
    plain_pairs,
    repeated,
    typed_pairs,
)
from logbook_agent.cli.output import write_bytes
from logbook_agent.cli.status_commands import open_lines
from logbook_agent.entries.compare import CompareResult, compare
from logbook_agent.findings.cases import counting
from logbook_agent.findings.comparison import answer_lines
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.contrast import MOST_ROWS
from logbook_agent.findings.queries import table
from logbook_agent.findings.read import read
from logbook_agent.findings.references import Contrast
from logbook_agent.findings.tables.build import matching
from logbook_agent.findings.tables.export import to_csv
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.store.workspace import Workspace


class TableOptions:
    """What a table shows: a `TableSpec`."""

    metrics = METRICS("A metric or observation; repeatable. [declared]")
    pivot = option("--pivot KEY", "Config key, label, entry, commit or env:NAME whose values become columns.")
    values = repeated("--value V", "Only these pivot values, the base first, then in this order; repeatable.")
    first_last = flag("--first-last", "Only the first and last pivot column.")
    delta = flag("--delta", "Change of each pivot column from the base in percent, else of each row.")
    ratio = flag("--ratio", "Ratio of each pivot column to the base, else of each row.")
    base = option("--base V", "Pivot value that deltas and ratios refer to. [as stated, else the plain one]")
    per_device = flag("--per-device", "Totals, with the value per device in brackets.")
    means = flag("--means", "Arithmetic and geometric mean of deltas and ratios over the rows.")
    where = ONLY_WHERE(read=partial(plain_pairs, name="--where"))


def table_command(
    *,
    entry_ids: Sequence[str] = arguments("[ID...]", "Entries whose rows to show. [all that count]"),
    spec: Annotated[TableSpec, TableOptions],
    csv: bool = flag("--csv", "As CSV in full precision: the rows, or the table when it is pivoted."),
    common: Common,
) -> None:
    """Rows of entries as a table.

    Without options: a row for each measured case, a column for each key that differs, and the declared metrics.

    Example: logbook table MOE-I8-002 --pivot quant_mode --delta
    """
    space = common.space()
    book = space.book(*entry_ids[:1]).outgoing()
    found = read(space, book)
    cases, made = table(found, entry_ids, spec)
    if not entry_ids:
        space.warnings += [f"not shown: {error.message}" for error in found.contents.damaged]
    if csv and not common.as_json:
        shaped = spec.pivot or spec.delta or spec.ratio or spec.means
        write_bytes([to_csv(made if shaped else counting(matching(cases, spec.where))).encode("utf-8", "replace")])
        return
    text = blocks_of(space, book).table(made)
    common.emit("table", made.data(), text, draw=lambda d: d.draw_table(made))


class ContrastOptions:
    """What is set side by side: a `Contrast`."""

    references = arguments(
        "REF...", "An entry with a comparison; or rows: ID, ID/RUN or ID:LABEL, the base first.", ...
    )
    axis = option("--axis NAME", "What differs: a config key, commit, env:NAME, ...")
    base_value = option("--base V", "The value of the axis to compare with. [the first]")
    metrics = METRICS("A metric or observation; repeatable. [primary]")
    where = ONLY_WHERE(read=partial(typed_pairs, name="--where"))


def compare_command(
    *,
    asked: Annotated[Contrast, ContrastOptions],
    baseline: bool = flag("--baseline", "Compare with the logbook's baseline."),
    common: Common,
) -> None:
    """Show the answer of a comparison, or numbers.

    Where a comparison holds both sides, show its answer; otherwise their numbers, which settle nothing: to settle it,
    use `logbook ab`.

    Example: logbook compare MOE-I8-002 --axis quant_mode

    Example: logbook compare MOE-I8-002 MOE-I8-005
    """
    space = common.space()
    result = compare(space, asked, baseline=baseline, here=typing_place(space))
    shown = result.answer or _numbers(result)
    left = open_lines(result.why, result.does, result.command)
    text = partial(_compare_text, space, result, shown, [line for line, _ in left])
    common.emit("compare", result.data(), text, draw=lambda d: d.draw(shown, left))


def _compare_text(space: Workspace, result: CompareResult, shown: Table | Answer, left: Sequence[str]) -> str:
    if isinstance(shown, Answer):
        return "\n".join([*answer_lines.text_lines(shown), *left])
    return blocks_of(space, result.book).table(shown)


def _numbers(result: CompareResult) -> Table:
    """The first rows, with all notes."""
    one = result.numbers
    if one is None:
        raise AssertionError("neither an answer nor numbers")
    more = len(one.table.rows) - MOST_ROWS
    notes = [*one.notes(), *([f"and {more} more rows: --json shows all"] if more > 0 else [])]
    return structs.replace(one.table, rows=one.table.rows[:MOST_ROWS], notes=tuple(notes))
