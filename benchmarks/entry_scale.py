"""What an entry of twenty thousand runs costs, against one of ten, in the same run.

    python benchmarks/entry_scale.py [--runs 20000] [--rounds 7] [--save FILE]

Design: logbooks made alike by the store's own writers, each with one entry of 10, 2,000 and `--runs` runs; the commands
alternate between them. Three kinds of entries: `repeats` has one case run again and again, `sweep` a case per run, and
`bare` runs of one command that prints no result. Times are processor time of the whole process and its children (user
and system), so that other work on the machine counts little. The index is warm: the commands have run once before, and
more than a second after the last record was written. `opened` counts the `run.json` files that a command opens. All
samples are kept.
Targets: `run --id` and `edit` at 20,000 runs within 1.5 times those at 10; `doctor` within 4 s; `sync --offline` within
3 s.
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

from logbook_agent.model.code import Code
from logbook_agent.model.entry import Entry, Field
from logbook_agent.model.header import Header, Metric
from logbook_agent.model.run import Measurement, Row, Run
from logbook_agent.model.worker_report import Device, Exit, Host, Output
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.workspace import create

LOGBOOK = [sys.executable, "-m", "logbook_agent"]
ENVIRON = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "LOGBOOK_ROOT", "LOGBOOK")}
KINDS = ("repeats", "sweep", "bare")
ENTRY = "SCALE-001"
# Counts the records that a command opens, in the command's own process.
COUNTING = """
import sys
opened = set()
def look(event, args):
    if event == "open" and isinstance(args[0], str) and args[0].endswith("/run.json"):
        opened.add(args[0])
sys.addaudithook(look)
from logbook_agent.cli import main
try:
    main()
finally:
    with open(sys.argv[0], "w") as out:
        out.write(str(len(opened)))
"""


def store(folder: Path, kind: str, runs: int) -> Path:
    """A repository with a logbook of one entry with `runs` finished runs, rendered."""
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
    book.write_entry(
        Entry(
            id=ENTRY,
            title="Many runs",
            opened="2026-02-10T10:43:00+00:00",
            fields=(Field(label="Hypothesis", text="int8 is faster"), Field(label="Next action", text="go on")),
        )
    )
    for number in range(1, runs + 1):
        add(book, kind, number)
    command(["render"], folder)
    return folder


def add(book: Book, kind: str, number: int) -> None:
    config = {"tokens": 128, "topk": 2, "size": number if kind == "sweep" else 1}
    value = 200 + number % 17 / 10
    rows = (
        Row(config=config, metrics={"tflops": Measurement(samples=(value, value + 0.1), unit="TF/s", direction="max")}),
    )
    folder = book.entry_runs_folder(ENTRY) / f"{number:02d}"
    folder.mkdir(parents=True)
    book.write_run(
        Run(
            entry=ENTRY,
            run=number,
            name=f"{folder.parent.name}/{folder.name}",
            argv=("true",) if kind == "bare" else ("python", "bench.py", "--size", str(config["size"])),
            cwd=".",
            code=Code(commit="a" * 40, branch="main", identity="b" * 64, dirty=False, diff_bytes=0),
            host=Host(name="host", os="Linux", cpu="cpu", cores=2, memory_bytes=10**10),
            devices=(Device(platform="cpu", kind="cpu", count=1),),
            software={"python": "3.11"},
            started="2026-02-10T10:43:00+00:00",
            ended="2026-02-10T10:44:00+00:00",
            duration_s=1.0 + number / 1000,
            exit=Exit(code=0),
            output=Output(bytes=100, lines=2, sha256="c" * 64, head=("RESULT a",), tail=("RESULT a",)),
            rows=() if kind == "bare" else rows,
        )
    )


def command(words: list[str], folder: Path) -> float:
    """Processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [*LOGBOOK, *words], cwd=folder, env=ENVIRON, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def opened(words: list[str], folder: Path) -> int:
    """How many records a command opens."""
    counted = folder / ".git" / "opened"
    argv = [sys.executable, "-c", f"import sys; sys.argv[0] = {str(counted)!r}\n{COUNTING}", *words]
    subprocess.run(argv, cwd=folder, env=ENVIRON, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return int(counted.read_text())


def commands(number: int, folder: Path) -> dict[str, list[str]]:
    return {
        "run --id": ["run", "--id", ENTRY, "--", "true"],
        "edit": ["edit", ENTRY, "--interpretation", f"look {number}"],
        "list": ["list"],
        "status": ["status"],
        "doctor": ["doctor"],
        "sync --offline": ["sync", "--offline", str(folder / ".git" / "offline"), "--repo", "acme/moe"],
    }


def measure(kind: str, sizes: tuple[int, ...], rounds: int) -> dict[str, list[float]]:
    samples: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        stores = {size: store(Path(place) / str(size), kind, size) for size in sizes}
        time.sleep(1.1)  # the index keeps nothing that changed within the last second
        for size, folder in stores.items():
            for name, words in commands(0, folder).items():
                samples.setdefault(f"{name} at {size}, first, s", []).append(command(words, folder))
        time.sleep(1.1)
        for number in range(1, rounds + 1):
            for size in sizes[:: 1 if number % 2 else -1]:
                for name, words in commands(number, stores[size]).items():
                    samples.setdefault(f"{name} at {size}, s", []).append(command(words, stores[size]))
        time.sleep(1.1)
        for size, folder in stores.items():
            for name, words in commands(rounds + 1, folder).items():
                samples.setdefault(f"{name} at {size}, opened", []).append(opened(words, folder))
    return samples


def report(samples: dict[str, list[float]], sizes: tuple[int, ...]) -> str:
    median = {name: statistics.median(values) for name, values in samples.items()}
    titles = [*(f"at {size:,}, s" for size in sizes), "ratio", f"first at {sizes[-1]:,}, s", f"opened at {sizes[-1]:,}"]
    lines = [f"| command | {' | '.join(titles)} |", f"| --- |{' ---: |' * len(titles)}"]
    for name in commands(0, Path()):
        times = [median[f"{name} at {size}, s"] for size in sizes]
        first, count = median[f"{name} at {sizes[-1]}, first, s"], median[f"{name} at {sizes[-1]}, opened"]
        cells = [*(f"{t:.3f}" for t in times), f"{times[-1] / times[0]:.2f}", f"{first:.2f}", f"{count:.0f}"]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--kind", choices=KINDS, action="append", help="only this kind of entry")
    parser.add_argument("--save", type=Path, help="write all samples as JSON to this file")
    options = parser.parse_args()
    sizes = tuple(sorted({10, min(2_000, options.runs), options.runs}))
    found = {}
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores")
    for kind in options.kind or KINDS:
        found[kind] = measure(kind, sizes, options.rounds)
        print(f"\n{kind}\n\n{report(found[kind], sizes)}", flush=True)
    if options.save:
        facts = {"python": platform.python_version(), "cores": os.cpu_count(), "samples": found}
        options.save.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
