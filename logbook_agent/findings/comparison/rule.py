"""The statistical rule: whether a side differs from its base, by how much, or not at all.

Coins decided which side of each pair ran first. If both sides are the same code, `y = log later - log earlier` does
not depend on those coins, whatever the noise is. At each look the rule draws the coins again, 4096 times, and orders
the re-draws by T, the correlation of the signs with y: robust (y is clipped) and free of order effects (y is centred
per entry). It strikes the re-draws of the largest T, as many as the schedule allows. A difference is claimed when the
order that really ran is struck; the chance of that is the part struck, so all looks together err in at most 5%.

"The same" needs both "the effect is +bound" and "the effect is -bound" rejected in the same way, one-sided. Series of
one family are corrected together by max-T (Westfall and Young, 1993): re-draws are struck by their largest T over all
series. Of each re-draw and its negative one is kept; re-draws are written relative to the real order, so re-draw 0 is
the real one, and the first 12 pairs take all 2^12 orders.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from heapq import nlargest
from operator import mul
from statistics import fmean, median
from typing import Literal

EXACT, KEPT = 12, 2048
LOOKS = (8, 10, 12, 14, 16, 18, 20, 24, 30, 38, 48, 60, 76, 96, *(round(96 * 1.25**k) for k in range(1, 21)))
SMALL = 4  # entries of fewer pairs are centred together: they know too little about an order effect of their own
CLIP = 2.5 * 1.4826  # times the median absolute deviation: about 2.5 standard deviations
TIE, FLAT = 1e-9, 1e-12
_WIDEST = 20.0  # an interval of the log of a ratio that is wider says nothing
Outcome = Literal["more", "less", "same", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The pairs of one finding (metric, side, case) in the order in which they ran. `y` is log later - log earlier, or
    None without a ratio; `signs` is +1 where the side ran second, -1 where the base did; `entries` says which entry a
    pair is of. Series of equal `draws` share their coins. `step` is the log of a clock's step: it widens the bound."""

    y: tuple[float | None, ...]
    signs: tuple[int, ...]
    entries: tuple[int, ...]
    draws: int = 0
    step: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """`estimate`, `low` and `high` are logs of side/base; the interval holds at 95% over all looks. All are of the
    look that settled the series, else of the last look; `pairs` counts the pairs with a ratio up to there."""

    outcome: Outcome = "open"
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0


def looks(pairs: int) -> tuple[int, ...]:
    """The looks that this many pairs have reached."""
    return tuple(n for n in LOOKS if n <= pairs)


def claims_spent(n: int) -> float:
    """Chance of a false difference up to the look after n pairs."""
    return 0.04 * (n / 20) ** 1.77 if n <= 20 else 0.05 - 0.01 * 20 / n


def same_spent(n: int) -> float:
    """Chance, up to the look after n pairs, of a false "the same" where the effect is the bound."""
    return 0.045 * (n / 20) ** 3 if n <= 20 else 0.05 - 0.005 * 20 / n


