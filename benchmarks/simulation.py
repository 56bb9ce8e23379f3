"""Simulated comparisons for benchmarks/calibration.py: drawn, judged and given up by the rule of logbook_agent."""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from machines import MODELS, Logs, Sides
from numpy.random import Generator

from logbook_agent.campaign.ab_prepare import random_seed
from logbook_agent.findings.comparison.answer import EntryPairs, EntrySeries, Judged, PairSeries, RunPair
from logbook_agent.findings.comparison.answers import answers
from logbook_agent.findings.comparison.power import is_hopeless
from logbook_agent.findings.comparison.rule import judge, looks
from logbook_agent.model.comparison import BUDGET_PAIRS, MINIMUM_EFFECT, Question, order_of_round

BOUND = math.log1p(MINIMUM_EFFECT)
EXACT = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One kind of comparison, made as `logbook ab` makes it. The `sides` differ from the base by `effect`, up or down
    by a coin for each trial. `budgets`: it is judged up to so many pairs, which the `entries` share equally.
    `likeness`: the correlation of its `metrics`, of which -1 mirrors every second one. `digits`: with how many values
    are printed; 0: all. `searched`: the side is the best of so many cases, each run twice, of which one is better."""

    name: str
    effect: float = 0.0
    budgets: tuple[int, ...] = (BUDGET_PAIRS,)
    entries: int = 1
    sides: int = 1
    cases: int = 1
    metrics: int = 1
    likeness: float = 0.0
    gives_up: bool = False
    digits: int = 0
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A family of series, with the seed by which it is judged and the true effect, a logarithm. Where few digits are
    printed, the values of base and side of each pair come along."""

    family: tuple[PairSeries, ...]
    seed: int
    effect: float
    values: tuple[tuple[float, float], ...] = ()

    def judged(self, pairs: int) -> tuple[Judged, ...]:
        """The answer when so many pairs may be made."""
        if not self.values:
            return judge([_cut(s, pairs) for s in self.family], bound=BOUND, seed=self.seed)
        found: tuple[Judged, ...] = ()
        for n in looks(pairs):
            found = (_answered(self, n),)
            if found[0].outcome != "open":
                break
        return found


def run_cell(cell: Cell) -> Tally:
    """All trials of a cell; each has a generator that the seed, the cell and its number make."""
    began, counts = time.perf_counter(), Counter[str]()
    for number in range(cell.trials):
        key = f"{cell.seed}/{cell.name}/{number}"
        rng = np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()[:16]))
        counts.update(_sweep(rng, cell, key) if cell.experiment.searched else _comparison(rng, cell, key))
    wall_s = round(time.perf_counter() - began, 1)
    return Tally(cell=cell.name, trials=cell.trials, seed=cell.seed, counts=dict(counts), wall_s=wall_s)


def _comparison(rng: Generator, cell: Cell, key: str) -> Counter[str]:
    """What is counted of one comparison."""
    effect = math.log1p(cell.experiment.effect) * rng.choice((-1.0, 1.0))
    measured = measure(rng, cell.experiment, cell.model, key, effect)
    counts, found = Counter[str](), ()
    for budget in cell.experiment.budgets:
        if not found or any(j.outcome == "open" for j in found):
            found = measured.judged(budget)
        counts.update(_counted(found, effect, budget))
    if cell.experiment.gives_up:
        counts.update(_given_up(measured.family[0], found[0]))
    return counts


def _counted(found: Sequence[Judged], effect: float, budget: int) -> dict[str, int]:
    """`claimed`: a difference in any series; `right`: in the direction of the effect in all, `wrong`: against it in
    any; `same`: none in any; `covered`: every interval holds the truth; `no width`: an interval that is one point."""
    outcomes, right = [j.outcome for j in found], "more" if effect > 0 else "less"
    claims = [o for o in outcomes if o in ("more", "less")]
    bounded = [(j.low, j.high) for j in found if j.low is not None and j.high is not None]
    is_settled = "open" not in outcomes
    counted = {
        "claimed": bool(claims),
        "right": all(o == right for o in outcomes),
        "wrong": bool(effect) and any(o != right for o in claims),
        "same": "same" in outcomes,
        "covered": all(low - EXACT <= effect <= high + EXACT for low, high in bounded),
        "no width": any(high - low < EXACT for low, high in bounded),
        "settled": is_settled,
        "pairs": max(j.pairs for j in found) if is_settled else budget,
    }
    return {f"{name} {budget}": int(count) for name, count in counted.items()}


