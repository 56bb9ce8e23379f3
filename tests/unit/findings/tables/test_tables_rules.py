"""What tables do with repeats, unlike rows, gaps and failures."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.findings.tables.build import matching
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Device, Scalar
from tests.unit.findings.tables.tables_support import case, names, table


def tpu(used: int | None, kind: str = "TPU v5p", count: int | None = None) -> tuple[Device, ...]:
    return (Device(platform="tpu", kind=kind, count=count, used=used),)


# repeats


def test_runs_of_one_case_are_repeats_and_their_medians_are_reduced() -> None:
    cases = [case({"topk": 2}, run=run, time_s=[9.0, value, 1e-9]) for run, value in enumerate((3.0, 5.0, 4.0))]
    found = table(*cases)
    assert found.rows == (("4.00 [3.00, 5.00]",),)
    assert found.values == ((4.0,),)
    assert found.constants == {"topk": "2"}
    assert found.notes == ("medians of 3 samples", "3 runs in one cell: their median [lowest, highest]")


def test_other_spellings_of_a_number_are_the_same_value_shown_as_first_spelt() -> None:
    found = table(
        case({"frac": "0.10"}, run=1, y=1.0),
        case({"frac": 0.1}, run=2, y=3.0),
        case({"frac": "1e-1"}, run=3, y=2.0),
    )
    assert found.rows == (("2 [1, 3]",),)
    assert found.constants == {"frac": "0.10"}


# unlike rows


def test_a_row_never_spans_unlike_configs_unless_the_pivot_implies_them() -> None:
    cases = [case({"mode": "none", "mesh": "4"}, y=1.0), case({"mode": "ep", "mesh": "2x2"}, y=2.0)]
    apart = table(*cases, spec=TableSpec(pivot="mode", delta=True))
    assert apart.rows == (("4", "1", "—", "?"), ("2x2", "—", "2", "?"))
    assert apart.notes == ("2 of 4 cells not run (—)",)
    together = table(*cases, spec=TableSpec(pivot="mode", delta=True, implied=("mesh",)))
    assert together.rows == (("1", "2", "+100.00%"),)
    assert together.notes == ("mesh differs with mode: none 4, ep 2x2",)


def test_other_entries_and_labels_are_no_repeats() -> None:
    before, after = case({"k": 1}, y=1.0), case({"k": 1}, entry="X-002", y=2.0)
    assert table(before, after).rows == (("X-001", "1"), ("X-002", "2"))
    spec = TableSpec(pivot="entry", delta=True)
    assert names(table(before, after, spec=spec)) == ["y @ X-001", "y @ X-002", "delta y"]
    split = table(case({"k": 1}, label="A", y=1.0), case({"k": 1}, label="B", run=2, y=2.0))
    assert names(split) == ["label", "y"]


def test_rows_of_one_run_are_told_apart_by_their_words_or_their_order() -> None:
    worded = table(case(y=1.0, words={"stage": "pack"}), case(y=2.0, words={"stage": "up"}))
    assert worded.rows == (("pack", "1"), ("up", "2"))
    bare = [case(run=run, y=y, observed={"null_target": y / 10}) for run in (1, 2) for y in (1.0, 3.0)]
    found = table(*bare)
    assert names(found) == ["row", "y"]
    assert found.rows == (("1", "1 [1, 1]"), ("2", "3 [3, 3]"))
    assert found.notes[0] == "row: rows that one run printed with the same config, told apart by their order"
    assert table(*bare, spec=TableSpec(pivot="null_target")).rows == (("1 [1, 1]", "3 [3, 3]"),)


# cells


def test_gaps_and_failures_are_never_zero() -> None:
    cases = [
        case({"k": 1, "m": "a"}, y=1.0, z=2.0),
        case({"k": 1, "m": "b"}, failed="oom"),
        case({"k": 2, "m": "a"}, y=1.0),
    ]
    found = table(*cases, spec=TableSpec(pivot="m", delta=True, means=True))
    assert found.rows == (
        ("1", "1", "failed: oom", "?", "2", "failed", "?"),
        ("2", "1", "—", "?", "?", "—", "?"),
        ("arithmetic mean", "", "", "?", "", "", "?"),
        ("geometric mean", "", "", "?", "", "", "?"),
    )
    assert found.values[0] == (1, 1.0, "failed: oom", None, 2.0, "failed: oom", None)
    assert found.notes == (
        "1 of 3 cases failed",
        "1 value not reported (?)",
        "1 of 4 cells not run (—)",
        "means of delta y: over 0 of 2 rows",
        "means of delta z: over 0 of 2 rows",
    )


def test_a_failed_case_does_not_count_what_it_measured() -> None:
    assert table(case(y=1.0, failed="wrong result")).rows == (("failed: wrong result",),)


@pytest.mark.parametrize(
    "first",
    [
        0.0,
        math.nan,
    ],
)
def test_what_has_no_quotient_is_unknown(first: float) -> None:
    spec = TableSpec(delta=True, ratio=True)
    found = table(case({"k": 1}, y=first), case({"k": 2}, y=2.0), spec=spec)
    assert found.rows[1][2:] == ("?", "?")


# names


CONFIGS = st.lists(
    st.fixed_dictionaries({}, optional={"a": st.integers(0, 2), "b": st.sampled_from(["x", "y"]), "c": st.booleans()}),
    min_size=1,
    max_size=8,
)


@given(CONFIGS, st.sampled_from([None, "a"]))
def test_every_case_is_in_one_cell_and_unlike_cases_share_none(
    configs: list[dict[str, Scalar]], pivot: str | None
) -> None:
    # The value of each case says its config, so a cell that merges unlike cases shows a value of no case.
    configs = [{"a": 0, "b": "x", **config} for config in configs]
    code = {key: float(3**n) for n, key in enumerate(dict.fromkeys(map(repr, configs)))}
    cases = [case(config, run=n, y=code[repr(config)]) for n, config in enumerate(configs)]
    found = table(*cases, spec=TableSpec(pivot=pivot))
    measured = [n for n, column in enumerate(found.columns) if column.name.startswith("y")]
    values = [row[n] for row in found.values for n in measured if row[n] is not None]
    assert sorted(values) == sorted(set(code.values()))
    assert all(len(row) == len(found.columns) for row in (*found.rows, *found.values))


def test_matching_cases_keep_their_order() -> None:
    cases = [case({"k": k, "q": q}, y=1.0) for k in (1, 2) for q in ("a", "b")]
    assert matching(cases, {}) == cases
    assert matching(cases, {"q": "b"}) == [cases[1], cases[3]]
    assert matching([], {"q": "b"}) == []
    with pytest.raises(UsageError, match="nope"):
        matching(cases, {"nope": "b"})


def test_a_failed_repeat_is_left_out_and_counted() -> None:
    found = table(case({"topk": 2}, y=1.0), case({"topk": 2}, run=2, failed="oom"))
    assert found.rows == (("1",),)
    assert found.notes == (
        "2 runs in one cell: their median [lowest, highest]",
        "1 of 2 cases failed",
        "1 failed run left out of the median of the other runs in the cell",
    )


def test_per_device_is_divided_by_the_devices_that_were_used() -> None:
    cases = [
        case({"k": 2}, devices=tpu(4), tflops=8.0),
        case({"k": 3}, devices=tpu(None), tflops=8.0),
    ]
    spec = TableSpec(per_device=True, metrics=("tflops", "mfu"))
    found = table(*cases, spec=spec, declared=(Metric(name="mfu"),))
    assert [row[2] for row in found.rows] == ["8.000 (2.000)", "8.000 (?)"]
    assert "not a rate over devices: mfu" in found.notes


def test_metrics_in_several_units_are_not_compared() -> None:
    found = table(case({"k": 1}, unit="s", y=1.0), case({"k": 2}, unit="ms", y=900.0), spec=TableSpec(delta=True))
    assert names(found) == ["k", "y"]
    assert found.notes == ("y comes in several units (s, ms): not compared",)
