"""The worst cells of benchmarks/calibration.py through the command line: `logbook ab` replays their noise.

    python benchmarks/calibration_cli.py [--trials 24] [--cells 5]

In each trial `logbook ab` runs a command whose values a noise model made beforehand: a file for each side, a line for
each run. The answer (outcome, change, interval, pairs, why it stopped) must be what the rule makes of the same numbers.
Without calibration.json the first models are taken.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from cells import BOUND, NONE
from machines import MODELS
from simulation import Series, Tally, judged

from logbook_agent.findings.comparison.rule import Judged, Pair
from logbook_agent.model.comparison import BLOCK_PAIRS, BUDGET_PAIRS, Design

FIGURES = Path(__file__).with_name("calibration.json")
SIDES = ("a", "b")
# Line LOGBOOK_RUN of the side's file.
COMMAND = 'echo "RESULT side=$0 time_s=$(sed -n "${LOGBOOK_RUN}p" "$0".txt)"'
OUTCOMES = {"more": "worse", "less": "better", "same": "no difference", "open": "open"}


def worst(count: int) -> list[tuple[str, float]]:
    """Models and effects: those with the most false differences, and with the most false "no difference". The values
    are made before the order is drawn, so no model that looks at the side of a run is among them."""
    if not FIGURES.exists():
        return [(model, 0.0) for model in list(MODELS)[:count]]
    tallies = {one["cell"]: Tally(**one) for one in json.loads(FIGURES.read_text(encoding="utf-8"))["cells"]}
    found = []
    for experiment, what, some in ((NONE, "claimed", count - 1), (BOUND, "same", 1)):
        models = [model for model in MODELS if model != "unequal spreads"]
        listed = [(model, tallies[f"{experiment.name} / {model}"].part(f"{what} 20")) for model in models]
        found += [(model, experiment.effect) for model, _ in sorted(listed, key=lambda one: -one[1])[:some]]
    return found


def logbook(folder: Path, name: str, *words: str) -> dict[str, Any]:
    """The data that a command answers."""
    command = [sys.executable, "-m", "logbook_agent", name, "--json", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)["data"]
    return found


def expected(logs: list[float], effect: float, seed: int) -> tuple[Judged, str]:
    """What the rule says of these runs in the order that the seed draws, and why the pairs end."""
    design, series = Design(seed=seed), Series()
    for pair in range(1, BUDGET_PAIRS + 1):
        order = design.order_of(pair, 2)
        first, later = (logs[2 * pair - 2 + at] + effect * side for at, side in enumerate(order))
        series.pairs.append(Pair(later - first, 1 if order == [0, 1] else -1, (pair - 1) // BLOCK_PAIRS))
        ends = (first, later) if order == [0, 1] else (later, first)
        series.readings.append((math.exp(ends[0]), math.exp(ends[1])))
    [found] = judged([series], BUDGET_PAIRS)
    return found, "pairs" if found.outcome == "open" else "settled"


def trial(folder: Path, model: str, effect: float, number: int) -> tuple[str, list[str]]:
    """The outcome that the command line gives, and where it differs from the rule."""
    rng = np.random.default_rng([number, len(model), *model.encode()])
    effect *= rng.choice((-1, 1))
    logs = [float(log) for log in MODELS[model](rng, np.tile((0, 1), (BUDGET_PAIRS, 1))).ravel()]
    for side, more in zip(SIDES, (0.0, effect), strict=True):
        lines = [f"{math.exp(log + more):.17g}\n" for log in logs]
        (folder / f"{side}.txt").write_text("".join(lines), encoding="utf-8")
    found = logbook(folder, "ab", "--axis", "side=a,b", "--", "sh", "-c", COMMAND, "{axis}")
    [finding] = found["answer"]["findings"]
    rule, stopped = expected(logs, effect, found["design"]["seed"])
    ends = [None if math.isinf(end) else math.expm1(end) for end in (rule.low, rule.high)]
    wanted = {
        "outcome": OUTCOMES[rule.outcome],
        "change": None if rule.estimate is None else math.expm1(rule.estimate),
        "interval": None if None in ends else ends,
        "judged": rule.pairs,
    }
    differs = [
        f"{key}: {finding[key]}, not {value}" for key, value in wanted.items() if not _close(finding[key], value)
    ]
    if found["stopped"]["by"] != stopped:
        differs.append(f"stopped by {found['stopped']['by']}, not {stopped}")
    return finding["outcome"], differs


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return all(map(_close, a, b))
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) if isinstance(a, float) and isinstance(b, float) else a == b


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--cells", type=int, default=5)
    options = parser.parse_args()
    is_wrong = False
    for model, effect in worst(options.cells):
        outcomes: Counter[str] = Counter()
        for number in range(options.trials):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                logbook(folder, "start", "replay", "--prefix", "R", "--metric", "time_s:min:s")
                outcome, differs = trial(folder, model, math.log1p(effect), number)
                outcomes[outcome] += 1
                for one in differs:
                    is_wrong = True
                    print(f"{model}, trial {number}: {one}", flush=True)
        print(f"{model}, effect {effect:.0%}: {dict(outcomes)} of {options.trials}", flush=True)
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
