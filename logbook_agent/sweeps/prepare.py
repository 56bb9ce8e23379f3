"""Before a sweep: the recipe found, expanded and checked, and every command known to start."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.entries.entries import Prose, create_entry, draft_entry
from logbook_agent.model.entry import Comparison, Entry, Field, PlannedCommand, RecipeUse, is_withdrawn
from logbook_agent.model.errors import NotFound, UsageError
from logbook_agent.model.header import Metric
from logbook_agent.model.values import canonical
from logbook_agent.running.prepare import PROGRAM, Command, bench_argv, bench_folder, prepare
from logbook_agent.store.book import Book
from logbook_agent.store.reading import is_inside
from logbook_agent.store.repository import repository_of
from logbook_agent.store.workspace import Workspace, naming, sweep_command
from logbook_agent.sweeps import state
from logbook_agent.sweeps.chosen import Chosen, choose_recipe, refused, rules_of
from logbook_agent.sweeps.recipes.estimate import Estimate, estimate
from logbook_agent.sweeps.recipes.expand import PlannedRun
from logbook_agent.sweeps.recipes.rules import Violation
from logbook_agent.sweeps.tally import tally_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """Which recipe, at which scale, with which values; `resume` is an entry to go on with, `new` forbids to.

    `retry_failed` makes failed runs again. For a stage of another recipe: `is_stage`, and then a sweep that is there
    is kept, finished or not; `before` are the recipes of the stages before it.
    """

    recipe: str | None = None
    scale: str | None = None
    sets: tuple[str, ...] = ()
    on: str | None = None
    resume: str | None = None
    new: bool = False
    retry_failed: bool = False
    is_stage: bool = False
    before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A plan that may be run: it breaks no rule and no limit. `begun`: the sweep to go on with, whether it
    `is_complete`, how many of its runs have `failed`, and whether it `retries` these. `left`: runs still to be made."""

    chosen: Chosen
    found: tuple[Violation, ...]
    cost: Estimate
    book: Book | None
    begun: state.EarlierSweep | None
    is_complete: bool
    left: int
    failed: int
    retries: bool

    @property
    def entry(self) -> Entry | None:
        return self.begun.entry if self.begun is not None else None


def prepare_sweep(workspace: Workspace, request: SweepRequest, *, needs_logbook: bool) -> Prepared:
    """Find, expand and check the recipe. Nothing is written; what cannot be run is refused here."""
    book = _book(workspace, request, needed=needs_logbook or request.resume is not None)
    resumed = book.entry(request.resume) if book is not None and request.resume is not None else None
    chosen = _chosen(workspace, request, resumed)
    earlier = list(state.earlier_sweeps(book)) if book is not None else []
    done = {sweep.use.name for sweep in earlier if sweep.is_complete}
    found = rules_of(chosen, done | set(request.before) if book is not None else None)
    error = refused(chosen, found)
    if error is not None:
        raise error
    cost = estimate(chosen.plan, state.durations_s(earlier, chosen.recipe.name, chosen.scale))
    if resumed is not None:
        begun = next((s for s in earlier if s.entry.id == resumed.id), None)
    else:
        begun = _begun(workspace, request, chosen, earlier, book)
    failed = begun.failed if begun is not None else 0
    retries = request.retry_failed and failed > 0
    return Prepared(
        chosen=chosen,
        found=found,
        cost=cost,
        book=book,
        begun=begun,
        is_complete=begun is not None and _is_finished(workspace, chosen, begun, book),
        left=_left(workspace, chosen, begun, book, retries=retries) if begun is not None else cost.runs,
        failed=failed,
        retries=retries,
    )


def onward(workspace: Workspace, request: SweepRequest, book: Book | None, *more: str) -> str:
    """What to type to go on with what was asked for."""
    named = naming(workspace, book)
    recipe, scale, sets = request.recipe or "", request.scale, request.sets
    return sweep_command(recipe, *more, scale=scale, sets=sets, on=request.on, named=named)


