"""Rows with a prediction: kept apart, whatever stands beside them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from logbook_agent.model.codec import CodecError, decode, encode
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Measurement, PredictedRow, Run
from logbook_agent.running.results.curve_points import KnownKeys
from logbook_agent.running.results.reader import ResultReader, ResultReading

TFLOPS = Metric(name="tflops", direction="max", unit="TF/s")
PREDICTION: dict[str, Any] = {
    "target": "v5p-8",
    "device_kind": "TPU v5",
    "devices": 4,
    "libtpu": "0.0.42.1",
    "model": 1,
    "calibration": "seeds",
    "estimate": 0.0079,
    "low": 0.0061,
    "high": 0.0103,
    "bound": 0.003,
    "terms": {"matmul": 0.005, "send": 0.0029},
    "fits": True,
    "vmem": "not checked",
    "program": "1f2e",
}
LEFT_OUT = (
    "the command predicts, so tflops on its RESULT and METRIC lines measure nothing and were left out; "
    "print what is measured as RESULT_JSON"
)


def row(prediction: object = PREDICTION, **more: object) -> str:
    return "RESULT_JSON " + json.dumps({"config": {"topk": 2}, "prediction": prediction, **more})


def read(*lines: str, **known: Any) -> ResultReading:
    reader = ResultReader(lambda plain: plain, KnownKeys(declared=[TFLOPS], **known))
    for line in lines:
        reader.feed(line)
    return reader.finish()


def test_a_prediction_is_no_row() -> None:
    reading = read("RESULT topk=2 side=A", row(labels={"side": "A"}), config={"seed": 1})
    kept = PredictedRow(config={"seed": 1, "topk": 2}, labels={"side": "A"}, prediction=PREDICTION)
    assert reading == ResultReading(predictions=(kept,))
    assert (kept.said.estimate, kept.said.terms) == (0.0079, {"matmul": 0.005, "send": 0.0029})


def test_metrics_beside_a_prediction_are_refused() -> None:
    reading = read(row(metrics={"tflops": 300}, observations={"mfu": 0.9}))
    assert not reading.rows
    assert len(reading.predictions) == 1
    [problem] = reading.problems
    assert problem.startswith(
        "RESULT_JSON: a prediction measures nothing: its metrics and observations were left out: "
    )


@pytest.mark.parametrize("prediction", [PREDICTION, {**PREDICTION, "estimate": -1}, [], "soon", 3])
def test_no_line_beside_a_prediction_is_a_measurement(prediction: object) -> None:
    reading = read("RESULT topk=2 tflops=300", "METRIC tflops=301", row(prediction))
    assert not reading.rows
    assert reading.problems[-1] == LEFT_OUT


def test_what_is_measured_beside_a_prediction_is_a_json_row_of_its_own() -> None:
    measured = 'RESULT_JSON {"config": {"topk": 2}, "metrics": {"tflops": [1, 2]}}'
    reading = read(row(), measured, "RESULT topk=2 note=slow")
    assert [r.metrics for r in reading.rows] == [{"tflops": Measurement(samples=(1, 2), unit="TF/s", direction="max")}]
    assert reading.rows[0].labels == {"note": "slow"}
    assert len(reading.predictions) == 1
    assert not reading.problems


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"estimate": -0.001}, "prediction.estimate: expected 1e-09 to 1e+06 seconds, got -0.001"),
        ({"estimate": float("nan")}, "prediction.estimate: expected a finite number, got nan"),
        ({"estimate": 10**400}, "prediction.estimate: expected float, got int"),
        ({"high": 1e300}, "prediction.high: expected 1e-09 to 1e+06 seconds, got 1e+300"),
        ({"bound": float("-inf")}, "prediction.bound: expected a finite number, got -inf"),
        ({"terms": {"send": -1}}, "prediction.terms.send: expected 0 to 1e+06 seconds, got -1"),
        ({"terms": [1]}, "prediction.terms: expected a mapping, got list"),
        ({"hidden": -1}, "prediction.hidden: expected 0 to 1e+06 seconds, got -1"),
        ({"devices": True}, "prediction.devices: expected int, got bool"),
        ({"target": None}, "prediction.target: expected str, got nothing"),
    ],
)
def test_a_prediction_that_says_no_time_is_left_out(change: dict[str, object], said: str) -> None:
    reading = read(row({**PREDICTION, **change}))
    assert reading.predictions == ()
    [problem] = reading.problems
    assert problem.startswith(f"RESULT_JSON: {said}; it was left out: ")


def test_the_same_prediction_is_kept_once_and_another_one_too() -> None:
    other = {**PREDICTION, "calibration": "own"}
    reading = read(row(), row(other), row())
    assert [r.said.calibration for r in reading.predictions] == ["seeds", "own"]


def test_a_record_keeps_a_prediction_and_refuses_what_is_none() -> None:
    run = Run(entry="X-000", run=1, argv=("p",), started="s", predictions=read(row()).predictions)
    plain = encode(run)
    assert plain["predictions"] == [{"config": {"topk": 2}, "prediction": PREDICTION}]
    assert decode(Run, json.loads(json.dumps(plain))) == run
    plain["predictions"][0]["prediction"]["estimate"] = -1
    with pytest.raises(CodecError, match=r"predictions\[0\]: estimate: expected 1e-09 to 1e\+06 seconds, got -1"):
        decode(Run, plain)