def judge(family: Sequence[Series], *, bound: float, seed: int) -> tuple[Judged, ...]:
    """Judge the series of one family at every look that they have reached; a settled series stays as it is.

    `bound` is the log of the minimum effect; with 0 any difference counts, and nothing settles as "same". A series
    takes part in the looks that it has pairs for. The re-draws of pairs after the twelfth follow from `seed`.
    """
    whole = [_Look(s, len(s.y)) for s in family]
    judged = [Judged(estimate=look.estimate, pairs=look.pairs) for look in whole]
    struck: list[set[int]] = [set(), set(), set(), set()]
    is_joint = len({s.draws for s in family}) > 1
    for n in looks(max((len(s.y) for s in family), default=0)):
        there = {at: _Look(s, n, f"{seed} {s.draws}", is_joint) for at, s in enumerate(family) if len(s.y) >= n}
        if all(judged[at].outcome != "open" for at in there):
            continue
        claim = {at: look.redrawn(0.0) for at, look in there.items()}
        weakest, _ = _strike([[abs(t) for t in ts] for ts in claim.values()], struck[0], claims_spent(n))
        noise = [look.redrawn(look.estimate or 0.0) for look in there.values()]
        _, reach = _strike([[abs(t) for t in ts] for ts in noise], struck[1], claims_spent(n))
        same = {at for at in there if bound > family[at].step}
        for side, gone in ((1, struck[2]), (-1, struck[3])) if same else ():
            tests = {at: there[at].redrawn(side * (bound - family[at].step)) for at in there if bound > family[at].step}
            least, _ = _strike(
                [[-side * t for t in ts] + [side * t for t in ts] for ts in tests.values()], gone, same_spent(n)
            )
            same &= {at for at, ts in tests.items() if -side * ts[0] >= least - TIE}
        for at, look in there.items():
            outcome: Outcome = "same" if at in same else "open"
            t, estimate = claim[at][0], look.estimate or 0.0
            if abs(t) >= weakest - TIE and abs(estimate) >= bound and t * estimate > 0:
                outcome = "more" if t > 0 else "less"
            if judged[at].outcome == "open" and (outcome != "open" or n == looks(len(family[at].y))[-1]):
                kept = (
                    (0.0, 0.0) if abs(t) < weakest - TIE else (math.inf, -math.inf)
                )  # 0 stays where it is not rejected
                low, high = look.interval(reach, family[at].step, outcome, bound, kept)
                judged[at] = Judged(outcome=outcome, estimate=look.estimate, low=low, high=high, pairs=look.pairs)
    return tuple(judged)


def _strike(family: Sequence[list[float]], struck: set[int], spent: float) -> tuple[float, float]:
    """Strike the re-draws of the largest T while the part struck is at most `spent`, those of equal T all or none.
    Returns the smallest T struck now (infinity: none) and the largest T left."""
    largest = family[0] if len(family) == 1 else list(map(max, zip(*family, strict=True)))
    room = math.floor(spent * len(largest) + TIE) - len(struck)
    left = nlargest(room + 1, (t for at, t in enumerate(largest) if at not in struck))
    taken = [t for t in left if t > left[-1] + TIE]
    if not taken:
        return math.inf, left[0]
    struck.update(at for at, t in enumerate(largest) if t >= taken[-1] - TIE)
    return taken[-1], left[-1]


