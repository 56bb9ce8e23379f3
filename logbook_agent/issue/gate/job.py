"""The job of `logbook ci`, which is run on both sides: the cases of a recipe, or one command."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from logbook_agent.campaign.checkouts import Tree
from logbook_agent.campaign.recipe_files import choose_recipe
from logbook_agent.campaign.recipes.expand import describe
from logbook_agent.campaign.run_request import RunRequest
from logbook_agent.model.comparison import BUDGET_PAIRS, CODE_AXIS, MINIMUM_EFFECT
from logbook_agent.model.entry import PlannedCommand
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Run, Scalar
from logbook_agent.model.values import canonical
from logbook_agent.running.provenance.worktrees import Checkout
from logbook_agent.store.config import Config
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.shell_words import assignments

# The sides of the comparison.
BASE, HEAD = "base", "head"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateJob:
    """`name` says in comments what was run; `cases` are named as people read them; `setup` and `teardown` are run on
    each side."""

    name: str
    question: str
    cases: Mapping[str, RunRequest]
    metrics: tuple[Metric, ...] = ()
    gates: tuple[str, ...] = ()
    setup: tuple[PlannedCommand, ...] = ()
    teardown: tuple[PlannedCommand, ...] = ()

    def case_of(self, run: Run) -> str:
        """The name of the case that a run is one of."""
        return next((name for name, case in self.cases.items() if _key(case.config) == _key(run.config)), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class CiRequest:
    """What is measured, which commits, how many pairs, and where the outcome is told. `words` are a recipe's name, or a
    command; `setup` are shell commands, after those of the recipe. `name` tells several jobs of one pull request
    apart; `number` is a pull request where no event names one."""

    words: tuple[str, ...] = ()
    is_command: bool = False
    scale: str | None = None
    sets: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    metrics: tuple[Metric, ...] = ()
    timeout_s: float | None = None
    read: str | None = None
    minimum_effect: float = MINIMUM_EFFECT
    max_pairs: int = BUDGET_PAIRS
    max_time_s: float | None = None
    base: str | None = None
    head: str | None = None
    fetch: bool = False
    dry_run: bool = False
    name: str | None = None
    number: int | None = None
    artifact: str | None = None


def _key(config: Mapping[str, Scalar]) -> frozenset[tuple[str, str]]:
    return frozenset((name, canonical(value)) for name, value in config.items() if name != CODE_AXIS)


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


def job_of(workspace: Workspace, request: CiRequest) -> GateJob:
    """The job that the words of the command line name. Raises UsageError."""
    job = _of_command(request) if request.is_command else _of_recipe(workspace, request)
    if any(CODE_AXIS in case.config for case in job.cases.values()):
        raise UsageError(
            f"the config key {CODE_AXIS!r} is taken",
            cause=f"logbook ci tells its two sides apart by {CODE_AXIS}={BASE} and {CODE_AXIS}={HEAD}",
            hint="rename the key in the recipe",
        )
    return job


def _of_command(request: CiRequest) -> GateJob:
    case = RunRequest(argv=request.words, env=request.env, timeout_s=request.timeout_s, read=request.read)
    question = "Does the head of this pull request change what this command measures?"
    return GateJob(name="command", question=question, cases={"": case}, metrics=request.metrics, setup=_setup(request))


def _of_recipe(workspace: Workspace, request: CiRequest) -> GateJob:
    plan = choose_recipe(workspace, request.words[0], scale=request.scale, sets=request.sets)
    recipe, cases = plan.recipe, {}
    for planned in plan.cases:
        run = plan.run(planned, repeat=1, place=1)
        named = describe(plan, planned) if len(plan.cases) > 1 else ""
        cases[named if named not in cases else f"{named} ({assignments(run.config)})"] = RunRequest(
            argv=run.argv,
            shell=recipe.shell,
            config=run.config,
            env={**run.env, **request.env},
            timeout_s=recipe.timeout_s if request.timeout_s is None else request.timeout_s,
            read=recipe.read if request.read is None else request.read,
            label=planned.label,
        )
    return GateJob(
        name=recipe.name,
        question=recipe.question,
        cases=cases,
        # Those of the command line take the place of a recipe's by the same name.
        metrics=tuple({metric.name: metric for metric in (*recipe.metrics, *request.metrics)}.values()),
        gates=recipe.gates,
        setup=(*recipe.setup, *_setup(request)),
        teardown=recipe.teardown,
    )


def _setup(request: CiRequest) -> tuple[PlannedCommand, ...]:
    return tuple(PlannedCommand(argv=(text,), shell=True) for text in request.setup)  # noqa: S604 - as typed


_USED = "those of the base are used"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmeasured:
    """A case that a side cannot run; `case` empty: none of them. `side`: base, head or both. `said`: the last lines."""

    case: str
    side: str
    why: str
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedOfBoth:
    """The job of the base, and how that of the head differs, as sentences. `no_base`: why the base has no such job;
    `job` is then that of the head."""

    job: GateJob
    differences: tuple[str, ...] = ()
    no_base: Unmeasured | None = None


def alike(space: Workspace, **changes: Any) -> Workspace:
    """The workspace with such changes, and the same settings, wherever it is."""
    found = dataclasses.replace(space, warnings=space.warnings, **changes)
    found.config = space.config
    return found


def asked_of(space: Workspace, checkout: Checkout, trees: Sequence[Tree], request: CiRequest) -> AskedOfBoth:
    """The job by the files of the base, whose settings `space` gets. No trees: base and head have the same files.
    Raises UsageError or StoreError."""
    if not trees:
        return AskedOfBoth(job=job_of(space, request))
    base, head = (dataclasses.replace(space, cwd=tree.folder, warnings=[]) for tree in trees)
    try:
        space.config = base.config
    except LogbookError as error:
        error.reword(f"the settings of the base {trees[0].commit[:12]} cannot be read: {error.message}")
        raise
    # Made anew, with the rules of these settings.
    vars(space).pop("redactor", None)
    differences = _setting_differences(base, head)
    try:
        job = job_of(base, _below(request, checkout, trees[0]))
    except LogbookError as error:
        # A benchmark that the head brings, or mends. Raises where the head has none, either.
        job = job_of(head, _below(request, checkout, trees[1]))
        why = f"{error.message} ({error.cause})" if error.cause else error.message
        return AskedOfBoth(job=job, differences=differences, no_base=Unmeasured(case="", side=BASE, why=why))
    return AskedOfBoth(
        job=job, differences=(*differences, *_recipe_differences(job, head, _below(request, checkout, trees[1])))
    )


def _below(request: CiRequest, checkout: Checkout, tree: Tree) -> CiRequest:
    """The request with the file of a recipe in this tree, where it is one of the checkout."""
    if request.is_command or not Path(request.words[0]).is_absolute():
        return request
    path = Path(request.words[0])
    inside = path.is_relative_to(checkout.top)
    return dataclasses.replace(request, words=(str(tree.top / path.relative_to(checkout.top)),)) if inside else request


def _setting_differences(base: Workspace, head: Workspace) -> tuple[str, ...]:
    try:
        theirs = head.config
    except LogbookError as error:
        return (f"the settings of the head cannot be read ({error.message}); {_USED}",)
    names = [one.name for one in dataclasses.fields(Config) if one.name != "file"]
    changed = [name for name in names if getattr(base.config, name) != getattr(theirs, name)]
    return (f"the head changes settings ({', '.join(changed)}); {_USED}",) if changed else ()


def _recipe_differences(job: GateJob, head: Workspace, request: CiRequest) -> tuple[str, ...]:
    try:
        theirs = job_of(head, request)
    except LogbookError as error:
        return (f"the recipe of the head cannot be used ({error.message}); the recipe of the base is used",)
    return (f"the head changes the recipe {job.name}; the recipe of the base is used",) if theirs != job else ()
