"""`logbook table` and `logbook compare`."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from typer import Argument, Option

from logbook_agent.cli.options import Common, Text, Texts
from logbook_agent.cli.output import emit, say, write_bytes
from logbook_agent.entries.kept_numbers import answered, keep
from logbook_agent.findings.cases import counting
from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparisons import designed
from logbook_agent.findings.contrast import MOST_ROWS, against_baseline, contrast
from logbook_agent.findings.queries import table
from logbook_agent.findings.read import read
from logbook_agent.findings.references import checked
from logbook_agent.findings.tables.build import matching
from logbook_agent.findings.tables.export import to_csv
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.model.entry import Contrast, entry_of
from logbook_agent.model.values import canonical, parse_pair, parse_value
from logbook_agent.pages.blocks import blocks_of


def table_command(
    *,
    entry_ids: Annotated[
        Texts, Argument(metavar="[ID...]", help="Entries whose rows to show. [all that count]")
    ] = None,
    metric: Annotated[
        Texts, Option("--metric", metavar="NAME", help="A metric or observation; repeatable. [declared]")
    ] = None,
    axis: Annotated[
        Texts,
        Option(
            "--axis",
            metavar="KEY",
            help="A config key, label, entry, commit or env:NAME; repeatable. [varied]",
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
        axes=tuple(axis or ()),
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
    book = space.book(*(entry_ids or ())[:1]).outgoing()
    found = read(space, book)
    cases, made = table(found, entry_ids or (), spec)
    if not entry_ids:
        space.warnings += [f"not shown: {error.message}" for error in found.contents.damaged]
    if csv and not common.as_json:
        shaped = pivot or delta or ratio or means
        write_bytes([to_csv(made if shaped else counting(matching(cases, spec.where))).encode("utf-8", "replace")])
        return
    data = {
        "columns": [dataclasses.asdict(c) for c in made.columns],
        "rows": [list(row) for row in made.rows],
        "values": [list(row) for row in made.values],
        "constants": made.constants,
        "notes": list(made.notes),
    }
    text = blocks_of(space, book).table(made)
    emit("table", data, text, as_json=common.as_json, warnings=space.warnings, draw=lambda: _draw(made))


def _draw(shown: Table | Answer) -> None:
    """Draw rows or an answer on the terminal."""
    from logbook_agent.cli.terminal.drawn_answers import draw_answer, draw_table

    if isinstance(shown, Answer):
        draw_answer(shown)
    else:
        draw_table(shown)


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
    save: Annotated[
        Text, Option("--save", metavar="ID", help="Show these rows side by side in this entry, too, from now on.")
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
    book = space.book(entry_of(references[0])).outgoing()
    asked = Contrast(
        references=tuple(references),
        axis=axis,
        base_value=base,
        metrics=tuple(dict.fromkeys(metric or ())),
        where=dict(parse_value(text, "--where") for text in where or ()),
    )
    asked = checked(book, asked, baseline=baseline)
    findings = read(space, book)
    answer = None if baseline else designed(findings.answers, book, asked)
    if answer is not None:
        if save is not None:
            raise answered(book.resolve(save), answer.entry)
        if base is not None and canonical(base) != answer.question.base:
            space.warnings.append(f"--base {base} is not used: {answer.entry} states its base, {answer.question.base}")
        data: dict[str, object] = {"answer": words.data(answer), "numbers": None, "saved": None}
        said = "\n".join(words.text_lines(answer))
        emit("compare", data, said, as_json=common.as_json, warnings=space.warnings, draw=lambda: _draw(answer))
        return
    one = against_baseline(book, asked) if baseline else contrast(book, asked)
    space.warnings += findings.baseline_doubts if baseline else []
    standing = {entry: findings.standing(findings.entry(entry)).why for entry in one.asked.entries}
    space.warnings += [f"{entry} does not count: it is {why}" for entry, why in standing.items() if why]
    kept = keep(space, book, save, one) if save is not None else None
    data = {"answer": None, "numbers": one.data(), "saved": kept}
    more = len(one.table.rows) - MOST_ROWS
    notes = [*one.notes(), *([f"and {more} more rows: --json shows all"] if more > 0 else [])]
    shown = dataclasses.replace(one.table, rows=one.table.rows[:MOST_ROWS], notes=tuple(notes))
    text = "" if common.as_json else blocks_of(space, book).table(shown)
    emit("compare", data, text, as_json=common.as_json, warnings=space.warnings, draw=lambda: _draw(shown))
    if kept is not None and not common.as_json:
        say(f"saved in {kept}, which now shows these numbers")
