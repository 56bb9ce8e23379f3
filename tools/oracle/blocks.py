"""The rule of docs/explanation/evidence.md written a second time, with other means: every order of a block is listed,
and an effect is rejected or not by counting comparisons. It imports nothing of the package."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One series: log later run - log earlier run of each pair (NaN: no ratio), +1 where the side ran second and -1
    where the base did, and the block of the pair; `steps` is how coarse its clock may be,
    as the pairs up to the end of each block show it."""

    later: Sequence[float]
    second: Sequence[int]
    block: Sequence[int]
    steps: Sequence[float] = ()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What must be said of a series: logarithms, and after how many pairs; None: not known."""

    name: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0


def judge(family: Sequence[Measured], bound: float, *, once: bool, timings: int = 0) -> list[Outcome]:
    """What must be said of each series of one family, which share the 5%, as if they were so many `timings` (0: so many
    series); `once`: they are judged at the end alone."""
    return [_judge(m, bound, 0.05 / (timings or len(family)), once=once) for m in family]


def _judge(m: Measured, bound: float, level: float, *, once: bool) -> Outcome:
    there = [(y, s, b) for y, s, b in zip(m.later, m.second, m.block, strict=True) if not math.isnan(y)]
    names = list(dict.fromkeys(b for _, _, b in there))
    found = Outcome(name="open")
    both, one = _Spent(), _Spent()
    differences: list[float] = []
    sizes: list[tuple[int, int]] = []
    for name in names:
        second, first = ([y for y, s, b in there if b == name and s == sign] for sign in (1, -1))
        sizes.append((len(second), len(first)))
        differences += [(y - x) / 2 for y in second for x in first]
        pairs = sum(p + q for p, q in sizes)
        is_last = name == names[-1]
        part = (1.0 if is_last else 0.0) if once else min(pairs / 20, 0.76 + 0.024 * math.sqrt(pairs), 1.0)
        two_sided, one_sided = both.most(sizes, level * part, 2), one.most(sizes, level * part, 1)
        step = m.steps[len(sizes) - 1] if m.steps else 0.0
        found = _look(differences, step, bound, two_sided, one_sided, pairs)
        if found.name != "open":
            break
    return found


def _look(
    differences: Sequence[float], step: float, bound: float, two_sided: int, one_sided: int, pairs: int
) -> Outcome:
    ordered = sorted(differences)
    middle = len(ordered) // 2
    estimate = ((ordered[middle] + ordered[~middle]) / 2) if ordered else None
    low, high = _kept(ordered, two_sided, step)
    inner = _kept(ordered, one_sided, step)
    size = abs(estimate or 0.0)
    found = {"estimate": estimate, "pairs": pairs}
    if low is not None and high is not None and size >= bound and (low > 0 or high < 0):
        return Outcome(name="more" if low > 0 else "less", low=low, high=high, **found)
    if inner[0] is not None and inner[1] is not None and -bound < inner[0] and inner[1] < bound:
        ends = (-bound if low is None else max(low, -bound), bound if high is None else min(high, bound))
        return Outcome(name="same", low=ends[0], high=ends[1], **found)
    return Outcome(name="open", low=low, high=high, **found)


def _kept(ordered: Sequence[float], most: int, step: float) -> tuple[float | None, float | None]:
    """The least and the largest effect that more than `most` comparisons support; None where all are."""
    if most < 0 or step == math.inf:
        return None, None
    low = min(d for d in ordered if sum(x <= d for x in ordered) > most)
    high = max(d for d in ordered if sum(x >= d for x in ordered) > most)
    return low - step, high + step


class _Spent:
    """What the looks so far have rejected: sequences of counts, one for each block, by their chance."""

    def __init__(self) -> None:
        self._left: Mapping[int, float] = {0: 1.0}
        self._gone = 0.0

    def most(self, sizes: Sequence[tuple[int, int]], spent: float, sided: int) -> int:
        """Add the last block. So many comparisons against an effect reject it now; -1: none do."""
        after: Counter[int] = Counter()
        for (count, chance), (more, other) in itertools.product(self._left.items(), _orders(*sizes[-1]).items()):
            after[count + more] += chance * other
        total, most = sum(p * q for p, q in sizes), -1
        while 2 * (most + 1) < total and self._gone + sided * after[most + 1] <= spent * (1 + 1e-9):
            most += 1
            self._gone += sided * after[most]
            for count in {most, total - most} if sided == 2 else {most}:
                after[count] = 0.0
        self._left = after
        return most


@cache
def _orders(p: int, q: int) -> Mapping[int, float]:
    """How often so many comparisons of p values with q favour the p, over all orders of p + q values."""
    found: Counter[int] = Counter()
    for places in itertools.combinations(range(p + q), p):
        found[sum(place - before for before, place in enumerate(places))] += 1
    return {count: number / found.total() for count, number in found.items()}
