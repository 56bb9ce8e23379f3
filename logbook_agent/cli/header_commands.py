"""`logbook start` and `baseline`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from msgspec import structs

from logbook_agent.cli.options import (
    BUDGET,
    Common,
    ScopeOptions,
    Text,
    argument,
    option,
    prose_option,
    prose_options,
    repeated,
)
from logbook_agent.entries.baseline import MoveRequest, move
from logbook_agent.entries.header import StartRequest, start
from logbook_agent.entries.stated import read_header_file
from logbook_agent.findings.read import read
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Header, HeaderParts
from logbook_agent.pages.blocks import baseline_text
from logbook_agent.store.workspace import Workspace, naming
from logbook_agent.text.phrases import minute
from logbook_agent.text.shell_words import sweep_command


class _Naming:
    prefix = option("--prefix PREFIX", "Prefix of the IDs, such as MOE-I8. [from the topic]")
    title = option("--title TEXT", "Title of the document.")


class StartOptions(ScopeOptions, _Naming):
    """What the start of a logbook states: a `StartRequest`."""

    stops = prose_options("--stop TEXT", "A stop criterion; repeatable.")
    baseline = repeated("--baseline K=V", "Config or number of the baseline case; repeatable.")
    baseline_source = option("--baseline-source TEXT", "Where the baseline's numbers come from.")
    zone = option("--zone ZONE", "Time zone of the document. [UTC]")
    budget = BUDGET


def start_command(
    *,
    topic: Text = argument("TOPIC", "Name of the thread and its files: a-z, 0-9, _ and -."),
    request: Annotated[StartRequest, StartOptions],
    from_file: Text = option("--from FILE.yaml", "Read the whole header from a file; options add to it."),
    recipe: Text = option("--recipe NAME", "Take goal, metrics, criteria and matrix from a recipe."),
    scale: Text = option("--scale NAME", "Scale of the recipe, as for `sweep`."),
    common: Common,
) -> None:
    """Start a logbook.

    Example: logbook start moe_ep_int8 --goal "is int8 faster?" --metric tflops:max:TF/s
    """
    space = common.space_without_logbook("start")
    book = start(space, structs.replace(request, topic=topic, stated=_stated(space, from_file, recipe, scale)))
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
    common.emit("start", data, text)


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


class MoveOptions:
    """The new baseline: a `MoveRequest`."""

    entry_id = option("--entry REF", "Entry that measured it: ID, ID/RUN or ID:LABEL.")
    config = repeated("--config K=V", "The baseline's case; repeatable.")
    numbers = repeated("--number METRIC=V", "A number measured elsewhere; repeatable.")
    source = option("--source TEXT", "Where the numbers come from.")
    reason = prose_option("--reason TEXT", "Why the baseline moves; required for a move.")


def baseline_command(*, request: Annotated[MoveRequest, MoveOptions], common: Common) -> None:
    """Show the baseline, or move it.

    The baseline is the case that results are compared with. Without options, show it and each move of it.

    Example: logbook baseline --entry MOE-I8-004 --config quant_mode=none --reason "the kernel was fixed"
    """
    space = common.space()
    book = space.book()
    header = move(space, book, request) if request.asks else book.outgoing().header
    space.warnings += read(space, book).baseline_doubts
    data = {
        "logbook": book.topic,
        "baseline": encode(header.baseline),
        "moves": [encode(m) for m in header.baseline_moves],
    }
    common.emit("baseline", data, _text(header))


def _text(header: Header) -> str:
    def shown(found: Any) -> str:
        return baseline_text(found, header.metrics)

    lines = [f"baseline: {shown(header.baseline)}"]
    for m in header.baseline_moves:
        lines.append(f"moved {minute(m.at, header.zone)}: {m.reason}")
        lines.append(f"    until then: {shown(m.before)}")
    return "\n".join(lines)
