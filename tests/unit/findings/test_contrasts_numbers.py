"""The numbers of rows that no design drew: never an interval, a p-value or a verdict."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.unit.findings.pair_support import on_axis, only, trial


def test_medians_over_runs_and_their_change() -> None:
    values = [3.1, 4.7, 1.2, 9.9]
    found = on_axis([*(trial(i, {"mode": "a"}, v) for i, v in enumerate(values)), trial(9, {"mode": "b"}, 2.0)])
    assert only(found) == {"t @ a": 3.9000000000000004, "t @ b": 2.0, "delta t": pytest.approx(2.0 / 3.9 - 1)}
    assert "[1.2, 9.9]" in found.table.rows[0][0]


def test_there_is_no_trace_of_a_verdict() -> None:
    """Clear as it looks, nobody drew the order of these runs."""
    found = on_axis([trial(i, {"mode": m}, (1 if m == "a" else 2) + i / 1e4) for i, m in enumerate("abba" * 5)])
    said = json.dumps(found.data())
    for word in ("interval", "p_value", "verdict", "better", "beneficial", "~", "noise", "95%"):
        assert word not in said
    assert "was not drawn by chance, and logbook ab cannot vary mode" in said


@pytest.mark.parametrize(
    "value",
    [
        0.0,
        float("inf"),
    ],
)
def test_a_base_that_has_no_ratio_has_no_change(value: float) -> None:
    assert only(on_axis([trial(1, {"mode": "a"}, value), trial(2, {"mode": "b"}, 3.0)]))["delta t"] is None


def test_what_goes_with_the_sides_is_named_and_keeps_no_rows_apart() -> None:
    old, new = {"commit": "old", "env:X": "1"}, {"commit": "new"}
    found = on_axis([trial(1, {"mode": "a", "seed": 2}, facts=old), trial(2, {"mode": "b", "seed": 1}, facts=new)])
    assert only(found)["delta t"] == 0.0
    for note in (
        "seed differs with mode: a 2, b 1",
        "commit differs with mode: a old, b new",
        "env:X differs with mode",
    ):
        assert any(line.startswith(note) for line in found.table.notes), found.table.notes


def test_rows_that_only_their_order_tells_apart_have_no_change() -> None:
    first = [replace(trial(1, {"mode": "a"}, v), started="1") for v in (1.0, 2.0, 3.0)]
    found = on_axis([*first, *(trial(2, {"mode": "b"}, v) for v in (1.0, 2.0))])
    assert "no change is shown: only their order tells the rows of one run apart" in found.table.notes
    assert not any(column.name.startswith("delta") for column in found.table.columns)
