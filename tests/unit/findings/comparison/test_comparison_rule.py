"""The rule of a comparison: exact for few pairs, within its schedule at every look, and the same however it is put."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from logbook_agent.findings.comparison import rule
from logbook_agent.findings.comparison.answer import Judged, PairSeries
from logbook_agent.findings.comparison.rule import claims_spent, fewest_pairs, judge, looks, same_spent
from tests.breadth import examples

BOUND = math.log(1.01)
MIRRORED = {"more": "less", "less": "more", "same": "same", "open": "open"}


def series(pairs: int, effect: float = 0.0, *, noise: float = 0.02, seed: int = 0, **more: Any) -> PairSeries:
    """Pairs of normal noise with this standard deviation."""
    rng = np.random.default_rng(seed)
    signs = rng.choice((-1, 1), pairs)
    y = rng.normal(0, noise, pairs) + effect * signs
    given = {"entries": (0,) * pairs, **more}
    return PairSeries(y=tuple(y.tolist()), signs=tuple(signs.tolist()), **given)


def alone(one: PairSeries, *, bound: float = BOUND, seed: int = 1) -> Judged:
    [judged] = judge([one], bound=bound, seed=seed)
    return judged


def statistics(y: Sequence[float], orders: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """T of each order, written down once more: the correlation of the signs with y, which is centred, clipped at 2.5
    standard deviations and centred again."""
    z = np.array(y) - np.median(y)
    most = 2.5 * 1.4826 * np.median(np.abs(z))
    z = np.clip(z, -most, most)
    z -= z.mean()
    s = np.array(orders) - np.mean(orders, axis=1, keepdims=True)
    below = np.sqrt((z @ z) * (s * s).sum(axis=1) / len(y))
    return np.divide(s @ z, below, out=np.zeros(len(s)), where=below > 1e-12)


def test_the_first_look_claims_as_enumerating_all_orders_does() -> None:
    orders = list(itertools.product((-1, 1), repeat=8))
    claimed = 0
    for seed in range(60):
        one = series(8, 0.03, seed=seed)
        y = [value for value in one.y if value is not None]
        found = np.abs(statistics(y, [one.signs, *orders]))
        is_claimed = alone(one, bound=0.0).outcome != "open"
        assert is_claimed == (np.mean(found[1:] >= found[0] - 1e-9) <= claims_spent(8)), seed
        claimed += is_claimed
    assert 5 < claimed < 55


@pytest.mark.slow
def test_of_all_orders_of_the_same_measurements_no_more_claim_than_the_schedule_allows() -> None:
    """The two sides are the same code: the same ten pairs would have been measured in any order. An order and its
    negative claim alike, one more and the other less (below): half of all orders are enough."""
    for seed, noise in ((1, 0.02), (2, 0.5)):
        one = series(10, seed=seed, noise=noise)
        orders = itertools.product((1,), *[(-1, 1)] * 9)
        outcomes = [alone(replace(one, signs=order), bound=0.0).outcome for order in orders]
        claims = 2 * (len(outcomes) - outcomes.count("open"))
        assert claims <= claims_spent(10) * 2**10
        # All that is allowed is spent, but for an order and its negative.
        assert claims > claims_spent(10) * 2**10 - 2


@pytest.mark.slow
@pytest.mark.wide
def test_of_all_orders_no_more_say_no_difference_at_the_bound_than_the_schedule_allows() -> None:
    noise = series(10, noise=0.003, seed=3)
    outcomes = []
    for order in itertools.product((-1, 1), repeat=10):
        y = tuple(value + BOUND * sign for value, sign in zip(noise.y, order, strict=True) if value is not None)
        outcomes.append(alone(replace(noise, y=y, signs=order)).outcome)
    assert 0 < outcomes.count("same") <= same_spent(10) * len(outcomes)
    assert outcomes.count("less") <= claims_spent(10) * len(outcomes) / 2


FINITE = st.floats(-0.2, 0.2)
VALUES = st.one_of(st.none(), FINITE, st.sampled_from((0.0, 0.01, -0.01, 0.1)))


@st.composite
def families(draw: st.DrawFn) -> list[PairSeries]:
    """One to three series of up to 30 pairs in up to three entries, with missing values, ties and steps."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        pairs = draw(st.integers(0, 30))
        of_pairs = {"min_size": pairs, "max_size": pairs}
        found.append(
            PairSeries(
                y=tuple(draw(st.lists(VALUES, **of_pairs))),
                signs=tuple(draw(st.lists(st.sampled_from((-1, 1)), **of_pairs))),
                entries=tuple(sorted(draw(st.lists(st.integers(0, 2), **of_pairs)))),
                draws=draw(st.integers(0, 2)),
                steps=(draw(st.sampled_from((0.0, 0.002, 0.05))),),
            )
        )
    return found


