"""What tables do with repeats, unlike rows, gaps and failures: each case in one cell, unlike cases in none together."""

from __future__ import annotations

import csv
import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.findings.cases import Case
from logbook_agent.findings.tables.build import tabulate
from logbook_agent.findings.tables.export import to_csv
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Failure, Measurement, Row, Scalar
from logbook_agent.model.worker_report import Device
from logbook_agent.text.markdown import cell
from tests.contract.exports.full_store import original_cell

TPU = (Device(platform="tpu", kind="TPU v5p", count=4, used=4),)
CPU = (Device(platform="cpu", kind="cpu", count=1, used=1),)


def case(
    config: dict[str, Scalar] | None = None,
    *,
    run: int = 1,
    unit: str | None = None,
    facts: dict[str, str] | None = None,
    devices: tuple[Device, ...] = (),
    failed: str | None = None,
    **metrics: float | list[float],
) -> Case:
    row = Row(
        config=config or {},
        metrics={
            name: Measurement(samples=tuple(value) if isinstance(value, list) else (value,), unit=unit)
            for name, value in metrics.items()
        },
        devices=devices,
        failed=None if failed is None else Failure(reason=failed),
    )
    return Case(entry="X-001", run=run, row=row, facts=facts or {})


def table(*cases: Case, declared: tuple[Metric, ...] = (), **spec: object) -> Table:
    return tabulate(cases, TableSpec(**spec), declared=declared)  # type: ignore[arg-type]


def names(found: Table) -> list[str]:
    return [column.name for column in found.columns]


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
    found = table(*(case(config, run=n, y=code[repr(config)]) for n, config in enumerate(configs)), pivot=pivot)
    measured = [n for n, column in enumerate(found.columns) if column.name.startswith("y")]
    values = [row[n] for row in found.values for n in measured if row[n] is not None]
    assert sorted(values) == sorted(set(code.values()))
    assert all(len(row) == len(found.columns) for row in (*found.rows, *found.values))


def test_runs_of_one_case_are_repeats_and_their_medians_are_reduced() -> None:
    """Other spellings of a number are the same value, shown as it was first spelt."""
    spelt = ("0.10", 0.1, "1e-1")
    cases = [case({"frac": spelt[n]}, run=n, time_s=[9.0, v, 1e-9]) for n, v in enumerate((3.0, 5.0, 4.0))]
    found = table(*cases)
    assert (found.rows, found.values, found.constants) == ((("4.00 [3.00, 5.00]",),), ((4.0,),), {"frac": "0.10"})
    assert found.notes == ("medians of 3 samples", "3 runs in one cell: their median [lowest, highest]")
    failed = table(case({"topk": 2}, y=1.0), case({"topk": 2}, run=2, y=9.0, failed="oom"))
    assert failed.rows == (("1",),)
    assert failed.notes[1:] == (
        "1 of 2 cases failed",
        "1 failed run left out of the median of the other runs in the cell",
    )


def test_a_row_never_spans_unlike_configs_unless_the_pivot_implies_them() -> None:
    cases = [case({"mode": "none", "mesh": "4"}, y=1.0), case({"mode": "ep", "mesh": "2x2"}, y=2.0)]
    apart = table(*cases, pivot="mode", delta=True)
    assert apart.rows == (("4", "1", "—", "?"), ("2x2", "—", "2", "?"))
    assert apart.notes == ("2 of 4 cells not run (—)",)
    together = table(*cases, pivot="mode", delta=True, implied=("mesh",))
    assert together.rows == (("1", "2", "+100.00%"),)
    assert together.notes == ("mesh differs with mode: none 4, ep 2x2",)


def test_gaps_and_failures_are_never_zero() -> None:
    cases = [
        case({"k": 1, "m": "a"}, y=1.0, z=2.0),
        case({"k": 1, "m": "b"}, failed="oom"),
        case({"k": 2, "m": "a"}, y=1.0),
    ]
    found = table(*cases, pivot="m", delta=True, means=True)
    assert found.rows == (
        ("1", "1", "failed: oom", "?", "2", "failed", "?"),
        ("2", "1", "—", "?", "?", "—", "?"),
        ("arithmetic mean", "", "", "?", "", "", "?"),
        ("geometric mean", "", "", "?", "", "", "?"),
    )
    assert found.values[0] == (1, 1.0, "failed: oom", None, 2.0, "failed: oom", None)


@pytest.mark.parametrize("first", [0.0, math.nan])
def test_what_has_no_quotient_is_unknown(first: float) -> None:
    assert table(case({"k": 1}, y=first), case({"k": 2}, y=2.0), delta=True, ratio=True).rows[1][2:] == ("?", "?")


@pytest.mark.parametrize("fact", ["commit", "env:XLA_FLAGS", "package:jax"])
def test_a_fact_that_differs_is_a_column(fact: str) -> None:
    found = table(case(facts={fact: "a"}, y=1.0), case(run=2, facts={fact: "b"}, y=9.0))
    assert (names(found), found.rows) == ([fact, "y"], (("a", "1"), ("b", "9")))
    alike = table(case(facts={fact: "a"}, y=1.0), case(run=2, facts={fact: "a"}, y=9.0))
    assert (names(alike), alike.rows) == (["y"], (("5 [1, 9]",),))
    # A variable that is not set differs; a package that is not reported does not.
    partly = table(case(y=1.0), case(run=2, facts={fact: "a"}, y=2.0))
    assert (names(partly) == [fact, "y"]) == (fact != "package:jax")


def test_the_host_tells_rows_apart_where_it_is_the_device() -> None:
    def two(devices: tuple[Device, ...]) -> Table:
        return table(*(case(run=n, devices=devices, facts={"host": host}, y=n) for n, host in ((1, "a"), (3, "b"))))

    assert two(CPU).rows == (("a", "1"), ("b", "3"))
    assert two(TPU).rows == (("2 [1, 3]",),)
    assert "host differs between the rows and is not shown" in two(TPU).notes


def test_metrics_in_several_units_are_not_compared() -> None:
    found = table(case({"k": 1}, unit="s", y=1.0), case({"k": 2}, unit="ms", y=900.0), delta=True)
    assert names(found) == ["k", "y"]
    assert found.notes == ("y comes in several units (s, ms): not compared",)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<bfloat16>", "&lt;bfloat16>"),
        ("__y__", "\\_\\_y\\_\\_"),
        ("**b** a*b", "\\*\\*b\\*\\* a\\*b"),
        ("`x`", "\\`x\\`"),
        ("#12", "#&#8203;12"),
        ("y @8", "y @&#8203;8"),
        ("[a](b)", "\\[a](b)"),
        ("&lt;", "\\&lt;"),
        ("a|b\nc", "a\\|b c"),
        ("a\\|b", "a\\\\\\|b"),
    ],
)
def test_what_github_would_interpret_is_escaped(text: str, shown: str) -> None:
    assert cell(text) == shown


# RFC 4180 has no way to tell an empty text from an absent one; here both are unknown.
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4))
def test_any_text_survives_csv(texts: list[str]) -> None:
    cases = [case({"text": text, "k": n}, run=n, y=0.1 + 0.2) for n, text in enumerate(texts)]
    read = list(csv.DictReader(io.StringIO(to_csv(cases), newline=""), strict=True))
    assert [original_cell(row["text"]) for row in read] == texts
    assert {row["y"] for row in read} == {"0.30000000000000004"}
    assert not [row["text"] for row in read if row["text"].startswith(("=", "@", "\t"))]
