"""The test of docs/explanation/evidence.md written a second time, from its ten lines and with other means: all ways in
which the coins could fall are listed up to 12 pairs, and 2^15 of them are drawn at random beyond. It imports nothing of
the package.

Beyond 12 pairs, and where several series with coins of their own are judged together, two sets of re-draws differ by
chance. `Expected` then holds every outcome that 4,096 re-draws could give, and the range of each end of the interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[Any]

LOOKS = (8, 10, 12, 14, 16, 18, 20, 24, 30, 38, 48, 60, 76, 96, 120, 150, 188, 234, 293)
EXACT, DRAWS, THEIRS = 12, 2**15, 2048  # 4,096 re-draws are 2,048 with their negatives
CLIP, FEW, CLOSE, WIDEST = 2.5 * 1.4826, 4, 1e-9, 20.0
CHANCE = 1e-6


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One series: `later` is log later run - log earlier run of each pair (NaN: no ratio), `second` is +1 where the
    side ran second and -1 where the base did, `entry` the number of the pair's entry; series of equal `coins` were
    drawn together, and `steps` is how coarse the values of so many pairs are, as a logarithm."""

    later: Array
    second: Array
    entry: Array
    coins: object = None
    steps: Mapping[int, float] = field(default_factory=dict)


@dataclass(kw_only=True)
class Expected:
    """What must be said of a series: any of `outcomes`, each with the estimate and the range of each end of its
    interval (logarithms; None: no interval), and after how many pairs. It is settled once the last look that may have
    settled it surely did."""

    outcomes: list[Outcome] = field(default_factory=list)
    is_settled: bool = False


@dataclass(frozen=True, kw_only=True)
class Outcome:
    name: str
    estimate: float | None
    low: tuple[float, float] | None
    high: tuple[float, float] | None
    pairs: int


def claims(n: int) -> float:
    return 0.04 * (n / 20) ** 1.77 if n <= 20 else 0.05 - 0.2 / n


def equal(n: int) -> float:
    return 0.045 * (n / 20) ** 3 if n <= 20 else 0.05 - 0.1 / n


def judge(family: list[Measured], bound: float, seed: int = 7) -> list[Expected]:
    """What must be said of each series of one family, corrected together."""
    found = [Expected() for _ in family]
    longest = max(len(m.later) for m in family)
    is_joint = len({repr(m.coins) for m in family}) > 1
    coins = _coins(family, longest, is_joint, seed)
    spent = [np.zeros(len(next(iter(coins.values()))), bool) for _ in range(4)]
    for n in (look for look in LOOKS if look <= longest):
        tests = {at: Look(m, n, coins[repr(m.coins)]) for at, m in enumerate(family) if len(m.later) >= n}
        if all(found[at].is_settled for at in tests):
            continue
        limits = _limits(tests, bound, n, spent, is_exact=n <= EXACT and not is_joint)
        for at, look in tests.items():
            if not found[at].is_settled:
                is_last = n == max(k for k in LOOKS if k <= len(family[at].later))
                _conclude(found[at], look, limits, bound, is_last)
    for expected, m in zip(found, family, strict=True):
        if not expected.outcomes:
            whole = Look(m, len(m.later), None)
            of = {"low": None, "high": None, "pairs": whole.pairs}
            expected.outcomes.append(Outcome(name="open", estimate=whole.estimate, **of))
    return found


