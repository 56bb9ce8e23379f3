"""The job of `logbook ci`, which is run on both sides: the cases of a recipe, or one command, as the base has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field, structs

from logbook_agent.campaign.ab_request import NONE, AbRequest
from logbook_agent.campaign.checkouts import Tree
from logbook_agent.campaign.recipe_files import choose_recipe
from logbook_agent.campaign.run_request import RunRequest, setup_command
from logbook_agent.campaign.sweep_request import requested
from logbook_agent.entries.drafts import Prose
from logbook_agent.model.comparison import BUDGET_PAIRS, CODE_AXIS, MINIMUM_EFFECT
from logbook_agent.model.entry import PlannedCommand
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.header import Metric
from logbook_agent.running.provenance.worktrees import Checkout
from logbook_agent.store.config import Config
from logbook_agent.store.workspace import Workspace

# The sides of the comparison.
BASE, HEAD = "base", "head"


class CiRequest(Struct, frozen=True, kw_only=True):
    """What is measured, which commits, how many pairs, and where the outcome is told. `words` are a recipe's name, or a
    command; `setup` are shell commands, after those of the recipe. `evaluator`: files of the base that measure both.
    `name` tells several jobs of one pull request apart; `number` is a pull request where no event names one."""

    words: tuple[str, ...] = ()
    is_command: bool = False
    scale: str | None = None
    sets: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    metrics: tuple[Metric, ...] = ()
    evaluator: tuple[str, ...] = ()
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


class GateJob(Struct, frozen=True, kw_only=True):
    """`name` says in comments what was run; `setup` and `teardown` are run on each side. `lacks`: why the base has no
    such job; it is then that of the head. `differences`: how that of the head differs, as sentences."""

    name: str
    question: str
    cases: tuple[RunRequest, ...]
    metrics: tuple[Metric, ...] = ()
    gates: tuple[str, ...] = ()
    setup: tuple[PlannedCommand, ...] = ()
    teardown: tuple[PlannedCommand, ...] = ()
    lacks: str = ""
    differences: tuple[str, ...] = ()

    def asked(self, request: CiRequest, codes: tuple[str, str]) -> AbRequest:
        """The comparison of two commits, the base first, in an entry of its own."""
        prose = Prose(title=f"{self.name}: base against head", fields=(f"Question={self.question}",))
        return AbRequest(
            run=structs.replace(self.cases[0], discard=1, prose=prose),
            codes=codes,
            names=(BASE, HEAD),
            cases=self.cases if len(self.cases) > 1 else (),
            prepare=self.setup,
            teardown=self.teardown,
            evaluator=request.evaluator or (NONE,),
            metrics=tuple(metric.name for metric in self.metrics),
            max_pairs=request.max_pairs,
            max_time_s=request.max_time_s,
            minimum_effect=request.minimum_effect,
            new=True,
        )


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
    if request.is_command:
        case = RunRequest(argv=request.words, env=request.env, timeout_s=request.timeout_s, read=request.read)
        question = "Does the head of this pull request change what this command measures?"
        return GateJob(name="command", question=question, cases=(case,), metrics=request.metrics, setup=setup)
    plan = choose_recipe(workspace, request.words[0], scale=request.scale, sets=request.sets)
    recipe, cases = plan.recipe, []
    given = {name: of for name in ("timeout_s", "read") if (of := getattr(request, name)) is not None}
    for planned in plan.cases:
        run = plan.run(planned, repeat=1, place=1)
        if CODE_AXIS in run.config:
            raise UsageError(
                f"the config key {CODE_AXIS!r} is taken",
                cause=f"logbook ci tells its two sides apart by {CODE_AXIS}",
                hint="rename the key in the recipe",
            )
        case = requested(plan, run, label=planned.label)
        cases.append(structs.replace(case, env={**run.env, **request.env}, **given))
    return GateJob(
        name=recipe.name,
        question=recipe.question,
        cases=tuple(cases),
        # Those of the command line take the place of a recipe's by the same name.
        metrics=tuple({metric.name: metric for metric in (*recipe.metrics, *request.metrics)}.values()),
        gates=recipe.gates,
        setup=(*recipe.setup, *setup),
        teardown=recipe.teardown,
    )


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
