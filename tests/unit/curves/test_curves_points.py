"""Which rows are points of a curve, and what becomes of the run's row."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from logbook_agent.curves import point_sink as sinks
from logbook_agent.curves.point_file import read_series
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Measurement, Row
from logbook_agent.running.point_files import point_sink
from logbook_agent.running.results.classifier import Classifier
from logbook_agent.running.results.curve_points import KnownKeys
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


@pytest.mark.parametrize(
    "known", [{"axes": ["step"]}, {"config": {"step": 3}}, {"argv": ["train", "--step=3"]}], ids=lambda k: next(iter(k))
)
def test_a_step_that_is_config_stays_config(tmp_path: Path, known: dict[str, Any]) -> None:
    reading = read(tmp_path, "RESULT step=3 loss=1", declared=[LOSS], **known)
    assert [(row.config, row.metrics["loss"].samples) for row in reading.rows] == [({"step": 3}, (1.0,))]
    assert reading.curves == ()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("reduce", "value"), [("last", 2.0), ("best", 1.0), ("mean=2", 1.5), ("mean=9", 2.0)])
def test_the_declared_reduction_is_the_measurement(tmp_path: Path, reduce: str, value: float) -> None:
    lines = [f"METRIC loss={v} step={i}" for i, v in enumerate((3, 2, 1, 2))]
    reading = read(tmp_path, *lines, declared=[Metric(name="loss", direction="min", reduce=reduce)])
    assert [row.metrics["loss"].samples for row in reading.rows] == [(value,)]
    assert reading.curves[0].reduction == reduce


def test_a_metric_over_a_key_of_its_own(tmp_path: Path) -> None:
    accuracy = Metric(name="accuracy", over="epoch")
    reading = read(
        tmp_path,
        "RESULT epoch=1 step=500 accuracy=0.5 loss=2",
        "RESULT epoch=2 accuracy=0.7",
        declared=[LOSS, accuracy],
    )
    assert [(c.name, c.over, c.first_step, c.last_step) for c in reading.curves] == [
        ("accuracy", "epoch", 1, 2),
        ("loss", "step", 500, 500),
    ]


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


def test_a_metric_line_without_a_step_is_the_measurement_and_no_second_sample(tmp_path: Path) -> None:
    reading = read(tmp_path, "METRIC loss=3 step=1", "METRIC loss=2 step=2", "METRIC loss=2.9", declared=[LOSS])
    [row] = reading.rows
    assert row.metrics["loss"].samples == (2.9,)
    assert [(c.count, c.value) for c in reading.curves] == [(2, 2)]


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


def test_a_step_that_is_no_number(tmp_path: Path) -> None:
    reading = read(
        tmp_path, "METRIC loss=1 step=two", "METRIC loss=1 step=2", "METRIC loss=2 step=1.2.3", declared=[LOSS]
    )
    assert told(reading.problems) == tuple(
        f"step: '{s}' is not a number; the points were left out" for s in ("two", "1.2.3")
    )
    assert reading.curves[0].count == 1


def test_limits_are_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "MOST_POINTS", 5)
    monkeypatch.setattr(sinks, "MOST_SERIES", 2)
    lines = ["RESULT step=1 a=1 b=2 c=3", *(f"METRIC a={i} step={i}" for i in range(2, 9))]
    reading = read(tmp_path, *lines)
    assert told(reading.problems) == (
        "only the first 2 curves were kept, and not those of c: print fewer metrics, or fewer cases in a run",
        "4 points were not kept: a run has at most 5; print every tenth step",
    )


def test_a_secret_is_in_no_file(tmp_path: Path) -> None:
    def clean(plain: Any) -> Any:
        if isinstance(plain, dict):
            return {key: clean(value) for key, value in plain.items()}
        return plain.replace("hunter2", "[hidden]") if isinstance(plain, str) else plain

    reader = ResultReader(clean, KnownKeys(), lambda: point_sink(Folder(tmp_path)))
    for step in range(5):
        reader.feed(f"RESULT step={step} loss=1 key=hunter2")
    assert reader.finish().rows[0].labels == {"key": "[hidden]"}
    assert all(b"hunter2" not in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("argv", "is_flag"),
    [
        (("train.py", "--step", "3"), True),
        (("train.py", "step=3"), True),
        (("sh", "-c", "python train.py --step=3"), True),
        (("sh", "-c", "for i in 1 2; do echo METRIC loss=1 step=$i; done"), False),
    ],
)
def test_a_script_that_prints_a_step_has_no_flag_of_that_name(argv: tuple[str, ...], is_flag: bool) -> None:
    assert Classifier(KnownKeys(argv=argv)).steps == (() if is_flag else ("step",))
