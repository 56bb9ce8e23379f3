"""`logbook start`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from logbook_agent.cli.options import JsonOption, RootOption, prose, workspace
from logbook_agent.cli.output import emit
from logbook_agent.start.start import StartRequest, start
from logbook_agent.store.workspace import naming, sweep_command

Repeated = list[str] | None


def start_command(
    topic: Annotated[str | None, typer.Argument(metavar="TOPIC", help="Name of the thread and its files.")] = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="PREFIX", help="Experiment ID prefix, as MOE-I8.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title of the document.")] = None,
    goal: Annotated[
        str | None, typer.Option("--goal", metavar="TEXT", help="What to find out; text, @FILE or -.")
    ] = None,
    metric: Annotated[
        Repeated,
        typer.Option("--metric", metavar="NAME[:max|min][:UNIT]", help="A primary metric; may be repeated."),
    ] = None,
    constraint: Annotated[
        Repeated, typer.Option("--constraint", metavar="TEXT", help="A constraint; repeatable.")
    ] = None,
    stop: Annotated[Repeated, typer.Option("--stop", metavar="TEXT", help="A stop criterion; repeatable.")] = None,
    link: Annotated[Repeated, typer.Option("--link", metavar="LABEL=URL", help="A link; repeatable.")] = None,
    baseline: Annotated[
        Repeated,
        typer.Option("--baseline", metavar="K=V", help="Config or number of the baseline case; repeatable."),
    ] = None,
    baseline_ref: Annotated[
        Repeated,
        typer.Option("--baseline-ref", metavar="REF", help="Code of the baseline; repeatable."),
    ] = None,
    baseline_source: Annotated[
        str | None, typer.Option("--baseline-source", metavar="TEXT", help="Where its numbers come from.")
    ] = None,
    baseline_confidence: Annotated[
        str | None, typer.Option("--baseline-confidence", metavar="WORD", help="How far they can be trusted.")
    ] = None,
    matrix: Annotated[
        Repeated,
        typer.Option("--matrix", metavar="KEY=V,V", help="An axis of the experiment matrix; repeatable."),
    ] = None,
    command_template: Annotated[
        Repeated,
        typer.Option("--command-template", metavar="'LABEL: CMD'", help="A command to start from; repeatable."),
    ] = None,
    zone: Annotated[str | None, typer.Option("--zone", metavar="ZONE", help="Time zone of the document. [UTC]")] = None,
    from_file: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE.yaml", help="Read all of this from a file; options add to it."),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", metavar="NAME", help="Take goal, metrics, criteria and matrix from a recipe."),
    ] = None,
    scale: Annotated[
        str | None, typer.Option("--scale", metavar="NAME", help="Scale of the recipe, as for `sweep`.")
    ] = None,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start a logbook.

    Example: logbook start moe_ep_int8 --prefix MOE-I8 --goal "is int8 faster?" --metric tflops:max:TF/s
    """
    space = workspace(None, root)
    request = StartRequest(
        topic=topic,
        prefix=prefix,
        title=title,
        goal=prose(goal),
        metrics=metric or (),
        constraints=[prose(c) or "" for c in constraint or ()],
        stops=[prose(s) or "" for s in stop or ()],
        links=link or (),
        baseline=baseline or (),
        baseline_refs=baseline_ref or (),
        baseline_source=baseline_source,
        baseline_confidence=baseline_confidence,
        matrix=matrix or (),
        command_templates=command_template or (),
        zone=zone,
        file=Path(from_file) if from_file else None,
        recipe=recipe,
        scale=scale,
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
