"""Which of two sides is better, or why that cannot be said.

A verdict is given for a minimum practical effect m, on the ratio of the sides:

    beneficial,   the test says that the sides differ (p <= alpha), the interval of the ratio does not hold 1,
    regressive    and the measured effect is at least m, the better or the worse way
    neutral       the whole interval lies within m of 1, even when the values were rounded the worst way
    inconclusive  anything else: too few runs, too much noise, no direction, values without a ratio

Evidence are runs: processes that were started apart. Pairs are tested by Wilcoxon's signed ranks, and their interval
holds each ratio which that test would not reject; unpaired runs by Mann-Whitney, with a bootstrap over runs. An
interval is given from as many runs on as the test needs: of fewer none holds the truth as often as its level says.
Alpha is 5% for a result that is looked at once, and less for one that is looked at on the way. Effects are measured in
logarithms, so that swapping the sides swaps the verdict. `benchmarks/calibration.py` says how often it errs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from logbook_agent.findings.evidence.coarse import step_of
from logbook_agent.model.stats import median
from logbook_agent.model.stats.bootstrap import interval_of_ratio
from logbook_agent.model.stats.pseudomedian import interval_of_pseudomedian, pseudomedian
from logbook_agent.model.stats.ranks import mann_whitney, missing_paired, missing_unpaired, signed_rank
from logbook_agent.model.stats.sequential import ALPHA, threshold
from logbook_agent.model.units import Direction

# One inner sequence of samples per run; the value of a run is the median of its samples.
Runs = Sequence[Sequence[float]]

# Of a side with two runs the interval of the ratio is too narrow, however many the other side has: at 95% it holds the
# truth in 85% when that has twenty.
FEWEST_RUNS = 3
# Ratios that differ by less than rounding does are the same: 101 / 100 reaches an effect of 1%.
ROUNDING = 1e-12
# Steps that are so much smaller than the effect decide nothing.
_FINE = 0.001
# Within these a ratio of two values is a number, and so is their sum.
SMALLEST, LARGEST = 1e-150, 1e150


class Verdict(StrEnum):
    BENEFICIAL = "beneficial"
    NEUTRAL = "neutral"
    REGRESSIVE = "regressive"
    INCONCLUSIVE = "inconclusive"


CLAIMS = (Verdict.BENEFICIAL, Verdict.REGRESSIVE)


class Basis(StrEnum):
    """What an interval was taken over; only one between runs is evidence."""

    BETWEEN_RUNS = "between-runs"
    WITHIN_PROCESS = "within-process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Of a ratio; `level` is its nominal coverage: 0.95 for a result that is looked at once."""

    low: float
    high: float
    level: float

    @property
    def width(self) -> float:
        return self.high - self.low


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How two sides compare.

    `ratio` is other / base of the medians of runs; of pairs it is the pseudomedian of their ratios, in which a drift of
    the machine cancels. `missing_runs` is how many more runs per side are needed before a verdict may be given (0:
    enough); until then there is no `interval`. `alpha` is what the p-value is held against. `order_effect` of pairs
    says by how much the later run of a pair comes out higher (0.02: 2%).
    """

    ratio: float
    interval: Interval | None
    p_value: float | None
    base_runs: int
    other_runs: int
    basis: Basis
    missing_runs: int
    alpha: float = ALPHA
    order_effect: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """`tests` is the number of those that were corrected together with this one, `alone` the verdict if it were the
    only one."""

    verdict: Verdict
    effect: Effect | None
    reasons: tuple[str, ...]
    tests: int = 1
    alone: Verdict | None = None


def judge(
    base: Runs,
    other: Runs,
    *,
    direction: Direction | None,
    minimum_effect: float = 0.01,
    other_first: Sequence[bool] | None = None,
    looks: int = 1,
    alpha: float | None = None,
) -> Judgement:
    """The verdict on `other` against `base`, with its reasons.

    `other_first` says of each pair which side ran first: run i of both sides belongs together; None: no pairs.
    `minimum_effect` is a fraction: 0.01 for 1%. `looks`: how often the result is looked at before all runs are made,
    the end included; `alpha` instead states the p-value that a claim needs. ValueError for an effect that is not from
    0 up to 1, and for pairs of which one side is missing.
    """
    if not 0 <= minimum_effect < 1:
        raise ValueError(f"a minimum effect is a fraction from 0 up to 1, not {minimum_effect}")
    found = [*problems("base", base), *problems("other", other)]
    if found:
        return Judgement(verdict=Verdict.INCONCLUSIVE, effect=None, reasons=tuple(found))
    level = threshold(looks) if alpha is None else alpha
    effect = measure(base, other, other_first=other_first, alpha=level)
    verdict, reasons = _decide(effect, direction, minimum_effect, paired=other_first is not None)
    if verdict is Verdict.NEUTRAL and effect.interval is not None:
        samples = [sample for run in (*base, *other) for sample in run]
        step = step_of(samples)
        if step > _FINE * minimum_effect and _within(effect.interval) + _rounded_apart(step) > math.log1p(
            minimum_effect
        ):
            verdict, reasons[0] = Verdict.INCONCLUSIVE, _too_coarse(step, samples, minimum_effect)
    if effect.order_effect is not None and _order_matters(base, other, other_first or ()):
        reasons.append(
            f"the later run of a pair comes out {effect.order_effect:+.2%} against the earlier; "
            "the changing order cancels this"
        )
    return Judgement(verdict=verdict, effect=effect, reasons=tuple(reasons))


def _rounded_apart(step: float) -> float:
    """How far values of both sides may have been rounded apart, as a logarithm: by half a step each."""
    return math.inf if step >= 2 else 2 * math.atanh(step / 2)


def _too_coarse(step: float, samples: Sequence[float], minimum: float) -> str:
    steps = f"values come in steps of {100 * step:.3g}% of their size" if step < math.inf else "all values are the same"
    # Of a count there are no more digits.
    counted = all(float(sample).is_integer() for sample in samples)
    more = "measure for longer" if counted else "print more digits, or measure for longer"
    return f"{steps}: too coarse to rule out an effect of {percent(minimum)}; {more}"


def measure(base: Runs, other: Runs, *, other_first: Sequence[bool] | None = None, alpha: float = ALPHA) -> Effect:
    """Ratio, interval and test of two sides without `problems`; as many runs of each, and of `other_first`, when
    paired."""
    first, last = [median(run) for run in base], [median(run) for run in other]
    ratio, order, p_value = median(last) / median(first), None, None
    bounds: tuple[float, float] | None = None
    basis = Basis.WITHIN_PROCESS if min(len(base), len(other)) < 2 else Basis.BETWEEN_RUNS
    missing = _missing(len(base), len(other), paired=other_first is not None, alpha=alpha)
    if basis is Basis.WITHIN_PROCESS:
        enough = len(base) == len(other) and not _missing(len(base[0]), len(other[0]), paired=False, alpha=alpha)
        if enough and all(_in_range(x) for x in (*base[0], *other[0])):
            bounds = interval_of_ratio(base[0], other[0], 1 - alpha)
    elif other_first is not None:
        logs = _pair_logs(first, last)
        ratio, p_value, order = math.exp(pseudomedian(logs)), signed_rank(logs), _order_effect(logs, other_first)
        if not missing:
            low, high = interval_of_pseudomedian(logs, 1 - alpha)
            bounds = math.exp(low), math.exp(high)
    else:
        p_value = mann_whitney(first, last)
        bounds = interval_of_ratio(first, last, 1 - alpha) if not missing else None
    return Effect(
        ratio=ratio,
        interval=Interval(low=bounds[0], high=bounds[1], level=1 - alpha) if bounds else None,
        p_value=p_value,
        base_runs=len(base),
        other_runs=len(other),
        basis=basis,
        missing_runs=missing,
        alpha=alpha,
        order_effect=order,
    )


def _pair_logs(base: Sequence[float], other: Sequence[float]) -> list[float]:
    """The logarithm of other / base of each pair."""
    return [math.log(b) - math.log(a) for a, b in zip(base, other, strict=True)]


def _parts(logs: Sequence[float], other_first: Sequence[bool]) -> tuple[list[float], list[float]]:
    """Those of pairs in which the base ran first, and the others."""
    parts: tuple[list[float], list[float]] = ([], [])
    for log, other in zip(logs, other_first, strict=True):
        parts[other].append(log)
    return parts


def _order_effect(logs: Sequence[float], other_first: Sequence[bool]) -> float | None:
    # The effect stands in all pairs alike, that of the order with one sign in AB and the other in BA.
    base_first, turned = _parts(logs, other_first)
    return math.expm1((median(base_first) - median(turned)) / 2) if base_first and turned else None


def _order_matters(base: Runs, other: Runs, other_first: Sequence[bool]) -> bool:
    """Whether AB and BA differ by more than chance."""
    first, last = [median(run) for run in base], [median(run) for run in other]
    return mann_whitney(*_parts(_pair_logs(first, last), other_first)) <= ALPHA


def _missing(base_runs: int, other_runs: int, *, paired: bool, alpha: float) -> int:
    missing = missing_paired(base_runs, alpha) if paired else missing_unpaired(base_runs, other_runs, alpha)
    return max(missing, FEWEST_RUNS - min(base_runs, other_runs))


def _decide(effect: Effect, direction: Direction | None, minimum: float, *, paired: bool) -> tuple[Verdict, list[str]]:
    """The rule of the module's docstring."""
    if direction is None:
        return Verdict.INCONCLUSIVE, ["the metric has no direction: which way is better is not stated"]
    if effect.interval is None or effect.p_value is None or effect.missing_runs:
        missing, per_side = effect.missing_runs, "" if paired else " per side"
        more = f"{missing} more {'pair' if paired else 'run'}{'s' * (missing > 1)}{per_side}"
        reasons = [f"{more} {'are' if missing > 1 else 'is'} needed before an effect can be told from chance"]
        if effect.basis is Basis.WITHIN_PROCESS:
            reasons.insert(0, "one run on a side: samples of one process are no repeats (within-process)")
        return Verdict.INCONCLUSIVE, reasons
    measured, bound = math.log(effect.ratio), math.log1p(minimum)
    low, high = math.log(effect.interval.low), math.log(effect.interval.high)
    facts = _facts(effect, effect.interval, paired=paired)
    differs = effect.p_value <= effect.alpha and (low > 0 or high < 0)
    if differs and abs(measured) >= bound - ROUNDING:
        better = (measured > 0) == (direction == "max")
        return (Verdict.BENEFICIAL if better else Verdict.REGRESSIVE), [facts]
    if _within(effect.interval) <= bound + ROUNDING:
        return Verdict.NEUTRAL, [f"the whole interval lies within the minimum effect of {percent(minimum)}", facts]
    if differs:
        doubt = f"there is a difference; whether it reaches the minimum effect of {percent(minimum)} is open"
    else:
        doubt = f"no difference is shown, but one of the minimum effect ({percent(minimum)}) is not ruled out"
    return Verdict.INCONCLUSIVE, [doubt, facts]