def _begun(
    workspace: Workspace,
    request: SweepRequest,
    chosen: Chosen,
    earlier: Sequence[state.EarlierSweep],
    book: Book | None,
) -> state.EarlierSweep | None:
    """The sweep of the same plan to go on with: the newest unfinished one; of a stage the newest, and where failed
    runs are to be made again, one that has some."""
    if request.new:
        return None
    digest = chosen.plan.digest if earlier else ""
    same = [s for s in earlier if s.use.digest == digest and s.use.on == request.on]
    same = [s for s in same if not is_withdrawn(s.entry.state)]
    if request.is_stage:
        return next(iter(same), None)
    retried = [s for s in same if s.failed] if request.retry_failed else []
    if request.retry_failed and not retried:
        raise UsageError(
            f"no run of {chosen.recipe.name} has failed",
            cause=f"{same[0].entry.id} has this plan and no failures" if same else "no entry has this plan",
            hint=f"run it: {onward(workspace, request, book)}",
        )
    return next((s for s in retried or same if retried or not _is_finished(workspace, chosen, s, book)), None)


def _is_finished(workspace: Workspace, chosen: Chosen, sweep: state.EarlierSweep, book: Book | None) -> bool:
    """Whether every run has been made, the fresh ones of the best case and the teardown too."""
    if not sweep.is_complete or _left(workspace, chosen, sweep, book, retries=False):
        return False
    return state.is_torn_down(sweep.runs, chosen.recipe)


def _left(workspace: Workspace, chosen: Chosen, sweep: state.EarlierSweep, book: Book | None, *, retries: bool) -> int:
    """How many runs are still to be made: of the plan, and fresh ones of the case that is the best so far."""
    made = {key: runs for key, runs in sweep.made.items() if not (retries and any(map(state.has_failed, runs)))}
    left = len(state.missing(workspace, chosen.plan, made))
    best = tally_of(workspace, chosen.plan, deciding(chosen, book), made).best()
    if best is None:
        return left + (chosen.recipe.confirm if left else 0)
    case, _ = state.run_key(workspace, chosen.plan.config(chosen.plan.by_key[best.key]), 1)
    return left + max(0, chosen.recipe.confirm - len(state.confirmations(sweep.runs, case)))


def _book(workspace: Workspace, request: SweepRequest, *, needed: bool) -> Book | None:
    try:
        return workspace.book(request.resume)
    except (NotFound, UsageError):
        if needed:
            raise
        return None


def _chosen(workspace: Workspace, request: SweepRequest, resumed: Entry | None) -> Chosen:
    """The recipe that was asked for, or the one of the entry to go on with, which must not have changed."""
    if resumed is None:
        return choose_recipe(workspace, request.recipe or "", scale=request.scale, sets=request.sets)
    use = resumed.recipe
    if use is None:
        raise UsageError(
            f"{resumed.id} is not a sweep", cause="it does not run a recipe", hint="list the recipes: logbook sweep"
        )
    name = request.recipe or (str(_recorded(workspace, resumed.id, use.file)) if use.file else use.name)
    scale, sets = request.scale or use.scale, request.sets or use.sets
    named = naming(workspace, workspace.book(resumed.id))

    def anew(on: str | None) -> str:
        return sweep_command(name, "--new", scale=scale, sets=sets, on=on, named=named)

    if request.on is not None and request.on != use.on:
        raise UsageError(
            f"{resumed.id} runs {f'on {use.on}' if use.on else 'here'}, not on {request.on}",
            cause="rows of two machines cannot be mixed",
            hint=f"leave --on out, or start a new sweep: {anew(request.on)}",
        )
    chosen = choose_recipe(workspace, name, scale=scale, sets=sets)
    if chosen.plan.digest != use.digest:
        raise UsageError(
            f"the plan of {use.name} has changed since {resumed.id} was started",
            cause="the recipe, its scale or a value is different now; rows of two plans cannot be mixed",
            hint=f"restore the recipe, or start a new sweep: {anew(use.on)}",
        )
    return chosen


