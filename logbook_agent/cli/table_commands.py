"""`logbook table` and `logbook compare`."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from typer import Argument, Option

from logbook_agent.cli.options import Common, Text, Texts
from logbook_agent.cli.output import emit, write_bytes
from logbook_agent.entries.compare import CompareResult, compare
from logbook_agent.findings.cases import counting
from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.contrast import MOST_ROWS
from logbook_agent.findings.queries import table
from logbook_agent.findings.read import read
from logbook_agent.findings.references import Contrast
from logbook_agent.findings.tables.build import matching
from logbook_agent.findings.tables.export import to_csv
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.model.values import parse_pair, parse_value
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.store.workspace import Workspace


def table_command(
    *,
    entry_ids: Annotated[
        Texts, Argument(metavar="[ID...]", help="Entries whose rows to show. [all that count]")
    ] = None,
    metric: Annotated[
        Texts, Option("--metric", metavar="NAME", help="A metric or observation; repeatable. [declared]")
    ] = None,
    pivot: Annotated[
        Text,
        Option(
            "--pivot", metavar="KEY", help="Config key, label, entry, commit or env:NAME whose values become columns."
        ),
    ] = None,
    value: Annotated[
        Texts, Option("--value", metavar="V", help="Only these pivot values, in this order; repeatable.")
    ] = None,
    first_last: Annotated[bool, Option("--first-last", help="Only the first and last pivot column.")] = False,
    delta: Annotated[
        bool, Option("--delta", help="Change of each pivot column from the base in percent, else of each row.")
    ] = False,
    ratio: Annotated[bool, Option("--ratio", help="Ratio of each pivot column to the base, else of each row.")] = False,
    base: Annotated[
        Text,
        Option(
            "--base", metavar="V", help="Pivot value that deltas and ratios refer to. [as stated, else the plain one]"
        ),
    ] = None,
    per_device: Annotated[bool, Option("--per-device", help="Totals, with the value per device in brackets.")] = False,
    means: Annotated[
        bool, Option("--means", help="Arithmetic and geometric mean of deltas and ratios over the rows.")
    ] = False,
    where: Annotated[
        Texts, Option("--where", metavar="K=V", help="Only rows whose axis K is V (— for none); repeatable.")
    ] = None,
    csv: Annotated[
        bool, Option("--csv", help="As CSV in full precision: the rows, or the table when it is pivoted.")
    ] = False,
    common: Common,
) -> None:
    """Rows of entries as a table.

    Without options: a row for each measured case, a column for each key that differs, and the declared metrics.

    Example: logbook table MOE-I8-002 --pivot quant_mode --delta
    """
    space = common.space()
    spec = TableSpec(
        metrics=tuple(metric or ()),
        pivot=pivot,
        values=tuple(value or ()),
        first_last=first_last,
        delta=delta,
        ratio=ratio,
        base=base,
        per_device=per_device,
        means=means,
        where=dict(parse_pair(text, "--where") for text in where or ()),
    )
    book = space.book(*(entry_ids or ())[:1]).outgoing()
    found = read(space, book)
    cases, made = table(found, entry_ids or (), spec)
    if not entry_ids:
        space.warnings += [f"not shown: {error.message}" for error in found.contents.damaged]
    if csv and not common.as_json:
        shaped = pivot or delta or ratio or means
        write_bytes([to_csv(made if shaped else counting(matching(cases, spec.where))).encode("utf-8", "replace")])
        return
    text = blocks_of(space, book).table(made)
    warnings = space.warnings
    emit("table", made.data(), text, as_json=common.as_json, warnings=warnings, draw=lambda d: d.draw_table(made))


def compare_command(
    *,
    references: Annotated[
        list[str],
        Argument(metavar="REF...", help="An entry with a comparison; or rows: ID, ID/RUN or ID:LABEL, the base first."),
    ],
    baseline: Annotated[bool, Option("--baseline", help="Compare with the logbook's baseline.")] = False,
    axis: Annotated[
        Text, Option("--axis", metavar="NAME", help="What differs: a config key, commit, env:NAME, ...")
    ] = None,
    base: Annotated[
        Text, Option("--base", metavar="V", help="The value of the axis to compare with. [the first]")
    ] = None,
    metric: Annotated[
        Texts, Option("--metric", metavar="NAME", help="A metric or observation; repeatable. [primary]")
    ] = None,
    where: Annotated[
        Texts, Option("--where", metavar="K=V", help="Only rows whose axis K is V (— for none); repeatable.")
    ] = None,
    common: Common,
) -> None:
    """Show the answer of a comparison, or numbers.

    Where a comparison holds both sides, show its answer; otherwise their numbers, which settle nothing: to settle it,
    use `logbook ab`.

    Example: logbook compare MOE-I8-002 --axis quant_mode

    Example: logbook compare MOE-I8-002 MOE-I8-005
    """
    space = common.space()
    asked = Contrast(
        references=tuple(references),
        axis=axis,
        base_value=base,
        metrics=tuple(dict.fromkeys(metric or ())),
        where=dict(parse_value(text, "--where") for text in where or ()),
    )
    result = compare(space, asked, baseline=baseline)
    shown = result.answer or _numbers(result)
    text = "" if common.as_json else _compare_text(space, result, shown)
    emit("compare", result.data(), text, as_json=common.as_json, warnings=space.warnings, draw=lambda d: d.draw(shown))


def _compare_text(space: Workspace, result: CompareResult, shown: Table | Answer) -> str:
    if isinstance(shown, Answer):
        return "\n".join(words.text_lines(shown))
    return blocks_of(space, result.book).table(shown)


def _numbers(result: CompareResult) -> Table:
    """The first rows, with all notes."""
    one = result.numbers
    if one is None:
        raise AssertionError("neither an answer nor numbers")
    more = len(one.table.rows) - MOST_ROWS
    notes = [*one.notes(), *([f"and {more} more rows: --json shows all"] if more > 0 else [])]
    return dataclasses.replace(one.table, rows=one.table.rows[:MOST_ROWS], notes=tuple(notes))
