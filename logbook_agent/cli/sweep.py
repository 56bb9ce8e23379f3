"""`logbook sweep`, and how plans and results of sweeps read."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated, Any

from typer import Argument, Option

from logbook_agent.cli.options import Common, DetachOption, Text, Texts
from logbook_agent.cli.output import LineDisplay, columns, emit, say
from logbook_agent.cli.predict import CalibrationOption, PredictOption, check_calibration
from logbook_agent.model.errors import UsageError
from logbook_agent.store.workspace import Workspace, naming
from logbook_agent.sweeps.chosen import Chosen, ChosenStages, common_scales, has_stages, list_recipes
from logbook_agent.sweeps.prepare import Prepared, SweepRequest, prepare_sweep
from logbook_agent.sweeps.recipes.expand import Estimate, PlannedRun, SweepPlan, describe_run
from logbook_agent.sweeps.recipes.stages import StagedRecipe
from logbook_agent.sweeps.result import SweepResult
from logbook_agent.sweeps.stages import PreparedStages, StagesResult, prepare_stages, sweep_stages
from logbook_agent.sweeps.sweep import length, sweep
from logbook_agent.sweeps.sweep_predict import predict_sweep
from logbook_agent.sweeps.tally import Best


def sweep_command(
    *,
    recipe: Annotated[
        Text, Argument(metavar="RECIPE", help="Its name or file; without one, lists the recipes.")
    ] = None,
    sets: Annotated[
        Texts,
        Option("--set", metavar="K=V", help="Change the value of a key, or the values of an axis: V,V; repeatable."),
    ] = None,
    scale: Annotated[
        Text, Option("--scale", metavar="NAME", help="Use the recipe's values for this scale, such as tiny.")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Show plan and cost; run and write nothing.")] = False,
    resume: Annotated[Text, Option("--resume", metavar="ID", help="Resume the sweep of this entry.")] = None,
    new: Annotated[bool, Option("--new", help="Start a new sweep even if one of this plan is unfinished.")] = False,
    retry_failed: Annotated[
        bool, Option("--retry-failed", help="Retry failed runs; the new runs count instead of them.")
    ] = False,
    on: Annotated[Text, Option("--on", metavar="LAUNCHER[:TARGET]", help="Run through a configured launcher.")] = None,
    detach: DetachOption = False,
    predict: PredictOption = None,
    calibration: CalibrationOption = None,
    common: Common,
) -> int:
    """Run a recipe: every case of its axes, its controls, and a fresh run of the best.

    The same command resumes a sweep that was stopped. A recipe of stages runs several recipes in order.
    Exit code: 1 when a case failed, or the rows do not match the plan.
    Example: logbook sweep int8-topk --scale tiny --dry-run
    """
    space = common.space()
    if recipe is None and resume is None:
        if sets or scale or dry_run or new or on or retry_failed or predict:
            raise UsageError(
                "no recipe named", cause="these options need a recipe", hint="list the recipes: logbook sweep"
            )
        _emit_list(space, common.as_json)
        return 0
    if new and (resume is not None or retry_failed):
        option = "--resume" if resume is not None else "--retry-failed"
        raise UsageError(
            f"{option} and --new cannot be used together",
            cause="one continues a sweep, the other starts one",
            hint="leave one of them out",
        )
    request = SweepRequest(
        recipe=recipe, scale=scale, sets=tuple(sets or ()), on=on, resume=resume, new=new, retry_failed=retry_failed
    )
    staged = recipe is not None and resume is None and has_stages(space, recipe)
    if predict is None:
        check_calibration(calibration)

    def carry_out(display: LineDisplay) -> int:
        if predict is not None:
            return _predict(space, request, common, display, (predict, calibration), dry_run=dry_run)
        return _made(space, request, common, display, staged=staged)

    if dry_run and predict is None:
        return _dry_run(space, request, common.as_json, staged=staged)
    if detach and not dry_run:
        from logbook_agent.cli.detach import detached

        return detached(space, "sweep", carry_out, as_json=common.as_json)
    return carry_out(LineDisplay())


def _made(space: Workspace, request: SweepRequest, common: Common, display: LineDisplay, *, staged: bool) -> int:
    tell = None if common.as_json else _warn
    if staged:
        done = sweep_stages(space, request, display, tell=tell)
        text = stages_result_text(done, naming(space, done.stages[0].result.series.book))
        emit("sweep", done.data(), text, as_json=common.as_json, warnings=space.warnings)
        return done.exit_status
    result = sweep(space, request, display, tell=tell)
    emit("sweep", result.data(), result_text(result), as_json=common.as_json, warnings=space.warnings)
    return result.exit_status


def _predict(
    space: Workspace,
    request: SweepRequest,
    common: Common,
    display: LineDisplay,
    by: tuple[str, str | None],
    *,
    dry_run: bool,
) -> int:
    """`by`: the slice that is predicted for, and the calibration."""
    target, calibration = by
    tell = None if common.as_json else _warn
    found = predict_sweep(space, request, display, target=target, calibration=calibration, dry_run=dry_run, tell=tell)
    lines = found.lines() if dry_run else []
    if not dry_run and found.result is None:
        lines.append(f"nothing to run; see {found.entry}: logbook show {found.entry}")
    if found.result is not None:
        lines.append(result_text(found.result))
    emit("sweep", found.data(), "\n".join(lines), as_json=common.as_json, warnings=space.warnings)
    return found.result.exit_status if found.result is not None else found.exit_status


def _warn(text: str) -> None:
    say(f"warning: {text}")


def _dry_run(space: Workspace, request: SweepRequest, as_json: bool, *, staged: bool) -> int:
    if staged:
        stages = prepare_stages(space, request, needs_logbook=False)
        data, text, found = stages_plan_data(stages), stages_plan_text(stages), stages.found
    else:
        prepared = prepare_sweep(space, request, needs_logbook=False)
        data, text, found = plan_data(prepared), plan_text(prepared), prepared.found
    warnings = [*space.warnings, *(v.text for v in found)]
    emit("sweep", data, text, as_json=as_json, warnings=warnings)
    return 0


# -- the list ----------------------------------------------------------------------------------------


def _emit_list(space: Workspace, as_json: bool) -> None:
    listed = [_listed_data(chosen) for chosen in list_recipes(space)]
    rows = [(d["name"], _size(d), d["question"]) for d in listed]
    text = columns([("recipe", "", "question"), *rows]) if rows else "no recipes"
    emit("sweep", {"recipes": listed}, text, as_json=as_json, warnings=space.warnings)


def _size(data: dict[str, Any]) -> str:
    return f"{len(data['stages'])} stages" if data["stages"] else f"{data['cases']} cases"


def _listed_data(chosen: Chosen | ChosenStages) -> dict[str, Any]:
    recipe, parts = chosen.recipe, chosen.parts
    return {
        "name": recipe.name,
        "question": recipe.question,
        "cases": sum(len(part.plan.cases) for part in parts),
        "runs": sum(len(part.plan) for part in parts),
        "scales": common_scales(chosen),
        "stages": [stage.recipe for stage in recipe.stages] if isinstance(recipe, StagedRecipe) else [],
        "file": str(chosen.file.path),
        "own": chosen.file.own,
    }


_SHOWN_RUNS = 5
_SHOWN_PROBLEMS = 10


def plan_data(prepared: Prepared) -> dict[str, Any]:
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
        "seed": plan.design.seed if plan.design is not None else None,
        "cost": {"seconds": cost.seconds, "seconds_per_run": cost.seconds_per_run, "basis": cost.basis},
        "setup": [list(c.argv) for c in plan.recipe.setup],
        "teardown": [list(c.argv) for c in plan.recipe.teardown],
        "first": [_run_data(plan, run) for run in first],
        "last": [_run_data(plan, run) for run in last],
        "resumes": prepared.entry.id if prepared.entry is not None else None,
        "finished": prepared.is_complete,
    }


def _run_data(plan: SweepPlan, run: PlannedRun) -> dict[str, Any]:
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


def plan_text(prepared: Prepared) -> str:
    """The plan in at most a screen: counts, cost, one command in full, the first and last runs."""
    plan, recipe = prepared.chosen.plan, prepared.chosen.recipe
    controls = sum(case.is_control for case in plan.cases)
    first, last = plan.ends(_SHOWN_RUNS)
    counts = f"{len(plan.cases)} cases" + (f", {controls} of them controls" if controls else "")
    counts += f", {recipe.repeats} runs each" if recipe.repeats > 1 else ""
    counts += f"; {recipe.confirm} fresh run{'s' * (recipe.confirm > 1)} of the best" if recipe.confirm else ""
    lines = [
        f"{recipe.name}: {recipe.question}",
        f"  {counts}; order {recipe.order}" + (f", by seed {plan.design.seed}" if plan.design is not None else ""),
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
        lines.append(f"{_begun(prepared, prepared.entry.id)}; --new starts another")
    return "\n".join(lines)


def _begun(prepared: Prepared, entry_id: str) -> str:
    failed = f"{prepared.failed} failed run{'' if prepared.failed == 1 else 's'}"
    if prepared.retries:
        return f"resumes {entry_id}, and retries its {failed}"
    if prepared.is_complete:
        return f"finished as {entry_id}" + (f", with {failed}" if prepared.failed else "")
    return f"resumes {entry_id}, which is unfinished"


def _run_text(plan: SweepPlan, run: PlannedRun) -> str:
    return f"  {run.place:>4}  {describe_run(plan, run)}" + (" (control)" if run.case.is_control else "")


def _cost(cost: Estimate) -> str:
    if cost.seconds is None or cost.seconds_per_run is None:
        return f"unknown, {cost.basis}"
    return f"about {length(cost.seconds)} for {cost.runs} runs at {cost.seconds_per_run:.3g} s ({cost.basis})"


# -- the result --------------------------------------------------------------------------------------


def result_text(result: SweepResult) -> str:
    command = "sweep --resume" if result.interrupted else "table"
    return "\n".join([*_result_lines(result), f"next: logbook {command} {result.series.entry.id}"])


def _result_lines(result: SweepResult) -> list[str]:
    failed = f", {result.failed} failed" if result.failed else ", none failed"
    lines = [f"{result.series.entry.id}: {result.rows} of {result.planned} rows{failed}"]
    best = result.best
    if best is not None:
        unit = f" {best.unit}" if best.unit else ""
        fresh = f"{best.fresh:.6g}{unit} in a fresh run" if best.fresh is not None else "not confirmed"
        lines.append(f"best: {best.label}: {best.metric.name} {fresh}, {best.value:.6g}{unit} in the sweep")
        lines += _winner_lines(best)
    lines += [f"problem: {text}" for text in result.problems[:_SHOWN_PROBLEMS]]
    if len(result.problems) > _SHOWN_PROBLEMS:
        lines.append(f"and {len(result.problems) - _SHOWN_PROBLEMS} more problems")
    lines += [f"rows: {result.csv}", f"log: {result.log}"]
    if result.failed:
        lines.append(f"to retry failed runs: logbook sweep --resume {result.series.entry.id} --retry-failed")
    return lines


def _winner_lines(best: Best) -> list[str]:
    """Whether the best case is a winner, and why; nothing where that was not asked."""
    if best.is_winner is None:
        return []
    against = f"against {best.rival}: " if best.rival is not None else ""
    return [f"{'winner' if best.is_winner else 'no winner'}: {against}{'; '.join(best.reasons)}"]


# -- stages ------------------------------------------------------------------------------------------


def stages_plan_data(prepared: PreparedStages) -> dict[str, Any]:
    recipe = prepared.chosen.recipe
    return {
        "recipe": recipe.name,
        "question": recipe.question,
        "scale": prepared.chosen.scale,
        "runs": prepared.runs,
        "cost": {"seconds": prepared.seconds},
        "stages": [plan_data(stage) for stage in prepared.stages],
    }


def stages_plan_text(prepared: PreparedStages) -> str:
    recipe = prepared.chosen.recipe
    lines = [f"{recipe.name}: {recipe.question}"]
    for number, stage in enumerate(prepared.stages, start=1):
        lines += ["", f"stage {number} of {len(prepared.stages)}", plan_text(stage)]
    took = f"about {length(prepared.seconds)}" if prepared.seconds is not None else "duration unknown"
    return "\n".join([*lines, "", f"in all: {prepared.runs} runs to make; {took}"])


def stages_result_text(result: StagesResult, named: Sequence[str]) -> str:
    """`named`: how a command says which logbook, where it has to."""
    lines: list[str] = []
    for number, stage in enumerate(result.stages, start=1):
        lines.append(f"stage {number} of {len(result.chosen.parts)}: {stage.recipe}")
        lines += _result_lines(stage.result)
        lines += [f"baseline: {stage.baseline}"] if stage.baseline is not None else []
    lines.append(
        f"stopped: {result.stopped}" if result.stopped is not None else " ".join(["next: logbook criteria", *named])
    )
    return "\n".join(lines)
