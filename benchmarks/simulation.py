"""Simulated comparisons for benchmarks/calibration.py: drawn and judged by the rule of logbook_agent."""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from clocks import CLOCKS
from machines import MODELS, Logs, Sides
from numpy.random import Generator

from logbook_agent.findings.comparison.rule import Judged, Pair, judge, step_of
from logbook_agent.model.comparison import BLOCK_PAIRS, BUDGET_PAIRS, MINIMUM_EFFECT, Design

EXACT = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One kind of comparison, made as `logbook ab` makes it. The `sides` differ from the base by `effect`, up or down
    by a coin for each trial. `budgets`: it is judged up to so many pairs, which the `sittings` share equally; `fixed`:
    only once. `likeness`: the correlation of its `metrics`, of which -1 mirrors every second one. `clock`: how values
    are reported. `searched`: the side is the best of so many cases, each run twice, of which one is better."""

    name: str
    effect: float = 0.0
    budgets: tuple[int, ...] = (BUDGET_PAIRS,)
    sittings: int = 1
    fixed: bool = False
    sides: int = 1
    cases: int = 1
    metrics: int = 1
    likeness: float = 0.0
    clock: str = ""
    searched: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """An experiment on a machine, so many times."""

    experiment: Experiment
    model: str
    trials: int
    seed: int

    @property
    def name(self) -> str:
        return f"{self.experiment.name} / {self.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What the trials of a cell came to. A key of `counts` ends with the budget in pairs."""

    cell: str
    trials: int
    seed: int
    counts: dict[str, int]
    wall_s: float

    def part(self, what: str) -> float:
        """The part of the trials, or the mean over them."""
        return self.counts.get(what, 0) / self.trials


@dataclass(slots=True, kw_only=True)
class Series:
    """The pairs of one metric, side and case; with a clock also what it read."""

    pairs: list[Pair] = field(default_factory=list)
    readings: list[tuple[float, float]] = field(default_factory=list)

    def steps(self, pairs: int) -> list[float]:
        ends = [*range(BLOCK_PAIRS, pairs, BLOCK_PAIRS), pairs]
        return [step_of([value for both in self.readings[:end] for value in both]) for end in ends if self.readings]


def judged(family: Iterable[Series], pairs: int, *, fixed: bool = False, share: int = 0) -> list[Judged]:
    """The answer when so many pairs may be made; `share` counts the series that are not alike (0: all)."""
    series = {str(at): one.pairs[:pairs] for at, one in enumerate(family)}
    steps = {str(at): one.steps(pairs) for at, one in enumerate(family)}
    return [*judge(series, minimum=MINIMUM_EFFECT, steps=steps, looks=not fixed, share=share).values()]


def run_cell(cell: Cell) -> Tally:
    """All trials of a cell; each has a generator that the seed, the cell and its number make."""
    began, counts = time.perf_counter(), Counter[str]()
    for number in range(cell.trials):
        key = hashlib.sha256(f"{cell.seed}/{cell.name}/{number}".encode()).digest()
        rng = np.random.default_rng(int.from_bytes(key[:16]))
        counts.update(_sweep(rng, cell) if cell.experiment.searched else _comparison(rng, cell))
    wall_s = round(time.perf_counter() - began, 1)
    return Tally(cell=cell.name, trials=cell.trials, seed=cell.seed, counts=dict(counts), wall_s=wall_s)


def _comparison(rng: Generator, cell: Cell) -> Counter[str]:
    """What is counted of one comparison."""
    e = cell.experiment
    effect = math.log1p(e.effect) * rng.choice((-1.0, 1.0))
    family = measure(rng, e, cell.model, effect)
    counts, found = Counter[str](), list[Judged]()
    share = e.sides * e.cases if e.likeness == -1 else 0
    for budget in e.budgets:
        if not found or any(j.outcome == "open" for j in found):
            found = judged(family, budget, fixed=e.fixed, share=share)
        counts.update(_counted(found, effect, budget))
    return counts


