"""Verdicts on runs made up by hand."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.findings.evidence.verdict import Basis, Verdict, judge

# Ten runs that scatter by about 1%, with a median of 1.
NOISE = [0.987, 0.991, 0.994, 0.997, 0.999, 1.001, 1.003, 1.006, 1.009, 1.013]
SHUFFLED = [NOISE[i] for i in (3, 8, 1, 6, 0, 9, 4, 2, 7, 5)]
positive = st.lists(st.lists(st.floats(0.9, 1.1), min_size=1, max_size=3), min_size=1, max_size=12)


def runs(values: list[float], scale: float = 1.0) -> list[list[float]]:
    return [[v * scale] for v in values]


def turns(pairs: int) -> list[bool]:
    """AB BA AB ..."""
    return [bool(i % 2) for i in range(pairs)]


def test_a_clear_effect_has_a_verdict_by_direction() -> None:
    base, other = runs(NOISE), runs(SHUFFLED, 1.05)
    up = judge(base, other, direction="max")
    assert up.verdict is Verdict.BENEFICIAL
    assert up.reasons == ("+5.00%, 95% interval +3.91% to +6.11%, p = 1.1e-05, 10 and 10 runs",)
    assert judge(base, other, direction="min").verdict is Verdict.REGRESSIVE
    assert judge(other, base, direction="min").verdict is Verdict.BENEFICIAL
    paired = judge(base, other, direction="max", other_first=turns(10))
    assert paired.verdict is Verdict.BENEFICIAL
    assert paired.effect is not None
    assert paired.effect.p_value == 2 / 2**10


def test_steady_values_are_neutral_and_a_small_effect_too() -> None:
    tight = [1 + (v - 1) / 20 for v in NOISE]
    assert judge(runs(tight), runs(tight), direction="max").verdict is Verdict.NEUTRAL
    small = judge(runs(tight), runs(tight, 1.004), direction="max")
    assert small.verdict is Verdict.NEUTRAL
    assert small.reasons[0] == "the whole interval lies within the minimum effect of 1%"
    assert judge(runs(tight), runs(tight, 1.004), direction="max", minimum_effect=0.003).verdict is Verdict.BENEFICIAL


def test_noise_is_inconclusive_and_says_what_is_open() -> None:
    wide = [1 + 5 * (v - 1) for v in NOISE]
    judgement = judge(runs(wide), runs(wide[::-1]), direction="max")
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert judgement.reasons[0] == "no difference is shown, but one of the minimum effect (1%) is not ruled out"
    near = judge(runs(NOISE), runs(NOISE, 1.009), direction="max", other_first=turns(10), minimum_effect=0.01)
    assert near.verdict is Verdict.NEUTRAL
    tilted = [v * (1 + 0.002 * (i % 5)) for i, v in enumerate(NOISE)]
    near = judge(runs(NOISE), runs(tilted, 1.004), direction="max", other_first=turns(10))
    assert near.reasons[0] == "there is a difference; whether it reaches the minimum effect of 1% is open"


def test_an_effect_of_exactly_the_minimum_counts() -> None:
    # A metric without noise, such as bytes.
    assert judge(runs([100.0] * 4), runs([101.0] * 4), direction="max").verdict is Verdict.BENEFICIAL
    assert judge(runs([101.0] * 4), runs([100.0] * 4), direction="min").verdict is Verdict.BENEFICIAL
    assert judge(runs([200.0] * 4), runs([200.0] * 4), direction="min").verdict is Verdict.NEUTRAL
    # 99.5 and 100.5 are printed as 100, too.
    assert judge(runs([100.0] * 4), runs([100.0] * 4), direction="min").verdict is Verdict.INCONCLUSIVE
    assert judge(runs([700.0] * 6), runs([700.0] * 6), direction="min", other_first=turns(6)).verdict is Verdict.NEUTRAL
    # What was counted in whole numbers may have been rounded to them: 7 rules out no 1%.
    same = judge(runs([7.0] * 6), runs([7.0] * 6), direction="min", other_first=turns(6))
    assert same.verdict is Verdict.INCONCLUSIVE
    assert judge(runs([7.0] * 4), runs([7.0] * 4), direction="min", minimum_effect=0.2).verdict is Verdict.NEUTRAL


def test_one_run_is_within_its_process_whatever_its_samples_say() -> None:
    judgement = judge([NOISE], [[2 * v for v in NOISE]], direction="max")
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert judgement.reasons == (
        "one run on a side: samples of one process are no repeats (within-process)",
        "3 more runs per side are needed before an effect can be told from chance",
    )
    effect = judgement.effect
    assert effect is not None
    assert (effect.basis, effect.missing_runs, effect.p_value) == (Basis.WITHIN_PROCESS, 3, None)
    assert effect.interval is not None
    few = judge([NOISE[:3]], [NOISE[:3]], direction="max").effect
    assert few is not None
    assert few.interval is None, "of three samples none holds the truth in 95%"
    assert effect.interval.low < 2 < effect.interval.high
    alone = judge([[1.0]], [[2.0]], direction="max").effect
    assert alone is not None
    assert alone.interval is None
    # Two runs against many: of two the interval is too narrow, however many the other side has.
    for few_runs, missing, said in (
        ([2.0], 2, "2 more runs per side are"),
        ([2.0, 2.01], 1, "1 more run per side is"),
    ):
        many = judge(runs([1.0 + i / 1000 for i in range(60)]), runs(few_runs), direction="max")
        assert many.verdict is Verdict.INCONCLUSIVE
        assert many.effect is not None
        assert many.effect.missing_runs == missing
        assert many.reasons[-1] == f"{said} needed before an effect can be told from chance"


@pytest.mark.parametrize(("paired", "enough_runs"), [(False, 4), (True, 6)])
def test_below_the_minimum_no_effect_is_large_enough(paired: bool, enough_runs: int) -> None:
    for count in range(1, enough_runs):
        order = turns(count) if paired else None
        judgement = judge(runs(NOISE[:count]), runs(NOISE[:count], 100), direction="max", other_first=order)
        assert judgement.verdict is Verdict.INCONCLUSIVE
        assert judgement.effect is not None
        assert judgement.effect.missing_runs == enough_runs - count
        # Of 2, 3 and 4 pairs the widest interval there is holds the truth in 50%, 75% and 88%.
        assert judgement.effect.interval is None
    order = turns(enough_runs) if paired else None
    judgement = judge(runs(NOISE[:enough_runs]), runs(NOISE[:enough_runs], 100), direction="max", other_first=order)
    assert judgement.verdict is Verdict.BENEFICIAL
    assert judgement.effect is not None
    assert judgement.effect.interval is not None


def test_without_a_direction_nothing_is_better() -> None:
    judgement = judge(runs(NOISE), runs(NOISE, 2), direction=None)
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert judgement.reasons == ("the metric has no direction: which way is better is not stated",)
    assert judgement.effect is not None
    assert judgement.effect.ratio == pytest.approx(2)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ([[1.0], [0.0]], "other run 2 is 0: a ratio needs values above zero"),
        ([[-2.5], [1.0]], "other run 1 is -2.5: a ratio needs values above zero"),
        ([[1.0], [1.0, math.nan]], "other run 2 has a sample that is not a number (NaN)"),
        ([[math.inf]], "other run 1 is infinite"),
        ([[1.0], [1e-200]], "other run 2 is 1e-200: ratios are taken from 1e-150 to 1e+150"),
        ([[1.0], []], "other run 2 has no samples"),
        ([], "other has no runs"),
    ],
)
def test_values_without_a_ratio_are_named(other: list[list[float]], reason: str) -> None:
    judgement = judge(runs(NOISE), other, direction="max")
    assert (judgement.verdict, judgement.effect) == (Verdict.INCONCLUSIVE, None)
    assert judgement.reasons == (reason,)
    assert judge(other, runs(NOISE), direction="max").reasons == (reason.replace("other", "base", 1),)


def test_a_minimum_effect_that_is_none_is_refused() -> None:
    for wrong in (-0.01, 1.0, math.nan):
        with pytest.raises(ValueError, match="fraction"):
            judge(runs(NOISE), runs(NOISE), direction="max", minimum_effect=wrong)


def test_pairs_see_through_a_drift_and_report_the_order() -> None:
    # Each run takes 2% more than the one before it; B is 5% slower. AB BA AB ...
    drift = [1.02**i for i in range(20)]
    a = [drift[2 * i + i % 2] for i in range(10)]
    b = [1.05 * drift[2 * i + 1 - i % 2] for i in range(10)]
    paired = judge(runs(a), runs(b), direction="min", other_first=turns(10))
    assert paired.verdict is Verdict.REGRESSIVE
    assert paired.effect is not None
    assert paired.effect.ratio == pytest.approx(1.05)
    assert paired.effect.order_effect == pytest.approx(0.02)
    assert (
        paired.reasons[-1]
        == "the later run of a pair comes out +2.00% against the earlier; the changing order cancels this"
    )
    assert judge(runs(a), runs(b), direction="min").verdict is Verdict.INCONCLUSIVE


def test_pairs_are_whole() -> None:
    """What has no partner is left out before (`compared`), never guessed at."""
    for base, other, first in ((10, 7, 7), (7, 10, 7), (10, 10, 9)):
        with pytest.raises(ValueError, match="zip"):
            judge(runs(NOISE[:base]), runs(SHUFFLED[:other]), direction="max", other_first=turns(first))


def test_the_ratio_of_pairs_is_the_pseudomedian_of_their_ratios() -> None:
    """Not the median: of four pairs and one far off, the means of all pairs of them count."""
    ratios = [1.0, 1.02, 1.04, 1.5]
    effect = judge(runs([1.0] * 4), runs(ratios), direction="max", other_first=turns(4)).effect
    assert effect is not None
    logs = [math.log(ratio) for ratio in ratios]
    means = sorted((a + b) / 2 for at, a in enumerate(logs) for b in logs[at:])
    assert effect.ratio == pytest.approx(math.exp((means[4] + means[5]) / 2))


@pytest.mark.parametrize("paired", [True, False])
def test_the_more_looks_the_clearer_a_result_has_to_be(paired: bool) -> None:
    order = turns(10) if paired else None
    ratios = [1 + 0.004 * i for i in range(-2, 8)]
    once, often = (judge(runs([1.0] * 10), runs(ratios), direction="max", other_first=order, looks=n) for n in (1, 7))
    assert once.effect is not None
    assert often.effect is not None
    assert once.effect.interval is not None
    assert often.effect.interval is not None
    assert (once.effect.alpha, once.effect.interval.level) == (0.05, 0.95)
    assert (often.effect.alpha, often.effect.interval.level) == (0.013, 1 - 0.013)
    assert often.effect.interval.low < once.effect.interval.low
    assert often.effect.p_value == once.effect.p_value
    # Of six pairs no result is as clear as seven looks need it: 2 / 2 ** 6 = 3%, 2 / 2 ** 8 = 0.8%.
    few = judge(runs([1.0] * 6), runs([2.0] * 6), direction="max", other_first=turns(6), looks=7)
    assert few.verdict is Verdict.INCONCLUSIVE
    assert few.reasons == ("2 more pairs are needed before an effect can be told from chance",)


def test_looks_change_a_verdict_that_is_just_clear_enough() -> None:
    base, other = runs([1.0] * 8), runs([0.999, 0.998, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08])
    assert judge(base, other, direction="max", other_first=turns(8)).verdict is Verdict.BENEFICIAL
    again = judge(base, other, direction="max", other_first=turns(8), looks=7)
    assert again.verdict is Verdict.INCONCLUSIVE
    assert again.effect is not None
    assert again.effect.p_value is not None
    assert 0.013 < again.effect.p_value <= 0.05
    assert judge(base, other, direction="max", other_first=turns(8), alpha=0.013) == again


def test_a_small_p_value_alone_claims_nothing() -> None:
    """Runs apart in their ranks, whose medians may still be the same."""
    base = [1.0, 1.0, 1.0, 1.0, 1.0, 1.02, 1.02, 1.02, 1.02, 1.02]
    other = [1.001, 1.001, 1.001, 1.001, 1.021, 1.021, 1.021, 1.021, 1.021, 1.021]
    judgement = judge(runs(base), runs(other), direction="max")
    assert judgement.effect is not None
    assert judgement.effect.p_value is not None
    assert judgement.effect.interval is not None
    assert judgement.effect.p_value < 0.05
    assert judgement.effect.interval.low < 1 < judgement.effect.interval.high
    assert judgement.effect.ratio > 1.01
    assert judgement.verdict is Verdict.INCONCLUSIVE


@given(
    positive,
    positive,
    st.booleans(),
    st.lists(st.booleans(), min_size=12, max_size=12),
    st.sampled_from([1.0, 1.01, 1.2]),
)
def test_swapping_the_sides_swaps_the_verdict(
    base: list[list[float]], other: list[list[float]], paired: bool, first: list[bool], scale: float
) -> None:
    swapped = {Verdict.BENEFICIAL: Verdict.REGRESSIVE, Verdict.REGRESSIVE: Verdict.BENEFICIAL}
    other = [[scale * x for x in run] for run in other]
    pairs = min(len(base), len(other))
    if paired:
        base, other = base[:pairs], other[:pairs]
    order, turned = (first[:pairs], [not x for x in first[:pairs]]) if paired else (None, None)
    there = judge(base, other, direction="max", other_first=order)
    back = judge(other, base, direction="max", other_first=turned)
    assert back.verdict == swapped.get(there.verdict, there.verdict)
    assert judge(base, other, direction="max", other_first=order) == there
    one, two = there.effect, back.effect
    assert one is not None
    assert two is not None
    assert two.ratio == pytest.approx(1 / one.ratio)
    assert (two.p_value, two.missing_runs) == (one.p_value, one.missing_runs)
    assert two.order_effect == pytest.approx(one.order_effect)
    if one.interval is None or two.interval is None:
        assert one.interval is two.interval
    else:
        assert (two.interval.low, two.interval.high) == pytest.approx((1 / one.interval.high, 1 / one.interval.low))


@pytest.mark.slow
def test_ten_thousand_rows_are_judged_in_time() -> None:
    cases = [runs([v * (1 + 1e-4 * i) for v in SHUFFLED]) for i in range(1000)]
    began = time.process_time()
    for case in cases:
        judge(runs(NOISE), case, direction="max")
    assert time.process_time() - began < 2