def _given_up(series: PairSeries, full: Judged) -> dict[str, int]:
    """As `logbook ab` does after each look that leaves the question open: `lost` would have been settled later."""
    last = full.pairs if full.outcome != "open" else BUDGET_PAIRS
    for n in looks(last - 1):
        if is_hopeless([_cut(series, n)], 1, bound=BOUND, budget=BUDGET_PAIRS):
            return {"given up": 1, "lost": int(full.outcome != "open"), "pairs with giving up": n}
    return {"pairs with giving up": last}


def _sweep(rng: Generator, cell: Cell, key: str) -> dict[str, int]:
    """A sweep of equal cases, of which case 0 is better; then fresh pairs of the one with the best median."""
    e = cell.experiment
    better = math.log1p(e.effect)

    order = rng.permutation(np.repeat(np.arange(e.searched), 2))
    made = MODELS[cell.model](rng, order[:, None])[:, 0] + better * (order == 0)
    values = np.array([made[order == case] for case in range(e.searched)])
    best = int(np.argmax(np.median(values, axis=1)))
    runs = 2 * e.searched
    [found] = measure(rng, e, cell.model, key, better if best == 0 else 0.0).judged(BUDGET_PAIRS)
    runs += 2 * (found.pairs if found.outcome != "open" else BUDGET_PAIRS)
    is_more = found.outcome == "more"
    return {"chosen": int(best == 0), "right": int(best == 0 and is_more), "wrong": int(best != 0 and is_more)} | {
        "runs": runs,
        "too many runs": int(runs > 250),
    }


# -- what is measured ----------------------------------------------------------------------------------


def measure(rng: Generator, e: Experiment, model: str, key: str, effect: float) -> Measured:
    """The pairs of a comparison, each entry in an order that a seed of its own draws."""
    pairs, places = e.budgets[-1] // e.entries, e.sides * e.cases
    y, signs, seeds = [], [], []
    reported: list[tuple[float, float]] = []
    start = rng.uniform(1, 2)
    for entry in range(e.entries):
        seeds.append(random_seed(f"{key} {entry}", pairs, 1 + e.sides))
        sides = np.array([order_of_round(seeds[-1], 1 + at, 1 + e.sides) for at in range(pairs * e.cases)])
        places_in_time = np.argsort(sides, axis=1)
        base, others = places_in_time[:, :1], places_in_time[:, 1:]
        signs.append(np.where(others > base, 1, -1).reshape(pairs, places))
        for logs in _metrics(rng, e, model, sides):
            found = logs + effect * (sides > 0)
            if e.digits:
                found = np.log(np.round(start * np.exp(found), e.digits - 1))
            by_side = np.take_along_axis(found, places_in_time, axis=1)
            y.append((by_side[:, 1:] - by_side[:, :1]).reshape(pairs, places) * signs[-1])
            reported += np.exp(by_side).tolist() if e.digits else []
    number = tuple(entry for entry in range(e.entries) for _ in range(pairs))
    family = [
        PairSeries(
            y=tuple(np.concatenate([one[:, place] for one in y[metric :: e.metrics]]).tolist()),
            signs=tuple(np.concatenate([one[:, place] for one in signs]).tolist()),
            entries=number,
            draws=place,
        )
        for place in range(places)
        for metric in range(e.metrics)
    ]
    return Measured(family=tuple(family), seed=seeds[0], effect=effect, values=tuple(map(tuple, reported)))


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


def _cut(series: PairSeries, pairs: int) -> PairSeries:
    return replace(series, y=series.y[:pairs], signs=series.signs[:pairs], entries=series.entries[:pairs])


def _answered(measured: Measured, pairs: int) -> Judged:
    """The answer to a question of reported values, from the pairs of an entry as the index keeps them."""
    series = measured.family[0]
    made = [
        RunPair(started="", ended="", sign=sign, base=base, other=other, runs=None)
        for sign, (base, other) in zip(series.signs[:pairs], measured.values[:pairs], strict=True)
    ]
    names = {"key": "k", "asks": "k", "side": "b", "case": "", "name": ""}
    one = EntrySeries(**names, config={}, metric="t", unit="s", direction="max", pairs=made)
    question = Question(axis="v", base="a", sides=("b",), metrics=("t",), minimum_effect=MINIMUM_EFFECT)
    entry = EntryPairs(entry="E-001", question=question, seed=measured.seed, void=False, series=[one])
    [answer] = answers([entry])
    [f] = answer.findings
    outcomes = {"better": "more", "worse": "less", "no difference": "same", "open": "open"}
    low, high = (None if end is None else math.log1p(end) for end in (f.low, f.high))
    estimate = None if f.change is None else math.log1p(f.change)
    return Judged(outcome=outcomes[f.outcome.value], estimate=estimate, low=low, high=high, pairs=f.judged)
