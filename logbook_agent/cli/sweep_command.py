"""`logbook sweep`, and how results of sweeps read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from logbook_agent.campaign.recipe_files import Chosen, list_recipes
from logbook_agent.campaign.result import SweepResult
from logbook_agent.campaign.sweep import sweep
from logbook_agent.campaign.sweep_request import SweepRequest, prepare_sweep
from logbook_agent.cli.detach import carried_out
from logbook_agent.cli.options import Common, DetachOption, Text, Texts
from logbook_agent.cli.output import LineDisplay, columns, emit, say
from logbook_agent.cli.run_command import KeepOption
from logbook_agent.cli.sweep_plan import plan_data, plan_text
from logbook_agent.findings.advice import sweep_more
from logbook_agent.findings.comparison.words import text_lines
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import counted


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """What a sweep does with its recipe, as options."""

    sets: Annotated[
        Texts,
        Option(
            "--set",
            metavar="K=V",
            help="Set a config key, an axis (V,V), repeats, order, confirm (pairs), timeout_s, stall_s or read;"
            " repeatable.",
        ),
    ] = None
    scale: Annotated[
        Text, Option("--scale", metavar="NAME", help="Use the recipe's values for this scale, such as tiny.")
    ] = None
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show the plan and how long it may take; run and write nothing.")
    ] = False
    entry_id: Annotated[Text, Option("--id", metavar="ID", help="Resume the sweep of this entry.")] = None
    new: Annotated[bool, Option("--new", help="Start another sweep, even if one of this plan is unfinished.")] = False
    retry_failed: Annotated[bool, Option("--retry-failed", help="Run failed cases again; only the new runs count.")] = (
        False
    )
    on: Annotated[
        Text,
        Option("--on", metavar="NAME", help="Run the cases on this executor or launcher; see `logbook executors`."),
    ] = None
    parallel: Annotated[int, Option("--parallel", metavar="N", help="With --on: up to N runs at the same time.")] = 1
    keep: KeepOption = None

    def request(self, recipe: str | None) -> SweepRequest:
        """What is asked for. Raises UsageError for options that do not fit together."""
        for option, given in (("--id", self.entry_id), ("--retry-failed", self.retry_failed)):
            exclusive({option: given, "--new": self.new}, cause="one continues a sweep, the other starts one")
        return SweepRequest(
            recipe=recipe,
            scale=self.scale,
            sets=tuple(self.sets or ()),
            on=self.on,
            parallel=self.parallel,
            keep=tuple(self.keep or ()),
            entry_id=self.entry_id,
            new=self.new,
            retry_failed=self.retry_failed,
        )


def sweep_command(
    *,
    recipe: Annotated[
        Text, Argument(metavar="RECIPE", help="Its name or file; without one, lists the recipes.")
    ] = None,
    options: SweepOptions,
    detach: DetachOption = False,
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
    if recipe is None and options.entry_id is None:
        if options != SweepOptions():
            raise UsageError(
                "no recipe named", cause="these options need a recipe", hint="list the recipes: logbook sweep"
            )
        _emit_list(space, common.as_json)
        return 0
    request = options.request(recipe)

    def carry_out(display: LineDisplay) -> int:
        return _made(space, request, common, display)

    if options.dry_run:
        return _dry_run(space, request, common.as_json)
    return carried_out(space, "sweep", carry_out, detach=detach, as_json=common.as_json)


def _made(space: Workspace, request: SweepRequest, common: Common, display: LineDisplay) -> int:
    tell = None if common.as_json else _warn
    result = sweep(space, request, display, tell=tell)
    emit("sweep", result.data(), result_text(result), as_json=common.as_json, warnings=space.warnings)
    return result.exit_status


def _warn(text: str) -> None:
    say(f"warning: {text}")


def _dry_run(space: Workspace, request: SweepRequest, as_json: bool) -> int:
    prepared = prepare_sweep(space, request, needs_logbook=False)
    warnings = [*space.warnings, *(v.text for v in prepared.found)]
    emit("sweep", plan_data(prepared), plan_text(prepared), as_json=as_json, warnings=warnings)
    return 0


# -- the list ----------------------------------------------------------------------------------------


def _emit_list(space: Workspace, as_json: bool) -> None:
    found = [*list_recipes(space)]
    rows = [(one.recipe.name, f"{len(one.plan.cases)} cases", one.recipe.question) for one in found]
    text = columns([("recipe", "", "question"), *rows]) if rows else "no recipes"
    emit("sweep", {"recipes": [*map(_listed_data, found)]}, text, as_json=as_json, warnings=space.warnings)


def _listed_data(chosen: Chosen) -> dict[str, object]:
    recipe, plan = chosen.recipe, chosen.plan
    return {
        "name": recipe.name,
        "question": recipe.question,
        "cases": len(plan.cases),
        "runs": len(plan),
        "scales": list(recipe.scales),
        "file": str(chosen.file.path),
        "own": chosen.file.own,
    }


_SHOWN_PROBLEMS = 10


# -- the result --------------------------------------------------------------------------------------


def result_text(result: SweepResult) -> str:
    entry_id = result.driver.entry.id
    following = sweep_more(entry_id) if result.interrupted or result.left else f"logbook table {entry_id}"
    return "\n".join([*_result_lines(result), f"next: {following}"])


def _result_lines(result: SweepResult) -> list[str]:
    failed = f", {result.failed} failed" if result.failed else "" if result.left else ", none failed"
    lines = [f"{result.driver.entry.id}: {result.rows} of {result.planned} rows{failed}"]
    best = result.best
    if best is not None:
        unit = f" {best.unit}" if best.unit else ""
        what = "median" if best.runs > 1 else "value"
        value = f"{best.metric.name} {best.value:.6g}{unit}, the {what} of {counted(best.runs, 'run')}"
        lines.append(f"best while exploring: {best.label}: {value}")
    if result.answer is not None:
        lines += text_lines(result.answer)
    lines += [f"stopped: {result.stopped}"] if result.stopped and result.stopped != "settled" else []
    lines += [f"problem: {text}" for text in result.problems[:_SHOWN_PROBLEMS]]
    if len(result.problems) > _SHOWN_PROBLEMS:
        lines.append(f"and {len(result.problems) - _SHOWN_PROBLEMS} more problems")
    lines += [f"rows: {result.csv}", f"log: {result.log}"]
    if result.failed:
        lines.append(f"to retry failed runs: {sweep_more(result.driver.entry.id, '--retry-failed')}")
    return lines
