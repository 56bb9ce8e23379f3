"""`logbook table` and `logbook compare`."""

from __future__ import annotations

import dataclasses
import sys
from typing import Annotated

from typer import Argument, Option

from logbook_agent.cli.options import Common, Text, Texts, read_part
from logbook_agent.cli.output import emit, say
from logbook_agent.entries.comparison import keep
from logbook_agent.findings.cases import counting
from logbook_agent.findings.comparisons.as_text import compared_text
from logbook_agent.findings.comparisons.compare import compare
from logbook_agent.findings.comparisons.told import data
from logbook_agent.findings.read import read
from logbook_agent.findings.tables.build import matching
from logbook_agent.findings.tables.export import to_csv
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.findings.tabling import parse_axes, parse_metrics, table
from logbook_agent.model.entry import APART_S, Comparison, entry_of
from logbook_agent.model.values import parse_pair, parse_value
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.running.prepare import parse_duration


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
    difference: Annotated[
        tuple[str, str] | None,
        Option("--difference", metavar="A B", help="Largest and mean |A - B|; metrics, observations or config."),
    ] = None,
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
        difference=difference,
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


def compare_command(
    *,
    references: Annotated[
        list[str],
        Argument(metavar="REF...", help="Rows: ID, ID/RUN or ID:LABEL. With two, the first is the base."),
    ],
    baseline: Annotated[bool, Option("--baseline", help="The logbook's baseline is the base.")] = False,
    axis: Annotated[
        Text, Option("--axis", metavar="NAME", help="What is tested: a config key, commit, env:NAME, ...")
    ] = None,
    base: Annotated[
        Text, Option("--base", metavar="V", help="The value of the axis to compare with. [the one measured first]")
    ] = None,
    metric: Annotated[
        Texts, Option("--metric", metavar="NAME", help="A metric or observation; repeatable. [primary]")
    ] = None,
    allow: Annotated[Texts, Option("--allow", metavar="NAME", help="An intended difference; repeatable.")] = None,
    implied: Annotated[
        Texts, Option("--implied", metavar="NAME", help="A difference that the axis implies; repeatable.")
    ] = None,
    min_effect: Annotated[str, Option("--min-effect", metavar="PART", help="The smallest effect that matters.")] = "1%",
    apart: Annotated[
        Text,
        Option("--apart", metavar="TIME", help="Runs further apart in time than this are not paired. [10m]"),
    ] = None,
    where: Annotated[Texts, Option("--where", metavar="K=V", help="Only rows with this value; repeatable.")] = None,
    save: Annotated[
        Text, Option("--save", metavar="ID", help="Save the comparison in this entry, which then shows it.")
    ] = None,
    common: Common,
) -> None:
    """Rows that differ in more than the axis get numbers but no verdict, unless --allow names each difference.

    Example: logbook compare MOE-I8-002 --axis quant_mode
    """
    space = common.space()
    asked = Comparison(
        references=tuple(references),
        axis=axis,
        base_value=base,
        metrics=tuple(dict.fromkeys(metric or ())),
        where=dict(parse_value(text, "--where") for text in where or ()),
        allowed=tuple(dict.fromkeys(allow or ())),
        implied=tuple(dict.fromkeys(implied or ())),
        minimum_effect=read_part(min_effect, "--min-effect") or 0.0,
        apart_s=parse_duration(apart, "--apart") if apart is not None else APART_S,
    )
    book = space.book(entry_of(references[0]))
    found = compare(book, asked, baseline=baseline)
    if baseline:
        space.warnings += read(space, book).baseline_doubts
    if len(found.question.entries) > 1:
        space.warnings += read(space, book).left_out(found.question)
    kept = keep(space, book, save, found) if save is not None else None
    answer = {**data(found.question, found.answers), "saved": kept}
    text = "" if common.as_json else compared_text(found.answers, blocks_of(space, book).table)
    emit("compare", answer, text, as_json=common.as_json, warnings=space.warnings)
    if kept is not None and not common.as_json:
        say(f"saved in {kept}, which now shows the result")
