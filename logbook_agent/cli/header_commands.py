"""`logbook start`, `baseline` and `criteria`: what stands in the header."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from logbook_agent.cli.options import Common, GateOption, JsonOption, RootOption, Text, Texts, prose, workspace
from logbook_agent.cli.output import emit, say
from logbook_agent.entries.baseline import MoveRequest, move
from logbook_agent.entries.criteria import (
    CriteriaRequest,
    CriterionLine,
    JudgeRequest,
    change_criteria,
    criteria,
    criteria_data,
    judge_name,
)
from logbook_agent.entries.start import StartRequest, start
from logbook_agent.entries.stated import read_header_file
from logbook_agent.findings.read import read
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Computed, Header, HeaderParts
from logbook_agent.pages.blocks import baseline_text, computed_text
from logbook_agent.store.workspace import Workspace, naming
from logbook_agent.text.shell_words import sweep_command
from logbook_agent.text.times import minute

BudgetOption = Annotated[
    Texts,
    Option(
        "--budget",
        metavar="runs=N|hours=H",
        help="Start no run once this much is spent; repeatable. runs= or hours= removes that limit.",
    ),
]
_NONE = "no stop criteria; to add one: logbook criteria --add TEXT"


def start_command(
    topic: Annotated[
        Text, Argument(metavar="TOPIC", help="Name of the thread and its files: a-z, 0-9, _ and -.")
    ] = None,
    prefix: Annotated[
        Text, Option("--prefix", metavar="PREFIX", help="Prefix of the IDs, such as MOE-I8. [from the topic]")
    ] = None,
    title: Annotated[Text, Option("--title", metavar="TEXT", help="Title of the document.")] = None,
    goal: Annotated[Text, Option("--goal", metavar="TEXT", help="What to find out; text, @FILE or -.")] = None,
    metric: Annotated[
        Texts,
        Option(
            "--metric",
            metavar="NAME[:max|min][:UNIT]",
            help="A primary metric; repeatable. For a curve, add :best, :mean=N or :over=KEY.",
        ),
    ] = None,
    gate: GateOption = None,
    constraint: Annotated[Texts, Option("--constraint", metavar="TEXT", help="A constraint; repeatable.")] = None,
    stop: Annotated[Texts, Option("--stop", metavar="TEXT", help="A stop criterion; repeatable.")] = None,
    link: Annotated[Texts, Option("--link", metavar="LABEL=URL", help="A link; repeatable.")] = None,
    baseline: Annotated[
        Texts, Option("--baseline", metavar="K=V", help="Config or number of the baseline case; repeatable.")
    ] = None,
    baseline_source: Annotated[
        Text, Option("--baseline-source", metavar="TEXT", help="Where the baseline's numbers come from.")
    ] = None,
    matrix: Annotated[
        Texts,
        Option(
            "--matrix",
            metavar="KEY=V,V",
            help="An axis of the experiment matrix; quote a value that has a comma; repeatable.",
        ),
    ] = None,
    zone: Annotated[Text, Option("--zone", metavar="ZONE", help="Time zone of the document. [UTC]")] = None,
    budget: BudgetOption = None,
    from_file: Annotated[
        Text, Option("--from", metavar="FILE.yaml", help="Read the whole header from a file; options add to it.")
    ] = None,
    recipe: Annotated[
        Text, Option("--recipe", metavar="NAME", help="Take goal, metrics, criteria and matrix from a recipe.")
    ] = None,
    scale: Annotated[Text, Option("--scale", metavar="NAME", help="Scale of the recipe, as for `sweep`.")] = None,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start a logbook.

    Example: logbook start moe_ep_int8 --goal "is int8 faster?" --metric tflops:max:TF/s
    """
    space = workspace(None, root)
    request = StartRequest(
        topic=topic,
        prefix=prefix,
        title=title,
        goal=prose(goal),
        metrics=metric or (),
        gates=gate or (),
        constraints=[prose(c) or "" for c in constraint or ()],
        stops=[prose(s) or "" for s in stop or ()],
        links=link or (),
        baseline=baseline or (),
        baseline_source=baseline_source,
        matrix=matrix or (),
        zone=zone,
        budget=budget or (),
        stated=_stated(space, from_file, recipe, scale),
    )
    book = start(space, request)
    data = {
        "topic": book.topic,
        "prefix": book.header.prefix,
        "root": str(book.root),
        "view": str(book.view_path),
        "header": str(book.header_path),
    }
    named = naming(space, book)
    onward = " ".join(["logbook run", *named, "-- COMMAND"])
    if recipe is not None:
        onward = sweep_command(recipe, scale=scale, named=named)
    text = f"started {book.topic} ({book.header.prefix}): {book.view_path}\nnext: {onward}"
    emit("start", data, text, as_json=as_json, warnings=space.warnings)


def _stated(space: Workspace, from_file: str | None, recipe: str | None, scale: str | None) -> HeaderParts:
    """What recipe and file state."""
    file = read_header_file(Path(from_file)) if from_file else HeaderParts()
    if recipe is not None:
        # Only this needs to know recipes.
        from logbook_agent.campaign.recipe_files import header_of_recipe

        return header_of_recipe(space, recipe, scale, file)
    if scale is not None:
        raise UsageError(
            "--scale without --recipe",
            cause="--scale selects a scale of a recipe",
            hint=f"logbook start --recipe NAME --scale {scale}",
        )
    return file


