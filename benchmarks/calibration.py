"""How often a verdict is wrong: simulated experiments, ordered, judged and corrected by logbook_agent itself.

    make calibrate                         (or: python benchmarks/calibration.py --trials 500 --only "20 pairs" --save
    FILE)

A run is one number. What the machine does to the runs of a series is in machines.py, which shares nothing with
logbook_agent; what is run in which order, and what is asked of it, is in simulation.py. Every trial has a random
generator of its own, seeded by --seed, its cell and its number.

Targets, each in every cell that it is about:

    A/A        a claim in at most 5.9%: 5%, and three standard errors of 5,000 trials
    coverage   95% intervals of 20 pairs hold the truth in at least 93%
    power      20 pairs find what the version before found in 20 pairs, less two points
    coarse     a true effect that the values are too coarse for is called neutral in at most 5%
    winners    of 10, 100 and 1,000 equal cases one is named in at most 5.9%

With --save the figures go to a JSON file, cell by cell: what stands there of this seed and number of trials is not
measured again, so that a run that was cut off goes on (remove the file after a change to the rules). With --document
the tables go to the place for them in a document.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import random
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from machines import MODELS
from simulation import Cell, Outcome, coverage, every_cell, false_claims, power, run_cell, winners

from logbook_agent.findings.evidence.verdict import judge

_PLACE = re.compile(r"(<!-- calibrate -->\n).*?(<!-- /calibrate -->)", re.DOTALL)
# One trial of these takes as long as many others.
_LONG = {"100 values, 14 pairs": 5, "asked after every pair, up to 50": 2}
_LONG_SWEEPS = {10: 1, 100: 5, 1000: 50}


def trials_of(cell: Cell, trials: int) -> int:
    """How many trials a cell gets: fewer where one takes very long, which the table says."""
    times = _LONG_SWEEPS[cell.experiment.values] if cell.asked == "named" else _LONG.get(cell.experiment.name, 1)
    return max(20, trials // times)


def missed(o: Outcome) -> bool:
    """Whether a cell is beyond its limit by more than chance: three standard errors of fewer trials are more."""
    cell, slack = o.cell, 0.0
    if o.trials < 5000:
        slack = 3 * ((0.05 * 0.95 / o.trials) ** 0.5 - (0.05 * 0.95 / 5000) ** 0.5)
    if cell.most is not None:
        return o.part > cell.most + slack
    return cell.least is not None and o.part < cell.least - slack


def grid(outcomes: Sequence[Outcome]) -> str:
    """One row per machine, one column per experiment."""
    names = list(dict.fromkeys(o.cell.experiment.name for o in outcomes))
    found = {(o.cell.model, o.cell.experiment.name): o for o in outcomes}
    trials = {name: next(o.trials for o in outcomes if o.cell.experiment.name == name) for name in names}
    lines = [f"| machine | {' | '.join(names)} |", "| --- |" + " ---: |" * len(names)]
    for model in MODELS:
        own = [found.get((model, name)) for name in names]
        if any(own):
            shown = ["" if o is None else f"{o.part:.1%}" for o in own]
            lines.append(f"| {model} | {' | '.join(shown)} |")
    return "\n".join([*lines, f"| trials | {' | '.join(f'{trials[name]:,}' for name in names)} |"])


def power_lines(outcomes: Sequence[Outcome]) -> str:
    lines = ["| true effect, design | noise | outcome | share | pairs (median) |", "| --- | --- | --- | ---: | ---: |"]
    asked = {"found": "found", "neutral": "called neutral"}
    for o in outcomes:
        e, model = o.cell.experiment, o.cell.model
        name = e.name if e.effect else f"none, {e.name}"
        lines.append(f"| {name} | {model} | {asked[o.cell.asked]} | {o.part:.1%} | {o.median_pairs:g} |")
    return "\n".join(lines)


def report(outcomes: Sequence[Outcome]) -> str:
    """The figures as Markdown."""
    of = {o.cell.name: o for o in outcomes}

    def those(cells: Sequence[Cell]) -> list[Outcome]:
        return [of[c.name] for c in cells if c.name in of]

    rest = [o for o in outcomes if o.cell.asked == "neutral" and o.cell.most is not None]
    parts = [
        ("Experiments without any effect that claimed one", grid, those(false_claims())),
        ("95% intervals of 20 pairs that hold the truth", grid, those(coverage())),
        ("What is found", power_lines, those(power())),
        ("Values too coarse for the effect, called neutral", power_lines, rest),
        ("Sweeps of equal cases that named a winner", grid, those(winners())),
    ]
    return "\n\n".join(f"{title}:\n\n{table(found)}" for title, table, found in parts if found)


def speed() -> dict[str, float]:
    """Milliseconds of processor time of one `judge` by design and runs per side: the median of 50 calls on new data."""
    found = {}
    rng = random.Random(1)
    for paired in (True, False):
        for runs in (6, 10, 20, 40):
            samples = []
            for _ in range(51):
                base, other = ([[rng.lognormvariate(0, 0.01)] for _ in range(runs)] for _ in range(2))
                first = [bool(rng.getrandbits(1)) for _ in range(runs)] if paired else None
                began = time.process_time()
                judge(base, other, direction="max", other_first=first)
                samples.append(1000 * (time.process_time() - began))
            # The first call fills the tables that all others use.
            found[f"{'pairs' if paired else 'unpaired'} {runs}"] = sorted(samples[1:])[25]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--only", action="append", default=[], help="cells whose name holds this; repeatable")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--document", type=Path)
    options = parser.parse_args()
    began = time.perf_counter()
    fast = speed()
    cells = [c for c in every_cell() if not options.only or any(word in c.name for word in options.only)]
    tasks = [(cell, trials_of(cell, options.trials), options.seed) for cell in cells]
    done = kept(options.save, tasks) if options.save is not None and options.save.exists() else {}
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for outcome in pool.imap_unordered(run_cell, [t for t in tasks if t[0].name not in done]):
            done[outcome.cell.name] = outcome
            print(f"{outcome.cell.name}: {outcome.part:.1%} of {outcome.trials}", file=sys.stderr, flush=True)
            if options.save is not None:
                save(options.save, options.seed, fast, [done[c.name] for c in cells if c.name in done])
    outcomes = [done[cell.name] for cell in cells]
    beyond = [f"{o.cell.name}: {o.part:.1%} of {o.trials}" for o in outcomes if missed(o)]
    text = f"Seed {options.seed}; limits missed: {'; '.join(beyond) or 'none'}.\n\n{report(outcomes)}\n"
    print(f"{time.perf_counter() - began:.0f} s on {os.cpu_count()} cores; `judge`, ms a call: {fast}\n\n{text}")
    if options.document is not None:
        page = options.document.read_text(encoding="utf-8")
        options.document.write_text(_PLACE.sub(lambda m: f"{m[1]}{text}{m[2]}", page), encoding="utf-8")


def kept(file: Path, tasks: Sequence[tuple[Cell, int, int]]) -> dict[str, Outcome]:
    """The outcomes of a file that are of these seeds and numbers of trials."""
    document = json.loads(file.read_text(encoding="utf-8"))
    found = {one["cell"]: one for one in document["cells"]}
    return {
        cell.name: Outcome(cell, trials, one["hits"], one["median_pairs"], one["wall_s"])
        for cell, trials, seed in tasks
        if (one := found.get(cell.name)) is not None and one["trials"] == trials and document["seed"] == seed
    }


def save(file: Path, seed: int, fast: dict[str, float], outcomes: Sequence[Outcome]) -> None:
    """Write the figures, whole or not at all."""
    document = {
        "facts": {"machine": platform.machine(), "cpus": os.cpu_count(), "python": platform.python_version()},
        "seed": seed,
        "judge_ms": fast,
        "cells": [
            {"cell": o.cell.name, "trials": o.trials, "hits": o.hits, "median_pairs": o.median_pairs}
            | {"most": o.cell.most, "least": o.cell.least, "wall_s": round(o.wall_s, 1)}
            for o in outcomes
        ],
    }
    written = file.with_suffix(".new")
    written.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    written.replace(file)


if __name__ == "__main__":
    main()
