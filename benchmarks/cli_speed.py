"""How long the command line takes, as ratios to `python -c "import typer"` in the same run.

    python benchmarks/cli_speed.py [--rounds 30] [--save FILE]

Design: the commands alternate, one of each per round, in an order that is reversed every other round, so
that drift of the machine meets all alike. Every sample is kept. `logbook run -- true` runs in a small git
repository with warm caches; its fsync time is measured inside the process and stated apart, because it is a
property of the disk. Beside the wall time stands the processor time of the command and its children, which a busy
machine changes less. Targets: --help within 2.5, run within 2.2.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NAMES, PROCESSOR = ("import typer", "--help", "run -- true"), ", processor"
TYPER = [sys.executable, "-c", "import typer"]
HELP = [sys.executable, "-m", "logbook_agent", "--help"]
RUN = [sys.executable, "-m", "logbook_agent", "run", "--", "true"]
# The same as RUN with a clock around os.fsync; the total goes to a file.
COUNTED = """
import os, sys, time
total = 0.0
fsync = os.fsync
def counted(fd):
    global total
    began = time.perf_counter()
    fsync(fd)
    total += time.perf_counter() - began
os.fsync = counted
from logbook_agent.cli import main
code = main(["run", "--", "true"])
open(sys.argv[1], "w").write(str(total))
sys.exit(code)
"""


def seconds(argv: list[str], folder: Path, environ: dict[str, str]) -> tuple[float, float]:
    """Wall time and processor time."""
    began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime


def repository(folder: Path, environ: dict[str, str]) -> None:
    """A small git repository with a logbook and a few entries."""
    for i in range(20):
        (folder / f"module_{i}.py").write_text(f"VALUE = {i}\n" * 50)
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for argv in (["git", "init", "-q"], ["git", "add", "."], [*git, "commit", "-q", "-m", "x"]):
        seconds(argv, folder, environ)
    seconds([sys.executable, "-m", "logbook_agent", "start", "speed", "--prefix", "S"], folder, environ)
    for _ in range(5):
        seconds(RUN, folder, environ)


def measure(rounds: int) -> dict[str, list[float]]:
    """Samples in seconds by name; `fsync` is the part of `run` spent in fsync."""
    # Bytecode is written and read, as it is in any installation.
    environ = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "LOGBOOK_ROOT", "LOGBOOK")}
    samples: dict[str, list[float]] = {f"{name}{of}": [] for of in ("", PROCESSOR) for name in NAMES}
    samples["fsync"] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        repository(folder, environ)
        commands = [*zip(NAMES, (TYPER, HELP, RUN), strict=True)]
        for number in range(rounds):
            for name, argv in commands if number % 2 else reversed(commands):
                wall, processor = seconds(argv, folder, environ)
                samples[name].append(wall)
                samples[f"{name}{PROCESSOR}"].append(processor)
            counter = folder / "fsync"
            seconds([sys.executable, "-c", COUNTED, str(counter)], folder, environ)
            samples["fsync"].append(float(counter.read_text()))
    return samples


def report(samples: dict[str, list[float]]) -> str:
    median = {name: statistics.median(values) for name, values in samples.items()}
    base, of_processor = median[NAMES[0]], median[f"{NAMES[0]}{PROCESSOR}"]
    lines = [
        "| command | median ms | min ms | max ms | ratio to `import typer` |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, values in samples.items():
        low, middle, high = (1000 * v for v in (min(values), median[name], max(values)))
        ratio = median[name] / (of_processor if name.endswith(PROCESSOR) else base)
        lines.append(f"| `{name}` | {middle:.1f} | {low:.1f} | {high:.1f} | {ratio:.2f} |")
    net = median["run -- true"] - median["fsync"]
    lines.append(f"| `run -- true` without fsync | {1000 * net:.1f} | | | {net / base:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--save", type=Path, help="write all samples as JSON to this file")
    options = parser.parse_args()
    samples = measure(options.rounds)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {options.rounds} rounds\n")
    print(report(samples))
    if options.save:
        facts = {"python": platform.python_version(), "cores": os.cpu_count(), "unit": "s", "samples": samples}
        options.save.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
