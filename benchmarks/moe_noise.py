"""How far two runs of one and the same case lie apart: the noise that every ratio of two runs has to beat.

    python benchmarks/moe_noise.py [--repeats 30] [--save FILE]

Design: one case is run `--repeats` times, each a new process of `bench-core hillclimb`; two cases alternate, so that
drift of the machine meets both. The runs of a case are taken in pairs (1 and 2, 3 and 4, ...) as if they were the
two sides of an A/B: any difference is noise. Reported are the spread of the samples within a process, the spread
of the processes' medians, and the ratios of the pairs. Nothing is dropped; every sample is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

CASES = {
    "small": "--tokens 512 --hidden 128 --mlp-dim 128 --experts 8 --topk 2 --dtype float32 --iters 20 --warmup 2",
    "large": "--tokens 4096 --hidden 512 --mlp-dim 352 --experts 8 --topk 2 --dtype float32 --iters 10 --warmup 2",
}
HEAD = """| case | runs | median ms | within a process | between processes | ratio of pairs: median | lowest | highest |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def samples_of(flags: str) -> list[float]:
    """Seconds of each timed call of one process."""
    argv = [sys.executable, "-m", "bench_core", "hillclimb", "--bench-pass", "forward_backward", *flags.split()]
    out = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    (row,) = (json.loads(line.split(" ", 1)[1]) for line in out.splitlines() if line.startswith("RESULT_JSON "))
    seconds: list[float] = row["metrics"]["time_s"]["samples"]
    return seconds


def spread(values: list[float]) -> float:
    """Median absolute deviation over the median."""
    middle = statistics.median(values)
    return statistics.median(abs(value - middle) for value in values) / middle


def line(name: str, runs: list[list[float]]) -> str:
    medians = [statistics.median(run) for run in runs]
    ratios = [b / a for a, b in zip(medians[::2], medians[1::2], strict=False)]
    within = statistics.median(spread(run) for run in runs)
    numbers = (
        f"{len(runs)} | {1000 * statistics.median(medians):.2f} | {within:.1%} | {spread(medians):.1%} | "
        f"{statistics.median(ratios):.3f} | {min(ratios):.3f} | {max(ratios):.3f}"
    )
    return f"| {name} | {numbers} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    runs: dict[str, list[list[float]]] = {name: [] for name in CASES}
    loads = []
    for number in range(arguments.repeats):
        for name in CASES if number % 2 else reversed(CASES):
            runs[name].append(samples_of(CASES[name]))
        loads.append(os.getloadavg()[0])
    print(HEAD)
    for name, own in runs.items():
        print(line(name, own))
    if arguments.save is not None:
        facts = {"machine": platform.machine(), "cpus": os.cpu_count(), "python": platform.python_version()}
        document = {"facts": facts, "load": loads, "cases": CASES, "seconds": runs}
        arguments.save.write_text(json.dumps(document) + "\n")


if __name__ == "__main__":
    main()
