"""`logbook table`."""

from __future__ import annotations

import dataclasses
import sys
from typing import Annotated

from typer import Argument, Option

from logbook_agent.cli.options import Common, Text, Texts
from logbook_agent.cli.output import emit
from logbook_agent.findings.cases import counting
from logbook_agent.findings.tables.build import matching
from logbook_agent.findings.tables.export import to_csv
from logbook_agent.findings.tables.naming import parse_axes, parse_metrics
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.findings.tabling import table
from logbook_agent.model.values import parse_pair
from logbook_agent.pages.blocks import blocks_of


def table_command(
    *,
    entry_ids: Annotated[
        Texts, Argument(metavar="[ID...]", help="Entries whose rows to show. [all that count]")
    ] = None,
    metric: Annotated[
        Texts, Option("--metric", metavar="[HEADING=]NAME", help="A metric or observation; repeatable. [declared]")
    ] = None,
    axis: Annotated[
        Texts,
        Option(
            "--axis",
            metavar="[HEADING=]KEY[,KEY...]",
            help="A config key, label, entry, commit or env:NAME; several keys make one column; repeatable. [varied]",
        ),
    ] = None,
    pivot: Annotated[Text, Option("--pivot", metavar="KEY", help="Its values become columns.")] = None,
    value: Annotated[
        Texts, Option("--value", metavar="V", help="Only these pivot values, in this order; repeatable.")
    ] = None,
    first_last: Annotated[bool, Option("--first-last", help="Only the first and last pivot column.")] = False,
    delta: Annotated[
        bool, Option("--delta", help="Change in percent: first to last pivot column, else to the first row.")
    ] = False,
    each: Annotated[bool, Option("--each", help="Delta or ratio of every pivot column, not only the last.")] = False,
    ratio: Annotated[bool, Option("--ratio", help="Ratio to the first pivot column, else to the first row.")] = False,
    base: Annotated[Text, Option("--base", metavar="V", help="Pivot value that deltas and ratios refer to.")] = None,
    implied: Annotated[
        Texts, Option("--implied", metavar="KEY", help="Config or fact that the pivot implies; repeatable.")
    ] = None,
    per_device: Annotated[bool, Option("--per-device", help="Totals, with the value per device in brackets.")] = False,
    means: Annotated[
        bool, Option("--means", help="Arithmetic and geometric mean of deltas and ratios over the rows.")
    ] = False,
    where: Annotated[Texts, Option("--where", metavar="K=V", help="Only rows with this value; repeatable.")] = None,
    csv: Annotated[
        bool, Option("--csv", help="As CSV in full precision: the rows, or the table when it is pivoted.")
    ] = False,
    common: Common,
) -> None:
    """Rows of entries as a table.

    Example: logbook table MOE-I8-002 --pivot quant_mode --delta
    """
    space = common.space()
    axes, joined = parse_axes(axis or ())
    metrics, titles = parse_metrics(metric or ())
    spec = TableSpec(
        metrics=metrics,
        titles=titles,
        axes=axes,
        joined=joined,
        pivot=pivot,
        values=tuple(value or ()),
        first_last=first_last,
        delta=delta,
        each=each,
        ratio=ratio,
        base=base,
        implied=tuple(implied or ()),
        per_device=per_device,
        means=means,
        where=dict(parse_pair(text, "--where") for text in where or ()),
    )
    book, cases, made = table(space, entry_ids or (), spec)
    if csv and not common.as_json:
        shaped = pivot or delta or ratio or means
        sys.stdout.write(to_csv(made if shaped else counting(matching(cases, spec.where))))
        return
    data = {
        "columns": [dataclasses.asdict(c) for c in made.columns],
        "rows": [list(row) for row in made.rows],
        "values": [list(row) for row in made.values],
        "constants": made.constants,
        "notes": list(made.notes),
    }
    emit("table", data, blocks_of(space, book).table(made), as_json=common.as_json, warnings=space.warnings)
