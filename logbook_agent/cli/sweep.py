"""`logbook sweep`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from logbook_agent.cli.display import LineDisplay
from logbook_agent.cli.options import JsonOption, LogbookOption, RootOption, workspace
from logbook_agent.cli.output import columns, emit
from logbook_agent.errors import UsageError
from logbook_agent.recipes.estimate import Estimate
from logbook_agent.recipes.expand import Plan, PlannedRun, describe
from logbook_agent.workflows.sweep import SweepResult, length, sweep
from logbook_agent.workflows.sweep_prepare import Prepared, SweepRequest, prepare_sweep
from logbook_agent.workflows.sweep_recipes import Listed, list_recipes
from logbook_agent.workflows.workspace import Workspace

_SHOWN_RUNS = 5
_SHOWN_PROBLEMS = 10


def sweep_command(
    recipe: Annotated[
        str | None, typer.Argument(metavar="RECIPE", help="Its name or file; without one, they are listed.")
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="K=V", help="Another value of a key; of an axis several: V,V; repeatable."),
    ] = None,
    scale: Annotated[
        str | None, typer.Option("--scale", metavar="NAME", help="The recipe's values for this scale: tiny.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show plan and cost; run and write nothing.")] = False,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="ID", help="Go on with the sweep of this entry.")
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Begin anew, although a sweep of this plan is unfinished.")
    ] = False,
    on: Annotated[
        str | None, typer.Option("--on", metavar="LAUNCHER[:TARGET]", help="Run through a configured launcher.")
    ] = None,
    logbook: LogbookOption = None,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> int:
    """Carry out a recipe: every case of its axes, its controls, and a fresh run of the best.

    A sweep that was stopped is taken up again by the same command. Exit code: 1 when a case failed, or the rows are
    not those of the plan. Example: logbook sweep int8-topk --scale tiny --dry-run
    """
    space = workspace(logbook, root)
    if recipe is None and resume is None:
        if sets or scale or dry_run or new or on:
            raise UsageError("no recipe named", cause="these options are about one", hint="list them: logbook sweep")
        _emit_list(space, as_json)
        return 0
    if resume is not None and new:
        raise UsageError("--resume and --new contradict each other", cause="one goes on", hint="leave one of them out")
    request = SweepRequest(recipe=recipe, scale=scale, sets=tuple(sets or ()), on=on, resume=resume, new=new)
    if dry_run:
        prepared = prepare_sweep(space, request, needs_logbook=False)
        warnings = [*space.warnings, *(f"{v.rule}: {v.message}; {v.reason}" for v in prepared.found)]
        emit("sweep", _plan_data(prepared), _plan_text(prepared), as_json=as_json, warnings=warnings)
        return 0
    result = sweep(space, request, LineDisplay())
    emit("sweep", result.data(), _result_text(result), as_json=as_json, warnings=space.warnings)
    return result.exit_status


# -- the list ----------------------------------------------------------------------------------------


def _emit_list(space: Workspace, as_json: bool) -> None:
    found = list_recipes(space)
    warnings = [f"{item.file.name}: {item.problem.message}" for item in found if item.problem is not None]
    data = {"recipes": [_listed_data(item) for item in found if item.plan is not None]}
    rows = [
        (item.file.name, f"{len(item.plan.cases)} cases", item.plan.recipe.question)
        for item in found
        if item.plan is not None
    ]
    text = columns([("recipe", "", "question"), *rows]) if rows else "no recipes"
    emit("sweep", data, text, as_json=as_json, warnings=[*space.warnings, *warnings])


def _listed_data(item: Listed) -> dict[str, Any]:
    if item.plan is None:
        raise AssertionError("a recipe that does not fit is a warning")
    recipe = item.plan.recipe
    return {
        "name": recipe.name,
        "question": recipe.question,
        "cases": len(item.plan.cases),
        "runs": len(item.plan),
        "scales": list(recipe.scales),
        "file": str(item.file.path),
        "own": item.file.own,
    }


# -- the plan ----------------------------------------------------------------------------------------


def _plan_data(prepared: Prepared) -> dict[str, Any]:
    plan, cost = prepared.chosen.plan, prepared.cost
    first, last = plan.ends(_SHOWN_RUNS)
    return {
        "recipe": plan.recipe.name,
        "question": plan.recipe.question,
        "scale": prepared.chosen.scale,
        "cases": len(plan.cases),
        "controls": sum(case.is_control for case in plan.cases),
        "runs": len(plan),
        "confirmations": plan.recipe.confirm,
        "order": plan.recipe.order.value,
        "cost": {"seconds": cost.seconds, "seconds_per_run": cost.seconds_per_run, "basis": cost.basis},
        "setup": [list(c.argv) for c in plan.recipe.setup],
        "teardown": [list(c.argv) for c in plan.recipe.teardown],
        "first": [_run_data(plan, run) for run in first],
        "last": [_run_data(plan, run) for run in last],
        "resumes": prepared.entry.id if prepared.entry is not None else None,
    }


def _run_data(plan: Plan, run: PlannedRun) -> dict[str, Any]:
    return {
        "place": run.place,
        "case": run.case.key,
        "label": run.case.label,
        "control": run.case.is_control,
        "repeat": run.repeat,
        "config": dict(run.config),
        "argv": list(run.argv),
        "env": dict(run.env),
    }


def _plan_text(prepared: Prepared) -> str:
    """The plan in at most a screen: counts, cost, one command in full, the first and last runs."""
    import shlex

    plan, recipe = prepared.chosen.plan, prepared.chosen.recipe
    controls = sum(case.is_control for case in plan.cases)
    first, last = plan.ends(_SHOWN_RUNS)
    counts = f"{len(plan.cases)} cases" + (f", {controls} of them controls" if controls else "")
    counts += f", {recipe.repeats} runs each" if recipe.repeats > 1 else ""
    counts += f"; {recipe.confirm} fresh run{'s' * (recipe.confirm > 1)} of the best" if recipe.confirm else ""
    lines = [
        f"{recipe.name}: {recipe.question}",
        f"  {counts}; order {recipe.order}",
        f"  cost: {_cost(prepared.cost)}",
    ]
    lines += [f"  setup: {shlex.join(c.argv)}" for c in recipe.setup]
    lines += [f"  teardown: {shlex.join(c.argv)}" for c in recipe.teardown]
    env = [f"{name}={shlex.quote(value)}" for name, value in first[0].env.items()]
    command = first[0].argv[0] if recipe.command.shell else shlex.join(first[0].argv)
    lines += [f"  first command: {' '.join([*env, command])}", "runs:"]
    lines += [_run_text(plan, run) for run in first]
    if last:
        hidden = len(plan) - len(first) - len(last)
        lines += [f"  ... {hidden} more" for _ in range(bool(hidden))]
        lines += [_run_text(plan, run) for run in last]
    if prepared.entry is not None:
        lines.append(f"goes on with {prepared.entry.id}, which is unfinished; --new begins anew")
    return "\n".join(lines)


def _run_text(plan: Plan, run: PlannedRun) -> str:
    repeat = f" repeat {run.repeat}" if plan.recipe.repeats > 1 else ""
    return f"  {run.place:>4}  {describe(plan, run.case)}{repeat}" + (" (control)" if run.case.is_control else "")


def _cost(cost: Estimate) -> str:
    if cost.seconds is None or cost.seconds_per_run is None:
        return f"unknown, {cost.basis}"
    return f"about {length(cost.seconds)} for {cost.runs} runs at {cost.seconds_per_run:.3g} s ({cost.basis})"


# -- the result --------------------------------------------------------------------------------------


def _result_text(result: SweepResult) -> str:
    failed = f", {result.failed} failed" if result.failed else ", none failed"
    lines = [f"{result.entry.id}: {result.rows} of {result.planned} rows{failed}"]
    best = result.best
    if best is not None:
        unit = f" {best.metric.unit}" if best.metric.unit else ""
        fresh = f"{best.fresh:.6g}{unit} in a fresh run" if best.fresh is not None else "not confirmed"
        lines.append(f"best: {best.label}: {best.metric.name} {fresh}, {best.value:.6g}{unit} in the sweep")
    lines += [f"problem: {text}" for text in result.problems[:_SHOWN_PROBLEMS]]
    if len(result.problems) > _SHOWN_PROBLEMS:
        lines.append(f"and {len(result.problems) - _SHOWN_PROBLEMS} more problems")
    lines += [f"rows: {result.csv}", f"next: logbook table {result.entry.id}"]
    return "\n".join(lines)
