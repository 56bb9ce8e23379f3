"""The statistical rule: whether a side differs from its base, by how much, or not at all.

Coins decided which side of each pair ran first. If both sides are the same code, `y = log later - log earlier` does
not depend on those coins, whatever the noise is. At each look the rule draws the coins again, 4096 times, and orders
the re-draws by T, the correlation of the signs with y. T clips y, so outliers weigh little, and centres it in each
entry, so that an order effect drops out. The rule strikes the re-draws of the largest T, as many as the schedule
allows. It claims a difference when it strikes the order that really ran; the chance of that is the part struck, so all
looks together err in at most 5%.

"The same" needs both "the effect is +bound" and "the effect is -bound" rejected in the same way, one-sided. Series of
one family are corrected together by max-T (Westfall and Young, 1993): re-draws are struck by their largest T over all
series. Of each re-draw and its negative the rule keeps one. Re-draws are written relative to the real order, so
re-draw 0 is the real one, and the first 12 pairs take all 2^12 orders.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from logbook_agent.findings.comparison.answer import Judged, PairSeries, SeriesOutcome
from logbook_agent.model.comparison import LOOKS

EXACT, KEPT = 12, 2048
SMALL = 4  # entries of fewer pairs are centred together: they know too little about an order effect of their own
CLIP = 2.5 * 1.4826  # times the median absolute deviation: about 2.5 standard deviations
TIE, FLAT = 1e-9, 1e-12
_WIDEST = 20.0  # an interval of the log of a ratio that is wider says nothing
Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


def looks(pairs: int) -> tuple[int, ...]:
    """The looks that this many pairs have reached."""
    return tuple(n for n in LOOKS if n <= pairs)


def claims_spent(n: int) -> float:
    """Chance of a false difference up to the look after n pairs."""
    return 0.04 * (n / 20) ** 1.77 if n <= 20 else 0.05 - 0.01 * 20 / n


def same_spent(n: int) -> float:
    """Chance, up to the look after n pairs, of a false "the same" where the effect is the bound."""
    return 0.045 * (n / 20) ** 3 if n <= 20 else 0.05 - 0.005 * 20 / n


def fewest_pairs(series: int = 1) -> int:
    """The first look at which one of so many series can settle: chance would seldom make all its pairs agree."""
    return next((n for n in LOOKS if series * 2.0 ** (1 - n) <= claims_spent(n)), LOOKS[-1])


def judge(family: Sequence[PairSeries], *, bound: float, seed: int) -> tuple[Judged, ...]:
    """Judge the series of one family at every look that they have reached; a settled series stays as it is.

    `bound` is the log of the minimum effect; with 0 any difference counts, and nothing settles as "same". A series
    takes part in the looks that it has pairs for. The re-draws of pairs after the twelfth follow from `seed`.
    """
    judged = []
    for s in family:
        whole = _Look(s, len(s.y))
        judged.append(Judged(estimate=whole.estimate, pairs=whole.pairs))
    # Of claims and of noise for the interval; of +bound and -bound, where a re-draw and its negative are two.
    struck = [np.zeros(size, bool) for size in (KEPT, KEPT, 2 * KEPT, 2 * KEPT)]
    is_joint = len({s.draws for s in family}) > 1
    pairs = max((len(s.y) for s in family), default=0)
    orders = {draws: _redraws(pairs, f"re-draw {seed} {draws}", is_joint) for draws in {s.draws for s in family}}
    for n in looks(pairs):
        there = {at: _Look(s, n, orders[s.draws]) for at, s in enumerate(family) if len(s.y) >= n}
        if all(judged[at].outcome != "open" for at in there):
            continue
        # T if there is no effect, the one estimated, +bound and -bound. Their step moves the bounds inwards.
        steps = {at: family[at].step(n) for at in there}
        tests = {at: look.redrawn(bound - steps[at]) for at, look in there.items()}
        weakest, _ = _strike([abs(t[0]) for t in tests.values()], struck[0], claims_spent(n))
        _, reach = _strike([abs(t[1]) for t in tests.values()], struck[1], claims_spent(n))
        able = [at for at in there if bound > steps[at]]
        same = _rejected({at: -tests[at][2] for at in able}, struck[2], same_spent(n))
        same &= _rejected({at: tests[at][3] for at in able}, struck[3], same_spent(n))
        for at, look in there.items():
            t, estimate = float(tests[at][0, 0]), look.estimate or 0.0
            outcome: SeriesOutcome = "same" if at in same else "open"
            is_large = abs(estimate) >= bound and abs(estimate) > steps[at]
            is_struck = abs(t) >= weakest - TIE
            if is_struck and is_large and t * estimate > 0:
                outcome = "more" if t > 0 else "less"
            is_last = n == looks(len(family[at].y))[-1]
            if judged[at].outcome == "open" and (outcome != "open" or is_last):
                low, high = look.interval(reach, steps[at], outcome, bound, is_zero_kept=not is_struck)
                if low is None and outcome != "same":
                    # A claim waits for pairs that bound the effect, beyond the step of the values.
                    outcome = "open"
                    low, high = look.interval(reach, steps[at], outcome, bound, is_zero_kept=True)
                judged[at] = Judged(outcome=outcome, estimate=look.estimate, low=low, high=high, pairs=look.pairs)
    return tuple(judged)


def _rejected(tests: Mapping[int, Array], struck: Flags, spent: float) -> set[int]:
    """The series whose T is so high that the effect is rejected; the negative of each re-draw counts, too."""
    if not tests:
        return set()
    weakest, _ = _strike([np.concatenate((t, -t)) for t in tests.values()], struck, spent)
    return {at for at, t in tests.items() if t[0] >= weakest - TIE}


def _strike(family: Sequence[Array], struck: Flags, spent: float) -> tuple[float, float]:
    """Strike the re-draws of the largest T while the part struck is at most `spent`, those of equal T all or none.
    Returns the smallest T struck now (infinity: none) and the largest T left."""
    largest = np.max(family, axis=0) if len(family) > 1 else family[0]
    room = math.floor(spent * len(largest) + TIE) - np.count_nonzero(struck)
    left = largest[~struck]
    left = np.sort(np.partition(left, len(left) - room - 1)[-room - 1 :])
    taken = left[left > left[0] + TIE]
    if not len(taken):
        return math.inf, float(left[-1])
    struck |= largest >= taken[0] - TIE
    return float(taken[0]), float(left[0])


class _Look:
    """A series up to a look: `pairs` with a ratio, and the estimate of the effect. `orders` has a row of re-draws for
    each pair of the series."""

    def __init__(self, series: PairSeries, n: int, orders: Array | None = None) -> None:
        at = [at for at, y in enumerate(series.y[:n]) if y is not None]
        self._y = np.array([series.y[at] for at in at], float)
        self._signs = np.array([series.signs[at] for at in at], float)
        self._redraws = orders if orders is None else orders[:n] if len(at) == n else orders[at]
        entries = np.array([series.entries[at] for at in at], int)
        groups = [np.flatnonzero(entries == entry) for entry in dict.fromkeys(entries.tolist())]
        small = [group for group in groups if len(group) < SMALL]
        self._groups = [group for group in groups if len(group) >= SMALL]
        self._groups += [np.concatenate(small)] if small else []
        self.pairs, self.estimate = len(at), self._estimate()

    def _estimate(self) -> float | None:
        """Median, over two pairs of opposite order, of half their difference: an order effect drops out."""
        found = []
        for group in self._groups:
            y, signs = self._y[group], self._signs[group]
            found += [np.subtract.outer(y[signs > 0], y[signs < 0]).ravel() / 2]
        both = np.concatenate(found) if found else self._y
        both = both if len(both) else self._signs * self._y
        return float(_median(both)[0]) if len(both) else None

    def _weights(self, effects: Array) -> Array:
        """`sign * z` of each pair, a row for each effect: z is y without this effect, centred, clipped, of length 1. If
        it is constant, it is 0."""
        z = self._y - np.multiply.outer(effects, self._signs)
        for group in self._groups:
            z[:, group] -= _median(z[:, group])
        most = CLIP * _median(abs(z)) if self.pairs else 0.0
        z = np.where(most > FLAT, np.minimum(np.maximum(z, -most), most), z)
        for group in self._groups:
            z[:, group] -= z[:, group].sum(axis=1, keepdims=True) / len(group)
        length = np.sqrt((z * z).sum(axis=1, keepdims=True))
        found: Array = self._signs * z / np.where(length > FLAT, length, np.inf)
        return found

    def _scale(self, sums: Sequence[Array]) -> Array:
        """The factor that makes T of a sum of signed weights; `sums` are those of the signs in each group."""
        left = sum((len(g) - t * t / len(g) for g, t in zip(self._groups, sums, strict=True)), np.zeros(1))
        return np.sqrt(self.pairs / np.where(left > TIE, left, np.inf))

    def _real(self, effects: Array) -> Array:
        """T of the order that really ran, if these were the effects."""
        own = self._scale([self._signs[g].sum(keepdims=True) for g in self._groups])
        found: Array = self._weights(effects).sum(axis=1) * own
        return found

    @cached_property
    def _scales(self) -> Array:
        orders = self._orders
        if len(self._groups) == 1:
            return self._scale([self._signs @ orders])
        return self._scale([self._signs[g] @ orders[g] for g in self._groups])

    @property
    def _orders(self) -> Array:
        if self._redraws is None:
            raise ValueError("a look without re-draws has an estimate alone")
        return self._redraws

    def redrawn(self, bound: float) -> Array:
        """T of every re-draw, the real order first: rows for no effect, the effect estimated, +bound and -bound."""
        effects = np.array((0.0, self.estimate or 0.0, bound, -bound))
        found: Array = (self._weights(effects) @ self._orders) * self._scales
        return found

    def interval(
        self, reach: float, step: float, outcome: SeriesOutcome, bound: float, *, is_zero_kept: bool
    ) -> tuple[float | None, float | None]:
        """The effects that are not rejected: those whose T is below `reach`, widened by the step of the values. What
        the outcome rejects is cut off: 0 by a difference, the bounds by none. An open one holds 0 while 0 is not
        rejected. None where the pairs do not bound them, or the step may be the whole difference."""
        if self.estimate is None or reach >= math.sqrt(self.pairs):
            return None, None
        low, high = (self._end(self.estimate, side, reach) - side * step for side in (1, -1))
        if high - low > _WIDEST:
            return None, None
        if outcome == "same":
            return max(low, -bound), min(high, bound)
        if outcome == "open":
            return (min(low, 0.0), max(high, 0.0)) if is_zero_kept else (low, high)
        if low <= 0 < low + step or high - step < 0 <= high:
            return None, None
        return (max(low, 0.0) if outcome == "more" else low), (min(high, 0.0) if outcome == "less" else high)

    def _end(self, inner: float, side: int, reach: float) -> float:
        """The effect below (side 1) or above (-1) the estimate at which T passes `reach`, to a thousandth."""
        widths = np.geomspace(FLAT, 2 * _WIDEST, 48)
        for _ in range(3):
            passed = side * self._real(inner - side * widths) >= reach
            at = int(np.argmax(passed)) if passed.any() else len(widths) - 1
            widths = np.linspace(widths[max(at - 1, 0)], widths[at], 33)
        return float(inner - side * widths[-1])


@lru_cache(maxsize=8)
def _redraws(pairs: int, key: str, is_joint: bool) -> Array:
    """KEPT re-draws of so many pairs, a row for each pair, relative to the real order, which is the first: all orders
    of the first 12 pairs, fair coins after them. Where several series are judged together, each has the re-draws in an
    order of its own."""
    number = np.arange(KEPT)
    found = np.ones((pairs, KEPT))
    for at in range(1, pairs):
        found[at] = 1.0 - 2.0 * (number >> (at - 1) & 1 if at < EXACT else _coins(f"{key} {at}"))
    found[:, 0] = 1.0
    if is_joint:
        places = sorted(range(1, KEPT), key=lambda at: hashlib.sha256(f"{key} {at}".encode()).digest())
        found = found[:, [0, *places]]
    found.flags.writeable = False
    return found


def _coins(key: str) -> NDArray[np.uint8]:
    return np.unpackbits(np.frombuffer(hashlib.shake_256(key.encode()).digest(KEPT // 8), np.uint8))


def _median(values: Array) -> Array:
    """Medians of the last axis, which stays; np.median takes five times as long for few values."""
    ordered = np.sort(values)
    half = ordered.shape[-1] // 2
    return (ordered[..., half, None] + ordered[..., ~half, None]) / 2
