import json
import math
import shlex
from pathlib import Path

import pytest

from bench_core.errors import UsageError
from bench_core.harness.case import checked_shape
from bench_core.harness.record import (
    DeviceGroup,
    Environment,
    Measurement,
    Row,
    result_file,
    write_rows,
)
from bench_core.shapes import MoeShape

ENVIRONMENT = Environment(
    devices=(DeviceGroup(platform="cpu", kind="cpu", count=8, used=1),),
    software={"jax": "0"},
    host="here",
    labels={"host_cpu": "unknown"},
)


def _row(**changes: object) -> Row:
    fields = {
        "config": {"tokens": 3, "impl": "two words"},
        "environment": ENVIRONMENT,
        "metrics": {"time_s": Measurement(samples=(0.5, 0.25), unit="s", direction="min")},
        "summary": {"time_s": 0.375},
        "observations": {"mfu": None},
        "labels": {"check": "passed"},
    }
    return Row(**{**fields, **changes})


def test_whole_row() -> None:
    assert _row().lines() == [
        "RESULT tokens=3 impl='two words' time_s=0.375",
        'RESULT_JSON {"config": {"tokens": 3, "impl": "two words"}, '
        '"metrics": {"time_s": {"samples": [0.5, 0.25], "unit": "s", "direction": "min"}}, '
        '"observations": {"mfu": null}, "labels": {"host_cpu": "unknown", "check": "passed"}, '
        '"devices": [{"platform": "cpu", "kind": "cpu", "count": 8, "used": 1}], '
        '"software": {"jax": "0"}, "host": "here"}',
    ]
    assert "impl=two words" in shlex.split(_row().lines()[0])


def test_rows_are_replaced_atomically(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text("old")
    write_rows(path, [_row().as_json(), _row().as_json()])
    assert json.loads(path.read_text()) == {"rows": [json.loads(json.dumps(_row().as_json()))] * 2}
    with pytest.raises(ValueError, match="JSON compliant"):
        write_rows(path, [_row(observations={"mfu": math.nan}).as_json()])
    assert len(json.loads(path.read_text())["rows"]) == 2
    assert list(tmp_path.iterdir()) == [path]


def test_result_file(tmp_path: Path) -> None:
    assert result_file({}) is None
    assert result_file({"LOGBOOK_RESULT_FILE": ""}) is None
    assert result_file({"LOGBOOK_RESULT_FILE": f"{tmp_path}/r"}) == tmp_path / "r"
    with pytest.raises(UsageError, match="cannot be written"):
        result_file({"LOGBOOK_RESULT_FILE": f"{tmp_path}/missing/r"})


def test_large_cases_are_checked_at_a_shape_of_the_same_structure() -> None:
    seeds = MoeShape(tokens=32768, hidden=2047, mlp_dim=1408, experts=60, topk=8, shared_expert_dim=5632)
    small = MoeShape(tokens=64, hidden=63, mlp_dim=48, experts=16, topk=8, shared_expert_dim=48)
    assert checked_shape(seeds) == small
    assert checked_shape(small) == small
    every = MoeShape(tokens=32768, hidden=2048, mlp_dim=1408, experts=24, topk=24)
    assert (checked_shape(every).experts, checked_shape(every).shared_expert_dim) == (24, 0)
    wide = MoeShape(tokens=32768, hidden=2048, mlp_dim=1408, experts=128, topk=20)
    assert checked_shape(wide).experts == 40
