"""The stop criteria of the seeds as predicates, and every kind of predicate, over rows made by hand."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from logbook_agent.findings.cases import Case
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.criteria.evaluate import ENOUGH, evaluate, odds
from logbook_agent.findings.criteria.evidence import MET, UNMET, Facts, Rows
from logbook_agent.findings.criteria.predicate import PredicateError, parse
from logbook_agent.model.header import Computed, Metric
from logbook_agent.model.run import Device, Failure, Measurement, Row
from logbook_agent.model.values import Scalar
from tests.unit.findings.comparison.test_comparison_answers import entry, series
from tests.unit.findings.pair_support import answers

TFLOPS = (Metric(name="tflops", direction="max", unit="TF/s"),)
V5P = (Device(platform="tpu", kind="TPU v5p", count=4, used=4),)
_numbers = itertools.count(1)


def rows(
    entry: str,
    config: dict[str, Scalar],
    values: Iterable[float],
    *,
    commit: str = "3357f54a5",
    failed: bool = False,
    metric: str = "tflops",
    unit: str | None = "TF/s",
    state: str = "finished",
) -> list[Case]:
    """A run for each value."""
    made = []
    for value in values:
        number = next(_numbers)
        row = Row(
            config=config,
            metrics={} if failed else {metric: Measurement(samples=(value,), unit=unit, direction="max")},
            devices=V5P,
            failed=Failure(reason="out_of_memory") if failed else None,
        )
        made.append(
            Case(
                entry=entry,
                run=number,
                state=state,
                row=row,
                facts={"commit": commit},
                command=("bench",),
                started=f"2026-02-10T10:00:00.{number:06d}+00:00",
            )
        )
    return made


def pair(topk: int, *, ratio: float = 1.08, runs: int = 6, commit: str = "3357f54a5") -> list[Case]:
    """none and int8 at one top-k, in turns (AB BA)."""
    found: list[Case] = []
    for n in range(runs):
        for mode in ("int8", "none") if n % 2 else ("none", "int8"):
            value, code = (100.0, "3357f54a5") if mode == "none" else (100 * ratio, commit)
            found += rows("MOE-I8-001", {"quant_mode": mode, "topk": topk}, [value + 0.1 * n], commit=code)
    return found


def check(
    text: str,
    trials: list[Case],
    *,
    compared: Sequence[Any] = (),
    runs: int = 0,
    hours: float = 0.0,
    more: tuple[Metric, ...] = (),
) -> Computed:
    """What a predicate comes to with these rows, and with the pairs of these entries."""
    held = facts(trials, answers(compared, (*TFLOPS, *more)), runs=runs, hours=hours, metrics=(*TFLOPS, *more))
    return evaluate(parse(yaml.safe_load(text)), held)


def facts(trials: list[Case], found: Sequence[Answer], **more: Any) -> Facts:
    plain = {"metrics": TFLOPS, "now": datetime(2026, 2, 11, tzinfo=UTC), "runs": 0, "hours": 0.0}
    return Facts(**{**plain, **more}, rows=Rows(trials), answers=found)


def ab(number: int, effect: float, *, pairs: int = 20, noise: float = 0.01, **more: Any) -> Any:
    """An entry that compared int8 with none at top-k 2 (`topk`), with this effect (a fraction) at 1% noise."""
    question = {k: more.pop(k) for k in ("axis", "base", "sides", "metrics", "minimum_effect") if k in more}
    names = {
        "metric": "tflops",
        "unit": "TF/s",
        "side": "int8",
        "config": {"topk": more.pop("topk", 2)},
    }
    of = series(pairs, math.log1p(effect), seed=number, noise=noise, **{**names, **more})
    asked = {"axis": "quant_mode", "base": "none", "sides": [of["side"]], "metrics": ["tflops"], **question}
    return entry(number, of, **asked)


def test_words_of_a_verdict() -> None:
    question = "compared: {{axis: quant_mode, values: [none, int8], settled: true, outcomes: [{}]{}}}"
    same, worse, better = (ab(1, effect) for effect in (0.0, -0.08, 0.08))
    for words, of in (("no difference", same), ("worse", worse), ("better", better), ("better, worse", better)):
        assert check(question.format(words, ""), [], compared=[of]).state == MET
    found = check(question.format("better", ""), [], compared=[worse])
    assert found.state == UNMET
    assert found.reason.endswith("; wanted better from 1% on")
    # What is no more than the criterion's minimum effect is no difference to it.
    small = ab(1, 0.03)
    assert check(question.format("better", ", min_effect: 0.05"), [], compared=[small]).state == UNMET
    assert check(question.format("no difference", ", min_effect: 0.05"), [], compared=[small]).state == MET
    # 0.993% less is as large as 1.003% more, and the comparison settled it.
    edge = ab(1, -0.00993, noise=5e-5)
    assert check(question.format("worse", ""), [], compared=[edge]).state == MET


def test_cases_of_a_verdict_are_chosen_by_config_and_device() -> None:
    two, four = ab(1, 0.08, device="TPU v5p"), ab(2, -0.08, topk=4, device="TPU v5e")
    for chosen, state in (
        ("where: {topk: 2}, outcomes: [better]", MET),
        ("where: {topk: 4}, outcomes: [better]", UNMET),
        ("where: {topk: 8}", UNMET),
        ("where: {hidden: 2}", UNMET),
        ("device: V5P, outcomes: [better]", MET),
        ("device: v6", UNMET),
        ("for_each: {topk: [2, 4]}", MET),
        ("for_each: {topk: [2, 4, 8]}", UNMET),
        ("cases: 2", MET),
        ("cases: 2, outcomes: [better]", UNMET),
        ("cases: 3", UNMET),
    ):
        text = f"compared: {{axis: quant_mode, values: [none, int8], settled: true, {chosen}}}"
        assert check(text, [], compared=[two, four]).state == state, chosen


def test_what_was_settled_stays_settled_while_a_comparison_is_open() -> None:
    text = "compared: {axis: quant_mode, values: [none, int8], settled: true, outcomes: [better]}"
    settled = ab(1, 0.08)
    for more in (ab(2, 0.08), ab(2, 0.0, pairs=3), ab(2, 0.0, pairs=3, topk=4), ab(2, -0.08, topk=4)):
        assert check(text, [], compared=[settled, more]).state == MET
    # Other code of the same case decides, once it is settled.
    found = check(text, [], compared=[settled, ab(2, -0.08)])
    assert (found.state, found.evidence) == (UNMET, ("D-002",))
    void = dataclasses.replace(settled, entry="D-001", is_void=True)
    assert check(text, [], compared=[void]).state == UNMET


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
        found = check(text, rows("MOE-I8-001", {"topk": 2}, [99.0] * low + [101.0] * high))
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
            "tflops is at least 120 in 0 of 8 runs of a case, median 108.35",
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
    found = check(text, pair(2, runs=8), runs=12, hours=0.5)
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
    rows_of = {unit: rows("MOE-I8-001", {"topk": 2}, [200.0] * 7, unit=unit) for unit in ("TF/s", "GF/s", None)}
    found = {unit: check("target: {metric: tflops, at_least: 100}", own).state for unit, own in rows_of.items()}
    assert found == {"TF/s": MET, "GF/s": UNMET, None: MET}
