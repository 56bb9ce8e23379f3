"""What curves cost: reading printed points against reading printed metrics, their size on disk, a picture of a million
of them, and following a run that prints a thousand a second.

    python benchmarks/curves.py --save FILE

Design: `ResultReader` is fed a million lines `METRIC loss=3.12345 step=600` and, alternating, as many `METRIC
loss=3.12345 nat`, of which it keeps the first 20,000; processor time of each, with what is written. Values are random
with five digits, and with all digits of a float. `following`: `FollowedCurves` looks four times a second at a file that
has a million points and grows by a thousand a second; the share of a core, in which it makes a picture no more often
than its pauses allow.
Targets: a point costs at most what a metric costs; a million in 10 MB; drawn in 1 s; followed with 5% of a core.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from array import array
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from logbook_agent.curves.chart import ChartLine  # noqa: E402
from logbook_agent.curves.followed import FollowedCurves  # noqa: E402
from logbook_agent.curves.point_file import Series, packed, read_series  # noqa: E402
from logbook_agent.curves.point_sink import point_sink  # noqa: E402
from logbook_agent.running.results.classifier import KnownKeys  # noqa: E402
from logbook_agent.running.results.reader import ResultReader  # noqa: E402
from logbook_agent.store.folder import Folder  # noqa: E402

COUNT = 1_000_000
_LOOK_S, _FOLLOWED_S = 0.25, 20


def fed(lines: Sequence[str], folder: Path) -> tuple[float, float]:
    """Processor seconds to read the lines, and to finish."""
    reader = ResultReader(lambda plain: plain, make_sink=lambda: point_sink(Folder(folder)))
    began = time.process_time()
    for line in lines:
        reader.feed(line)
    read = time.process_time()
    reader.finish()
    return read - began, time.process_time() - read


def reading(rounds: int) -> dict[str, object]:
    """The samples of reading, by what was printed, and bytes of the points."""
    numbers = random.Random(1)
    values = [3 + numbers.random() for _ in range(COUNT)]
    printed = {
        "metrics": [f"METRIC loss={value:.5f} nat" for value in values],
        "points": [f"METRIC loss={value:.5f} step={step}" for step, value in enumerate(values)],
        "points_of_all_digits": [f"METRIC loss={value!r} step={step}" for step, value in enumerate(values)],
    }
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in printed}
    size = {}
    for _ in range(rounds):
        for name, lines in printed.items():
            with tempfile.TemporaryDirectory() as folder:
                seconds[name].append(fed(lines, Path(folder)))
                size[name] = sum(path.stat().st_size for path in Path(folder).iterdir())
    return {"read_and_finish_s": seconds, "bytes": size}


def drawing(path: Path) -> float:
    """Processor seconds to read a file of points and thin it to what a picture shows."""
    began = time.process_time()
    with path.open("rb") as file:
        [series] = read_series(file)
    ChartLine.of("loss", None, None, series.steps, series.values, 2_000)
    return time.process_time() - began


def following(path: Path) -> float:
    """The share of a core that following a log takes."""
    path.write_text("".join(f"METRIC loss={step}.5 step={step}\n" for step in range(COUNT)))
    followed = FollowedCurves(path, Folder(path.parent), KnownKeys(), lambda plain: plain)
    while followed.last()[-1:] == [] or followed.last()[-1]["step"] != COUNT - 1:
        followed.look()
    followed.charts("run")
    spent, began, step = 0.0, time.monotonic(), COUNT
    while time.monotonic() - began < _FOLLOWED_S:
        if (due := COUNT + int(1_000 * (time.monotonic() - began)) - 1_000) > step:
            with path.open("a") as file:
                file.writelines(f"METRIC loss=1.5 step={at}\n" for at in range(step, step + 1_000))
            step = due if due > step + 1_000 else step + 1_000
        at = time.process_time()
        followed.look()
        followed.charts("run")
        spent += time.process_time() - at
        time.sleep(_LOOK_S)
    return spent / (time.monotonic() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    found = reading(options.rounds)
    numbers = random.Random(2)
    series = Series(name="loss", over="step", config={})
    values = array("d", [numbers.random() for _ in range(COUNT)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "curves.points"
        series.steps, series.values = array("d", range(COUNT)), values
        path.write_bytes(packed([series]))
        found["drawing_s"] = [drawing(path) for _ in range(options.rounds)]
        found["following_of_a_core"] = following(Path(folder) / "output.log")
    for name, samples in found["read_and_finish_s"].items():  # type: ignore[attr-defined]
        read, finish = (statistics.median(column) for column in zip(*samples, strict=True))
        print(f"{name}: read {read:.2f} s, finish {finish:.2f} s of a million, {found['bytes'][name]:,} bytes")  # type: ignore[index]
    print(f"drawing a million: {statistics.median(found['drawing_s']):.2f} s")  # type: ignore[type-var]
    print(f"following: {100 * found['following_of_a_core']:.1f}% of a core")  # type: ignore[operator]
    if options.save:
        options.save.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
