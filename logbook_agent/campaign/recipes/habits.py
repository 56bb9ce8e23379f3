"""Rules that are checked on a plan before anything runs: what it compares can come to an answer, what is quantised has
a twin that is not, and what it should run after has been run."""

from __future__ import annotations

from collections.abc import Collection

from logbook_agent.campaign.recipes.expand import SweepPlan, case_key
from logbook_agent.findings.comparison.rule import fewest_pairs
from logbook_agent.model.errors import UsageError
from logbook_agent.model.values import canonical
from logbook_agent.text.phrases import counted

_QUANT, _TWIN = "quant_mode", "none"


def check_controls(plan: SweepPlan, file: str) -> None:
    """Raises UsageError for a case of the benchmark that is quantised, and has no case beside it which differs in that
    alone."""
    rest = [name for name in plan.varied if name != _QUANT]
    twins = {case_key(case.values, rest) for case in plan.cases if case.values.get(_QUANT) == _TWIN}
    for case in plan.cases:
        if case.values.get(_QUANT) not in (None, _TWIN) and case_key(case.values, rest) not in twins:
            raise UsageError(
                f"{file} breaks the rule identical-controls: the case {case.key} has no case with {_QUANT}={_TWIN}"
                " beside it",
                cause="the effect of quantisation is known only against the same shape without it",
                hint=f"add to the recipe: controls: [{{{_QUANT}: {_TWIN}}}]",
            )


def can_answer(plan: SweepPlan) -> list[str]:
    """Why neither the plan's own runs, nor the pairs of the best case that follow them, can settle what it compares."""
    recipe, comparisons = plan.recipe, _comparisons(plan)
    if not comparisons or plan.confirm:
        return []
    sets, reasons, needed = [], [], fewest_pairs(comparisons)
    if recipe.repeats < needed:
        sets.append(f"--set repeats={needed}")
        reasons.append("with so few, chance alone could give any result")
    if recipe.order == "as-listed":
        sets.append("--set order=interleaved")
        reasons.append("runs of one case before those of another cannot be told from a drift of the machine")
    runs, more = f"{counted(recipe.repeats, 'pair')} in the order {recipe.order}", " ".join(sets)
    text = f"{runs} settle nothing: {more}"
    if comparisons > 1:
        text = f"{runs} cannot settle any of {comparisons:,} comparisons: {more} can"
    return [f"can-answer: {text}; {', and '.join(reasons)}"] if sets else []


def _comparisons(plan: SweepPlan) -> int:
    """How many cases the recipe compares with a base."""
    if plan.recipe.compare is None:
        return 0
    axis, base = plan.recipe.compare.axis, canonical(plan.recipe.compare.base)
    groups = [[canonical(plan.cases[at].values.get(axis)) == base for at in group] for group in plan.groups]
    return sum(is_base.count(False) for is_base in groups if any(is_base))


def comes_first(plan: SweepPlan, done: Collection[str]) -> list[str]:
    """Which recipes should be run before this one, of which `done` have a finished sweep in this logbook."""
    return [
        f"recipe-before: {plan.recipe.name} should run after {name}, but this logbook has no finished sweep of that; it"
        f" is cheaper and tells whether this one is worth its time: logbook sweep {name}"
        for name in plan.recipe.after
        if name not in done
    ]
