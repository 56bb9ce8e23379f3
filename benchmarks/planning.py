"""How well the first pairs of an A/B say how many it takes: `make bench-planning` (ten minutes).

Asked after 6 pairs and after 12: how many pairs until the interval is narrower than a width? `planning.pairs_until`
answers from the scatter of the pairs so far. It is held against the pairs that were really needed: the first number,
from 6 on, at which the interval of all pairs so far is that narrow. Target: within a factor of two in 80% of trials.

Simulated pairs of five kinds, 1,000 trials each, with a width that takes about 40 pairs of the first kind; and real
ones, of a command that computes for 0.2 s, whose runs stand in one long series that is cut into trials. Seeds are
fixed.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from logbook_agent.findings.evidence.planning import FEWEST_PAIRS, pairs_until, scatter_of_pairs
from logbook_agent.model.stats.pseudomedian import interval_of_pseudomedian
from logbook_agent.model.stats.sequential import ALPHA

TARGET = 0.8
TRIALS = 1000
LOOKED_AFTER = (6, 12)
# From one end to the other, in standard deviations of a pair: of normal noise it takes 40 pairs.
WIDTH = 2 * 1.96 * 1.02 / math.sqrt(40)
MOST = 400
_OUT = Path(__file__).with_name("planning.json")
# A fixed amount of work, so that what differs is the machine.
_COMMAND = [sys.executable, "-c", "x = 0\nfor i in range(2_500_000): x += i * i"]
REAL_RUNS = 600
Noise = Callable[[random.Random], float]


def _slow_one_in_four(rng: random.Random) -> float:
    def run() -> float:
        return 0.05 * (rng.random() < 0.25) + rng.gauss(0, 0.005)

    return run() - run()


# The logarithm of the ratio of a pair, with what its standard deviation is.
KINDS: dict[str, tuple[Noise, float]] = {
    "normal 1%": (lambda rng: rng.gauss(0, 0.01), 0.01),
    "normal 10%": (lambda rng: rng.gauss(0, 0.1), 0.1),
    "Laplace 1%": (lambda rng: rng.choice((-1, 1)) * rng.expovariate(1) * 0.01 / math.sqrt(2), 0.01),
    "one run in four 5% slower": (_slow_one_in_four, math.sqrt(2 * (0.05**2 * 0.1875 + 0.005**2))),
    "one pair in twenty far off": (
        lambda rng: rng.gauss(0, 0.1 if rng.random() < 0.05 else 0.01),
        math.sqrt(0.95 * 0.01**2 + 0.05 * 0.1**2),
    ),
}


def needed(logs: Sequence[float], width: float) -> int | None:
    """After how many pairs the interval of all so far is narrower; None: after none."""
    return next((pairs for pairs in range(FEWEST_PAIRS, len(logs) + 1) if _narrow(logs[:pairs], width)), None)


def _narrow(logs: Sequence[float], width: float) -> bool:
    low, high = interval_of_pseudomedian(logs, 1 - ALPHA)
    return math.exp(high) - math.exp(low) < width


def judged(trials: Sequence[tuple[Sequence[float], float]]) -> dict[str, object]:
    """How often the forecast after so many pairs lies within a factor of two, and how far off it is: forecast / needed,
    the median and the tenth and ninetieth hundredths. `never`: trials in which no interval was that narrow."""
    really = [needed(logs, width) for logs, width in trials]
    found: dict[str, object] = {"needed": statistics.median(n for n in really if n is not None)}
    for looked in LOOKED_AFTER:
        ratios = [
            pairs_until(width, scatter_of_pairs(logs[:looked]) or 0.0) / n
            for (logs, width), n in zip(trials, really, strict=True)
            if n is not None
        ]
        tenths = statistics.quantiles(ratios, n=10)
        found[f"after {looked}"] = {
            "within_two": sum(0.5 <= ratio <= 2 for ratio in ratios) / len(trials),
            "median_ratio": statistics.median(ratios),
            "from": tenths[0],
            "to": tenths[8],
        }
    return found | {"never": really.count(None)}


def simulated() -> dict[str, object]:
    found = {}
    for name, (noise, sigma) in KINDS.items():
        trials = []
        for number in range(TRIALS):
            rng = random.Random(f"planning/{name}/{number}")
            trials.append(([noise(rng) for _ in range(MOST)], WIDTH * sigma))
        found[name] = judged(trials)
        print(f"{name}: {json.dumps(found[name])}", flush=True)
    return found


def real() -> dict[str, object]:
    """A long series of runs of one command; a trial begins at every third pair and lasts to the end."""
    took_s = []
    for _ in range(REAL_RUNS):
        began = time.perf_counter()
        subprocess.run(_COMMAND, check=True)
        took_s.append(time.perf_counter() - began)
    rng = random.Random("planning/real")
    logs = [math.log(b / a) * rng.choice((-1, 1)) for a, b in zip(took_s[::2], took_s[1::2], strict=True)]
    sigma = scatter_of_pairs(logs) or 0.0
    trials = [(logs[at:], WIDTH * sigma) for at in range(0, len(logs) - 150, 3)]
    found = {"run_s": statistics.median(took_s), "scatter": sigma, "trials": len(trials), **judged(trials)}
    print(f"real: {json.dumps(found)}", flush=True)
    return found


def main() -> int:
    figures = {"target": TARGET, "trials": TRIALS, "simulated": simulated(), "real": real()}
    _OUT.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
