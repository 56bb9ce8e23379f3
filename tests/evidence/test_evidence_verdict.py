"""Verdicts, the stopping rule, winners and confidence on runs made up by hand."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.evidence.confidence import Setting, Trial, confidence
from logbook_agent.evidence.stopping import enough
from logbook_agent.evidence.verdict import Basis, Verdict, judge
from logbook_agent.evidence.winner import winner

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
    assert effect.interval.low < 2 < effect.interval.high
    alone = judge([[1.0]], [[2.0]], direction="max").effect
    assert alone is not None
    assert alone.interval is None
    # One run against many: still no repeat on one side, however many the other has.
    many = judge(runs([1.0 + i / 1000 for i in range(60)]), [[2.0]], direction="max")
    assert many.verdict is Verdict.INCONCLUSIVE
    assert many.effect is not None
    assert many.effect.missing_runs == 1


@pytest.mark.parametrize(("paired", "enough_runs"), [(False, 4), (True, 6)])
def test_below_the_minimum_no_effect_is_large_enough(paired: bool, enough_runs: int) -> None:
    for count in range(1, enough_runs):
        judgement = judge(runs(NOISE[:count]), runs(NOISE[:count], 100), direction="max", paired=paired)
        assert judgement.verdict is Verdict.INCONCLUSIVE
        assert judgement.effect is not None
        assert judgement.effect.missing_runs == enough_runs - count
    judgement = judge(runs(NOISE[:enough_runs]), runs(NOISE[:enough_runs], 100), direction="max", paired=paired)
    assert judgement.verdict is Verdict.BENEFICIAL


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
    assert paired.reasons[-1] == "the later run of a pair comes out +2.00%; the order alternates against that"
    assert judge(runs(a), runs(b), direction="min").verdict is Verdict.INCONCLUSIVE


def test_a_run_without_a_partner_is_left_out_and_said() -> None:
    judgement = judge(runs(NOISE), runs(SHUFFLED[:7], 1.05), direction="max", paired=True)
    assert judgement.effect is not None
    assert (judgement.effect.base_runs, judgement.effect.other_runs) == (7, 7)
    assert judgement.reasons[-1] == "runs without a partner are left out: 3"


@given(positive, positive, st.booleans())
def test_swapping_the_sides_swaps_the_verdict(base: list[list[float]], other: list[list[float]], paired: bool) -> None:
    swapped = {Verdict.BENEFICIAL: Verdict.REGRESSIVE, Verdict.REGRESSIVE: Verdict.BENEFICIAL}
    there = judge(base, other, direction="max", paired=paired)
    back = judge(other, base, direction="max", paired=paired)
    assert back.verdict == swapped.get(there.verdict, there.verdict)
    assert judge(base, other, direction="max", paired=paired) == there


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


def test_the_luckiest_of_equal_cases_is_no_winner() -> None:
    lucky = {f"case {i}": runs(NOISE[i % 3 :: 3]) for i in range(9)}
    for base in ("case 0", None):
        found = winner(lucky, direction="max", base=base)
        assert found.winner is None
        assert found.best is not None
    assert winner({"a": runs(NOISE)}, direction="max").reasons == ("one case has nothing to win against",)
    assert winner(lucky, direction=None).reasons == ("the metric has no direction",)
    with pytest.raises(KeyError):
        winner(lucky, direction="max", base="case 99")


def test_a_winner_beats_the_base_after_the_correction_or_by_fresh_runs() -> None:
    tight = [1 + (v - 1) / 5 for v in NOISE]
    cases = {i: runs(tight, 1.0 if i != 7 else 1.05) for i in range(20)}
    found = winner(cases, direction="max", base=0)
    assert (found.winner, found.best, found.rival, found.confirmed) == (7, 7, 0, False)
    assert found.reasons[0] == "the best of 19 cases against the base, corrected for that choice"
    alone = winner(cases, direction="max")
    assert alone.winner == 7
    assert alone.reasons[0] == "the best case against every other"
    # Four runs per side are enough for one comparison; the best of 19 needs 2 / C(12, 6) <= 0.05 / 19.
    few = {i: c[:4] for i, c in cases.items()}
    found = winner(few, direction="max", base=0)
    assert found.winner is None
    assert found.judgement is not None
    assert found.judgement.effect is not None
    assert found.judgement.effect.missing_runs == 2
    fresh = {0: runs(tight), 7: runs(tight, 1.05)}
    found = winner(few, direction="max", base=0, fresh=fresh, paired=True)
    assert (found.winner, found.confirmed) == (7, True)
    # Fresh runs that do not bear it out stand against whatever the sweep said.
    found = winner(cases, direction="max", base=0, fresh={0: runs(tight), 7: runs(tight[::-1])})
    assert (found.winner, found.best, found.confirmed) == (None, 7, False)


def test_the_base_can_be_best_and_a_case_without_ratio_is_left_out() -> None:
    cases = {"base": runs(NOISE, 2.0), "a": runs(NOISE), "b": [[math.nan]]}
    found = winner(cases, direction="max", base="base")
    assert found.reasons == (
        "no case has a better median than the base",
        "left out: 1 of 3 cases, whose values have no ratio",
    )
    assert found.left_out == ("b",)
    assert winner(cases, direction="min", base="b").reasons[0] == "the base has no values with a ratio"


CPU = Setting(shape="tokens=512", seed="0", device="cpu")
TPU = Setting(shape="tokens=512", seed="0", device="TPU v5e")


@pytest.mark.parametrize(
    ("trials", "expected", "reason"),
    [
        ([], "exploratory", "nothing was run"),
        ([Trial(setting=CPU, runs=[NOISE])], "exploratory", "one run at tokens=512, seed 0, cpu"),
        (
            [Trial(setting=CPU, runs=runs([1.0, 1.004, 0.998]))],
            "replicated",
            "3 runs at tokens=512, seed 0, cpu scatter by 0.31%, within the minimum effect (1.00%)",
        ),
        (
            [Trial(setting=CPU, runs=runs([1.0, 1.1]))],
            "exploratory",
            "2 runs at tokens=512, seed 0, cpu scatter by 6.74%, more than the minimum effect (1.00%)",
        ),
        (
            [Trial(setting=CPU, runs=runs([1.0, 1.1]), floor=0.04)],
            "replicated",
            "2 runs at tokens=512, seed 0, cpu scatter by 6.74%, within 2 noise floors (8.00%)",
        ),
        (
            [Trial(setting=CPU, runs=runs(NOISE), verdict=Verdict.INCONCLUSIVE)],
            "exploratory",
            "10 runs at tokens=512, seed 0, cpu settle no verdict",
        ),
        (
            [Trial(setting=CPU, runs=runs(NOISE), verdict=Verdict.NEUTRAL)],
            "replicated",
            "neutral by 10 runs at tokens=512, seed 0, cpu",
        ),
        (
            [Trial(setting=s, runs=runs(NOISE), verdict=Verdict.BENEFICIAL) for s in (CPU, TPU)],
            "stable",
            "it holds over another device",
        ),
        # The same setting twice, or one that is not known, is no other setting.
        (
            [Trial(setting=s, runs=runs(NOISE), verdict=Verdict.NEUTRAL) for s in (CPU, CPU, Setting())],
            "replicated",
            "neutral by 10 runs at tokens=512, seed 0, cpu",
        ),
        (
            [
                Trial(setting=CPU, runs=runs(NOISE), verdict=Verdict.NEUTRAL),
                Trial(setting=TPU, runs=runs(NOISE), verdict=Verdict.BENEFICIAL),
            ],
            "replicated",
            "the verdict depends on the setting",
        ),
        (
            [Trial(setting=CPU, runs=runs(NOISE), verdict=v) for v in (Verdict.NEUTRAL, Verdict.BENEFICIAL)],
            "exploratory",
            "verdicts on the same setting contradict",
        ),
    ],
)
def test_confidence_follows_from_the_trials(trials: list[Trial], expected: str, reason: str) -> None:
    found = confidence(trials)
    assert (found.confidence, found.reasons[0]) == (expected, reason)
