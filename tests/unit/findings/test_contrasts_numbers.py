"""The numbers of rows that no design drew, and what would settle them: never an interval, a p-value or a verdict."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest

from logbook_agent.findings.contrast import beside
from logbook_agent.model.entry import Contrast
from tests.unit.findings.pair_support import DECLARED, on_axis, only, trial


def test_medians_over_runs_and_their_change() -> None:
    values = [3.1, 4.7, 1.2, 9.9]
    found = on_axis([*(trial(i, {"mode": "a"}, v) for i, v in enumerate(values)), trial(9, {"mode": "b"}, 2.0)])
    assert only(found) == {"t @ a": 3.9000000000000004, "t @ b": 2.0, "delta t": pytest.approx(2.0 / 3.9 - 1)}
    assert "[1.2, 9.9]" in found.table.rows[0][0]


def test_there_is_no_trace_of_a_verdict() -> None:
    """Clear as it looks, nobody drew the order of these runs."""
    found = on_axis([trial(i, {"mode": m}, (1 if m == "a" else 2) + i / 1e4) for i, m in enumerate("abba" * 5)])
    said = json.dumps(found.data()) + found.markdown("T-000")
    for word in ("interval", "p_value", "verdict", "better", "beneficial", "~", "noise", "95%"):
        assert word not in said
    assert "was not drawn by chance; to settle it: logbook ab --axis mode=a,b -- " in said


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf")])
def test_a_base_that_has_no_ratio_has_no_change(value: float) -> None:
    assert only(on_axis([trial(1, {"mode": "a"}, value), trial(2, {"mode": "b"}, 3.0)]))["delta t"] is None


def test_failures_and_runs_beside_others_are_counted() -> None:
    found = on_axis([trial(1, {"mode": "a"}), trial(2, {"mode": "b"}, None)])
    assert only(found) == {"t @ a": 1.0, "t @ b": "failed: RESOURCE_EXHAUSTED", "delta t": None}
    found = on_axis([trial(1, {"mode": "a"}), trial(2, {"mode": "a"}, None), trial(3, {"mode": "b"})])
    assert "1 failed run left out of the median of the other runs in the cell" in found.table.notes
    found = on_axis([trial(1, {"mode": "a"}), replace(trial(2, {"mode": "b"}), contended=True)])
    assert "1 run started while others held an accelerator" in found.table.notes
    killed = trial(2, {"mode": "a"}, 9.0, state="interrupted")
    found = on_axis([trial(1, {"mode": "a"}), killed, trial(3, {"mode": "b"})])
    assert only(found)["t @ a"] == 1.0
    assert "1 row of runs that did not finish left out" in found.table.notes


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


def test_rows_are_set_beside_each_other_by_their_config() -> None:
    rows = [trial(run, {"mode": m, "k": k}, run + 1.0) for run, (m, k) in enumerate(itertools.product("ab", (1, 2)))]
    assert [row[0] for row in on_axis(rows).table.values] == [1, 2]
    assert [row[-1] for row in on_axis(rows).table.values] == [2.0, 1.0]


def test_rows_that_only_their_order_tells_apart_have_no_change_where_one_side_has_more() -> None:
    first = [replace(trial(1, {"mode": "a"}, v), started="1") for v in (1.0, 2.0, 3.0)]
    found = on_axis([*first, *(trial(2, {"mode": "b"}, v) for v in (1.0, 2.0))])
    assert "no change is shown: 3 rows a run against 2, and no config tells them apart" in found.table.notes
    assert not any(column.name.startswith("delta") for column in found.table.columns)


BENCH = ("python", "bench.py")


@pytest.mark.parametrize(
    ("axis", "base", "other", "command"),
    [
        ("mode", {"mode": "a"}, {"mode": "b"}, "logbook ab --axis mode=a,b -- python bench.py --mode a"),
        ("mode", {"mode": None}, {"mode": "b"}, "logbook ab --axis mode=null,b -- python bench.py --mode b"),
        ("word", {"word": "a"}, {"word": "b"}, "logbook ab --axis word=a,b -- python bench.py '{axis}'"),
        ("part", {"part": "a"}, {"part": "b"}, "logbook ab --axis part=a,b -- python bench.py '--kind={axis}'"),
        # What is no flag cannot be left out.
        ("word", {"word": None}, {"word": "b"}, "logbook ab --axis word=A,B -- python bench.py '{axis}'"),
        ("other", {"other": None}, {"other": 1}, "logbook ab --axis other=A,B -- COMMAND"),
        ("commit", "3357f54a5", "99ab03c1d", "logbook ab --code 3357f54a5 99ab03c1d -- python bench.py"),
        ("commit", None, "99ab03c1d", "logbook ab --code BASE 99ab03c1d -- python bench.py"),
        ("commit", "3357f54a5+a1b2c3d", "99ab03c1d", "logbook ab --code BASE 99ab03c1d -- python bench.py"),
        ("env:X", "1", None, "logbook ab --axis env:X=1, -- python bench.py"),
        (
            "package:jax",
            "0.7",
            "0.8",
            "logbook ab --axis NAME=A,B -- COMMAND, with NAME what sets package:jax",
        ),
    ],
)
def test_what_settles_it_is_a_command_to_type(axis: str, base: object, other: object, command: str) -> None:
    rows = []
    for run, side in enumerate((base, other)):
        if isinstance(side, dict):
            [(name, value)] = side.items()
            typed = {"mode": ("--mode", value), "word": (value,), "part": (f"--kind={value}",)}
            words = typed.get(name, ()) if value else ()
            rows.append(trial(run, {k: v for k, v in side.items() if v is not None}, command=(*BENCH, *words)))
        else:
            case = trial(run, {}, command=BENCH)
            facts = {k: v for k, v in {**case.facts, axis: side}.items() if v is not None}
            rows.append(replace(case, facts=facts))
    # Code that is not known is no value of an axis: only two references set it beside the other.
    asked = Contrast(references=("A-000", "A-001"))
    unknown = axis == "commit" and base is None
    found = beside(asked, [rows[:1], rows[1:]], DECLARED) if unknown else on_axis(rows, axis)
    why = "these numbers settle nothing, because the order of the runs was not drawn by chance"
    assert found.settle == f"{why}; to settle it: {command}"


def test_without_an_axis_the_one_difference_is_what_to_settle() -> None:
    one, two = (trial(i, {"mode": m}, command=(*BENCH, "--mode", m)) for i, m in enumerate("ab"))
    asked = Contrast(references=("A-000", "A-001"))
    found = beside(asked, [[one], [two]], DECLARED)
    assert found.settle.endswith("to settle it: logbook ab --axis mode=a,b -- python bench.py --mode a")
    found = beside(asked, [[one], [trial(3, {"mode": "b", "k": 1})]], DECLARED)
    assert found.settle.endswith("to settle it: logbook ab --axis NAME=A,B -- COMMAND")
    found = beside(asked, [[one], [replace(one, run=2)]], DECLARED)
    assert found.settle == "where both were measured, the sides differ in nothing that is recorded"
    rows = [trial(i, {"mode": "a", "size": i}) for i in range(4)]
    found = beside(asked, [rows[:2], rows[2:]], DECLARED)
    assert found.settle.startswith("no case was measured on both sides; ")
