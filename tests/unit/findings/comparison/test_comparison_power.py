"""Forecasts of further pairs, held against what the rule makes of such pairs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from logbook_agent.findings.comparison.answer import PairSeries
from logbook_agent.findings.comparison.power import is_hopeless, pairs_needed, to_settle
from logbook_agent.findings.comparison.rule import judge

BOUND = math.log(1.01)
TRIALS = 60


def series(pairs: int, effect: float, noise: float, seed: int, order: float = 0.0) -> PairSeries:
    """Pairs whose runs scatter by so much; the later run of a pair is higher by `order`."""
    rng = np.random.default_rng(seed)
    signs = rng.choice((-1, 1), pairs)
    y = rng.normal(0, noise * math.sqrt(2), pairs) + effect * signs + order
    return PairSeries(y=tuple(y.tolist()), signs=tuple(signs.tolist()), entries=(0,) * pairs)


def settled(pairs: int, effect: float, noise: float) -> float:
    """The part of such comparisons that the rule settles within so many pairs."""
    judged = [judge([series(pairs, effect, noise, seed)], bound=BOUND, seed=seed)[0] for seed in range(TRIALS)]
    return sum(one.outcome != "open" for one in judged) / TRIALS


# Effect and noise of a run: what is to be found, or that there is nothing.
SETTLED = [(0.03, 0.01), (0.05, 0.02), (0.03, 0.02), (0.05, 0.05), (0.03, 0.05), (0.0, 0.01)]


@pytest.mark.slow
@pytest.mark.parametrize(("effect", "noise"), SETTLED)
def test_so_many_pairs_settle_it_in_about_four_of_five_cases(effect: float, noise: float) -> None:
    """The forecast from 200 pairs, so that the effect seen is about the true one."""
    needed = pairs_needed(series(200, effect, noise, seed=1), bound=BOUND)
    assert needed is not None
    assert settled(needed, effect, noise) > 0.65
    # Half of them are not enough, where fewer than the first look are possible.
    assert needed < 16 or settled(needed // 2, effect, noise) < 0.8


@pytest.mark.slow
@pytest.mark.wide
def test_a_question_is_given_up_when_further_pairs_hardly_ever_settle_it() -> None:
    """Of an effect that the budget finds in most cases, few are given up; of one far too small for the noise, most."""

    def given_up(effect: float, noise: float) -> float:
        found = [is_hopeless([series(14, effect, noise, seed)], 1, bound=BOUND, budget=20) for seed in range(20)]
        return sum(found) / len(found)

    assert given_up(0.06, 0.05) <= 0.1
    assert given_up(0.002, 0.05) >= 0.6


def test_giving_up_asks_about_the_effect_that_is_there() -> None:
    """Eight pairs beside an observed 8%: to show 1% at this noise is out of reach, to show 8% is not."""
    assert not is_hopeless([series(8, 0.08, 0.05, seed=3)], 1, bound=BOUND, budget=20)


def test_what_would_settle_it_in_words() -> None:
    assert to_settle(series(5, 0.0, 0.01, 1), bound=BOUND) == "at least 3 more pairs"
    assert to_settle(series(7, 0.0, 0.01, 1), bound=BOUND) == "at least 1 more pair"
    few = series(8, 0.05, 0.04, 1)
    needed = pairs_needed(few, bound=BOUND)
    assert needed is not None
    assert to_settle(few, bound=BOUND) == f"about {needed - 8} more pairs"
    assert to_settle(series(20, 0.009, 0.3, 1), bound=BOUND).startswith("more pairs than is practical")
    # Values that are printed more coarsely than the bound never show that there is no difference.
    assert pairs_needed(replace(series(20, 0.0, 0.01, 1), steps=(0.02,)), bound=BOUND) is None
    # The rule looks after 8 and 10 pairs: one more pair settles nothing.
    assert to_settle(series(8, 0.009, 0.0005, 1), bound=BOUND) == "about 2 more pairs"
    # Missing pairs do not count.
    gaps = replace(few, y=(None, None, *few.y[2:]))
    assert to_settle(gaps, bound=BOUND) == "at least 2 more pairs"
    gaps = replace(series(10, 0.05, 0.04, 1), y=(None, None, None, *series(10, 0.05, 0.04, 1).y[3:]))
    assert to_settle(gaps, bound=BOUND) == "at least 2 more pairs"
