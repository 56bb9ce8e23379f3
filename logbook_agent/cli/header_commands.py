"""`logbook start` and `baseline`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from logbook_agent.cli.options import BudgetOption, Common, ScopeOptions, Text, Texts, prose
from logbook_agent.cli.output import emit
from logbook_agent.entries.baseline import MoveRequest, move
from logbook_agent.entries.start import StartRequest, start
from logbook_agent.entries.stated import read_header_file
from logbook_agent.findings.read import read
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Header, HeaderParts
from logbook_agent.pages.blocks import baseline_text
from logbook_agent.store.workspace import Workspace, naming
from logbook_agent.text.shell_words import sweep_command
from logbook_agent.text.times import minute


@dataclass(frozen=True, kw_only=True)
class StartOptions:
    """What only the start of a logbook states, as options."""

    stop: Annotated[Texts, Option("--stop", metavar="TEXT", help="A stop criterion; repeatable.")] = None
    baseline: Annotated[
        Texts, Option("--baseline", metavar="K=V", help="Config or number of the baseline case; repeatable.")
    ] = None
    baseline_source: Annotated[
        Text, Option("--baseline-source", metavar="TEXT", help="Where the baseline's numbers come from.")
    ] = None
    zone: Annotated[Text, Option("--zone", metavar="ZONE", help="Time zone of the document. [UTC]")] = None
    budget: BudgetOption = None
    from_file: Annotated[
        Text, Option("--from", metavar="FILE.yaml", help="Read the whole header from a file; options add to it.")
    ] = None
    recipe: Annotated[
        Text, Option("--recipe", metavar="NAME", help="Take goal, metrics, criteria and matrix from a recipe.")
    ] = None
    scale: Annotated[Text, Option("--scale", metavar="NAME", help="Scale of the recipe, as for `sweep`.")] = None

    def request(self, space: Workspace, scope: ScopeOptions) -> StartRequest:
        """What is asked for, the texts and files read."""
        return StartRequest(
            goal=prose(scope.goal),
            metrics=scope.metric or (),
            gates=scope.gate or (),
            constraints=scope.constraints(),
            stops=[prose(s) or "" for s in self.stop or ()],
            links=scope.link or (),
            baseline=self.baseline or (),
            baseline_source=self.baseline_source,
            matrix=scope.matrix or (),
            templates=scope.template or (),
            zone=self.zone,
            budget=self.budget or (),
            stated=_stated(space, self.from_file, self.recipe, self.scale),
        )


def start_command(
    *,
    topic: Annotated[
        Text, Argument(metavar="TOPIC", help="Name of the thread and its files: a-z, 0-9, _ and -.")
    ] = None,
    prefix: Annotated[
        Text, Option("--prefix", metavar="PREFIX", help="Prefix of the IDs, such as MOE-I8. [from the topic]")
    ] = None,
    title: Annotated[Text, Option("--title", metavar="TEXT", help="Title of the document.")] = None,
    scope: ScopeOptions,
    options: StartOptions,
    common: Common,
) -> None:
    """Start a logbook.

    Example: logbook start moe_ep_int8 --goal "is int8 faster?" --metric tflops:max:TF/s
    """
    space = common.space_without_logbook("start")
    request = options.request(space, scope)
    book = start(space, replace(request, topic=topic, prefix=prefix, title=title))
    data = {
        "topic": book.topic,
        "prefix": book.header.prefix,
        "root": str(book.root),
        "view": str(book.view_path),
        "header": str(book.header_path),
    }
    named = naming(space, book)
    onward = " ".join(["logbook run", *named, "-- COMMAND"])
    if options.recipe is not None:
        onward = sweep_command(options.recipe, scale=options.scale, named=named)
    text = f"started {book.topic} ({book.header.prefix}): {book.view_path}\nnext: {onward}"
    emit("start", data, text, as_json=common.as_json, warnings=space.warnings)


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