def _recorded(workspace: Workspace, entry_id: str, file: str) -> Path:
    """The recipe that an entry says it carries out. The entry may be somebody else's: it names files of its repository
    alone."""
    place = repository_of(workspace.root)
    bounds = place.top if place is not None else workspace.root.parent
    path = workspace.root.parent / file
    if "\0" not in file and is_inside(path, bounds):
        return path
    raise UsageError(
        f"the recipe of {entry_id} is outside of {bounds}",
        cause=f"the entry names {file!r}, and entries come with the repository",
        hint=f"name it yourself: logbook sweep RECIPE --resume {entry_id}",
    )


def deciding(chosen: Chosen, book: Book | None) -> Metric | None:
    """The metric that says which case is best: the recipe's first, else the logbook's."""
    declared = book.header.metrics if book is not None else ()
    wanted = chosen.recipe.metrics[0] if chosen.recipe.metrics else None
    if wanted is None:
        return next((m for m in declared if m.primary), None)
    return next((m for m in declared if m.name == wanted.name and m.direction is not None), wanted)


def check_commands(workspace: Workspace, request: SweepRequest, chosen: Chosen) -> None:
    """Programs that are not there are met before an ID is taken."""
    shell = chosen.recipe.command.shell
    programs: set[str] = set()
    for planned in chosen.plan:
        program = planned.argv[0]
        if program in programs or (shell and programs):
            continue
        programs.add(program)
        if program == PROGRAM and request.on is None and not shell:
            bench_argv(planned.argv[1:], adds_run=False)
        prepared_run(workspace, planned, shell, None, request.on)
    for command in (*chosen.recipe.setup, *chosen.recipe.teardown):
        prepared_command(workspace, command, None)


def prepared_run(workspace: Workspace, planned: PlannedRun, shell: bool, label: str | None, on: str | None) -> Command:
    own = planned.argv[0] == PROGRAM and not shell and on is None
    command = prepare(
        workspace,
        planned.argv,
        env=planned.env,
        cwd=None,
        on=on,
        shell=shell,
        label=label,
        search_first=bench_folder() if own else None,
    )
    workspace.learn_secrets({**command.env, **command.far_env}, command.argv)
    return command


def prepared_command(workspace: Workspace, command: PlannedCommand, label: str | None) -> Command:
    ready = prepare(workspace, command.argv, env={}, cwd=None, on=None, shell=command.shell, label=label)
    workspace.learn_secrets(ready.env, ready.argv)
    return ready


def new_entry(workspace: Workspace, book: Book, request: SweepRequest, chosen: Chosen) -> Entry:
    """The entry of a sweep says what the recipe asks; its rows will answer."""
    recipe = chosen.recipe
    texts = {
        "Question": recipe.question,
        "Method": recipe.method,
        "Criteria": "\n".join(f"- {criterion.text}" for criterion in recipe.criteria),
    }
    draft = draft_entry(
        workspace, Prose(), title=f"Sweep {recipe.name}" + (f" ({chosen.scale})" if chosen.scale else "")
    )
    by_path = request.recipe is not None and ("/" in request.recipe or request.recipe.endswith((".yaml", ".yml")))
    above = workspace.root.parent
    path = chosen.file.path
    metric = deciding(chosen, book)
    use = RecipeUse(
        name=recipe.name,
        file=(path.relative_to(above).as_posix() if path.is_relative_to(above) else str(path)) if by_path else None,
        scale=chosen.scale,
        sets=chosen.sets,
        on=request.on,
        digest=chosen.plan.digest,
        runs=len(chosen.plan),
        metric=metric.name if metric is not None else None,
    )
    fields = tuple(Field(label=label, text=text) for label, text in texts.items() if text)
    entry = create_entry(workspace, book, dataclasses.replace(draft, recipe=use, fields=fields))
    if recipe.compare is None:
        return entry
    # What it compares is known from the start; the view works the answer out of the rows.
    asked = Comparison(
        references=(entry.id,),
        axis=recipe.compare.axis,
        base_value=canonical(recipe.compare.base),
        metrics=tuple(metric.name for metric in recipe.metrics),
        implied=recipe.implied,
    )
    entry = dataclasses.replace(entry, comparisons=(asked,))
    book.write_entry(entry)
    return entry
