"""Chooses the cases of a plan that can win, from their predictions. Pure.

A case cannot win when another one that is compared with it is predicted to be better by the ratio from which a
direction is claimed (`bench_core.accounting.prediction`). What is compared with each other, the recipe says: the values
of the key that it compares, a case and its controls, or all cases where it chooses the best one. A control is kept as
long as a case that it controls is, and so is the base of a comparison.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bench_core.accounting.prediction import DECIDES, Word, outcome
from logbook_agent.campaign.recipes.expand import PlannedCase, SweepPlan, compared_groups, describe
from logbook_agent.findings.predictions import short_text
from logbook_agent.model.header import Metric
from logbook_agent.model.values import Scalar, canonical

if TYPE_CHECKING:
    from bench_core.accounting.prediction import Prediction

ChoiceWord = Literal["can win", "control", "no prediction", "cannot win", "same program", "does not fit", "not needed"]
# What the time of a call says of these: the shorter, the better. Of a rate only where all cases do the same work.
_TIME, _RATES = "time_s", ("tflops", "tokens_per_s")
_WORK = (
    *("tokens", "hidden", "mlp_dim", "experts", "topk", "shared_expert_dim", "bench_pass", "distribution", "seed"),
    *("null_route_frac", "null_routing_mode", "capacity_policy", "capacity_factor"),
)
_LEFT_OUT: tuple[ChoiceWord, ...] = ("cannot win", "same program", "does not fit", "not needed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What becomes of a case: `word`, and a clause for the reader. `prediction` is None where none was made."""

    case: PlannedCase
    name: str
    word: ChoiceWord
    why: str
    prediction: Prediction | None = None

    @property
    def runs(self) -> bool:
        """Whether the case is run."""
        return self.word not in _LEFT_OUT

    @property
    def text(self) -> str:
        """`ep_impl=ring topk=2: cannot win: predicted 22.0 ms (...), ...`."""
        predicted = f"predicted {short_text(self.prediction)}" if self.prediction is not None else ""
        return f"{self.name}: {'; '.join(part for part in (self.word, predicted, self.why) if part)}"


def choices(plan: SweepPlan, predictions: Mapping[str, Prediction | None], metric: Metric | None) -> tuple[Choice, ...]:
    """What becomes of each case of a plan, in its order; `predictions` by the key of the case, `metric` says which case
    is the best."""
    found: dict[str, Choice] = {}
    why_all = _why_none_is_judged(plan, metric)
    for group in compared_groups(plan):
        cases = [plan.cases[index] for index in group]
        said = {case.key: predictions.get(case.key) for case in cases}
        why = why_all or (why_not_ranked([plan.config(case) for case in cases], metric) if metric is not None else "")
        for choice in _of_group(plan, cases, said, why):
            found[choice.case.key] = choice
    return tuple(_with_kept_controls(plan, found)[case.key] for case in plan.cases)


def _why_none_is_judged(plan: SweepPlan, metric: Metric | None) -> str:
    """Why no case of a plan can lose; empty where one can."""
    recipe = plan.recipe
    if recipe.compare is None and not recipe.controls and not recipe.confirm:
        return "the recipe compares nothing and chooses no best case"
    if metric is None:
        return "neither the recipe nor the logbook names a metric to win by"
    return why_not_ranked((), metric)


def why_not_ranked(configs: Sequence[Mapping[str, Scalar]], metric: Metric) -> str:
    """Why the predicted times of cases with these configs do not rank them by a metric; empty where they do."""
    if metric.name == _TIME:
        return ""
    if metric.name not in _RATES:
        return f"a predicted time says nothing of {metric.name}"
    differs = [key for key in _WORK if len({canonical(config.get(key)) for config in configs}) > 1]
    if not differs:
        return ""
    return (
        f"cases that differ in {' and '.join(differs)} do different work, so a time does not rank them by {metric.name}"
    )


def _of_group(
    plan: SweepPlan, cases: Sequence[PlannedCase], said: Mapping[str, Prediction | None], why: str
) -> Iterator[Choice]:
    """The choices of cases that are compared with each other; with `why` none of them can lose."""
    fitting = {key: found for key, found in said.items() if found is not None and _misfit(found) is None}
    # A base or a control stands for its program, whichever case comes first.
    ordered = sorted(cases, key=lambda case: not (_is_base(plan, case) or case.is_control))
    firsts: list[PlannedCase] = []
    for case in ordered:
        found, name = said[case.key], describe(plan, case)
        if found is None or found.estimate is None or case.key not in fitting:
            yield _without_time(case, name, found)
            continue
        same = next((c for c in firsts if outcome(fitting[c.key], found).word == Word.SAME_PROGRAM), None)
        if same is not None and not case.is_control:
            other = f"it compiles to the operations of {describe(plan, same)}"
            yield Choice(case=case, name=name, word="same program", why=other, prediction=found)
            continue
        firsts.append(case)
        if case.is_control or _is_base(plan, case):
            yield Choice(case=case, name=name, word="control", why="others are held against it", prediction=found)
        elif why:
            yield Choice(case=case, name=name, word="can win", why=why, prediction=found)
        else:
            rivals = [c for c in cases if c is not case and not c.is_control and c.key in fitting]
            yield _judged(plan, case, found, {describe(plan, c): fitting[c.key] for c in rivals})


def _misfit(found: Prediction) -> str | None:
    """What its memory does not fit into."""
    if found.fits is False:
        return "HBM"
    return "VMEM" if found.vmem == "does not fit" else None


def _without_time(case: PlannedCase, name: str, found: Prediction | None) -> Choice:
    if found is not None and (memory := _misfit(found)) is not None:
        return Choice(case=case, name=name, word="does not fit", why=f"into {memory}", prediction=found)
    why = "nothing was predicted" if found is None else ""
    return Choice(case=case, name=name, word="no prediction", why=why, prediction=found)


def _judged(plan: SweepPlan, case: PlannedCase, own: Prediction, rivals: Mapping[str, Prediction]) -> Choice:
    """A case with an estimate, among those that it is compared with, by their names."""
    name = describe(plan, case)
    lost = [(found.ratio, rival) for rival, said in rivals.items() if (found := outcome(said, own)).word == Word.LOSES]
    if not lost:
        return Choice(case=case, name=name, word="can win", why="", prediction=own)
    ratio, best = min((ratio or 1.0, rival) for ratio, rival in lost)
    why = f"{1 / ratio:.2f} times as long as {best}, and from {DECIDES:g} on a direction is claimed"
    return Choice(case=case, name=name, word="cannot win", why=why, prediction=own)


def _is_base(plan: SweepPlan, case: PlannedCase) -> bool:
    compare = plan.recipe.compare
    return compare is not None and canonical(plan.config(case).get(compare.axis)) == canonical(compare.base)


def _with_kept_controls(plan: SweepPlan, found: Mapping[str, Choice]) -> Mapping[str, Choice]:
    """The same, where a control or a base is left out once no case is left that it is there for."""
    kept = dict(found)
    for group in compared_groups(plan):
        cases = [plan.cases[index] for index in group]
        others = [c for c in cases if kept[c.key].word != "control" and kept[c.key].runs]
        for case in cases:
            choice = kept[case.key]
            if choice.word != "control":
                continue
            needed = others if _is_base(plan, case) else [c for c in others if case.key in c.controls]
            controlling = [c for c in plan.cases if case.key in c.controls and kept[c.key].runs]
            if not needed and not controlling and len(cases) > 1:
                why = "no case is left that would be held against it"
                kept[case.key] = dataclasses.replace(choice, word="not needed", why=why)
    return kept
