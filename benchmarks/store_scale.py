"""What a logbook of ten thousand entries costs, against one of ten, in the same run.

    python benchmarks/store_scale.py [--entries 10000] [--rounds 15] [--save FILE]

Design: two stores made alike, of 10 and of `--entries` entries, each with two rows; the commands alternate
between them. `warm`: the index is there and the file system has everything in memory. `cold`: the index was
deleted (the file system's memory is left as it is). The rate of 16 processes that add notes is compared with
the rate at which 16 processes run `logbook --help` on the same cores right before. All samples are kept.
Targets: run at 10,000 within 1.5 times run at 10; status and list within 1 s warm; full render within 5 s;
notes at half the rate of --help or more. The commands that read every record (`doctor`, `report`, and what `plot` draws
from) within 10 s of processor time and 300 MB each, the first `note` within 1 s; `plot` itself is stated.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from logbook_agent.model.code import Code
from logbook_agent.model.entry import Entry, Field, format_id
from logbook_agent.model.header import Header, Metric
from logbook_agent.model.run import Measurement, Row, Run
from logbook_agent.model.worker_report import Device, Exit, Host, Output
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.places import places_of
from logbook_agent.store.workspace import create

LOGBOOK = [sys.executable, "-m", "logbook_agent"]
ENVIRON = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "LOGBOOK_ROOT", "LOGBOOK")}


def forget(folder: Path) -> None:
    """Remove the index of the logbooks of a folder."""
    cache = places_of(folder / "logbooks", ENVIRON).cache
    if cache is not None:
        shutil.rmtree(cache, ignore_errors=True)


def store(folder: Path, entries: int) -> Path:
    """A repository with a logbook of `entries` finished experiments, rendered."""
    folder.mkdir()
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for argv in (["git", "init", "-q"], [*git, "commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(argv, cwd=folder, check=True)
    header = Header(
        topic="scale",
        title="Scale",
        prefix="SCALE",
        opened="2026-02-10T10:00:00+00:00",
        metrics=(Metric(name="tflops", direction="max", unit="TF/s"),),
    )
    book = Book(folder / "logbooks", header.topic)
    book.files = Folder(book.root, is_durable=False)
    create(book, header)
    for number in range(entries):
        add(book, number)
    run(["render"], folder)
    return folder


def add(book: Book, number: int) -> None:
    entry = Entry(
        id=format_id("SCALE", number),
        title=f"Case {number}",
        opened="2026-02-10T10:43:00+00:00",
        fields=(
            Field(label="Hypothesis", text="int8 is faster at this shape"),
            Field(label="Interpretation", text="- it is\n- by a little"),
            Field(label="Next action", text="go on"),
        ),
    )
    book.write_entry(entry)
    run_number = book.new_run(entry.id)
    rows = tuple(
        Row(
            config={"tokens": 128, "quant_mode": mode, "topk": 2},
            metrics={"tflops": Measurement(samples=(1 + number / 1e4, 1.1, 1.2), unit="TF/s", direction="max")},
        )
        for mode in ("none", "int8")
    )
    book.write_run(
        Run(
            entry=entry.id,
            run=run_number,
            name=book.run_name(entry.id, run_number),
            argv=("python", "bench.py", "--quant-mode", "both"),
            cwd=".",
            code=Code(commit="a" * 40, branch="main", identity="b" * 64, dirty=False, diff_bytes=0),
            host=Host(name="host", os="Linux", cpu="cpu", cores=2, memory_bytes=10**10),
            devices=(Device(platform="cpu", kind="cpu", count=1),),
            software={"python": "3.11"},
            started="2026-02-10T10:43:00+00:00",
            ended="2026-02-10T10:44:00+00:00",
            duration_s=1.0,
            exit=Exit(code=0),
            output=Output(bytes=100, lines=2, sha256="c" * 64, head=("RESULT a",), tail=("RESULT a",), log_bytes=100),
            rows=rows,
        )
    )


def run(words: list[str], folder: Path) -> float:
    began = time.perf_counter()
    subprocess.run(
        [*LOGBOOK, *words], cwd=folder, env=ENVIRON, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return time.perf_counter() - began


def cost(argv: list[str], folder: Path) -> tuple[float, float, float]:
    """Processor time (s) and wall time (s) of a command with its children, and its highest memory (MB)."""
    began = time.perf_counter()
    process = subprocess.Popen(argv, cwd=folder, env=ENVIRON, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise subprocess.CalledProcessError(process.returncode, argv)
    return used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss / 1024


# What `plot` draws from, without the drawing.
FIGURES = """
import os
from pathlib import Path
from logbook_agent.report.figures.catalogue import figures
from logbook_agent.findings.read import read
from logbook_agent.store.workspace import Workspace
space = Workspace(cwd=Path.cwd(), environ=os.environ)
figures(read(space, space.book(None)))
"""


def whole(folder: Path, *, plot: bool) -> dict[str, list[float]]:
    """The cost of the commands that read every record; each is the first of its kind, without an index, but for those
    that are done again."""
    commands = {
        "first note": [*LOGBOOK, "note", "--title", "note"],
        "doctor": [*LOGBOOK, "doctor"],
        "doctor again": [*LOGBOOK, "doctor"],
        "report": [*LOGBOOK, "report"],
        "data of plot": [sys.executable, "-c", FIGURES],
        "data of plot again": [sys.executable, "-c", FIGURES],
        **({"plot": [*LOGBOOK, "plot"]} if plot else {}),
    }
    found: dict[str, list[float]] = {}
    for name, argv in commands.items():
        if not name.endswith("again"):
            forget(folder)
        processor_s, wall_s, memory_mb = cost(argv, folder)
        found |= {f"{name}, processor s": [processor_s], f"{name}, s": [wall_s], f"{name}, MB": [memory_mb]}
    return found


def rate(command: Callable[[int], list[str]], folder: Path, processes: int, each: int) -> float:
    """Commands a second when `processes` shells each type `each` of them, one after another."""
    import shlex

    began = time.perf_counter()
    shells = [
        subprocess.Popen(
            ["sh", "-c", "; ".join(shlex.join([*LOGBOOK, *command(i)]) for i in range(each))],
            cwd=folder, env=ENVIRON, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for _ in range(processes)
    ]  # fmt: skip
    for shell in shells:
        shell.wait()
    return processes * each / (time.perf_counter() - began)


def measure(entries: int, rounds: int, *, plot: bool) -> dict[str, list[float]]:
    samples: dict[str, list[float]] = {}

    def keep(name: str, value: float) -> None:
        samples.setdefault(name, []).append(value)

    with tempfile.TemporaryDirectory() as place:
        small, large = store(Path(place) / "small", 10), store(Path(place) / "large", entries)
        time.sleep(1.1)  # the index keeps nothing that changed within the last second
        for command in ("list", "status"):
            forget(large)
            keep(f"{command} cold, s", run([command], large))
        samples |= whole(large, plot=plot)
        for number in range(rounds):
            for folder, size in ((small, 10), (large, entries))[:: 1 if number % 2 else -1]:
                keep(f"run at {size}, s", run(["run", "--", "true"], folder))
            for command in ("list", "status"):
                keep(f"{command} warm, s", run([command], large))
        for _ in range(3):
            keep("full render, s", run(["render"], large))
            keep("--help by 16 processes, 1/s", rate(lambda _: ["--help"], small, 16, 6))
            keep("notes by 16 processes, 1/s", rate(lambda i: ["note", "--title", f"note {i}"], small, 16, 6))
    return samples


def report(samples: dict[str, list[float]], entries: int) -> str:
    median = {name: statistics.median(values) for name, values in samples.items()}
    lines = ["| figure | median | min | max |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {n} | {median[n]:.3f} | {min(v):.3f} | {max(v):.3f} |" for n, v in samples.items()]
    growth = median[f"run at {entries}, s"] / median["run at 10, s"]
    share = median["notes by 16 processes, 1/s"] / median["--help by 16 processes, 1/s"]
    lines += ["", f"run at {entries} over run at 10: {growth:.2f}", f"notes over --help: {share:.2f}"]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--save", type=Path, help="write all samples as JSON to this file")
    parser.add_argument("--plot", action="store_true", help="draw all plots, too (minutes)")
    parser.add_argument("--whole", type=Path, help="only what reads every record, in this copy of a store")
    options = parser.parse_args()
    if options.whole is not None:
        for name, [value] in whole(options.whole, plot=options.plot).items():
            print(f"| {name} | {value:.2f} |")
        return
    samples = measure(options.entries, options.rounds, plot=options.plot)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {options.entries} entries\n")
    print(report(samples, options.entries))
    if options.save:
        facts = {"python": platform.python_version(), "cores": os.cpu_count(), "samples": samples}
        options.save.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
