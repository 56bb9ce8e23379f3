"""Before a sweep: the recipe found, expanded and checked, and every command known to start."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct, structs

from logbook_agent.campaign.recipe_files import choose_recipe
from logbook_agent.campaign.recipes.expand import Estimate, PlannedRun, SweepPlan, case_key, estimate
from logbook_agent.campaign.run_request import RunRequest, own_plans, prepared
from logbook_agent.campaign.sweep_progress import Progress, bases_of
from logbook_agent.findings.comparison.rule import fewest_pairs
from logbook_agent.model.entry import RecipeUse, is_withdrawn
from logbook_agent.model.errors import NotFound, StoreError, UsageError
from logbook_agent.model.record import SETUP, TEARDOWN, Record, is_own, made_of_plan
from logbook_agent.model.run import Run
from logbook_agent.running.executors.dispatch import check_parallel
from logbook_agent.running.executors.table import executor_named_by
from logbook_agent.running.prepare import Command
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace, folder_of, naming
from logbook_agent.text.phrases import counted
from logbook_agent.text.shell_words import sweep_command


class SweepRequest(Struct, frozen=True, kw_only=True):
    """What `logbook sweep` is asked for: a recipe at a scale with values set, or with `entry_id` an entry to resume.

    `new`: start another sweep although one of this plan is unfinished. `retry_failed`: run failed cases again. At most
    `parallel` runs are made at once. `keep`: patterns of files that each run keeps.
    """

    recipe: str | None = None
    scale: str | None = None
    sets: tuple[str, ...] = ()
    on: str | None = None
    parallel: int = 1
    entry_id: str | None = None
    new: bool = False
    retry_failed: bool = False
    keep: tuple[str, ...] = ()


class Prepared(Struct, frozen=True, kw_only=True):
    """A checked plan, ready to run.

    `progress`: how far it is in the unfinished sweep that it resumes. `warnings`: what is wrong with the plan, and does
    not keep it from being run.
    """

    request: SweepRequest
    warnings: list[str]
    cost: Estimate
    progress: Progress

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left but failed runs that may be retried."""
        return structs.replace(self.progress, retries=False).is_finished


def prepare_sweep(workspace: Workspace, request: SweepRequest, *, needs_logbook: bool) -> Prepared:
    """Find, expand and check the recipe. Nothing is written; what cannot be run is refused here."""
    book = _book(workspace, request, needed=needs_logbook or request.entry_id is not None)
    resumed = book.record(book.resolve(request.entry_id)) if book is not None and request.entry_id is not None else None
    use = resumed.entry.recipe if resumed is not None else None
    if resumed is not None and use is None:
        raise UsageError(
            f"{resumed.id} is not a sweep", cause="it does not run a recipe", hint="list the recipes: logbook sweep"
        )
    if resumed is not None and use is not None:
        request, workspace = _as_begun(workspace, request, use), _where_begun(workspace, resumed)
    plan = choose_recipe(workspace, request.recipe or "", scale=request.scale, sets=request.sets)
    check_controls(plan)
    if resumed is not None and use is not None:
        _check_unchanged(workspace, request, resumed.id, use, plan)
    earlier = [*earlier_sweeps(book)] if book is not None else []
    progress = Progress(workspace=workspace, book=book, plan=plan, record=resumed)
    progress = progress if resumed is not None else _begun(progress, request, earlier)
    progress = structs.replace(
        progress, plan=_drawn(plan, progress.entry.recipe if progress.entry is not None else None, earlier)
    )
    # The plan of a sweep that has begun stays as it is.
    warnings = can_answer(plan) if progress.record is None else []
    if book is not None:
        warnings += comes_first(plan, {one.use.name for one in earlier if len(made_of_plan(one.runs)) >= one.use.runs})
    return Prepared(
        request=request,
        warnings=warnings,
        cost=estimate(plan, [*_durations_s(earlier, plan)]),
        progress=structs.replace(progress, retries=request.retry_failed and progress.failed > 0),
    )


class EarlierSweep(NamedTuple):
    """An entry that carries out a plan of a recipe."""

    record: Record
    use: RecipeUse

    @property
    def runs(self) -> list[Run]:
        return [status.run for status in self.record.runs]


