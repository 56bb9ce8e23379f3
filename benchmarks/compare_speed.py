"""What `logbook compare` costs with ten thousand rows.

    python benchmarks/compare_speed.py [--rows 10000] [--rounds 7] [--save FILE]

Design: one logbook, two experiments of `--rows` rows each, all with the facts of a real run (14 keys of config, 9
packages, 4 variables, devices, a commit):

    sweep   one run per side, half the rows each: every row is a case of its own, with three samples
    repeats five runs per side, a tenth of the rows each

The commands alternate; each is a process of its own, so the time holds the start and the reading of the records. Times
are processor time, user and system: the machine may be shared; wall time stands beside. `logbook --help` and `logbook
table` on the same rows are there to compare with. All samples are kept. Target: within 2 s.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from logbook_agent.model.code import Code
from logbook_agent.model.entry import Entry
from logbook_agent.model.header import Header, Metric
from logbook_agent.model.run import Device, Env, Exit, Host, Measurement, Row, Run
from logbook_agent.store.book import Book
from logbook_agent.store.root import create

LOGBOOK = [sys.executable, "-m", "logbook_agent"]
ENVIRON = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "LOGBOOK_ROOT", "LOGBOOK")}
TARGET_S = 2.0


def store(folder: Path, rows: int) -> None:
    header = Header(
        topic="speed",
        title="Speed",
        prefix="SPEED",
        opened="2026-02-10T10:00:00+00:00",
        metrics=(Metric(name="tflops", direction="max", unit="TF/s"),),
    )
    book = create(folder / "logbooks", header, durable=False)
    rng = random.Random(1)
    for number, runs in enumerate((1, 5)):
        entry = Entry(id=f"SPEED-{number:03d}", title="x", opened="2026-02-10T10:43:00+00:00")
        book.write_entry(entry)
        for run in range(2 * runs):
            mode = "int8" if run % 2 else "none"
            add(book, entry.id, run + 1, mode, rows // (2 * runs), rng)


def add(book: Book, entry: str, number: int, mode: str, cases: int, rng: random.Random) -> None:
    book.run_folder(entry, number).mkdir(parents=True)
    shared = {f"key_{i}": i for i in range(11)}
    size = 1.03 if mode == "int8" else 1.0
    rows = tuple(
        Row(
            config={**shared, "tokens": 128 * case, "topk": case % 8, "quant_mode": mode},
            metrics={
                "tflops": Measurement(
                    samples=tuple(size * (100 + case) * rng.lognormvariate(0, 0.01) for _ in range(3)),
                    unit="TF/s",
                    direction="max",
                )
            },
        )
        for case in range(cases)
    )
    argv = ("python", "bench.py", "--quant-mode", mode, "--tokens-list", "all", "--topk", "all")
    packages = ("jax", "jaxlib", "libtpu", "numpy", "scipy", "ml-dtypes", "flax", "optax", "python")
    book.write_run(
        Run(
            entry=entry,
            run=number,
            argv=argv,
            cwd=".",
            env=Env(relevant={f"XLA_{name}": "1" for name in "ABCD"}),
            code=Code(commit="a" * 40, branch="main", identity="b" * 64, dirty=False),
            host=Host(name="host"),
            devices=(Device(platform="tpu", kind="TPU v5p", count=4, used=4),),
            software=dict.fromkeys(packages, "1.0"),
            started=f"2026-02-10T10:{number:02d}:00+00:00",
            ended="2026-02-10T12:00:00+00:00",
            duration_s=1.0,
            exit=Exit(code=0),
            rows=rows,
        )
    )


def measure(rows: int, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Processor and wall time of each command, in the order in which they were taken."""
    commands = {
        "--help": ["--help"],
        "table": ["table", "SPEED-000", "--pivot", "quant_mode", "--delta"],
        "compare a sweep": ["compare", "SPEED-000", "--axis", "quant_mode"],
        "compare a sweep, --json": ["compare", "SPEED-000", "--axis", "quant_mode", "--json"],
        "compare repeats": ["compare", "SPEED-001", "--axis", "quant_mode"],
    }
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as place:
        store(Path(place), rows)
        for _ in range(rounds):
            for name, words in commands.items():
                began, before = time.perf_counter(), used_s()
                subprocess.run([*LOGBOOK, *words], cwd=place, env=ENVIRON, check=True, stdout=subprocess.DEVNULL)
                samples[name].append((used_s() - before, time.perf_counter() - began))
    return samples


def used_s() -> float:
    """Processor time of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--save", type=Path, help="write all samples as JSON")
    options = parser.parse_args()
    samples = measure(options.rows, options.rounds)
    print("| command | median s | min | max | wall, median s |\n| --- | ---: | ---: | ---: | ---: |")
    medians = {}
    for name, taken in samples.items():
        values, wall = zip(*taken, strict=True)
        medians[name] = statistics.median(values)
        span = f"{min(values):.2f} | {max(values):.2f} | {statistics.median(wall):.2f}"
        print(f"| {name} | {medians[name]:.2f} | {span} |")
    slow = [name for name, value in medians.items() if name.startswith("compare") and value > TARGET_S]
    print(f"target of {TARGET_S:g} s " + (f"missed: {', '.join(slow)}" if slow else "met"))
    if options.save is not None:
        about = {"rows": options.rows, "python": platform.python_version(), "cores": os.cpu_count()}
        options.save.write_text(
            json.dumps({**about, "processor_and_wall_s": samples}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