@examples(200)
@given(family=families(), seed=st.integers(0, 3))
@pytest.mark.slow
def test_what_is_struck_never_exceeds_the_schedule_and_the_interval_fits_the_outcome(
    family: list[PairSeries], seed: int
) -> None:
    checked: list[int] = []
    strike = rule._strike

    def watched(of: Any, struck: Any, spent: float) -> tuple[float, float]:
        before = int(struck.sum())
        found = strike(of, struck, spent)
        assert struck.sum() <= spent * len(struck) + 1e-6
        # What was struck stays so, and nothing of what is left reaches what was struck now.
        assert struck.sum() >= before
        assert found[1] < found[0]
        checked.append(len(struck))
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rule, "_strike", watched)
        judged = judge(family, bound=BOUND, seed=seed)
    reached = len(looks(max(len(s.y) for s in family)))
    assert bool(checked) == bool(reached)
    for s, j in zip(family, judged, strict=True):
        assert j.pairs <= sum(y is not None for y in s.y)
        if j.outcome in ("more", "less"):
            assert j.estimate is not None
            assert abs(j.estimate) >= BOUND
            assert abs(j.estimate) > s.step(len(s.y))
        if j.outcome != "open":
            assert j.low is not None
            assert j.high is not None
        if j.low is not None and j.high is not None:
            least, most = {"more": (0.0, math.inf), "less": (-math.inf, 0.0), "same": (-BOUND, BOUND)}.get(
                j.outcome, (-math.inf, math.inf)
            )
            assert least <= j.low <= j.high <= most


def mirrored(one: PairSeries) -> PairSeries:
    return replace(one, signs=tuple(-sign for sign in one.signs))


def shifted(one: PairSeries) -> PairSeries:
    """The later run of a pair takes 5% longer, in the second entry 20%."""
    more = [0.2 if entry else 0.05 for entry in one.entries]
    return replace(one, y=tuple(y if y is None else y + m for y, m in zip(one.y, more, strict=True)))


def renamed(one: PairSeries) -> PairSeries:
    return replace(one, entries=tuple({0: 7, 1: 3}[entry] for entry in one.entries))


def close(a: float | None, b: float | None) -> bool:
    return a == b if a is None or b is None else math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)