def earlier_sweeps(book: Book) -> Iterator[EarlierSweep]:
    """Sweeps of this logbook, the newest first. Only entries that name a recipe are read."""
    for entry_id in reversed(book.entry_ids()):
        # Another entry's damage is told elsewhere.
        with contextlib.suppress(StoreError):
            if "\nrecipe:" in book.entry_text(entry_id) and (use := (record := book.record(entry_id)).entry.recipe):
                yield EarlierSweep(record, use)


def _durations_s(earlier: Sequence[EarlierSweep], plan: SweepPlan) -> Iterator[float]:
    """How long finished runs of this recipe's cases took at its scale."""
    for sweep in earlier:
        for run in sweep.runs if (sweep.use.name, sweep.use.scale) == (plan.recipe.name, plan.scale) else ():
            if run.duration_s is not None and run.exit is not None and not run.exit.code and not is_own(run):
                yield run.duration_s


def _drawn(plan: SweepPlan, begun: RecipeUse | None, earlier: Sequence[EarlierSweep]) -> SweepPlan:
    """The plan with the seed that draws its order: that of the sweep which is resumed; else the recipe's, or one that
    no earlier sweep of this plan had."""
    if begun is not None:
        return plan if begun.seed is None else structs.replace(plan, seed=begun.seed)
    if plan.recipe.seed is not None or not earlier:
        return plan
    return structs.replace(plan, seed=sum(sweep.use.digest == plan.digest for sweep in earlier))


def onward(workspace: Workspace, request: SweepRequest, book: Book | None, *more: str) -> str:
    """The command that runs this request again, with `more` options."""
    named = naming(workspace, book)
    recipe, scale, sets = request.recipe or "", request.scale, request.sets
    return sweep_command(recipe, *more, scale=scale, sets=sets, on=request.on, named=named)


def _begun(fresh: Progress, request: SweepRequest, earlier: Sequence[EarlierSweep]) -> Progress:
    """The progress in the sweep of the same plan to resume: the newest unfinished one, or with `retry_failed` the
    newest with failed runs. Without one a new sweep is started."""
    if request.new:
        return fresh
    digest = fresh.plan.digest if earlier else ""
    same = (sweep for sweep in earlier if (sweep.use.digest, sweep.use.on) == (digest, request.on))
    states = [structs.replace(fresh, record=r) for r, _ in same if not is_withdrawn(r.entry.state)]
    found = next((one for one in states if (one.failed if request.retry_failed else not one.is_finished)), None)
    if found is None and request.retry_failed:
        entry = states[0].entry if states else None
        raise UsageError(
            f"no run of {fresh.plan.recipe.name} has failed",
            cause=f"{entry.id} has this plan and no failures" if entry is not None else "no entry has this plan",
            hint=f"run it: {onward(fresh.workspace, request, fresh.book)}",
        )
    return found or fresh


def _book(workspace: Workspace, request: SweepRequest, *, needed: bool) -> Book | None:
    try:
        return workspace.book(request.entry_id)
    except (NotFound, UsageError):
        if needed:
            raise
        return None


def _as_begun(workspace: Workspace, request: SweepRequest, use: RecipeUse) -> SweepRequest:
    """The request, completed with recipe, scale, values and executor of the sweep that it resumes."""
    name = request.recipe or (str(workspace.root.parent / use.file) if use.file else use.name)
    scale, on = request.scale or use.scale, request.on or use.on
    given = {text.partition("=")[0] for text in request.sets}
    sets = (*(text for text in use.sets if text.partition("=")[0] not in given), *request.sets)
    return structs.replace(request, recipe=name, scale=scale, sets=sets, on=on)


def _where_begun(workspace: Workspace, resumed: Record) -> Workspace:
    """The workspace in the folder in which the runs of a sweep were made."""
    place = next((status.run.cwd for status in resumed.runs if status.run.cwd is not None), None)
    if place is None:
        return workspace
    return structs.replace(workspace, cwd=folder_of(place, workspace), root_option=str(workspace.root))


