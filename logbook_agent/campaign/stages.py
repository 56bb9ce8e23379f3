"""`logbook sweep` of a recipe of stages: each carried out in an entry of its own, one after another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from logbook_agent.campaign.chosen import ChosenStages, choose_stages, of_stage
from logbook_agent.campaign.prepare import Prepared, SweepRequest, check_commands, onward, prepare_sweep
from logbook_agent.campaign.recipes.rules import Violation
from logbook_agent.campaign.recipes.stages import Stage
from logbook_agent.campaign.result import SweepResult
from logbook_agent.campaign.sweep import sweep
from logbook_agent.findings.measured import is_case
from logbook_agent.model.errors import UsageError
from logbook_agent.model.values import canonical
from logbook_agent.running.order import Display
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.words import assignments


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedStages:
    """The plans of all stages, none of which breaks a rule or a limit."""

    chosen: ChosenStages
    stages: tuple[Prepared, ...]

    @property
    def found(self) -> tuple[Violation, ...]:
        return tuple(violation for stage in self.stages for violation in stage.found)

    @property
    def runs(self) -> int:
        """Those that are still to be made."""
        return sum(stage.left for stage in self.stages)

    @property
    def seconds(self) -> float | None:
        """What these are expected to take; None: not known of one of them."""
        costs = [(stage.cost.seconds_per_run, stage.left) for stage in self.stages if stage.left]
        known = [per_run * left for per_run, left in costs if per_run is not None]
        return sum(known) if len(known) == len(costs) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """`baseline` says which case became the logbook's baseline (None: none did)."""

    recipe: str
    result: SweepResult
    baseline: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagesResult:
    """The stages that were carried out; `stopped` says why the others were not, and how to go on."""

    chosen: ChosenStages
    stages: tuple[StageResult, ...]
    stopped: str | None

    @property
    def exit_status(self) -> int:
        return max(stage.result.exit_status for stage in self.stages)

    def data(self) -> dict[str, Any]:
        return {
            "recipe": self.chosen.recipe.name,
            "scale": self.chosen.scale,
            "exit_status": self.exit_status,
            "stopped": self.stopped,
            "stages": [{"recipe": s.recipe, **s.result.data(), "baseline": s.baseline} for s in self.stages],
        }


def prepare_stages(workspace: Workspace, request: SweepRequest, *, needs_logbook: bool) -> PreparedStages:
    """Expand and check every stage. Nothing is written; what cannot be run is refused here."""
    chosen = choose_stages(workspace, request.recipe or "", scale=request.scale, sets=request.sets)
    if needs_logbook:
        workspace.book()  # where there is none, it is no fault of a stage
    names = [stage.recipe for stage in chosen.recipe.stages]
    stages = []
    for number, (name, part) in enumerate(zip(names, chosen.parts, strict=True)):
        before = tuple(names[:number])
        asked = dataclasses.replace(request, recipe=name, sets=part.sets, is_stage=True, before=before)
        with of_stage(chosen.recipe, number):
            stages.append(prepare_sweep(workspace, asked, needs_logbook=needs_logbook))
    return PreparedStages(chosen=chosen, stages=tuple(stages))


def sweep_stages(
    workspace: Workspace, request: SweepRequest, display: Display, *, tell: Callable[[str], None] | None = None
) -> StagesResult:
    """Carry out every stage that is not finished; the first one that fails outright or is interrupted is the last."""
    prepared = prepare_stages(workspace, request, needs_logbook=True)
    recipe = prepared.chosen.recipe
    for number, plan in enumerate(prepared.stages):
        with of_stage(recipe, number):
            check_commands(workspace, plan.request, plan.chosen)
    done: list[StageResult] = []
    stopped = None
    for number, (stage, plan) in enumerate(zip(recipe.stages, prepared.stages, strict=True), start=1):
        display.progress(f"stage {number} of {len(recipe.stages)}: {stage.recipe}")
        result = sweep(workspace, plan.request, display, tell=tell)
        why = _unfinished(result)
        baseline = _new_baseline(workspace, result, stage, recipe.name) if why is None else None
        done.append(StageResult(recipe=stage.recipe, result=result, baseline=baseline))
        if why is not None:
            stopped = (
                f"stage {number} of {len(recipe.stages)}, {stage.recipe}, {why}; {_onward(workspace, request, result)}"
            )
            break
    return StagesResult(chosen=prepared.chosen, stages=tuple(done), stopped=stopped)


def _unfinished(result: SweepResult) -> str | None:
    """Why nothing can be built on a stage; None: it can."""
    if result.interrupted:
        return "was interrupted"
    if result.left or result.rows < result.planned:
        return "did not finish"
    return "failed in every run" if result.failed >= result.planned else None


def _onward(workspace: Workspace, request: SweepRequest, result: SweepResult) -> str:
    """What to type."""
    if result.failed and not result.interrupted:
        again = onward(workspace, request, result.driver.book, "--retry-failed")
        return f"see logbook show {result.driver.entry.id}; then continue: {again}"
    return f"to continue: {onward(workspace, request, result.driver.book)}"


def _new_baseline(workspace: Workspace, result: SweepResult, stage: Stage, name: str) -> str | None:
    """Make the case that the stage names the baseline, unless the logbook has one already. One that only names the same
    case, without numbers, gets them."""
    there = result.driver.book.reread_header().baseline
    if stage.baseline is None or (there is not None and (there.numbers or there.entry is not None)):
        return None
    if there is not None and there.config and not is_case(stage.baseline, there.config):
        workspace.warnings.append(f"the baseline stays {assignments(there.config)}, not {assignments(stage.baseline)}")
        return None
    # It reads tables, which nothing else here needs.
    from logbook_agent.entries.baseline import MoveRequest, move

    case = assignments(stage.baseline)
    request = MoveRequest(
        entry_id=result.driver.entry.id,
        config=[f"{key}={canonical(value)}" for key, value in stage.baseline.items()],
        reason=f"the stage {stage.recipe} of {name} measured it",
    )
    try:
        move(workspace, result.driver.book, request)
    except UsageError as error:
        workspace.warnings.append(f"{case} did not become the baseline: {error.message} ({error.cause})")
        return None
    return case