CASES = [
    series(pairs, effect, noise=noise, seed=seed, entries=(0,) * (pairs // 2) + (1,) * (pairs - pairs // 2))
    for seed, (pairs, effect, noise) in enumerate(
        itertools.product((8, 12, 20, 38), (0.0, 0.01, -0.03), (0.002, 0.01, 0.05))
    )
]


@pytest.mark.parametrize("change", [shifted, renamed])
def test_an_order_effect_and_the_names_of_entries_change_nothing(change: Callable[[PairSeries], PairSeries]) -> None:
    for one in CASES:
        before, after = alone(one), alone(change(one))
        assert (before.outcome, before.pairs) == (after.outcome, after.pairs)
        assert close(before.estimate, after.estimate)
        assert close(before.low, after.low)
        assert close(before.high, after.high)


def test_base_and_side_swapped_give_the_mirrored_answer() -> None:
    for one in CASES:
        before, after = alone(one), alone(mirrored(one))
        assert (MIRRORED[before.outcome], before.pairs) == (after.outcome, after.pairs)
        assert close(before.estimate, None if after.estimate is None else -after.estimate)
        assert close(before.low, None if after.high is None else -after.high)
        assert close(before.high, None if after.low is None else -after.low)
    assert {alone(one).outcome for one in (*CASES, *map(mirrored, CASES))} == set(MIRRORED)


def test_a_settled_series_stays_whatever_follows() -> None:
    for seed in range(20):
        long = series(60, 0.03, seed=seed)
        first = alone(long)
        assert first.outcome == "more"
        cut = replace(long, y=long.y[: first.pairs], signs=long.signs[: first.pairs], entries=(0,) * first.pairs)
        assert alone(cut) == first


def test_the_members_of_a_family_are_judged_in_any_order_and_a_twin_costs_nothing() -> None:
    for seed in range(10):
        family = [series(20, 0.02 * place, seed=10 * seed + place, draws=place) for place in range(3)]
        there, back = judge(family, bound=BOUND, seed=5), judge(family[::-1], bound=BOUND, seed=5)
        assert there == back[::-1]
        one = family[1]
        rate = replace(one, y=tuple(-y for y in one.y if y is not None))
        both = judge([one, rate], bound=BOUND, seed=5)
        assert both[0] == alone(one, seed=5)
        assert both[1].outcome == MIRRORED[both[0].outcome]


def test_more_questions_at_once_are_answered_later() -> None:
    clear = [series(20, 0.5, seed=seed, draws=seed, noise=0.001) for seed in range(12)]
    assert fewest_pairs(1) == 8
    for count in (1, 2, 12):
        settled = {judged.pairs for judged in judge(clear[:count], bound=BOUND, seed=1)}
        assert max(settled) >= fewest_pairs(count)
        assert max(settled) <= 14
    assert [fewest_pairs(count) for count in (1, 2, 10, 100)] == [8, 10, 12, 14]


def test_pairs_without_a_ratio_count_for_nothing() -> None:
    whole = series(12, 0.05, seed=4)
    y = list(whole.y)
    y[2] = y[9] = None
    judged = alone(replace(whole, y=tuple(y)))
    assert (judged.outcome, judged.pairs) == ("more", 10)
    assert alone(replace(whole, y=(None,) * 12)) == Judged(outcome="open", pairs=0)
    assert alone(series(7, 0.5)).outcome == "open"
    assert judge([], bound=BOUND, seed=1) == ()


def test_constant_values_are_no_difference_and_a_constant_difference_is_one() -> None:
    signs = (1, 1, -1, 1, -1, -1, 1, -1, 1, -1)
    same = PairSeries(y=(0.0,) * 10, signs=signs, entries=(0,) * 10)
    assert alone(same).outcome == "same"
    # Where both sides print the same, the last digit may hide more than the bound.
    assert alone(replace(same, steps=(BOUND,))).outcome == "open"
    always = replace(same, y=tuple(0.1 * sign for sign in signs))
    judged = alone(always)
    assert (judged.outcome, judged.pairs, judged.estimate) == ("more", 8, pytest.approx(0.1))
    assert alone(replace(always, steps=(0.1,))).outcome == "open"
    # One side ran first in all pairs: nothing tells an order effect from a difference.
    assert alone(replace(always, y=(0.1,) * 10, signs=(1,) * 10)).outcome == "open"


def test_printed_digits_widen_the_interval_by_their_step() -> None:
    for seed in range(10):
        one = series(20, 0.08, seed=seed)
        fine, coarse = alone(one), alone(replace(one, steps=(0.01,)))
        assert fine.low is not None
        assert fine.high is not None
        assert (coarse.outcome, coarse.estimate) == (fine.outcome, fine.estimate)
        assert (coarse.low, coarse.high) == (pytest.approx(fine.low - 0.01), pytest.approx(fine.high + 0.01))


def test_the_schedule_grows_to_five_percent_and_never_beyond() -> None:
    for spent in (claims_spent, same_spent):
        parts = [spent(n) for n in rule.LOOKS]
        assert parts == sorted(parts)
        assert 0 < parts[0] < 0.01
        assert 0.049 < parts[-1] < 0.05
