"""The job of `logbook ci`, which is run on both sides: the cases of a recipe, or one command, as the base has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field, structs

from logbook_agent.campaign.ab_request import NONE, AbRequest
from logbook_agent.campaign.checkouts import Tree
from logbook_agent.campaign.recipe_files import choose_recipe
from logbook_agent.campaign.run_request import setup_command
from logbook_agent.campaign.sweep_request import requested
from logbook_agent.entries.new_entry import Prose
from logbook_agent.model.comparison import CODE_AXIS
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.header import HeaderParts, Metric
from logbook_agent.running.provenance.worktrees import Checkout
from logbook_agent.store.config import Config
from logbook_agent.store.workspace import Workspace

# The sides of the comparison.
BASE, HEAD = "base", "head"


class CiRequest(Struct, frozen=True, kw_only=True):
    """What is measured, of which commits, and where the outcome is told. `words` are a recipe's name, or a command;
    `setup` are shell commands, after those of the recipe; `asked` says how it is compared. `name` tells several jobs of
    one pull request apart; `number` is a pull request where no event names one."""

    words: tuple[str, ...] = ()
    is_command: bool = False
    asked: AbRequest = field(default_factory=AbRequest)
    scale: str | None = None
    sets: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    base: str | None = None
    head: str | None = None
    fetch: bool = False
    dry_run: bool = False
    name: str | None = None
    number: int | None = None
    artifact: str | None = None


class GateJob(Struct, frozen=True, kw_only=True):
    """The comparison that is `asked`, with what its logbook declares; `name` says in comments what was run. `lacks`:
    why the base has no such job; it is then that of the head. `differences`: how that of the head differs, as
    sentences."""

    name: str
    asked: AbRequest
    stated: HeaderParts
    lacks: str = ""
    differences: tuple[str, ...] = ()


def check_words(request: CiRequest) -> None:
    """Raises UsageError where neither a recipe nor a command is named, or options of the one are given to the other."""
    if not request.words:
        raise UsageError(
            "nothing to measure",
            cause="the command line names neither a recipe nor a command",
            hint="logbook ci RECIPE, or logbook ci -- python bench.py; logbook sweep lists the recipes",
        )
    if request.is_command and (request.scale or request.sets):
        raise UsageError(
            "--set and --scale need a recipe",
            cause=f"the command line names a command: {request.words[0]} ...",
            hint="leave them out, or name a recipe: logbook ci RECIPE",
        )


def _job_in(workspace: Workspace, request: CiRequest) -> GateJob:
    """The job that the words of the command line name. Raises UsageError."""
    setup = tuple(command for text in request.setup for command in setup_command(text))
    typed = request.asked.run
    if request.is_command:
        question = "Does the head of this pull request change what this command measures?"
        stated, run = HeaderParts(metrics=request.metrics), structs.replace(typed, argv=request.words)
        return _job("command", question, stated, structs.replace(request.asked, run=run, prepare=setup))
    plan = choose_recipe(workspace, request.words[0], scale=request.scale, sets=request.sets)
    recipe, cases = plan.recipe, []
    given = {name: of for name in ("timeout_s", "read") if (of := getattr(typed, name)) is not None}
    for planned in plan.cases:
        of_plan = plan.run(planned, repeat=1, place=1)
        if CODE_AXIS in of_plan.config:
            raise UsageError(
                f"the config key {CODE_AXIS!r} is taken",
                cause=f"logbook ci tells its two sides apart by {CODE_AXIS}",
                hint="rename the key in the recipe",
            )
        case = requested(plan, of_plan, label=planned.label)
        cases.append(structs.replace(case, env={**of_plan.env, **typed.env}, **given))
    # Metrics of the command line take the place of a recipe's by the same name.
    metrics = {metric.name: metric for metric in (*recipe.metrics, *request.metrics)}
    asked = structs.replace(
        request.asked,
        run=cases[0],
        cases=tuple(cases) if len(cases) > 1 else (),
        prepare=(*recipe.setup, *setup),
        teardown=recipe.teardown,
    )
    return _job(recipe.name, recipe.question, HeaderParts(metrics=tuple(metrics.values()), gates=recipe.gates), asked)


def _job(name: str, question: str, stated: HeaderParts, asked: AbRequest) -> GateJob:
    """A job whose comparison is an entry of its own, and whose first pair warms up."""
    prose = Prose(title=f"{name}: base against head", fields=(f"Question={question}",))
    asked = structs.replace(
        asked,
        run=structs.replace(asked.run, discard=1, prose=prose),
        names=(BASE, HEAD),
        evaluator=asked.evaluator or (NONE,),
        metrics=tuple(metric.name for metric in stated.metrics),
        new=True,
    )
    return GateJob(name=name, asked=asked, stated=stated)


# -- settings and recipe, which are the base's ---------------------------------------------------------

_USED = "those of the base are used"


def alike(space: Workspace, config: Config, **changes: Any) -> Workspace:
    """The workspace with such changes and settings, wherever it is."""
    found = structs.replace(space, warnings=space.warnings, **changes)
    found.config = config
    return found


def job_of(space: Workspace, checkout: Checkout, trees: Sequence[Tree], request: CiRequest) -> GateJob:
    """The job by the files of the base, whose settings and redaction rules `space` gets. Raises UsageError or
    StoreError."""
    base, head = (structs.replace(space, cwd=tree.folder, warnings=[]) for tree in trees)
    ours, theirs = (_below(request, checkout, tree) for tree in trees)
    try:
        space.config = base.config
    except LogbookError as error:
        error.reword(f"the settings of the base {trees[0].commit[:12]} cannot be read: {error.message}")
        raise
    # Made again, with the rules of these settings.
    vars(space).pop("redactor", None)
    differences = _setting_differences(base, head)
    try:
        job = _job_in(base, ours)
    except LogbookError as error:
        # A benchmark that the head brings, or mends. Raises where the head has none, either.
        return structs.replace(_job_in(head, theirs), lacks=error.said, differences=differences)
    try:
        is_other = _job_in(head, theirs) != job
        changed = f"the head changes the recipe {job.name}; the recipe of the base is used" if is_other else ""
    except LogbookError as error:
        changed = f"the recipe of the head cannot be used ({error.message}); the recipe of the base is used"
    differences += (changed,) if changed else ()
    return structs.replace(job, differences=differences)


def _below(request: CiRequest, checkout: Checkout, tree: Tree) -> CiRequest:
    """The request with the file of a recipe in this tree, where it is one of the checkout."""
    path = Path(request.words[0])
    if request.is_command or not path.is_relative_to(checkout.top):
        return request
    return structs.replace(request, words=(str(tree.top / path.relative_to(checkout.top)),))


def _setting_differences(base: Workspace, head: Workspace) -> tuple[str, ...]:
    try:
        theirs = head.config
    except LogbookError as error:
        return (f"the settings of the head cannot be read ({error.message}); {_USED}",)
    names = [one.name for one in structs.fields(Config) if one.name != "file"]
    changed = [name for name in names if getattr(base.config, name) != getattr(theirs, name)]
    return (f"the head changes settings ({', '.join(changed)}); {_USED}",) if changed else ()
