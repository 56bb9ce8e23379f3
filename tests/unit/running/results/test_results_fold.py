"""Which reports are one case: by config, failure and unit; and which line belongs to which JSON row."""

from __future__ import annotations

from typing import Any

from logbook_agent.model.run import Failure, Measurement, Row
from logbook_agent.running.results.fold import fold, join_lines


def row(value: float = 1.0, unit: str | None = None, **config: Any) -> Row:
    return Row(config=config, metrics={"t": Measurement(samples=(value,), unit=unit)})


def folded(*rows: Row) -> list[Row]:
    problems: list[str] = []
    found = fold(rows, problems.append, explicit=True)
    assert problems == []
    return found


def test_a_case_that_failed_is_apart_from_one_that_did_not() -> None:
    failed = Row(config={"a": 1}, failed=Failure(reason="oom", message="no memory"))
    passed = Row(config={"a": 1})
    assert folded(failed, passed, failed, passed) == [failed, passed]


def test_what_the_run_has_for_all_rows_joins_no_line_to_one() -> None:
    """`seed` is the run's: that both have it says nothing of `a` and `b`."""
    json, line = row(a=1, seed=7), row(2, b=2, seed=7)
    assert join_lines([json], [line], {"seed": 7}) == [json, line]
    more = Row(config={"a": 1, "seed": 7}, labels={"note": "x"})
    assert join_lines([json], [more], {"seed": 7}) == [
        Row(config=json.config, metrics=json.metrics, labels=more.labels)
    ]
    alone = Row(config={"seed": 7}, labels={"note": "x"})
    assert join_lines([json], [alone], {"seed": 7}) == [
        Row(config=json.config, metrics=json.metrics, labels=more.labels)
    ]
