"""Rows with a prediction: kept apart, whatever stands beside them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from logbook_agent.model.header import Metric
from logbook_agent.model.run import PredictedRow
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


@pytest.mark.parametrize("prediction", [PREDICTION, {**PREDICTION, "estimate": -1}, [], "soon", 3])
def test_no_line_beside_a_prediction_is_a_measurement(prediction: object) -> None:
    reading = read("RESULT topk=2 tflops=300", "METRIC tflops=301", row(prediction))
    assert not reading.rows
    assert reading.problems[-1].text == LEFT_OUT