def _counted(found: list[Judged], effect: float, budget: int) -> dict[str, int]:
    """`claimed`: a difference in any series; `right`: in the direction of the effect in all, `wrong`: against it in
    any; `same`: none in any; `covered`: every interval holds the truth; `no width`: an interval that is one point."""
    outcomes, right = [j.outcome for j in found], "more" if effect > 0 else "less"
    claims = [o for o in outcomes if o in ("more", "less")]
    is_settled = "open" not in outcomes
    counted = {
        "claimed": bool(claims),
        "right": all(o == right for o in outcomes),
        "wrong": bool(effect) and any(o != right for o in claims),
        "same": "same" in outcomes,
        "covered": all(j.low - EXACT <= effect <= j.high + EXACT for j in found),
        "no width": any(j.high - j.low < EXACT for j in found),
        "settled": is_settled,
        "pairs": max(j.pairs for j in found) if is_settled else budget,
    }
    return {f"{name} {budget}": int(count) for name, count in counted.items()}


def _sweep(rng: Generator, cell: Cell) -> dict[str, int]:
    """A sweep of equal cases, of which case 0 is better; then fresh pairs of the one with the best median."""
    e = cell.experiment
    better = math.log1p(e.effect)
    order = rng.permutation(np.repeat(np.arange(e.searched), 2))
    made = MODELS[cell.model](rng, order[:, None])[:, 0] + better * (order == 0)
    values = np.array([made[order == case] for case in range(e.searched)])
    best = int(np.argmax(np.median(values, axis=1)))
    [found] = judged(measure(rng, e, cell.model, better if best == 0 else 0.0), BUDGET_PAIRS)
    runs = 2 * e.searched + 2 * (found.pairs if found.outcome != "open" else BUDGET_PAIRS)
    is_more = found.outcome == "more"
    return {
        "chosen": int(best == 0),
        "right": int(best == 0 and is_more),
        "wrong": int(best != 0 and is_more),
        "runs": runs,
        "too many runs": int(runs > 250),
    }


# -- what is measured ----------------------------------------------------------------------------------


def measure(rng: Generator, e: Experiment, model: str, effect: float) -> list[Series]:
    """The pairs of a comparison: each sitting has the noise of its own start."""
    design = Design(seed=int(rng.integers(2**32)), budget_pairs=e.budgets[-1], fixed=e.fixed)
    found = [Series() for _ in range(e.sides * e.cases * e.metrics)]
    pairs, start = e.budgets[-1] // e.sittings, rng.uniform(1, 2)
    for sitting in range(e.sittings):
        numbers = range(sitting * pairs + 1, (sitting + 1) * pairs + 1)
        sides = np.array([design.order_of(n, 1 + e.sides, str(case)) for n in numbers for case in range(e.cases)])
        places = np.argsort(sides, axis=1)
        for metric, noise in enumerate(_metrics(rng, e, model, sides)):
            logs = noise + effect * (sides > 0)
            logs = np.log(CLOCKS[e.clock](rng, start * np.exp(logs))) if e.clock else logs
            by_side = np.take_along_axis(logs, places, axis=1)
            for row, (values, place) in enumerate(zip(by_side, places, strict=True)):
                for side in range(e.sides):
                    of = found[(side * e.cases + row % e.cases) * e.metrics + metric]
                    sign = 1 if place[1 + side] > place[0] else -1
                    block = (numbers[row // e.cases] - 1) // BLOCK_PAIRS
                    of.pairs.append(Pair(float(values[1 + side] - values[0]) * sign, sign, block))
                    if e.clock:
                        of.readings.append((math.exp(values[0]), math.exp(values[1 + side])))
    return found


def _metrics(rng: Generator, e: Experiment, model: str, sides: Sides) -> list[Logs]:
    """What the runs measure in each metric, without the effect."""
    noise = MODELS[model]
    if e.likeness == -1:
        return [(-1) ** at * noise for at, noise in enumerate([noise(rng, sides)] * e.metrics)]
    if not e.likeness:
        return [noise(rng, sides) for _ in range(e.metrics)]
    shared, own = math.sqrt(e.likeness), math.sqrt(1 - e.likeness)
    common = noise(rng, sides)
    return [shared * common + own * noise(rng, sides) for _ in range(e.metrics)]
