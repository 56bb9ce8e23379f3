"""How often a verdict is wrong: simulated comparisons, judged by the `judge` and `winner` of logbook_agent itself.

    make calibrate                             (or: python benchmarks/calibration.py --comparisons 2000 --save FILE)

Design. A run is one number (the median of its samples). The runs of a comparison have an order, as on a machine, and
noise by one of MODELS in simulation.py, in the logarithm of the value. Designs, by how runs are ordered and judged:

    pairs N            N pairs in the order AB BA AB BA ..., judged as pairs
    pairs until 1%     the same, after each AB BA `enough` is asked from the 6th pair on; at most 60 pairs
    interleaved N      the same order, N runs a side, judged as if unpaired
    blocked N          all of A, then all of B, judged unpaired: what drift does when nobody interleaves

Sweeps of 100 cases run in the orders of a recipe, and the `winner` that `logbook sweep` calls judges them.

Targets: an A/A comparison gets a verdict other than neutral or inconclusive in at most 5% (not held for blocked runs
of a machine that changes, which no test can tell from an effect); of a true 3% at 1% noise 95% are found within 10
pairs; of best-of-100 sweeps without an effect 95% name no winner. A comparison has a random generator of its own,
seeded by --seed, its cell and its number. Nothing was tuned on the seed reported.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import platform
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from simulation import MODELS, Outcome, SweepOutcome, cells, run_cell, run_sweep, sweeps

from logbook_agent.findings.evidence.verdict import judge


def share(hits: int, of: int) -> str:
    """`1.2% (0.8 to 1.8)`: with the 95% score interval of E. B. Wilson, JASA 22 (1927)."""
    z, part = 1.959964, hits / of
    middle = (part + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(part * (1 - part) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return f"{part:.1%} ({100 * max(0.0, middle - half):.1f} to {100 * min(1.0, middle + half):.1f})"


def grid(outcomes: Sequence[Outcome], value: Callable[[Outcome], str]) -> str:
    """One row per model, one column per design."""
    designs = list(dict.fromkeys(o.cell.design.name for o in outcomes))
    found = {(o.cell.model, o.cell.design.name): value(o) for o in outcomes}
    lines = [f"| noise | {' | '.join(designs)} |", "| --- |" + " ---: |" * len(designs)]
    lines += [f"| {model} | {' | '.join(found[model, design] for design in designs)} |" for model in MODELS]
    return "\n".join(lines)


def sweep_line(o: SweepOutcome) -> str:
    against = "the base" if o.sweep.has_base else "all others"
    better = f"{o.sweep.better} by {o.sweep.effect:.0%}" if o.sweep.effect else "none"
    right = share(o.right, o.repeats) if o.sweep.has_winner else ""
    return (
        f"| {better} | {o.sweep.model} | {o.sweep.order} | {o.sweep.repeats} | {against} "
        f"| {share(o.named, o.repeats)} | {right} |"
    )


def missed(outcomes: Sequence[Outcome], swept: Sequence[SweepOutcome]) -> list[str]:
    """The targets of the module's docstring that this run did not reach."""
    found = []
    for o in outcomes:
        part, target = o.asked / o.comparisons, o.cell.target
        if target is not None and (part > target if o.cell.asked == "claimed" else part < target):
            found.append(f"{o.cell.name}: {o.cell.asked} {part:.1%}, target {target:.0%}")
    found += [
        f"{o.sweep.name}: named {o.named}" for o in swept if not o.sweep.has_winner and o.named > 0.05 * o.repeats
    ]
    return found


def report(outcomes: Sequence[Outcome], swept: Sequence[SweepOutcome]) -> str:
    def of(part: str) -> list[Outcome]:
        return [o for o in outcomes if o.cell.part == part]

    def asked(o: Outcome) -> str:
        return f"{o.asked / o.comparisons:.1%}"

    head = "| better | noise | order | runs | against | names a winner | and the right one |"
    parts = [
        ("A/A: verdicts that claim an effect", grid(of("A/A"), lambda o: share(o.asked, o.comparisons))),
        ("A/A: verdicts that are neutral", grid(of("A/A"), lambda o: f"{o.counts['neutral'] / o.comparisons:.1%}")),
        ("A/A: 95% intervals that hold the truth", grid(of("A/A"), lambda o: f"{o.covered / o.comparisons:.1%}")),
        ("A/A: runs per side", grid(of("A/A"), lambda o: f"{o.mean_runs:.1f}")),
        ("A true 3% that is found", grid(of("3%"), asked)),
        ("A true 1%, the minimum effect itself, called neutral", grid(of("1%"), asked)),
        (
            "Sweeps of 100 cases",
            "\n".join([head, "| --- | --- | --- | ---: | --- | ---: | ---: |", *map(sweep_line, swept)]),
        ),
    ]
    return "\n\n".join(f"{title}\n\n{table}" for title, table in parts)


def speed() -> dict[str, float]:
    """Milliseconds of processor time of one `judge` by design and runs per side: the median of 50 calls on new data."""
    found = {}
    rng = random.Random(1)
    for paired in (True, False):
        for runs in (1, 4, 6, 10, 20, 40):
            samples = []
            for _ in range(51):
                base, other = ([[rng.lognormvariate(0, 0.01)] for _ in range(runs)] for _ in range(2))
                began = time.process_time()
                judge(base, other, direction="max", paired=paired)
                samples.append(1000 * (time.process_time() - began))
            # The first call fills the tables that all others use.
            found[f"{'pairs' if paired else 'unpaired'} {runs}"] = sorted(samples[1:])[25]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=20261120)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    began = time.perf_counter()
    fast = speed()
    with multiprocessing.Pool(os.cpu_count()) as pool:
        outcomes = pool.map(run_cell, [(cell, options.comparisons, options.seed) for cell in cells()], chunksize=1)
        swept = pool.map(run_sweep, [(sweep, options.comparisons, options.seed) for sweep in sweeps()], chunksize=1)
    wall_s = time.perf_counter() - began
    print(f"{options.comparisons} comparisons a cell, seed {options.seed}, {wall_s:.0f} s on {os.cpu_count()} cores\n")
    print(report(outcomes, swept))
    print("\n`judge`, ms a call: " + ", ".join(f"{name}: {ms:.2f}" for name, ms in fast.items()))
    print("\nTargets missed: " + ("; ".join(missed(outcomes, swept)) or "none"))
    if options.save is not None:
        document = {
            "facts": {"machine": platform.machine(), "cpus": os.cpu_count(), "python": platform.python_version()},
            "seed": options.seed,
            "wall_s": wall_s,
            "judge_ms": fast,
            "comparisons": [asdict(o) | {"design": o.cell.design.name} for o in outcomes],
            "sweeps": [asdict(o) for o in swept],
        }
        options.save.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
