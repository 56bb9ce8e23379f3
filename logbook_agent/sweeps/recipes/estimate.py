"""What a plan is expected to cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from logbook_agent.model.stats import median
from logbook_agent.sweeps.recipes.expand import SweepPlan
from logbook_agent.sweeps.recipes.problem import RecipeProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Expected seconds; None: nobody knows. `basis` says where the number comes from."""

    runs: int
    seconds_per_run: float | None
    basis: str

    @property
    def seconds(self) -> float | None:
        return None if self.seconds_per_run is None else self.seconds_per_run * self.runs


def estimate(plan: SweepPlan, measured_s: Sequence[float] = ()) -> Estimate:
    """From the durations of earlier runs of this plan where there are any, else from what the recipe states.

    RecipeProblem when that is over the recipe's limit of hours.
    """
    recipe = plan.recipe
    runs = len(plan) + recipe.confirm
    seconds, basis = None, "the recipe does not say how long a run takes"
    if measured_s:
        seconds, basis = median(measured_s), f"median of {len(measured_s)} earlier runs"
    elif recipe.cost is not None:
        seconds = recipe.cost.seconds_per_run
        basis = "the recipe" + (f": {recipe.cost.source}" if recipe.cost.source else "")
    found = Estimate(runs=runs, seconds_per_run=seconds, basis=basis)
    hours = recipe.limits.hours
    if hours is not None and found.seconds is not None and found.seconds > hours * 3600:
        raise RecipeProblem(
            f"{recipe.name} would take {found.seconds / 3600:.1f} h, over its limit of {hours:g} h",
            place="limits.hours",
            cause=f"{runs} runs at {found.seconds_per_run:g} s ({found.basis})",
            hint="leave values out (--set KEY=V,V), or raise limits: {hours: ...} in the recipe",
        )
    return found
