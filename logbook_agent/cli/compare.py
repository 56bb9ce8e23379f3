"""`logbook compare`."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from logbook_agent.cli.options import Common, Text, Texts, read_part
from logbook_agent.cli.output import emit, say
from logbook_agent.entries.comparison import keep
from logbook_agent.findings.comparisons.as_text import compared_text
from logbook_agent.findings.comparisons.compare import compare
from logbook_agent.findings.comparisons.told import data
from logbook_agent.model.entry import APART_S, Comparison, entry_of
from logbook_agent.model.values import parse_value
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.running.prepare import parse_duration


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
        Text, Option("--base", metavar="V", help="The value of the axis to compare with. [the first]")
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
        Text, Option("--apart", metavar="TIME", help="Runs further apart are no pair, and two sittings. [10m]")
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
    kept = keep(space, book, save, found) if save is not None else None
    answer = {**data(found.question, found.answers), "saved": kept}
    text = "" if common.as_json else compared_text(found.answers, blocks_of(space, book).table)
    emit("compare", answer, text, as_json=common.as_json, warnings=space.warnings)
    if kept is not None and not common.as_json:
        say(f"saved in {kept}, which now shows the result")
