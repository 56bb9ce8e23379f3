"""`logbook sweep`, and how results of sweeps read."""

from __future__ import annotations

from typing import Annotated

from msgspec import structs

from logbook_agent.campaign.recipe_files import list_recipes
from logbook_agent.campaign.recipes.expand import SweepPlan
from logbook_agent.campaign.sweep import sweep
from logbook_agent.campaign.sweep_entry import SweepResult
from logbook_agent.campaign.sweep_request import SweepRequest, prepare_sweep
from logbook_agent.cli.detach import carried_out
from logbook_agent.cli.options import DETACH, Common, Text, argument, flag, number, option, repeated
from logbook_agent.cli.output import LineDisplay, columns, say
from logbook_agent.cli.run_command import KEEP
from logbook_agent.cli.sweep_plan import plan_data, plan_text
from logbook_agent.findings.advice import sweep_anew, sweep_more
from logbook_agent.findings.comparison.answer_lines import text_lines
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.text.phrases import counted


class SweepOptions:
    """What a sweep does with its recipe: a `SweepRequest`."""

    sets = repeated(
        "--set K=V",
        "Set a config key (V,V: an axis), repeats, order, confirm (pairs), timeout_s, stall_s or read; repeatable.",
    )
    scale = option("--scale NAME", "Use the recipe's values for this scale, such as tiny, or for several: tiny,ep.")
    entry_id = option("--id ID", "Resume the sweep of this entry.")
    new = flag("--new", "Start another sweep, even if one of this plan is unfinished.")
    retry_failed = flag("--retry-failed", "Run failed cases again; only the new runs count.")
    on = option("--on NAME", "Run the cases on this executor or launcher; see `logbook executors`.")
    parallel = number("--parallel N", "With --on: up to N runs at the same time.", 1)
    keep = KEEP


def sweep_command(
    *,
    recipe: Text = argument("RECIPE", "Its name or file; without one, lists the recipes."),
    options: Annotated[SweepRequest, SweepOptions],
    dry_run: bool = flag("--dry-run", "Show the plan and how long it may take; run and write nothing."),
    detach: bool = DETACH,
    common: Common,
) -> int:
    """Run the cases of a recipe, then compare the best.

    First the cases run with their controls. Then the case that gains most over its base is compared with that base in
    fresh pairs of runs, unless the recipe compares all its cases itself.

    The same command resumes a sweep that was stopped. Exit code: 1 when a case failed, or the rows do not match the
    plan.

    Example: logbook sweep int8-topk --scale tiny --dry-run
    """
    space = common.space()
    for name, given in (("--id", options.entry_id), ("--retry-failed", options.retry_failed)):
        exclusive({name: given, "--new": options.new}, cause="one continues a sweep, the other starts one")
    if recipe is None and options.entry_id is None:
        if dry_run or options != SweepRequest():
            raise UsageError(
                "no recipe named", cause="these options need a recipe", hint="list the recipes: logbook sweep"
            )
        _emit_list(common)
        return 0
    request = structs.replace(options, recipe=recipe)
    if dry_run:
        prepared = prepare_sweep(space, request, needs_logbook=False)
        space.warnings += prepared.warnings
        common.emit("sweep", plan_data(prepared), lambda: plan_text(prepared))
        return 0

    def carry_out(display: LineDisplay) -> int:
        result = sweep(space, request, display, tell=None if common.as_json else _warn)
        common.emit("sweep", result.data(), result_text(result))
        return result.exit_status

    return carried_out(common, "sweep", carry_out, detach=detach)


def _warn(text: str) -> None:
    say(f"warning: {text}")


# -- the list ----------------------------------------------------------------------------------------


def _emit_list(common: Common) -> None:
    found = [*list_recipes(common.space())]
    rows = [(one.recipe.name, f"{len(one.cases)} cases", one.recipe.question) for one in found]
    text = columns([("recipe", "", "question"), *rows]) if rows else "no recipes"
    common.emit("sweep", {"recipes": [*map(_listed_data, found)]}, text)


def _listed_data(plan: SweepPlan) -> dict[str, object]:
    recipe = plan.recipe
    return {
        "name": recipe.name,
        "question": recipe.question,
        "cases": len(plan.cases),
        "runs": len(plan),
        "scales": list(recipe.scale),
        "file": plan.file,
        "own": plan.own,
    }


_SHOWN_PROBLEMS = 10


# -- the result --------------------------------------------------------------------------------------


def result_text(result: SweepResult) -> str:
    entry_id, left = result.series.entry.id, result.progress.todo
    following = sweep_more(entry_id) if result.series.is_interrupted or left else f"logbook table {entry_id}"
    return "\n".join([*_result_lines(result), f"next: {following}"])


def _result_lines(result: SweepResult) -> list[str]:
    progress, entry_id = result.progress, result.series.entry.id
    failed = f", {progress.failed} failed" if progress.failed else "" if progress.todo else ", none failed"
    lines = [f"{entry_id}: {result.rows} of {len(progress.plan)} rows{failed}"]
    best = result.best
    if best is not None:
        unit = f" {best.unit}" if best.unit else ""
        what = "median" if best.runs > 1 else "value"
        value = f"{best.metric} {best.value:.6g}{unit}, the {what} of {counted(best.runs, 'run')}"
        lines.append(f"best while exploring: {best.label}: {value}")
    if result.answer is not None:
        lines += text_lines(result.answer)
    lines += [f"stopped: {result.stopped}"] if result.stopped and result.stopped != "settled" else []
    lines += [f"problem: {text}" for text in result.problems[:_SHOWN_PROBLEMS]]
    if len(result.problems) > _SHOWN_PROBLEMS:
        lines.append(f"and {len(result.problems) - _SHOWN_PROBLEMS} more problems")
    lines.append(f"rows: {result.csv}")
    if progress.failed:
        plan, use = progress.plan, result.series.entry.recipe
        # What is compared has one code.
        again = sweep_more(entry_id, "--retry-failed")
        again = sweep_anew(use) if use is not None and plan.is_comparison else again
        lines.append(f"what failed fails again on the same code; once that is mended: {again}")
    return lines
