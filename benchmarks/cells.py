"""What benchmarks/calibration.py measures, and the limits that hold for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from clocks import CLOCKS
from machines import MODELS
from simulation import Cell, Experiment, Tally

from logbook_agent.model.comparison import MINIMUM_EFFECT

SEED = 20261125
POWER_TRIALS, TRIALS, AGAIN_TRIALS = 2_000, 4_000, 20_000
LONG = (20, 100)

NOISES = {"0.5%": "normal 0.5%", "1%": "normal 1%", "2%": "normal 2%", "5%": "normal 5%"}
EFFECTS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1)
NONE = Experiment(name="no effect", budgets=LONG)
FIVE = Experiment(name="no effect, five sittings", budgets=(100,), sittings=5)
ONCE = Experiment(name="no effect, 8 pairs once", budgets=(8,), fixed=True)
BOUND = Experiment(name="effect of 1%", budgets=LONG, effect=0.01)
LARGE = Experiment(name="effect of 3%", budgets=LONG, effect=0.03)
ORDER_MODEL = "second run 5% slower"
ORDER = Experiment(name="power, 2%", effect=0.02)
ORDER_NONE = Experiment(name="power, none")
ON = Experiment(name="going on", effect=0.03, budgets=(20, 30, 60, 80, 100))
SWEEPS = (Experiment(name="sweep of 100 cases", effect=0.03, searched=100),)
FAMILIES = (
    Experiment(name="a rate and its time", budgets=LONG, metrics=2, likeness=-1),
    Experiment(name="3 alike metrics", budgets=LONG, metrics=3, likeness=0.7),
    Experiment(name="3 sides", budgets=LONG, sides=3),
    Experiment(name="4 cases", budgets=LONG, cases=4),
    Experiment(name="2 sides, 2 metrics", budgets=LONG, sides=2, metrics=2, likeness=0.7),
)
FAMILY_MODELS = ("normal 5%", "t(2) 1%", "every 2 runs", "second run 5% slower")
CLOCK_EFFECTS = (0.0, 0.002, 0.01, 0.03)
CLOCK_MODELS = ("normal 1%", "normal 5%")
# A clock whose polls lie far further apart than the runs scatter shows one poll again and again, a little late each
# time. Nobody can tell that from a fine clock.
HELD_CLOCKS = {"polls of 0.1, 1% late": ("normal 5%",)}
# What must be found: experiment and model, to what is counted and the least part of trials.
POWER = {
    ("power, none", "normal 0.5%"): ("same 20", 0.99),
    ("power, none", "normal 1%"): ("same 20", 0.65),
    ("power, 1%", "normal 1%"): ("right 20", 0.48),
    ("power, 2%", "normal 1%"): ("right 20", 0.99),
    ("power, 2%", "normal 2%"): ("right 20", 0.71),
    ("power, 3%", "normal 2%"): ("right 20", 0.95),
    ("power, 5%", "normal 2%"): ("right 20", 0.99),
    ("power, 5%", "normal 5%"): ("right 20", 0.69),
    ("power, 10%", "normal 5%"): ("right 20", 0.99),
    ("power, 2%", "second run 5% slower"): ("right 20", 0.97),
    ("sweep of 100 cases", "normal 1%"): ("right", 0.95),
}


ALL_NONE = (NONE, FIVE, ONCE, *FAMILIES)


def power(effect: float) -> Experiment:
    return Experiment(name=f"power, {_effect(effect)}", effect=effect)


def _effect(effect: float) -> str:
    return f"{effect:.0%}" if effect else "none"


def power_cells() -> list[tuple[Experiment, str]]:
    found = [(power(effect), model) for model in NOISES.values() for effect in EFFECTS]
    return [*found, (ORDER, ORDER_MODEL), (ORDER_NONE, ORDER_MODEL)]


def clock_cells() -> list[tuple[Experiment, str]]:
    return [
        (Experiment(name=f"{clock}, {effect:.1%}", effect=effect, clock=clock), model)
        for clock in CLOCKS
        for effect in CLOCK_EFFECTS
        for model in CLOCK_MODELS
    ]


def cells() -> list[Cell]:
    """All cells but those that are measured again, the most important first."""
    listed = [(e, m, POWER_TRIALS) for e, m in [*power_cells(), (ON, "normal 5%")]]
    listed += [(e, "normal 1%", TRIALS) for e in SWEEPS]
    listed += [(e, m, TRIALS) for e in (NONE, FIVE, ONCE) for m in MODELS]
    listed += [(e, m, TRIALS) for e in (BOUND, LARGE) for m in MODELS]
    listed += [(e, m, POWER_TRIALS) for e, m in clock_cells()]
    listed += [(e, m, TRIALS) for e in FAMILIES for m in FAMILY_MODELS]
    return [Cell(experiment=e, model=m, trials=trials, seed=SEED) for e, m, trials in listed]


def rates(cell: Cell, tally: Tally) -> dict[str, float]:
    """The rates of a cell that have a limit, at the budget where they are the worst."""
    budgets = cell.experiment.budgets
    found = {"not covered": max(1 - tally.part(f"covered {b}") for b in budgets)}
    if cell.experiment in ALL_NONE:
        found["claimed"] = max(tally.part(f"claimed {b}") for b in budgets)
    if cell.experiment == BOUND:
        found["same"] = max(tally.part(f"same {b}") for b in budgets)
    return found


LIMITS = {"not covered": 0.06, "claimed": 0.05, "same": 0.05}
LIMITS_AGAIN = {"not covered": 0.06, "claimed": 0.055, "same": 0.055}


def again(found: Sequence[tuple[Cell, Tally]]) -> list[Cell]:
    """What is measured again with other trials: the five cells with the most false claims, and all beyond a limit."""
    ranked = sorted((one for one in found if one[0].experiment in ALL_NONE), key=lambda one: -rates(*one)["claimed"])
    beyond = [c for c, t in found if c.experiment in (*ALL_NONE, BOUND, LARGE) and _is_beyond(rates(c, t), LIMITS)]
    worst = dict.fromkeys([*(c for c, _ in ranked[:5]), *beyond])
    return [replace(cell, trials=AGAIN_TRIALS, seed=SEED + 1) for cell in worst]


def _is_beyond(found: Mapping[str, float], limits: Mapping[str, float]) -> bool:
    return any(rate > limits[name] for name, rate in found.items())


def missed(found: Sequence[tuple[Cell, Tally]], second: Sequence[tuple[Cell, Tally]]) -> list[str]:
    """What is beyond a limit, in words. A rate that is measured again counts as the second time gives it."""
    said = [
        f"{c.name}: {_text(rates(c, t))} of {t.trials:,}" for c, t in second if _is_beyond(rates(c, t), LIMITS_AGAIN)
    ]
    of = {(c.experiment.name, c.model): t for c, t in found}
    for (name, model), (what, least) in POWER.items():
        tally = of.get((name, model))
        if tally is not None and tally.part(what) < least:
            said.append(f"{name} / {model}: {what} in {tally.part(what):.1%}, not {least:.0%}")
    for cell, tally in found:
        if cell.experiment.clock and cell.model in HELD_CLOCKS.get(cell.experiment.clock, CLOCK_MODELS):
            is_same_false = cell.experiment.effect >= MINIMUM_EFFECT and tally.part("same 20") > LIMITS["same"]
            if is_same_false or _is_beyond(rates(cell, tally), {"not covered": LIMITS["not covered"]}):
                said.append(f"{cell.name}: same {tally.part('same 20'):.1%}, covered {tally.part('covered 20'):.1%}")
    return said


def _text(found: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {rate:.1%}" for name, rate in found.items())
