"""Rules that are checked on a plan before anything runs.

One is about any recipe: what it compares can come to an answer. The others are of measuring Mixture-of-Experts blocks:
they speak of config keys of the benchmark, and say nothing of a recipe that does not have these keys. What would be
refused, or measure nothing, is an error; what is merely a worse habit is a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from logbook_agent.campaign.recipes.expand import PlannedCase, SweepPlan, case_key
from logbook_agent.findings.comparison.rule import fewest_pairs
from logbook_agent.model.values import Scalar, canonical
from logbook_agent.text.phrases import counted

PACK, QUANT, QUEUE, PASS, STAGES = (
    "routing_pack_strategy",
    "quant_mode",
    "queue_mode",
    "bench_pass",
    "stage_timing",
)
CAN_ANSWER = "can-answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that a plan breaks; `message` says where, `reason` why the rule is there."""

    rule: str
    message: str
    reason: str
    is_error: bool = False

    @property
    def text(self) -> str:
        return f"{self.rule}: {self.message}; {self.reason}"


def violations(plan: SweepPlan, *, done: Collection[str] | None = None) -> tuple[Violation, ...]:
    """Every rule that the plan breaks, each told once. `done`: names of recipes that this logbook has a finished
    sweep of; None: not known, and then nothing is said of what should come first."""
    return (*_of_cases(plan), *_can_answer(plan), *_comes_first(plan, done))


def _of_cases(plan: SweepPlan) -> Iterator[Violation]:
    """What a case may not be, or not without another one; told of the first such case."""
    packs, quants, queues = ({case.values.get(key) for case in plan.cases} for key in (PACK, QUANT, QUEUE))
    packed = _first(plan, lambda config: config.get(PACK) not in (None, "argsort"))
    if packed is not None and "argsort" not in packs:
        yield Violation(
            rule="argsort-unless-compared",
            message=f"the case {packed.key} packs by {packed.values[PACK]}, and no case packs by argsort",
            reason="other results were measured with argsort; test another strategy in an A/B against it",
        )
    lonely = _without_twin(plan, QUANT, quants - {None, "none"}, "none")
    if lonely is not None:
        yield Violation(
            rule="identical-controls",
            message=f"the case {lonely.key} has no case with {QUANT}=none beside it",
            reason="the effect of quantisation is known only against the same shape without it; "
            f"add controls: [{{{QUANT}: none}}]",
            is_error=True,
        )
    backward = _first(plan, lambda c: c.get(QUEUE) in ("prequeue", "both") and c.get(PASS) not in (None, "forward"))
    if backward is not None:
        queue, timed = backward.values[QUEUE], backward.values[PASS]
        yield Violation(
            rule="prequeue-needs-forward",
            message=f"the case {backward.key} asks for {QUEUE}={queue} in {PASS}={timed}",
            reason="the gradient goes through dispatch, so it cannot be prepared outside the timed call",
            is_error=True,
        )
    lonely = _without_twin(plan, QUEUE, {"prequeue"}, "full")
    if lonely is not None:
        yield Violation(
            rule="both-queues",
            message=f"the case {lonely.key} is prequeued, and no full queue is timed beside it",
            reason="what dispatch costs is the difference between the two queues of one case",
        )
    forward = _first(plan, lambda config: config.get(PASS) == "forward" and not config.get(STAGES))
    if forward is not None and queues <= {None, "full"}:
        yield Violation(
            rule="train-like-pass",
            message=f"the case {forward.key} times the forward pass alone",
            reason="training runs forward and backward; forward is for stage times and for the two queues",
        )


def _first(plan: SweepPlan, applies: Callable[[Mapping[str, Scalar]], bool]) -> PlannedCase | None:
    return next((case for case in plan.cases if applies(case.values)), None)


def _without_twin(plan: SweepPlan, key: str, values: Collection[Scalar], twin: Scalar) -> PlannedCase | None:
    """The first case with one of the values of `key` that has no case beside it which differs in `key`=`twin` alone."""
    rest = [name for name in plan.varied if name != key]
    twins = {case_key(case.values, rest) for case in plan.cases if case.values.get(key) == twin}
    return _first(plan, lambda config: config.get(key) in values and case_key(config, rest) not in twins)


def _comparisons(plan: SweepPlan) -> int:
    """How many cases the recipe compares with a base."""
    if plan.recipe.compare is None:
        return 0
    axis, base = plan.recipe.compare.axis, canonical(plan.recipe.compare.base)
    groups = [[canonical(plan.cases[at].values.get(axis)) == base for at in group] for group in plan.groups]
    return sum(is_base.count(False) for is_base in groups if any(is_base))


def _can_answer(plan: SweepPlan) -> Iterator[Violation]:
    """What is compared can be settled: by the plan's own runs, or by the pairs of the best case that follow it."""
    recipe, comparisons = plan.recipe, _comparisons(plan)
    if not comparisons or (recipe.confirm and not plan.is_comparison):
        return
    sets, reasons, needed = [], [], fewest_pairs(comparisons)
    if recipe.repeats < needed:
        sets.append(f"--set repeats={needed}")
        reasons.append("with so few, chance alone could give any result")
    if recipe.order == "as-listed":
        sets.append("--set order=interleaved")
        reasons.append("runs of one case before those of another cannot be told from a drift of the machine")
    if sets:
        runs = f"{counted(recipe.repeats, 'pair')} in the order {recipe.order}"
        of = f" of {comparisons:,} comparisons" if comparisons > 1 else ""
        told = f"{runs} cannot settle any{of}: {' '.join(sets)} can"
        yield Violation(
            rule=CAN_ANSWER,
            message=told if of else f"{runs} settle nothing: {' '.join(sets)}",
            reason=", and ".join(reasons),
        )


def _comes_first(plan: SweepPlan, done: Collection[str] | None) -> Iterator[Violation]:
    """Whatever the recipe wants to have been run before it."""
    for name in plan.recipe.after:
        if done is not None and name not in done:
            yield Violation(
                rule="recipe-before",
                message=f"{plan.recipe.name} should run after {name}, but this logbook has no finished sweep of that",
                reason=f"it is cheaper and tells whether this one is worth its time: logbook sweep {name}",
            )