def _check_unchanged(
    workspace: Workspace, request: SweepRequest, entry_id: str, use: RecipeUse, plan: SweepPlan
) -> None:
    """Raises UsageError when a resumed sweep would run on another machine, or with another plan."""
    again = f"start a new sweep: {onward(workspace, request, workspace.book(entry_id), '--new')}"
    if request.on != use.on:
        raise UsageError(
            f"{entry_id} runs {f'on {use.on}' if use.on else 'here'}, not on {request.on}",
            cause="rows of two machines cannot be mixed",
            hint=f"leave --on out, or {again}",
        )
    if plan.digest != use.digest:
        raise UsageError(
            f"the plan of {use.name} has changed since {entry_id} was started",
            cause="the recipe, its scale or a value is different now; rows of two plans cannot be mixed",
            hint=f"restore the recipe, or {again}",
        )


def check_commands(workspace: Workspace, request: SweepRequest, plan: SweepPlan) -> list[Command]:
    """The commands of a sweep: of the cases the first of each program. Raises CommandNotFound for a program that does
    not exist, and that no setup may build, before an ID is taken."""
    first: dict[str, PlannedRun] = {}
    for planned in plan:
        first.setdefault("/bin/sh" if plan.recipe.shell else planned.argv[0], planned)
    cases = [requested(plan, planned, request.on) for planned in first.values()]
    check_parallel(workspace, request.on, request.parallel)
    recipe, own = plan.recipe, RunRequest(on=executor_named_by(workspace, request.on))
    setup, teardown = (
        [order.command for order in own_plans(workspace, label, commands, own, is_built=False)]
        for label, commands in ((SETUP, recipe.setup), (TEARDOWN, recipe.teardown))
    )
    return [*setup, *(prepared(workspace, case, is_built=bool(setup)) for case in cases), *teardown]


def requested(plan: SweepPlan, planned: PlannedRun, on: str | None = None, label: str | None = None) -> RunRequest:
    """A run of the plan, as it is asked for."""
    how = {name: getattr(plan.recipe, name) for name in ("shell", "timeout_s", "stall_s", "read")}
    return RunRequest(argv=planned.argv, label=label, config=planned.config, env=planned.env, on=on, **how)


# -- rules --------------------------------------------------------------------------------------------


_QUANT, _TWIN = "quant_mode", "none"


def check_controls(plan: SweepPlan) -> None:
    """Raises UsageError for a case of the benchmark that is quantised, and has no case beside it which differs in that
    alone."""
    rest = [name for name in plan.varied if name != _QUANT]
    twins = {case_key(case.values, rest) for case in plan.cases if case.values.get(_QUANT) == _TWIN}
    for case in plan.cases:
        if case.values.get(_QUANT) not in (None, _TWIN) and case_key(case.values, rest) not in twins:
            raise UsageError(
                f"{plan.recipe.name} breaks the rule identical-controls: the case {case.key} has no case with"
                f" {_QUANT}={_TWIN} beside it",
                cause="the effect of quantisation is known only against the same shape without it",
                hint=f"add to the recipe: controls: [{{{_QUANT}: {_TWIN}}}]",
            )


def can_answer(plan: SweepPlan) -> list[str]:
    """Why neither the plan's own runs, nor the pairs of the best case that follow them, can settle what it compares."""
    recipe, bases = plan.recipe, bases_of(plan) if plan.recipe.compare is not None else {}
    comparisons = sum(key != base.key for key, base in bases.items())
    if not comparisons or plan.confirm:
        return []
    needed = fewest_pairs(comparisons)
    sets = [f"--set repeats={needed}"] if recipe.repeats < needed else []
    sets += ["--set order=interleaved"] if recipe.order == "as-listed" else []
    runs = f"{counted(recipe.repeats, 'pair')} in the order {recipe.order}"
    what = f"{counted(comparisons, 'difference')} from chance, or from a drift of the machine"
    return [f"can-answer: {runs} cannot tell {what}; add {' '.join(sets)}"] if sets else []


def comes_first(plan: SweepPlan, done: Collection[str]) -> list[str]:
    """Which recipes should be run before this one, of which `done` have a finished sweep in this logbook."""
    return [
        f"recipe-before: {plan.recipe.name} should run after {name}, but this logbook has no finished sweep of that; it"
        f" is cheaper and tells whether this one is worth its time: logbook sweep {name}"
        for name in plan.recipe.after
        if name not in done
    ]
