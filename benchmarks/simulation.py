"""Simulated comparisons and sweeps, as benchmarks/calibration.py describes and reports them."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from logbook_agent.findings.evidence.stopping import FEWEST_PAIRS, enough
from logbook_agent.findings.evidence.verdict import Judgement, Verdict, judge
from logbook_agent.findings.evidence.winner import winner

BUDGET_PAIRS = 60
MINIMUM_EFFECT = 0.01
Model = Callable[[random.Random, int], list[float]]


def log_normal(sigma: float) -> Model:
    return lambda rng, runs: [rng.gauss(0, sigma) for _ in range(runs)]


def bimodal(rng: random.Random, runs: int) -> list[float]:
    """One run in four is 5% slower, whatever ran before it; 0.5% noise beside that."""
    return [math.log(1.05) * (rng.random() < 0.25) + rng.gauss(0, 0.005) for _ in range(runs)]


def sticky(rng: random.Random, runs: int) -> list[float]:
    """As bimodal, but whether the machine is slow is drawn anew only every ten runs, on average."""
    slow, found = rng.random() < 0.25, []
    for _ in range(runs):
        if rng.random() < 0.1:
            slow = rng.random() < 0.25
        found.append(math.log(1.05) * slow + rng.gauss(0, 0.005))
    return found


def linear(rng: random.Random, runs: int) -> list[float]:
    """Each run comes out 0.5% higher than the one before it; 1% noise beside that."""
    return [0.005 * place + rng.gauss(0, 0.01) for place in range(runs)]


def random_walk(rng: random.Random, runs: int) -> list[float]:
    """Each run starts where the one before it ended, plus a step of 1%; 0.5% noise beside that."""
    level, found = 0.0, []
    for _ in range(runs):
        level += rng.gauss(0, 0.01)
        found.append(level + rng.gauss(0, 0.005))
    return found


MODELS: dict[str, Model] = {
    "log-normal 1%": log_normal(0.01),
    "log-normal 5%": log_normal(0.05),
    "bimodal": bimodal,
    "bimodal, sticky": sticky,
    "drift, linear": linear,
    "drift, random walk": random_walk,
}
# What blocked runs cannot tell from an effect.
MOVING = ("bimodal, sticky", "drift, linear", "drift, random walk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    order: str  # pairs | interleaved | blocked
    runs: int | None  # a side; None: until the interval is narrow

    @property
    def name(self) -> str:
        return f"{self.order} {'until 1%' if self.runs is None else self.runs}"


DESIGNS = (
    Design(order="pairs", runs=6),
    Design(order="pairs", runs=10),
    Design(order="pairs", runs=None),
    Design(order="interleaved", runs=4),
    Design(order="interleaved", runs=10),
    Design(order="blocked", runs=10),
)


def compare(rng: random.Random, model: Model, design: Design, effect: float) -> Judgement:
    """One comparison of B with A, whose values are `effect` (a fraction) apart."""
    runs = design.runs or BUDGET_PAIRS
    noise = model(rng, 2 * runs)
    if design.order == "blocked":
        base, other = noise[:runs], noise[runs:]
    else:
        first, second = noise[::2], noise[1::2]
        base = [second[i] if i % 2 else first[i] for i in range(runs)]
        other = [first[i] if i % 2 else second[i] for i in range(runs)]
    a = [[math.exp(x)] for x in base]
    b = [[math.exp(x) * (1 + effect)] for x in other]
    if design.runs is None:
        for pairs in range(FEWEST_PAIRS, BUDGET_PAIRS + 1, 2):
            if enough(a[:pairs], b[:pairs], width=MINIMUM_EFFECT):
                a, b = a[:pairs], b[:pairs]
                break
    return judge(a, b, direction="max", minimum_effect=MINIMUM_EFFECT, paired=design.order == "pairs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Comparisons of one kind. `target` is the limit for the share named in `asked`; None: stated, held to nothing."""

    part: str
    model: str
    design: Design
    effect: float
    asked: str
    target: float | None

    @property
    def name(self) -> str:
        return f"{self.part}/{self.model}/{self.design.name}/{self.effect}"


