"""How many pairs a question takes: from how far pairs scatter, never from which way they point.

Of N pairs whose ratios scatter by s (the standard deviation of their logarithms) the interval reaches about z s /
sqrt(N) to either side, 2% more for a rank test. An effect e is shown in four of five experiments when
(z + 0.84) s / sqrt(N - z^2 / 2) = log(1 + e): J. Cohen, Statistical Power Analysis for the Behavioral Sciences (1988),
2.4; z^2 / 2 pairs more because s is estimated from them: W. C. Guenther, "Sample size formulas for normal theory t
tests", The American Statistician 35 (1981).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from logbook_agent.model.entry import Design
from logbook_agent.model.stats.distributions import normal_quantile_above
from logbook_agent.model.stats.pseudomedian import central_spread
from logbook_agent.model.stats.ranks import missing_paired, missing_unpaired
from logbook_agent.model.stats.sequential import ALPHA, threshold

# Against the best test of normal noise the signed ranks need 5% more pairs.
_RANKS = math.sqrt(math.pi / 3)
_POWER = 0.8
# The fewest pairs on which a verdict can rest, when their number was fixed before the first.
FEWEST_PAIRS = missing_paired(0, ALPHA)
# An A/B whose number of pairs is not fixed is looked at after these, and after every second pair from then on.
FIRST_LOOK = 8
# It is given up when the budget holds less than one in so many of the pairs that it would take.
_FUTILE = 4


def looks_of(most: int) -> int:
    """How often an A/B of at most so many pairs is looked at: after 8, 10, 12 pairs ..., and at its end."""
    return 1 if most <= FIRST_LOOK else 1 + math.ceil((most - FIRST_LOOK) / 2)


def is_look(pairs: int, most: int) -> bool:
    """Whether the result is looked at after so many pairs."""
    return pairs >= most or (pairs >= FIRST_LOOK and (pairs - FIRST_LOOK) % 2 == 0)


def is_open(design: Design, pairs: int) -> bool:
    """Whether a plan may be replaced by another after so many pairs: one with looks, before the first of them."""
    return design.looks > 1 and design.plans == 1 and pairs < FIRST_LOOK and pairs < design.rounds


def pairs_for(effect: float, scatter: float, *, alpha: float = ALPHA) -> int:
    """How many pairs show an effect (a fraction above 0) in four of five experiments."""
    needed = (_distance(alpha) * scatter / math.log1p(effect)) ** 2 + _for_the_scatter(alpha)
    return max(fewest_pairs(alpha=alpha), math.ceil(needed))


def pairs_with_looks(effect: float, scatter: float, *, looked: int = 0, plans: int = 0, least: int = 1) -> int:
    """How many pairs an A/B has to be allowed that is looked at on the way, and was `looked` times before, by so many
    plans: more pairs are looked at more often, and each look costs some. `least`: it counts as looked at so often."""
    found = 1
    while True:
        alpha = threshold(max(least, looked + looks_of(found)), plans + 1)
        if (needed := pairs_for(effect, scatter, alpha=alpha)) <= found:
            return found
        found = needed


def pairs_until(width: float, scatter: float, *, alpha: float = ALPHA) -> int:
    """After how many pairs the interval is about as narrow as this from end to end (a fraction above 0)."""
    reach = _RANKS * normal_quantile_above(alpha / 2) * scatter
    return max(fewest_pairs(alpha=alpha), math.ceil((2 * reach / width) ** 2))


def fewest_pairs(comparisons: int = 1, *, alpha: float = ALPHA) -> int:
    """The fewest pairs by which one of so many comparisons that are corrected together can settle a verdict by itself,
    when all goes one way."""
    return missing_paired(0, alpha / comparisons)


def fewest_mixed(comparisons: int = 1) -> int:
    """The same of runs of each side that are mixed by chance."""
    return missing_unpaired(0, 0, ALPHA / comparisons)


def smallest_effect(pairs: int, scatter: float, *, alpha: float = ALPHA) -> float:
    """The smallest effect that so many pairs, no fewer than can settle a verdict, show in four of five experiments."""
    return math.expm1(_distance(alpha) * scatter / math.sqrt(pairs - _for_the_scatter(alpha)))


def is_futile(effect: float, scatter: float, most: int, *, alpha: float) -> bool:
    """Whether a budget of so many pairs is hopelessly small for an effect."""
    return effect > 0 and pairs_for(effect, scatter, alpha=alpha) > _FUTILE * most


def scatter_of_pairs(logs: Sequence[float]) -> float | None:
    """How far pairs scatter, from the logarithms of their ratios; None of fewer than three."""
    return central_spread(logs) if len(logs) > 2 else None


def _distance(alpha: float) -> float:
    return _RANKS * (normal_quantile_above(alpha / 2) + normal_quantile_above(1 - _POWER))


def _for_the_scatter(alpha: float) -> float:
    """The pairs that it costs to know the scatter from the pairs alone."""
    return normal_quantile_above(alpha / 2) ** 2 / 2
