"""`logbook start`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from logbook_agent.cli.options import JsonOption, RootOption, Text, Texts, prose, workspace
from logbook_agent.cli.output import emit
from logbook_agent.entries.start import StartRequest, start
from logbook_agent.entries.stated import read_header_file
from logbook_agent.model.errors import UsageError
from logbook_agent.store.workspace import Workspace, naming, sweep_command


def start_command(
    topic: Annotated[Text, Argument(metavar="TOPIC", help="Name of the thread and its files.")] = None,
    prefix: Annotated[Text, Option("--prefix", metavar="PREFIX", help="Experiment ID prefix, as MOE-I8.")] = None,
    title: Annotated[Text, Option("--title", metavar="TEXT", help="Title of the document.")] = None,
    goal: Annotated[Text, Option("--goal", metavar="TEXT", help="What to find out; text, @FILE or -.")] = None,
    metric: Annotated[
        Texts, Option("--metric", metavar="NAME[:max|min][:UNIT]", help="A primary metric; may be repeated.")
    ] = None,
    constraint: Annotated[Texts, Option("--constraint", metavar="TEXT", help="A constraint; repeatable.")] = None,
    stop: Annotated[Texts, Option("--stop", metavar="TEXT", help="A stop criterion; repeatable.")] = None,
    link: Annotated[Texts, Option("--link", metavar="LABEL=URL", help="A link; repeatable.")] = None,
    baseline: Annotated[
        Texts, Option("--baseline", metavar="K=V", help="Config or number of the baseline case; repeatable.")
    ] = None,
    baseline_ref: Annotated[
        Texts, Option("--baseline-ref", metavar="REF", help="Code of the baseline; repeatable.")
    ] = None,
    baseline_source: Annotated[
        Text, Option("--baseline-source", metavar="TEXT", help="Where its numbers come from.")
    ] = None,
    baseline_confidence: Annotated[
        Text, Option("--baseline-confidence", metavar="WORD", help="How far they can be trusted.")
    ] = None,
    matrix: Annotated[
        Texts, Option("--matrix", metavar="KEY=V,V", help="An axis of the experiment matrix; repeatable.")
    ] = None,
    command_template: Annotated[
        Texts, Option("--command-template", metavar="'LABEL: CMD'", help="A command to start from; repeatable.")
    ] = None,
    zone: Annotated[Text, Option("--zone", metavar="ZONE", help="Time zone of the document. [UTC]")] = None,
    from_file: Annotated[
        Text, Option("--from", metavar="FILE.yaml", help="Read all of this from a file; options add to it.")
    ] = None,
    recipe: Annotated[
        Text, Option("--recipe", metavar="NAME", help="Take goal, metrics, criteria and matrix from a recipe.")
    ] = None,
    scale: Annotated[Text, Option("--scale", metavar="NAME", help="Scale of the recipe, as for `sweep`.")] = None,
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


def _stated(space: Workspace, from_file: str | None, recipe: str | None, scale: str | None) -> dict[str, Any]:
    """What recipe and file state."""
    file = read_header_file(Path(from_file)) if from_file else {}
    if recipe is not None:
        # Only this needs to know recipes.
        from logbook_agent.sweeps.header_recipe import header_of_recipe

        return header_of_recipe(space, recipe, scale, file)
    if scale is not None:
        raise UsageError(
            "--scale without --recipe",
            cause="--scale selects a scale of a recipe",
            hint=f"logbook start --recipe NAME --scale {scale}",
        )
    return file