def cells() -> list[Cell]:
    found = []
    for design in DESIGNS:
        for model in MODELS:
            free = design.order == "blocked" and model in MOVING
            found.append(
                Cell(part="A/A", model=model, design=design, effect=0.0, asked="claimed", target=None if free else 0.05)
            )
    for design in DESIGNS[:5]:
        for model in MODELS:
            held = 0.95 if (model, design.name) == ("log-normal 1%", "pairs 10") else None
            found.append(Cell(part="3%", model=model, design=design, effect=0.03, asked="found", target=held))
    # On the border of what counts as an effect "neutral" would be as wrong as "beneficial" is right.
    found.extend(
        Cell(part="1%", model=model, design=design, effect=0.01, asked="neutral", target=None)
        for design in DESIGNS[:3]
        for model in MODELS
    )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How often each verdict came out, and how often the interval held the true ratio."""

    cell: Cell
    comparisons: int
    counts: dict[str, int]
    covered: int
    mean_runs: float
    wall_s: float

    @property
    def asked(self) -> int:
        """How many comparisons did what the cell asks for."""
        words = {
            "claimed": (Verdict.BENEFICIAL, Verdict.REGRESSIVE),
            "found": (Verdict.BENEFICIAL,),
            "neutral": (Verdict.NEUTRAL,),
        }
        return sum(self.counts[word] for word in words[self.cell.asked])


def run_cell(task: tuple[Cell, int, int]) -> Outcome:
    cell, comparisons, seed = task
    counts = {str(verdict): 0 for verdict in Verdict}
    covered = runs = 0
    began = time.perf_counter()
    for number in range(comparisons):
        rng = random.Random(f"{seed}/{cell.name}/{number}")
        judgement = compare(rng, MODELS[cell.model], cell.design, cell.effect)
        counts[str(judgement.verdict)] += 1
        assert judgement.effect is not None
        assert judgement.effect.interval is not None
        covered += judgement.effect.interval.low <= 1 + cell.effect <= judgement.effect.interval.high
        runs += judgement.effect.base_runs
    return Outcome(
        cell=cell,
        comparisons=comparisons,
        counts=counts,
        covered=covered,
        mean_runs=runs / comparisons,
        wall_s=time.perf_counter() - began,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A best-of-`cases` sweep with `repeats` runs of each case, in one of the orders of a recipe: `interleaved` (rounds
    1..N, N..1, 1..N), `shuffled`, or `as-listed` (all runs of a case together).

    `better` cases, drawn anew for each sweep, are `effect` better than the others; of two of them none is the winner.
    """

    model: str
    order: str
    repeats: int
    has_base: bool
    cases: int = 100
    effect: float = 0.0
    better: int = 1

    @property
    def name(self) -> str:
        return f"{self.model}/{self.order}/{self.repeats}/{self.has_base}/{self.effect}/{self.better}"

    @property
    def has_winner(self) -> bool:
        return self.effect > 0 and self.better == 1


def sweeps() -> list[Sweep]:
    # Against a base the best of 99 needs 12 pairs before it can be named at all, and 8 runs where these are mixed.
    found = [
        Sweep(model=model, order=order, repeats=repeats, has_base=has_base)
        for has_base, order, repeats in (
            (True, "interleaved", 20),
            (True, "shuffled", 10),
            (True, "as-listed", 10),
            (False, "interleaved", 10),
            (False, "shuffled", 10),
            (False, "shuffled", 4),
            (False, "as-listed", 10),
        )
        for model in MODELS
    ]
    # Two cases share the first place by far: the hardest test of naming one of them without a base.
    found += [
        Sweep(model=model, order=order, repeats=repeats, has_base=False, effect=0.5, better=2)
        for model in ("log-normal 1%", "log-normal 5%")
        for order, repeats in (("interleaved", 10), ("shuffled", 10), ("shuffled", 4))
    ]
    # What a sweep can find: one case that is 3% better than the other 99.
    return found + [
        Sweep(model="log-normal 1%", order=order, repeats=repeats, has_base=has_base, effect=0.03)
        for has_base in (True, False)
        for order, repeats in (("interleaved", 10), ("interleaved", 20), ("shuffled", 10), ("as-listed", 10))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOutcome:
    """How many sweeps named a winner, and how many the case that is better."""

    sweep: Sweep
    repeats: int
    named: int
    right: int
    wall_s: float


def order_of(rng: random.Random, sweep: Sweep) -> list[int]:
    """The case of each run, in the order in which the runs are made."""
    cases = list(range(sweep.cases))
    if sweep.order == "interleaved":
        return [case for turn in range(sweep.repeats) for case in (cases[::-1] if turn % 2 else cases)]
    listed = [case for case in cases for _ in range(sweep.repeats)]
    return rng.sample(listed, len(listed)) if sweep.order == "shuffled" else listed


def run_sweep(task: tuple[Sweep, int, int]) -> SweepOutcome:
    sweep, repeats, seed = task
    named = right = 0
    began = time.perf_counter()
    for number in range(repeats):
        rng = random.Random(f"{seed}/sweep/{sweep.name}/{number}")
        noise = MODELS[sweep.model](rng, sweep.cases * sweep.repeats)
        better = rng.sample(range(1, sweep.cases), sweep.better)
        cases: dict[int, list[tuple[int, list[float]]]] = {case: [] for case in range(sweep.cases)}
        for place, (case, value) in enumerate(zip(order_of(rng, sweep), noise, strict=True)):
            cases[case].append((place, [math.exp(value) * (1 + sweep.effect * (case in better))]))
        found = winner(
            cases,
            direction="max",
            minimum_effect=MINIMUM_EFFECT,
            base=0 if sweep.has_base else None,
            shuffled=sweep.order == "shuffled",
        )
        named += found.winner is not None
        right += found.winner in better
    wall_s = time.perf_counter() - began
    return SweepOutcome(sweep=sweep, repeats=repeats, named=named, right=right, wall_s=wall_s)
