"""Rules that are checked on a plan before anything runs.

One is about any recipe: what it compares can come to an answer. The others are of measuring Mixture-of-Experts blocks:
they speak of config keys of the benchmark, and say nothing of a recipe that does not have these keys. What would be
refused, or measure nothing, is an error; what is merely a worse habit is a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from logbook_agent.campaign.recipes.expand import PlannedCase, SweepPlan, case_key, compared_groups
from logbook_agent.campaign.recipes.recipe import Order
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


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that a plan breaks; `message` says where, `reason` why the rule is there."""

    rule: str
    severity: Severity
    message: str
    reason: str

    @property
    def text(self) -> str:
        return f"{self.rule}: {self.message}; {self.reason}"


Configs = tuple[tuple[PlannedCase, Mapping[str, Scalar]], ...]


def violations(plan: SweepPlan, *, done: Collection[str] | None = None) -> tuple[Violation, ...]:
    """Every rule that the plan breaks, each told once. `done`: names of recipes that this logbook has a finished
    sweep of; None: not known, and then nothing is said of what should come first."""
    configs = tuple((case, plan.config(case)) for case in plan.cases)
    # A rule that a thousand cases break is told once.
    found = (next(rule(plan, configs), None) for rule in _RULES)
    return (*(violation for violation in found if violation is not None), *_comes_first(plan, configs, done))


def _comparisons(plan: SweepPlan) -> int:
    """How many cases the recipe compares with a base."""
    compare = plan.recipe.compare
    if compare is None:
        return 0
    axis, base, found = compare.axis, canonical(compare.base), 0
    for group in compared_groups(plan):
        is_base = [canonical(plan.config(plan.cases[index]).get(axis)) == base for index in group]
        found += is_base.count(False) if any(is_base) else 0
    return found


def _can_answer(plan: SweepPlan, configs: Configs) -> Iterator[Violation]:
    """What is compared can be settled: by the plan's own runs, or by the pairs of the best case that follow it."""
    recipe, comparisons = plan.recipe, _comparisons(plan)
    if not comparisons or (recipe.confirm and not plan.is_comparison):
        return
    needed = fewest_pairs(comparisons)
    sets = [f"--set repeats={needed}"] if recipe.repeats < needed else []
    sets += [f"--set order={Order.INTERLEAVED}"] if recipe.order is Order.AS_LISTED else []
    if not sets:
        return
    reasons = []
    if recipe.repeats < needed:
        reasons.append("with so few, chance alone could give any result")
    if recipe.order is Order.AS_LISTED:
        reasons.append("runs of one case before those of another cannot be told from a drift of the machine")
    of = f" of {comparisons:,} comparisons" if comparisons > 1 else ""
    runs = f"{counted(recipe.repeats, 'pair')} in the order {recipe.order}"
    set_these = " ".join(sets)
    yield Violation(
        rule=CAN_ANSWER,
        severity=Severity.WARNING,
        message=f"{runs} cannot settle any{of}: {set_these} can" if of else f"{runs} settle nothing: {set_these}",
        reason=", and ".join(reasons),
    )


def _argsort_unless_compared(plan: SweepPlan, configs: Configs) -> Iterator[Violation]:
    for case, config in configs:
        if config.get(PACK) in (None, "argsort"):
            continue
        if "argsort" not in {other.get(PACK) for _, other in configs}:
            yield Violation(
                rule="argsort-unless-compared",
                severity=Severity.WARNING,
                message=f"{_name(case)} packs by {config[PACK]}, and no case packs by argsort",
                reason="other results were measured with argsort; test another strategy in an A/B against it",
            )


def _identical_controls(plan: SweepPlan, configs: Configs) -> Iterator[Violation]:
    """Every quantised case has its twin that differs in nothing but the quantisation."""
    keys = [key for key in plan.varied if key != QUANT]
    plain = {case_key(config, keys, config) for _, config in configs if config.get(QUANT) == "none"}
    for case, config in configs:
        if config.get(QUANT) in (None, "none") or case_key(config, keys, config) in plain:
            continue
        yield Violation(
            rule="identical-controls",
            severity=Severity.ERROR,
            message=f"{_name(case)} has no case with {QUANT}=none beside it",
            reason="the effect of quantisation is known only against the same shape without it; "
            f"add controls: [{{{QUANT}: none}}]",
        )


