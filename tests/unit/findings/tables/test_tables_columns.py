"""Which columns a table has, the order of its rows, and what is escaped in its cells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from logbook_agent.findings.cases import Case
from logbook_agent.findings.tables.build import tabulate
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Device, Measurement, Row, Scalar
from logbook_agent.text.markdown import cell


def case(
    config: dict[str, Scalar],
    *,
    run: int = 1,
    used: int | None = 4,
    observed: dict[str, float | None] | None = None,
    **metrics: float,
) -> Case:
    row = Row(
        config=config,
        metrics={name: Measurement(samples=(value,)) for name, value in metrics.items()},
        observations=observed or {},
        devices=(Device(platform="tpu", kind="TPU v5p", count=4, used=used),),
    )
    return Case(entry="X-001", run=run, row=row)


def names(found: Table) -> list[str]:
    return [column.name for column in found.columns]


# metrics


def test_a_metric_that_nobody_declared_does_not_vanish() -> None:
    declared = (Metric(name="tflops"), Metric(name="mfu"))
    cases = [
        case({"k": 1}, tflops=1.0, other=7.0, observed={"mfu": None}),
        case({"k": 2}, run=2, latency_s=0.5),
        case({"k": 3}, run=3, observed={"score": 4.0, "nothing": None}),
    ]
    found = tabulate(cases, TableSpec(), declared=declared)
    assert names(found) == ["k", "tflops", "latency_s", "score"], "no column of mfu: nobody measured it"
    assert found.rows == (("1", "1.000", "?", "?"), ("2", "?", "0.500000", "?"), ("3", "?", "?", "4"))
    assert found.notes == ("declared, but in none of these rows: mfu", "6 values not reported (?)")


# devices


# Markdown


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


# the order of rows


def test_rows_of_a_random_order_stand_in_that_of_their_axes() -> None:
    ran = [
        case({"mode": m, "topk": k}, run=n, t=1.0) for n, (m, k) in enumerate([("b", 10), ("a", 2), ("b", 1), ("a", 1)])
    ]
    found = tabulate(ran, TableSpec(), declared=())
    assert [row[:2] for row in found.rows] == [("b", "10"), ("a", "2"), ("b", "1"), ("a", "1")]
    found = tabulate([replace(one, shuffled=True) for one in ran], TableSpec(), declared=())
    assert [row[:2] for row in found.rows] == [("a", "1"), ("a", "2"), ("b", "1"), ("b", "10")]
    assert [own[0].run for own in found.cases] == [3, 1, 2, 0]
    assert found.axes == 2