class _Look:
    """A series up to a look: `pairs` with a ratio, and the estimate of the effect."""

    def __init__(self, series: Series, n: int, key: str = "", is_joint: bool = False) -> None:
        self._signs, self._n, self._key, self._is_joint = series.signs, n, key, is_joint
        self._y = {at: y for at, y in enumerate(series.y[:n]) if y is not None}
        entries: dict[int, list[int]] = {}
        for at in self._y:
            entries.setdefault(series.entries[at], []).append(at)
        small = [at for group in entries.values() if len(group) < SMALL for at in group]
        self._groups = [group for group in entries.values() if len(group) >= SMALL] + ([small] if small else [])
        self.pairs, self.estimate = len(self._y), self._estimate()

    def _estimate(self) -> float | None:
        """Median, over two pairs of opposite order, of half their difference: an order effect drops out."""
        found = []
        for group in self._groups:
            first = [self._y[at] for at in group if self._signs[at] < 0]
            found += [(self._y[at] - y) / 2 for at in group if self._signs[at] > 0 for y in first]
        found = found or [self._signs[at] * y for at, y in self._y.items()]
        return median(found) if found else None

    def _weights(self, effect: float) -> list[float]:
        """`sign * z` of each pair: z is y without this effect, centred, clipped, of length 1; 0 if z is constant."""
        z = {at: y - effect * self._signs[at] for at, y in self._y.items()}
        for group in self._groups:
            middle = median([z[at] for at in group])
            z.update({at: z[at] - middle for at in group})
        most = CLIP * median(map(abs, z.values())) if z else 0.0
        found = [0.0] * self._n
        for group in self._groups:
            clipped = [max(-most, min(most, z[at])) if most > FLAT else z[at] for at in group]
            mean = fmean(clipped)
            for at, value in zip(group, clipped, strict=True):
                found[at] = self._signs[at] * (value - mean)
        length = math.hypot(*found)
        return [w / length for w in found] if length > FLAT else [0.0] * self._n

    def _scale(self, sums: Sequence[float]) -> float:
        """What makes T of a sum; `sums` are those of the signs in each group."""
        left = sum(len(g) - t * t / len(g) for g, t in zip(self._groups, sums, strict=True))
        return math.sqrt(self.pairs / left) if left > TIE else 0.0

    def real(self, effect: float) -> float:
        """T of the order that really ran, if this were the effect."""
        return sum(self._weights(effect)) * self._scale([sum(self._signs[at] for at in g) for g in self._groups])

    @cached_property
    def _scales(self) -> list[float]:
        sums = [self._sums([self._signs[at] * (at in g) for at in range(self._n)]) for g in self._groups]
        return [self._scale(each) for each in zip(*sums, strict=True)]

    def redrawn(self, effect: float) -> list[float]:
        """T of every re-draw, if this were the effect; the first is the real order."""
        return list(map(mul, self._sums(self._weights(effect)), self._scales))

    def _sums(self, weights: Sequence[float]) -> list[float]:
        """Sum of the weights with the signs of every re-draw (relative to the real order)."""
        found = [weights[0]]
        for w in weights[1:EXACT]:
            found = [s + w for s in found] + [s - w for s in found]
        found *= KEPT // len(found)
        if self._is_joint:
            found = [found[at] for at in _shuffled(self._key)]
        for at, w in enumerate(weights[EXACT:]):
            found = [s + w * sign for s, sign in zip(found, _column(self._key, at), strict=True)]
        return found

    def interval(
        self, reach: float, step: float, outcome: Outcome, bound: float, kept: tuple[float, float]
    ) -> tuple[float | None, float | None]:
        """The effects that are not rejected: those whose T is below `reach`, widened by a clock's step. What the
        outcome rejects is cut off (0 by a difference, the bounds by none), and an open one holds `kept`. None where
        the pairs do not bound them."""
        if self.estimate is None or reach >= math.sqrt(self.pairs):
            return None, None
        low, high = (self._end(self.estimate, side, reach) - side * step for side in (1, -1))
        if high - low > _WIDEST:
            return None, None
        if outcome == "same":
            return max(low, -bound), min(high, bound)
        if outcome == "open":
            return min(low, kept[0]), max(high, kept[1])
        return (max(low, 0.0) if outcome == "more" else low), (min(high, 0.0) if outcome == "less" else high)

    def _end(self, inner: float, side: int, reach: float) -> float:
        """The effect below (side 1) or above (-1) the estimate at which T passes `reach`, by bisection."""
        width = FLAT
        while side * self.real(inner - side * width) < reach and width < _WIDEST:
            width *= 4
        outer = inner - side * width
        while abs(outer - inner) > width / 1000:
            middle = (outer + inner) / 2
            outer, inner = (middle, inner) if side * self.real(middle) >= reach else (outer, middle)
        return outer


@lru_cache(maxsize=1024)
def _column(key: str, at: int) -> tuple[float, ...]:
    """Fair coins for a pair after the twelfth, one for each re-draw; the first is that of the real order."""
    coins = int.from_bytes(hashlib.shake_256(f"{key} {at}".encode()).digest(KEPT // 8))
    return (1.0, *(1.0 if coin == "1" else -1.0 for coin in f"{coins:0{KEPT}b}"[1:]))


@lru_cache(maxsize=64)
def _shuffled(key: str) -> tuple[int, ...]:
    """An order of the re-draws that pairs the coins of several series at random; the real one stays first."""
    return 0, *sorted(range(1, KEPT), key=lambda at: hashlib.sha256(f"{key} {at}".encode()).digest())