def _prequeue_needs_forward(plan: SweepPlan, configs: Configs) -> Iterator[Violation]:
    for case, config in configs:
        if config.get(QUEUE) in ("prequeue", "both") and config.get(PASS) not in (None, "forward"):
            yield Violation(
                rule="prequeue-needs-forward",
                severity=Severity.ERROR,
                message=f"{_name(case)} asks for {QUEUE}={config[QUEUE]} in {PASS}={config[PASS]}",
                reason="the gradient goes through dispatch, so it cannot be prepared outside the timed call",
            )


def _both_queues(plan: SweepPlan, configs: Configs) -> Iterator[Violation]:
    keys = [key for key in plan.varied if key != QUEUE]
    full = {case_key(config, keys, config) for _, config in configs if config.get(QUEUE) == "full"}
    for case, config in configs:
        if config.get(QUEUE) == "prequeue" and case_key(config, keys, config) not in full:
            yield Violation(
                rule="both-queues",
                severity=Severity.WARNING,
                message=f"{_name(case)} is prequeued, and no full queue is timed beside it",
                reason="what dispatch costs is the difference between the two queues of one case",
            )


def _train_like(plan: SweepPlan, configs: Configs) -> Iterator[Violation]:
    """Forward alone is for overlap and stages."""
    queues = {config.get(QUEUE) for _, config in configs}
    for case, config in configs:
        if config.get(PASS) == "forward" and not config.get(STAGES) and queues <= {None, "full"}:
            yield Violation(
                rule="train-like-pass",
                severity=Severity.WARNING,
                message=f"{_name(case)} times the forward pass alone",
                reason="training runs forward and backward; forward is for stage times and for the two queues",
            )


def _same_env(plan: SweepPlan, configs: Configs) -> Iterator[Violation]:
    """A case and its controls run under the same variables, unless the recipe says that a variable is implied."""
    if not any(text.keys for text in plan.recipe.env.values()):
        return
    envs = {case.key: {n: t.fill(config) for n, t in plan.recipe.env.items()} for case, config in configs}
    for case, _ in configs:
        for key in case.controls:
            differing = [n for n in envs[case.key] if envs[case.key][n] != envs[key][n]]
            differing = [n for n in differing if f"env:{n}" not in plan.recipe.implied]
            if differing:
                yield Violation(
                    rule="same-env",
                    severity=Severity.ERROR,
                    message=f"{_name(case)} and its control {key} differ in the variable {differing[0]}",
                    reason="a control in a different environment controls nothing; "
                    f"if the key implies the difference, add: implied: ['env:{differing[0]}']",
                )


def _comes_first(plan: SweepPlan, configs: Configs, done: Collection[str] | None) -> Iterator[Violation]:
    """An A/B at one shape before a sweep, and whatever else the recipe wants to have been run before it."""
    recipe = plan.recipe
    quantised = {canonical(config[QUANT]) for _, config in configs if QUANT in config}
    sweeps = len(configs) > len(quantised)
    if len(quantised) > 1 and sweeps and not recipe.after:
        yield Violation(
            rule="ab-before-sweep",
            severity=Severity.WARNING,
            message=f"{recipe.name} sweeps {QUANT} over {len(configs)} cases and names no A/B to run first",
            reason=f"one pair at one shape tells whether a sweep is worth its time; name it: after: [{QUANT}-ab]",
        )
    for name in recipe.after if done is not None else ():
        if done is not None and name not in done:
            yield Violation(
                rule="ab-before-sweep" if sweeps else "recipe-before",
                severity=Severity.WARNING,
                message=f"{recipe.name} should run after {name}, but this logbook has no finished sweep of that",
                reason=f"it is cheaper and tells whether this one is worth its time: logbook sweep {name}",
            )


def _name(case: PlannedCase) -> str:
    return f"the case {case.key}"


_RULES: tuple[Callable[[SweepPlan, Configs], Iterator[Violation]], ...] = (
    _argsort_unless_compared,
    _identical_controls,
    _prequeue_needs_forward,
    _both_queues,
    _train_like,
    _same_env,
    _can_answer,
)
