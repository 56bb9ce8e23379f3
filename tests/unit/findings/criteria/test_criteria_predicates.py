"""Predicates over rows made by hand: a target and its exact chance, budgets and dates, and what is no predicate."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
import yaml

from logbook_agent.findings.cases import Case
from logbook_agent.findings.criteria.evaluate import ENOUGH, evaluate, odds
from logbook_agent.findings.criteria.evidence import MET, UNMET, Facts, Rows
from logbook_agent.findings.criteria.predicate import PredicateError, parse
from logbook_agent.model.header import Computed, Metric
from logbook_agent.model.run import Measurement, Row

TFLOPS = (Metric(name="tflops", direction="max", unit="TF/s"),)


def rows(values: Sequence[float], unit: str | None = "TF/s") -> list[Case]:
    """A run for each value."""
    return [
        Case(
            entry="MOE-I8-001",
            run=number,
            row=Row(config={"topk": 2}, metrics={"tflops": Measurement(samples=(value,), unit=unit, direction="max")}),
            command=("bench",),
            started=f"2026-02-10T10:00:{number:02d}+00:00",
        )
        for number, value in enumerate(values, 1)
    ]


def check(text: str, trials: list[Case], *, runs: int = 0, hours: float = 0.0) -> Computed:
    """What a predicate comes to with these rows."""
    now = datetime(2026, 2, 11, tzinfo=UTC)
    facts = Facts(metrics=TFLOPS, now=now, runs=runs, hours=hours, rows=Rows(trials), answers=())
    return evaluate(parse(yaml.safe_load(text)), facts)


def test_a_lucky_run_reaches_no_target() -> None:
    text = "target: {metric: tflops, at_least: 100}"
    for low, high, state, more in (
        (0, 1, UNMET, "; 6 more that reach it would settle it"),
        (0, 6, UNMET, "; 1 more that reaches it would settle it"),
        (0, 7, MET, ""),
        (1, 6, UNMET, "; 4 more that reach it would settle it"),
        (1, 9, UNMET, "; 1 more that reaches it would settle it"),
        (1, 10, MET, ""),
        (3, 3, UNMET, ""),
    ):
        runs = low + high
        found = check(text, rows([99.0] * low + [101.0] * high))
        said = f"tflops is at least 100 in {high} of {runs} run{'s' * (runs > 1)} of a case, median "
        assert (found.state, found.reason) == (state, f"{said}{100 if low == high else 101}{more}")


@pytest.mark.slow
def test_chance_reaches_a_target_in_one_of_20_cases_however_long_one_goes_on() -> None:
    """Exactly: each run reaches the number with probability 1/2 or less, and one looks after each of 200 runs."""
    for part, most in ((0.5, 0.05), (0.4, 0.004)):
        paths, reached = {0: 1.0}, 0.0
        for runs in range(1, 201):
            now: dict[int, float] = {}
            for reaching, chance in paths.items():
                now[reaching + 1] = now.get(reaching + 1, 0.0) + chance * part
                now[reaching] = now.get(reaching, 0.0) + chance * (1 - part)
            reached += sum(chance for reaching, chance in now.items() if odds(reaching, runs) >= ENOUGH)
            paths = {r: chance for r, chance in now.items() if odds(r, runs) < ENOUGH}
        assert 0 < reached < most
    assert all(odds(r + 1, n + 1) > odds(r, n) for n in range(1, 60) for r in range(n + 1))


@pytest.mark.parametrize(
    ("text", "state", "reason"),
    [
        (
            "target: {metric: tflops, at_least: 120}",
            "unmet",
            "tflops is at least 120 in 0 of 8 runs of a case, median 100",
        ),
        ("compared: {axis: impl, values: [a, b]}", "not computable", "no row has impl"),
        ("date: 2026-02-12", "unmet", "2026-02-12 has not come yet"),
        ("budget: {runs: 12, hours: 2}", "met", "12 of 12 runs and 0.50 of 2 hours spent"),
        ("budget: {hours: 2}", "unmet", "0.50 of 2 hours spent"),
        ("all: [{date: 2026-02-11}, {judgement: {}}]", "unmet", "nobody has judged it yet"),
        ("any: [{judgement: {}}, {date: 2026-02-11}]", "met", "2026-02-11 has come"),
    ],
)
def test_every_kind_of_predicate(text: str, state: str, reason: str) -> None:
    found = check(text, rows([100.0] * 8), runs=12, hours=0.5)
    assert (found.state, found.reason) == (state, reason)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("compare: {axis: a, values: [1, 2]}", "unknown predicate 'compare'; did you mean compared?"),
        ("compared: {axis: a, value: [1, 2]}", "compared.value: unknown key; did you mean values?"),
        ("compared: {axis: a, values: [1]}", "compared: values: at least two are needed, the first is the base"),
        ("all: []", "all: expected a list of predicates"),
        ("any: [{budget: {runs: -1}}]", "budget: runs: expected a number above 0, got -1"),
        ("judgement: {foo: 1}", "judgement.foo: unknown key; available: none"),
        ("compared: {axis: a, values: [1, .nan]}", "compared: .nan and .inf are never reached"),
        (
            "compared: {axis: topk, values: [2], controls: {quant_mode: none}}",
            "compared: controls.quant_mode: state the other value of quant_mode in where, for_each or values",
        ),
        (
            "compared: {axis: a, values: [1, 2], outcomes: [better]}",
            "compared: outcomes and min_effect need settled: true",
        ),
    ],
)
def test_what_is_no_predicate(text: str, said: str) -> None:
    with pytest.raises(PredicateError) as error:
        parse(yaml.safe_load(text))
    assert str(error.value).startswith(said)


def test_a_number_in_another_unit_reaches_no_target() -> None:
    rows_of = {unit: rows([200.0] * 7, unit) for unit in ("TF/s", "GF/s", None)}
    found = {unit: check("target: {metric: tflops, at_least: 100}", own).state for unit, own in rows_of.items()}
    assert found == {"TF/s": MET, "GF/s": UNMET, None: MET}
