"""Verdicts and the stopping rule on runs made up by hand."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.findings.evidence.stopping import enough
from logbook_agent.findings.evidence.verdict import Basis, Verdict, judge

# Ten runs that scatter by about 1%, with a median of 1.
NOISE = [0.987, 0.991, 0.994, 0.997, 0.999, 1.001, 1.003, 1.006, 1.009, 1.013]
SHUFFLED = [NOISE[i] for i in (3, 8, 1, 6, 0, 9, 4, 2, 7, 5)]
positive = st.lists(st.lists(st.floats(0.9, 1.1), min_size=1, max_size=3), min_size=1, max_size=12)


def runs(values: list[float], scale: float = 1.0) -> list[list[float]]:
    return [[v * scale] for v in values]


def test_a_clear_effect_has_a_verdict_by_direction() -> None:
    base, other = runs(NOISE), runs(SHUFFLED, 1.05)
    up = judge(base, other, direction="max")
    assert up.verdict is Verdict.BENEFICIAL
    assert up.reasons == ("+5.00%, 95% interval +3.91% to +6.11%, p = 1.1e-05, 10 and 10 runs",)
    assert judge(base, other, direction="min").verdict is Verdict.REGRESSIVE
    assert judge(other, base, direction="min").verdict is Verdict.BENEFICIAL
    paired = judge(base, other, direction="max", paired=True)
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
    assert judgement.reasons[0] == "no difference is shown, and one of 1%, the minimum effect, is not ruled out"
    near = judge(runs(NOISE), runs(NOISE, 1.009), direction="max", paired=True, minimum_effect=0.01)
    assert near.verdict is Verdict.NEUTRAL
    tilted = [v * (1 + 0.002 * (i % 5)) for i, v in enumerate(NOISE)]
    near = judge(runs(NOISE), runs(tilted, 1.004), direction="max", paired=True)
    assert near.reasons[0] == "there is a difference; whether it reaches the minimum effect of 1% is open"


def test_an_effect_of_exactly_the_minimum_counts() -> None:
    # A metric without noise, such as bytes.
    assert judge(runs([100.0] * 4), runs([101.0] * 4), direction="max").verdict is Verdict.BENEFICIAL
    assert judge(runs([101.0] * 4), runs([100.0] * 4), direction="min").verdict is Verdict.BENEFICIAL
    assert judge(runs([100.0] * 4), runs([100.0] * 4), direction="min").verdict is Verdict.NEUTRAL
    assert judge(runs([7.0] * 6), runs([7.0] * 6), direction="min", paired=True).verdict is Verdict.NEUTRAL
    same = judge(runs([7.0] * 4), runs([7.0] * 4), direction="min", minimum_effect=0)
    assert same.verdict is Verdict.NEUTRAL


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
        judgement = judge(runs(NOISE[:count]), runs(NOISE[:count], 100), direction="max", paired=paired)
        assert judgement.verdict is Verdict.INCONCLUSIVE
        assert judgement.effect is not None
        assert judgement.effect.missing_runs == enough_runs - count
        # Of 2, 3 and 4 pairs the widest interval there is holds the truth in 50%, 75% and 88%.
        assert judgement.effect.interval is None
    judgement = judge(runs(NOISE[:enough_runs]), runs(NOISE[:enough_runs], 100), direction="max", paired=paired)
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
    paired = judge(runs(a), runs(b), direction="min", paired=True)
    assert paired.verdict is Verdict.REGRESSIVE
    assert paired.effect is not None
    assert paired.effect.ratio == pytest.approx(1.05)
    assert paired.effect.order_effect == pytest.approx(0.02)
    assert paired.reasons[-1] == "the later run of a pair differs by +2.00%; the alternating order cancels this"
    assert judge(runs(a), runs(b), direction="min").verdict is Verdict.INCONCLUSIVE


def test_a_run_without_a_partner_is_left_out_and_said() -> None:
    judgement = judge(runs(NOISE), runs(SHUFFLED[:7], 1.05), direction="max", paired=True)
    assert judgement.effect is not None
    assert (judgement.effect.base_runs, judgement.effect.other_runs) == (7, 7)
    assert judgement.reasons[-1] == "3 runs without a partner left out"


def test_a_small_p_value_alone_claims_nothing() -> None:
    """Eleven pairs differ one way, nine the other way and by less: the ranks say so, the median may still be 0."""
    logs = [0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, *[-0.001 * i for i in range(1, 10)]]
    judgement = judge(runs([1.0] * 20), runs([math.exp(x) for x in logs]), direction="max", paired=True)
    assert judgement.effect is not None
    assert judgement.effect.p_value is not None
    assert judgement.effect.interval is not None
    assert judgement.effect.p_value < 0.05
    assert judgement.effect.interval.low < 1 < judgement.effect.interval.high
    assert judgement.effect.ratio > 1.01
    assert judgement.verdict is Verdict.INCONCLUSIVE


@given(positive, positive, st.booleans(), st.booleans(), st.sampled_from([1.0, 1.01, 1.2]))
def test_swapping_the_sides_swaps_the_verdict(
    base: list[list[float]], other: list[list[float]], paired: bool, other_first: bool, scale: float
) -> None:
    swapped = {Verdict.BENEFICIAL: Verdict.REGRESSIVE, Verdict.REGRESSIVE: Verdict.BENEFICIAL}
    other = [[scale * x for x in run] for run in other]
    there = judge(base, other, direction="max", paired=paired, other_first=other_first)
    back = judge(other, base, direction="max", paired=paired, other_first=not other_first)
    assert back.verdict == swapped.get(there.verdict, there.verdict)
    assert judge(base, other, direction="max", paired=paired, other_first=other_first) == there
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


def test_stopping_looks_at_whole_blocks_and_at_precision_alone() -> None:
    tight = [1 + (v - 1) / 10 for v in NOISE]
    mixed = [1 + (v - 1) / 10 for v in SHUFFLED]
    for scale in (1.0, 1.1):
        counts = [n for n in range(11) if enough(runs(tight[:n]), runs(mixed[:n], scale), width=0.01)]
        assert counts == [6, 8, 10]
    assert not enough(runs(tight), runs(tight), width=0.01, minimum_pairs=12)
    assert not enough(runs(NOISE), runs(SHUFFLED), width=0.01)
    assert not enough(runs(tight), runs(tight[:8]), width=0.01)
    assert not enough(runs([0.0] * 6), runs([0.0] * 6), width=0.01)
    with pytest.raises(ValueError, match="narrower"):
        enough(runs(NOISE), runs(NOISE), width=0)
