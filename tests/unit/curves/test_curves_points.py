"""Which rows are points of a curve, and what becomes of the run's row."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from logbook_agent.curves import point_sink as sinks
from logbook_agent.curves.point_file import read_series
from logbook_agent.curves.point_sink import point_sink
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Measurement, Row
from logbook_agent.running.results.classifier import KnownKeys
from logbook_agent.running.results.reader import ResultReader, ResultReading
from logbook_agent.store.folder import Folder

LOSS = Metric(name="loss", direction="min", unit="nat")


def told(problems: tuple[Any, ...]) -> tuple[str, ...]:
    """What problems say."""
    return tuple(map(str, problems))


def read(folder: Path, *lines: str, file_text: str | None = None, **known: Any) -> ResultReading:
    reader = ResultReader(lambda plain: plain, KnownKeys(**known), lambda: point_sink(Folder(folder)))
    for line in lines:
        reader.feed(line)
    return reader.finish(file_text=file_text)


def stored(folder: Path) -> dict[str, list[tuple[float, float]]]:
    [path] = folder.iterdir()
    with path.open("rb") as file:
        found = read_series(file)
    return {series.name: list(zip(series.steps, series.values, strict=True)) for series in found}


def test_a_row_with_a_step_is_a_point_and_the_last_one_the_measurement(tmp_path: Path) -> None:
    reading = read(
        tmp_path,
        "METRIC loss=3.5 nat step=0",
        "(pid=12) RESULT step=10 loss=3.25 lr=0.1 phase=train",
        "RESULT step=20 loss=3.0 lr=0.05 phase=train",
        'RESULT_JSON {"step": 30, "metrics": {"loss": 2.5}}',
        declared=[LOSS],
        config={"seed": 1},
    )
    assert told(reading.problems) == ()
    assert reading.rows == (
        Row(
            config={"seed": 1},
            metrics={"loss": Measurement(samples=(2.5,), unit="nat", direction="min")},
            observations={"lr": 0.05},
            labels={"phase": "train"},
        ),
    )
    [loss, lr] = reading.curves
    assert (loss.count, loss.first_step, loss.last_step, loss.best, loss.value) == (4, 0, 30, 2.5, 2.5)
    assert (lr.name, lr.count, lr.direction) == ("lr", 2, None)
    assert stored(tmp_path)["loss"] == [(0, 3.5), (10, 3.25), (20, 3.0), (30, 2.5)]


@pytest.mark.parametrize(("reduce", "value"), [("last", 2.0), ("best", 1.0), ("mean=2", 1.5), ("mean=9", 2.0)])
def test_the_declared_reduction_is_the_measurement(tmp_path: Path, reduce: str, value: float) -> None:
    lines = [f"METRIC loss={v} step={i}" for i, v in enumerate((3, 2, 1, 2))]
    reading = read(tmp_path, *lines, declared=[Metric(name="loss", direction="min", reduce=reduce)])
    assert [row.metrics["loss"].samples for row in reading.rows] == [(value,)]
    assert reading.curves[0].reduction == reduce


@pytest.mark.parametrize("text", ["1_000", "007", "\u0663", "1e400", "infinity", "+2", ".5", "1e3"])
def test_a_number_is_the_same_on_the_first_line_and_on_a_later_one(tmp_path: Path, text: str) -> None:
    """Lines of a form that was seen before are read by a faster way."""
    (alone, later) = (tmp_path / "alone", tmp_path / "later")
    for folder in (alone, later):
        folder.mkdir()
    values = [
        reading.curves[0].last if reading.curves else None
        for reading in (
            read(alone, f"RESULT step=2 loss={text}", declared=[LOSS]),
            read(later, "RESULT step=1 loss=nan", f"RESULT step=2 loss={text}", declared=[LOSS]),
        )
    ]
    assert values[0] == values[1]


def test_what_is_not_finite_is_kept_and_is_no_measurement(tmp_path: Path) -> None:
    lines = [f"METRIC loss={v} step={i}" for i, v in enumerate((3, 2, "nan", "inf"))]
    reading = read(tmp_path, *lines, declared=[LOSS])
    assert reading.rows == (Row(),)
    [curve] = reading.curves
    assert (curve.last, curve.best, curve.value, curve.not_finite) == (None, 2, None, 2)
    assert told(reading.problems) == ("loss: no measurement: its last value is not finite (step=3)",)
    assert [value for _, value in stored(tmp_path)["loss"] if math.isfinite(value)] == [3, 2]


def test_a_command_that_went_back_to_a_checkpoint(tmp_path: Path) -> None:
    steps = [*range(10), *range(6, 12)]
    reading = read(
        tmp_path, *(f"METRIC loss={100 - place} step={step}" for place, step in enumerate(steps)), declared=[LOSS]
    )
    assert told(reading.problems) == ("loss: step went back 1 time; 4 points were replaced by later ones",)
    assert [step for step, _ in stored(tmp_path)["loss"]] == [*range(12)]
    assert stored(tmp_path)["loss"][6] == (6, 90)
    assert (reading.curves[0].count, reading.curves[0].replaced) == (12, 4)


def test_limits_are_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "MOST_POINTS", 5)
    monkeypatch.setattr(sinks, "MOST_SERIES", 2)
    lines = ["RESULT step=1 a=1 b=2 c=3", *(f"METRIC a={i} step={i}" for i in range(2, 9))]
    reading = read(tmp_path, *lines)
    assert told(reading.problems) == (
        "only the first 2 curves were kept, and not those of c: print fewer metrics, or fewer cases in a run",
        "4 points were not kept: a run has at most 5; print every tenth step",
    )