def _within(interval: Interval) -> float:
    """How far the interval reaches from 1, as a logarithm."""
    return max(-math.log(interval.low), math.log(interval.high))


def _facts(effect: Effect, interval: Interval, *, paired: bool) -> str:
    """The numbers behind a verdict in one line."""
    runs = f"{effect.base_runs} pairs" if paired else f"{effect.base_runs} and {effect.other_runs} runs"
    return (
        f"{effect.ratio - 1:+.2%}, {percent(interval.level)} interval {interval.low - 1:+.2%} to "
        f"{interval.high - 1:+.2%}, p = {effect.p_value:.2g}, {runs}"
    )


def percent(part: float) -> str:
    """`1%`, `0.5%`, `99.95%`."""
    return f"{100 * part:.6g}%"


def _in_range(value: float) -> bool:
    return SMALLEST <= value <= LARGEST


def problems(side: str, runs: Runs) -> list[str]:
    """Why no ratio can be taken of a side."""
    if not runs:
        return [f"{side} has no runs"]
    found: list[str] = []
    for number, run in enumerate(runs, start=1):
        value = median(run) if run else None
        if value is not None and SMALLEST <= value <= LARGEST:
            continue
        if value is None:
            found.append(f"{side} run {number} has no samples")
        elif math.isnan(value):
            found.append(f"{side} run {number} has a sample that is not a number (NaN)")
        elif math.isinf(value):
            found.append(f"{side} run {number} is infinite")
        elif value <= 0:
            found.append(f"{side} run {number} is {value:g}: a ratio needs values above zero")
        else:
            found.append(f"{side} run {number} is {value:g}: ratios are taken from {SMALLEST:g} to {LARGEST:g}")
    return found
