"""Simulated experiments, as benchmarks/calibration.py describes and reports them: judged by logbook_agent itself."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from machines import MODELS

from logbook_agent.findings.evidence.alike import Likeness
from logbook_agent.findings.evidence.compared import Compared, Numbers
from logbook_agent.findings.evidence.family import held_together
from logbook_agent.findings.evidence.layout import Arrangement, PlacedRun, layout
from logbook_agent.findings.evidence.pairs import Group, Pair
from logbook_agent.findings.evidence.planning import is_look, looks_of
from logbook_agent.findings.evidence.verdict import CLAIMS, Judgement, Verdict, judge
from logbook_agent.findings.evidence.winner import winner
from logbook_agent.model.draw import drawn, order_of_round
from logbook_agent.model.entry import Design

MINIMUM_EFFECT = 0.01
MOST = 20
# A run: its place in the order in which all are made, and what it measured.
Made = list[tuple[PlacedRun, list[float]]]
Rounded = Callable[[float], float]


def exactly(value: float) -> float:
    return value


def to_cents(value: float) -> float:
    """0.1043 is printed as 0.10."""
    return round(value, 2)


def to_ticks(value: float) -> float:
    """A timer that ticks at a tenth of what it measures."""
    return round(value * 96) / 96


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One kind of experiment. Of `values` values the first is the base; the others are `effect` better, of an A/A 0.

    order      drawn: `rounds` rounds, each value once in each, in an order that a seed draws; shuffled: the same runs
    all            mixed; turns: the fixed order AB BA; blocked: value by value
    looks      0: judged once, after all rounds. Else as `logbook ab` without --repeat: looked at after 8, 10, ...
    pairs,            and ended by the first settled verdict; -1: asked after every run, as a stop criterion is
    start      what a value is before noise, and `printed` how it is reported
    """

    name: str
    order: str = "drawn"
    values: int = 2
    rounds: int = MOST
    looks: int = 0
    effect: float = 0.0
    start: float = 1.0
    printed: Rounded = field(default=exactly)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """An experiment on a machine. `asked` is what is counted: claimed, found, neutral, covered, named. `most` or
    `least`: the part of experiments that it may or must be; None: stated, held to nothing."""

    experiment: Experiment
    model: str
    asked: str
    most: float | None = None
    least: float | None = None

    @property
    def name(self) -> str:
        return f"{self.experiment.name}/{self.model}/{self.asked}"


@dataclass(frozen=True, slots=True)
class Outcome:
    cell: Cell
    trials: int
    hits: int
    median_pairs: float
    wall_s: float

    @property
    def part(self) -> float:
        return self.hits / self.trials