def criteria_command(
    *,
    met: Annotated[int | None, Option("--met", metavar="N", help="Judge criterion N as met.")] = None,
    unmet: Annotated[int | None, Option("--unmet", metavar="N", help="Judge criterion N as not met.")] = None,
    evidence: Annotated[Text, Option("--evidence", metavar="ID|URL", help="The evidence: an entry, or a URL.")] = None,
    by: Annotated[Text, Option("--by", metavar="NAME", help="Who judges. [the user's name]")] = None,
    add: Annotated[Text, Option("--add", metavar="TEXT", help="Add a criterion in words.")] = None,
    predicates: Annotated[
        Texts,
        Option(
            "--predicate",
            metavar="N=YAML",
            help="Check criterion N by this predicate; `N=` removes it. With --add, leave N= out.",
        ),
    ] = None,
    budget: BudgetOption = None,
    common: Common,
) -> int:
    """Show which stop criteria are met.

    A criterion is met when its rule holds, or when someone judges it met and names the evidence.

    Exit code without options: 1 while a criterion is not met. With options that change criteria: 0.

    Example: logbook criteria --met 2 --evidence MOE-I8-004

    Example: logbook criteria --predicate '1=compared: {axis: quant_mode, values: [none, int8]}'
    """
    space = common.space()
    if met is not None and unmet is not None:
        raise UsageError(
            "--met and --unmet cannot be used together", cause="one judgement at a time", hint="leave one out"
        )
    if predicates is not None and len(predicates) > 1:
        raise UsageError(
            f"{len(predicates)} predicates given, expected one",
            cause="each command changes one criterion, so that an invalid predicate leaves none changed",
            hint=f"logbook criteria --predicate {shlex.quote(predicates[0])}",
        )
    predicate = predicates[0] if predicates else None
    number = met if met is not None else unmet
    if number is None and (evidence or by):
        raise UsageError(
            "no criterion named",
            cause="--evidence and --by need --met or --unmet",
            hint="add: --met N (logbook criteria)",
        )
    by = by or judge_name(space.environ) if number is not None else None
    request = CriteriaRequest(
        add=prose(add) or "" if add is not None else None,
        predicate=_numbered(predicate, adds=add is not None) if predicate is not None else None,
        judgement=JudgeRequest(number=number, met=met is not None, evidence=evidence, by=by)
        if number is not None and by is not None
        else None,
        budget=tuple(budget or ()),
    )
    book = space.book()
    change_criteria(space, book, request)
    thread = read(space, book)
    header = thread.header
    found = criteria(header)
    lines = [
        f"{'[x]' if c['met'] else '[ ]'} {c['number']}. {c['text']}{_signed(c, of.computed)}"
        for c, of in zip(found, header.stop_criteria, strict=True)
    ]
    data = criteria_data(book, thread)
    lines = [*(lines or [_NONE]), *([thread.budget] if thread.budget else [])]
    emit("criteria", data, "\n".join(lines), as_json=common.as_json, warnings=space.warnings)
    if request != CriteriaRequest() or data["met"]:
        return 0
    if not common.as_json:
        say(f"{sum(not c['met'] for c in found)} of {len(found)} not met (exit code 1)")
    return 1


def _numbered(text: str, *, adds: bool) -> tuple[int | None, str]:
    """`2=compared: ...`; the number may be left out for a criterion that is added by the same command."""
    number, equals, predicate = text.partition("=")
    if equals and number.strip().isdecimal():
        return int(number), predicate
    if adds:
        return None, text
    raise UsageError(
        "--predicate needs the number of a criterion",
        cause="logbook criteria lists the numbers",
        hint=f"logbook criteria --predicate '1={text}'",
    )


def _signed(criterion: CriterionLine, computed: Computed | None) -> str:
    """Who judged it, and what was computed."""
    said = []
    if criterion["by"] is not None:
        said.append(f"{'met' if criterion['met'] else 'not met'}: {criterion['evidence']}, {criterion['by']}")
    if criterion["doubt"] is not None:
        said.append(criterion["doubt"])
    if computed is not None:
        said.append(f"computed: {computed_text(computed)}")
    return f" ({'; '.join(said)})" if said else ""


def baseline_command(
    *,
    entry: Annotated[
        Text, Option("--entry", metavar="REF", help="Entry that measured it: ID, ID/RUN or ID:LABEL.")
    ] = None,
    config: Annotated[Texts, Option("--config", metavar="K=V", help="The baseline's case; repeatable.")] = None,
    number: Annotated[
        Texts, Option("--number", metavar="METRIC=V", help="A number measured elsewhere; repeatable.")
    ] = None,
    source: Annotated[Text, Option("--source", metavar="TEXT", help="Where the numbers come from.")] = None,
    reason: Annotated[
        Text, Option("--reason", metavar="TEXT", help="Why the baseline moves; required for a move. Text, @FILE, or -.")
    ] = None,
    common: Common,
) -> None:
    """Show the baseline, or move it.

    The baseline is the case that results are compared with. Without options, show it and each move of it.

    Example: logbook baseline --entry MOE-I8-004 --config quant_mode=none --reason "the kernel was fixed"
    """
    space = common.space()
    book = space.book()
    request = MoveRequest(
        entry_id=entry,
        config=config or (),
        numbers=number or (),
        source=source,
        reason=prose(reason),
    )
    header = move(space, book, request) if request.asks else book.outgoing().header
    space.warnings += read(space, book).baseline_doubts
    data = {
        "logbook": book.topic,
        "baseline": encode(header.baseline),
        "moves": [encode(m) for m in header.baseline_moves],
    }
    emit("baseline", data, _text(header), as_json=common.as_json, warnings=space.warnings)


def _text(header: Header) -> str:
    def shown(found: Any) -> str:
        return baseline_text(found, header.metrics)

    lines = [f"baseline: {shown(header.baseline)}"]
    for m in header.baseline_moves:
        lines.append(f"moved {minute(m.at, header.zone)}: {m.reason}")
        lines.append(f"    until then: {shown(m.before)}")
    return "\n".join(lines)