def _coins(family: list[Measured], longest: int, is_joint: bool, seed: int) -> dict[str, Array]:
    """Ways in which the coins could fall, a row each; they hold the way in which they fell."""
    chance = np.random.default_rng(seed)
    listed = 1 - 2 * (np.arange(2**EXACT)[:, None] >> np.arange(EXACT) & 1)
    size = DRAWS if is_joint or longest > EXACT else len(listed)
    found = {}
    for m in family:
        if repr(m.coins) in found:
            continue
        drawn = np.tile(listed, (size // len(listed), 1))
        if is_joint:
            chance.shuffle(drawn)
        more = chance.choice([-1, 1], size=(size, max(0, longest - EXACT)))
        found[repr(m.coins)] = np.hstack([drawn, more])[:, :longest].astype(float)
    return found


class Look:
    """A series up to its first n pairs."""

    def __init__(self, m: Measured, n: int, coins: Array | None) -> None:
        there = np.flatnonzero(~np.isnan(m.later[:n]))
        self.y, self.s, entry = m.later[there], m.second[there].astype(float), m.entry[there]
        self.coins = None if coins is None else coins[:, there]
        self.step, self.pairs = m.steps.get(n, 0.0), len(there)
        sizes = {e: int(np.sum(entry == e)) for e in entry}
        # Entries of fewer than four pairs are centred together.
        names = np.array([-1 if sizes[e] < FEW else e for e in entry])
        self.groups = [np.flatnonzero(names == name) for name in dict.fromkeys(names.tolist())]
        halves = [(a - b) / 2 for g in self.groups for a in self.y[g][self.s[g] > 0] for b in self.y[g][self.s[g] < 0]]
        halves = halves or list(self.s * self.y)
        self.estimate = float(np.median(halves)) if halves else None

    def centred(self, effect: float) -> Array:
        """y without an effect, clipped and centred in each entry, of length 1."""
        z = self.y - effect * self.s
        for g in self.groups:
            z[g] = z[g] - np.median(z[g])
        most = CLIP * np.median(np.abs(z)) if len(z) else 0.0
        z = np.clip(z, -most, most) if most > 1e-12 else z
        for g in self.groups:
            z[g] = z[g] - np.mean(z[g])
        length = float(np.linalg.norm(z))
        return z / length if length > 1e-12 else 0 * z

    def test(self, effect: float, ways: Array) -> Array:
        """T of each way in which the coins could fall."""
        left = sum(len(g) - ways[:, g].sum(axis=1) ** 2 / len(g) for g in self.groups)
        scale = np.sqrt(np.where(left > CLOSE, self.pairs / np.maximum(left, CLOSE), 0.0))
        return np.asarray(ways @ self.centred(effect) * scale)

    def real(self, effect: float) -> float:
        return float(self.test(effect, self.s[None, :])[0])

    def end(self, side: int, reach: float) -> float:
        """Where T of the real order passes `reach`, below (1) or above (-1) the estimate."""
        middle = self.estimate or 0.0
        inner, outer = 0.0, 2 * WIDEST
        for width in np.geomspace(1e-6, 2 * WIDEST, 400):
            if side * self.real(middle - side * width) >= reach:
                outer = float(width)
                break
            inner = float(width)
        for _ in range(30):
            half = (inner + outer) / 2
            inner, outer = (inner, half) if side * self.real(middle - side * half) >= reach else (half, outer)
        return middle - side * outer


@dataclass(kw_only=True)
class Limit:
    """What one test strikes at a look: the smallest T `struck` (infinite: none) and the largest that is `left`, each as
    the range that 4,096 re-draws could give."""

    left: tuple[float, float]
    struck: tuple[float, float]

    def rejects(self, t: float) -> tuple[bool, bool]:
        """Whether a T may be struck, and whether it surely is."""
        return t >= self.struck[0] - CLOSE, t >= self.struck[1] - CLOSE


def _limits(tests: dict[int, Look], bound: float, n: int, spent: list[Array], *, is_exact: bool) -> list[Limit]:
    """Of a claim, of the interval, and of +bound and -bound: what is struck at this look."""
    looks = list(tests.values())
    able = [look for look in looks if bound > look.step]
    rows: list[list[Array]] = [
        [np.abs(look.test(0.0, look.coins)) for look in looks if look.coins is not None],
        [np.abs(look.test(look.estimate or 0.0, look.coins)) for look in looks if look.coins is not None],
        [-look.test(bound - look.step, look.coins) for look in able if look.coins is not None],
        [look.test(look.step - bound, look.coins) for look in able if look.coins is not None],
    ]
    limits = []
    for at, row in enumerate(rows):
        if not row:
            limits.append(Limit(left=(math.inf, math.inf), struck=(math.inf, math.inf)))
            continue
        part, kept = (claims(n), THEIRS) if at < 2 else (equal(n), 2 * THEIRS)
        limits.append(_strike(np.max(row, axis=0), spent[at], part, 0 if is_exact else kept))
    return limits


def _strike(t: Array, spent: Array, part: float, theirs: int) -> Limit:
    """Strike the largest T up to a part of all; `theirs` is the number of re-draws in which chance may differ (0: it
    does not)."""
    room = int(math.floor(part * len(t) + CLOSE) - spent.sum())
    order = np.sort(t[~spent])[::-1]
    edge = order[room]
    taken = order[:room][order[:room] > edge + CLOSE]
    weakest = float(taken[-1]) if len(taken) else math.inf
    least = float(edge if len(taken) else order[0])
    limit = Limit(left=(least, least), struck=(weakest, weakest))
    if theirs:
        share = room / len(t) * theirs
        few, many = stats.poisson.ppf([CHANCE, 1 - CHANCE], max(share, 0.5))
        ends = [min(len(order) - 1, int(count * len(t) / theirs)) for count in (many + 2, max(few - 2, 0))]
        left = float(order[ends[0]]), float(order[ends[1]])
        limit = Limit(left=left, struck=(left[0], left[1] if few >= 3 else math.inf))
    if len(taken):
        spent |= t >= weakest - CLOSE
    return limit


def _conclude(expected: Expected, look: Look, limits: list[Limit], bound: float, is_last: bool) -> None:
    """Add what this look may find; settled where it surely finds something."""
    claim, noise, above, below = limits
    estimate = look.estimate or 0.0
    t = look.real(0.0)
    is_large = abs(estimate) >= bound and abs(estimate) > look.step and t * estimate > 0
    is_bounded = _bounded(look, noise) if is_large else (False, False)
    may, surely = (found and bounded for found, bounded in zip(claim.rejects(abs(t)), is_bounded, strict=True))
    inside = [above.rejects(-look.real(bound - look.step)), below.rejects(look.real(look.step - bound))]
    may_equal, surely_equal = (bound > look.step and all(found) for found in zip(*inside, strict=True))
    names = []
    names += ["more" if estimate > 0 else "less"] if may else []
    names += ["same"] if may_equal and not surely else []
    expected.is_settled = bool(surely or surely_equal)
    names += ["open"] if is_last and not expected.is_settled else []
    for name in names:
        low, high = _interval(look, name, noise, claim, bound)
        of = {"estimate": look.estimate, "low": low, "high": high, "pairs": look.pairs}
        expected.outcomes.append(Outcome(name=name, **of))


def _ends(look: Look, noise: Limit) -> tuple[list[float], list[float]]:
    """The lower and the upper ends of the interval by the smallest and the largest T that may be left."""
    reaches = [min(reach, math.sqrt(look.pairs) * (1 - 1e-12)) for reach in noise.left]
    lows, highs = ([look.end(side, reach) - side * look.step for reach in reaches] for side in (1, -1))
    return lows, highs


def _bounded(look: Look, noise: Limit) -> list[bool]:
    """Whether the pairs may bound the effect, beyond the step of its values, and whether they surely do: no difference
    is claimed before."""
    return [
        reach < math.sqrt(look.pairs)
        and high - low <= WIDEST
        and not (low <= 0 < low + look.step or high - look.step < 0 <= high)
        for reach, low, high in zip(noise.left, *_ends(look, noise), strict=True)
    ]


def _interval(
    look: Look, name: str, noise: Limit, claim: Limit, bound: float
) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """The range of each end of the interval; it ends where the outcome excludes more."""
    if look.estimate is None or noise.left[0] >= math.sqrt(look.pairs):
        return None, None
    lows, highs = _ends(look, noise)
    if highs[0] - lows[0] > WIDEST:
        return None, None
    may_cut, surely_cut = claim.rejects(abs(look.real(0.0)))
    if name == "same":
        lows, highs = [max(x, -bound) for x in lows], [min(x, bound) for x in highs]
    elif name == "more":
        lows = [max(x, 0.0) for x in lows]
    elif name == "less":
        highs = [min(x, 0.0) for x in highs]
    elif not surely_cut:
        lows = [*(lows if may_cut else ()), *(min(x, 0.0) for x in lows)]
        highs = [*(highs if may_cut else ()), *(max(x, 0.0) for x in highs)]
    return (min(lows), max(lows)), (min(highs), max(highs))