def run_cell(task: tuple[Cell, int, int]) -> Outcome:
    """So many trials of a cell, each with a generator of its own that the seed, the cell and its number make."""
    cell, trials, seed = task
    began = time.perf_counter()
    hits, pairs = 0, []
    for number in range(trials):
        rng = random.Random(f"{seed}/{cell.experiment.name}/{cell.model}/{number}")
        if cell.asked == "named":
            hits += _names_a_winner(rng, cell)
            continue
        judged, made = _judged(rng, cell)
        pairs.append(made)
        hits += any(_counts(one, cell) for one in judged)
    middle = sorted(pairs)[len(pairs) // 2] if pairs else 0
    return Outcome(cell=cell, trials=trials, hits=hits, median_pairs=middle, wall_s=time.perf_counter() - began)


def _counts(judgement: Judgement, cell: Cell) -> bool:
    effect, true = judgement.effect, 1 + cell.experiment.effect
    if cell.asked == "covered":
        interval = effect.interval if effect is not None else None
        return interval is not None and interval.low <= true * (1 + 1e-12) and interval.high >= true * (1 - 1e-12)
    if cell.asked == "found":
        return judgement.verdict is Verdict.BENEFICIAL
    if cell.asked == "neutral":
        return judgement.verdict is Verdict.NEUTRAL
    return judgement.verdict in CLAIMS


def _order(rng: random.Random, e: Experiment) -> tuple[list[tuple[int, int]], Design | None]:
    """Round (from 1) and value of every run in order, and the design that an entry would state."""
    seed = rng.getrandbits(32)
    rounds = range(1, e.rounds + 1)
    if e.order == "blocked":
        return [(r, value) for value in range(e.values) for r in rounds], None
    if e.order == "turns":
        return [(r, v) for r in rounds for v in (range(e.values) if r % 2 else reversed(range(e.values)))], None
    looks = 1 if e.looks == 0 else looks_of(e.rounds)
    if e.order == "shuffled":
        listed = [(r, value) for r in rounds for value in range(e.values)]
        design = Design(seed=seed, shuffled=True, rounds=e.rounds)
        return sorted(listed, key=lambda place: drawn(f"{seed} {place}")), design
    design = Design(seed=seed, rounds=e.rounds, looks=looks)
    return [(r, value) for r in rounds for value in order_of_round(seed, r, e.values)], design


def _series(rng: random.Random, cell: Cell) -> dict[int, Made]:
    """The runs of each value, in the order in which they were made."""
    e = cell.experiment
    order, design = _order(rng, e)
    noise = MODELS[cell.model](rng, [value for _, value in order])
    made: dict[int, Made] = {value: [] for value in range(e.values)}
    for place, ((number, value), log) in enumerate(zip(order, noise, strict=True)):
        measured = e.printed(e.start * math.exp(log) * (1 + e.effect * (value > 0)))
        made[value].append((PlacedRun(("", "", place), repeat=number, design=design), [measured]))
    return made


def _judged(rng: random.Random, cell: Cell) -> tuple[list[Judgement], int]:
    """What is said of an experiment in the end, of each value against the base, and after how many pairs."""
    e, made = cell.experiment, _series(rng, cell)
    if e.looks == 0:
        return _told(made, e.rounds), e.rounds
    if e.looks < 0:
        every = [_told(made, pairs) for pairs in range(6, e.rounds + 1)]
        return [one for said in every for one in said], e.rounds
    said: list[Judgement] = []
    for pairs in range(6, e.rounds + 1):
        if is_look(pairs, e.rounds):
            said = _told(made, pairs)
            if all(one.verdict is not Verdict.INCONCLUSIVE for one in said):
                return said, pairs
    return said, e.rounds


def _told(made: dict[int, Made], rounds: int) -> list[Judgement]:
    """The judgements after so many rounds, corrected together; inconclusive where the order of the runs settles
    nothing."""
    base = made[0][:rounds]
    family = [_compared(base, made[value][:rounds]) for value in made if value]
    return [m.judgement for m in held_together(family) if m.judgement is not None]


_NOBODY = Numbers()
_PAIR = Pair(case={}, base=Group(items=()), other=Group(items=()), likeness=Likeness())


def _compared(base: Made, other: Made) -> Compared:
    lay = layout([p for p, _ in base], [p for p, _ in other])
    judgement = _judgement(base, other, lay)
    return Compared(
        metric="t", direction="max", base=_NOBODY, other=_NOBODY, judgement=judgement, withheld_by=(), layout=lay
    )


def _judgement(base: Made, other: Made, lay: Arrangement) -> Judgement:
    if not lay.is_sound:
        return Judgement(verdict=Verdict.INCONCLUSIVE, effect=None, reasons=(lay.lay,))
    sides: Sequence[list[list[float]]] = [[samples for _, samples in side] for side in (base, other)]
    if lay.is_paired:
        sides = [[side[pair[at]] for pair in lay.pairs] for at, side in enumerate(sides)]
    return judge(
        *sides,
        direction="max",
        minimum_effect=MINIMUM_EFFECT,
        other_first=lay.other_first if lay.is_paired else None,
        looks=lay.looks,
    )


def _names_a_winner(rng: random.Random, cell: Cell) -> bool:
    return winner(_series(rng, cell), direction="max", minimum_effect=MINIMUM_EFFECT).winner is not None


# -- the cells ---------------------------------------------------------------------------------------

# 5%, and three standard errors of 5,000 trials.
AT_MOST = 0.059

PAIRS_6 = Experiment(name="6 pairs", rounds=6)
PAIRS_20 = Experiment(name="20 pairs")
LOOKS_20 = Experiment(name="looks up to 20 pairs", looks=1)
LOOKS_60 = Experiment(name="looks up to 60 pairs", looks=1, rounds=60)
ALWAYS = Experiment(name="asked after every pair, up to 50", looks=-1, rounds=50)
SHUFFLED = Experiment(name="10 runs a side, shuffled", order="shuffled", rounds=10)
BLOCKED = Experiment(name="10 runs a side, blocked", order="blocked", rounds=10)
TURNS = Experiment(name="10 pairs, AB BA", order="turns", rounds=10)
FAMILY_10 = Experiment(name="10 values, 20 pairs", values=11)
FAMILY_100 = Experiment(name="100 values, 14 pairs", values=101, rounds=14)
# What the version before this one found in 20 pairs, by the same noise: effect and noise to the part found.
BEFORE = {(0.01, 1): 0.42, (0.03, 1): 1.0, (0.1, 1): 1.0, (0.01, 5): 0.046, (0.03, 5): 0.26, (0.1, 5): 0.995}


def false_claims() -> list[Cell]:
    """A/A: every machine, every design. The fixed order of older entries is stated and held to nothing."""
    held = (PAIRS_6, PAIRS_20, LOOKS_20, LOOKS_60, ALWAYS, SHUFFLED, BLOCKED, FAMILY_10, FAMILY_100)
    found = [Cell(experiment=e, model=m, asked="claimed", most=AT_MOST) for e in held for m in MODELS]
    return found + [Cell(experiment=TURNS, model=m, asked="claimed") for m in MODELS]


def coverage() -> list[Cell]:
    return [Cell(experiment=PAIRS_20, model=m, asked="covered", least=0.93) for m in MODELS]


def power() -> list[Cell]:
    found = []
    for (effect, sigma), before in BEFORE.items():
        for plan in (PAIRS_20, LOOKS_20):
            e = Experiment(name=f"{effect:.0%}, {plan.name}", effect=effect, looks=plan.looks)
            least = before - 0.02 if plan is PAIRS_20 else None
            found.append(Cell(experiment=e, model=f"normal {sigma}%", asked="found", least=least))
    found.append(Cell(experiment=PAIRS_20, model="normal 1%", asked="neutral"))
    found.append(Cell(experiment=LOOKS_20, model="normal 1%", asked="neutral"))
    return found


def coarse() -> list[Cell]:
    """A true effect that the values are too coarse for, called neutral."""
    cents = Experiment(name="4%, printed as 0.10", rounds=6, effect=0.04, start=0.1, printed=to_cents)
    ticks = Experiment(name="3%, timer ticks of 10%", effect=0.03, start=0.1, printed=to_ticks)
    return [
        Cell(experiment=e, model=m, asked="neutral", most=0.05)
        for e in (cents, ticks)
        for m in ("normal 1%", "normal 5%")
    ]


def winners() -> list[Cell]:
    found = []
    for values in (10, 100, 1000):
        for order in ("drawn", "shuffled"):
            e = Experiment(name=f"best of {values}, {order}", order=order, values=values, rounds=10)
            found += [Cell(experiment=e, model=m, asked="named", most=AT_MOST) for m in MODELS]
    return found


def every_cell() -> list[Cell]:
    return [*false_claims(), *coverage(), *power(), *coarse(), *winners()]
