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
from logbook_agent.findings.comparison.answers import answers
from logbook_agent.findings.criteria.evaluate import ENOUGH, evaluate, odds
from logbook_agent.findings.criteria.evidence import MET, NOT_COMPUTABLE, UNMET, Facts, Rows
from logbook_agent.findings.criteria.predicate import PredicateError, parse
from logbook_agent.model.header import Computed, Metric
from logbook_agent.model.run import Device, Failure, Measurement, Row
from logbook_agent.model.values import Scalar
from tests.unit.findings.comparison.test_comparison_answers import entry, series

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
        "key": f"k{number}",
    }
    of = series(pairs, math.log1p(effect), seed=number, noise=noise, **{**names, **more})
    asked = {"axis": "quant_mode", "base": "none", "sides": [of["side"]], "metrics": ["tflops"], **question}
    return entry(number, of, **asked)


INT8_PAIR = "compared: {axis: quant_mode, values: [none, int8], device: v5p}"
INT8_SWEEP = (
    "sweep: {axis: topk, values: [1, 2, 4, 6, 8], where: {quant_mode: int8}, controls: {quant_mode: none}, device: v5p}"
)
INT8_VERDICT = "verdict: {axis: quant_mode, values: [none, int8], metric: tflops}"
EP_TABLES = "compared: {axis: parallel_mode, values: [none, ep], for_each: {topk: [2, 8]}, implied: [mesh, devices]}"
NULL_SWEEP = (
    "sweep: {axis: null_route_frac, values: [0.1, 0.5, 0.9], for_each: {shape: [S, M]},"
    " controls: {null_route_frac: 0.0}}"
)


def test_the_criteria_of_the_int8_seed() -> None:
    assert check(INT8_PAIR, []).state == UNMET
    one = pair(2)
    found = check(INT8_PAIR, one)
    assert found.state == MET
    assert set(found.evidence) == {f"MOE-I8-001/{t.run}" for t in one}
    four = [t for topk in (1, 2, 4, 6) for t in pair(topk, runs=1)]
    unmet = check(INT8_SWEEP, four)
    assert (unmet.state, unmet.reason) == (UNMET, "quant_mode=int8 topk=8 was not measured")
    no_control = rows("MOE-I8-002", {"quant_mode": "int8", "topk": 8}, [200.0])
    assert check(INT8_SWEEP, [*four, *no_control]).reason == "quant_mode=none topk=8 was not measured"
    assert check(INT8_SWEEP, [*four, *pair(8, runs=1)]).state == MET


def test_an_open_comparison_says_what_would_settle_it() -> None:
    found = check(INT8_VERDICT, [], compared=[ab(1, 0.08, pairs=4)])
    assert (found.state, found.evidence) == (UNMET, ("D-001",))
    assert found.reason.startswith("D-001: int8 against none is open in tflops, +")
    assert found.reason.endswith("needs at least 4 more pairs): logbook ab --id D-001")


@pytest.mark.parametrize(
    ("asked", "command"),
    [
        ("values: [none, int8], metric: mem", "--axis quant_mode=none,int8 --metric mem -- COMMAND"),
        ("values: [none, int8], min_effect: 0.05", "--axis quant_mode=none,int8 --min-effect 0.05 -- COMMAND"),
        ("values: [none, fp8, int4]", "--axis quant_mode=none,fp8,int4 -- COMMAND"),
        # A case that the command does not report by itself is declared with it.
        ("values: [none, int8], where: {topk: 4}", "--axis quant_mode=none,int8 --config topk=4 -- COMMAND"),
        ("values: [none, int8], where: {topk: 4 x}", "--axis quant_mode=none,int8 --config 'topk=4 x' -- COMMAND"),
    ],
)
def test_a_missing_comparison_is_named_with_its_command(asked: str, command: str) -> None:
    coarse = ab(1, 0.08, minimum_effect=0.1)
    reason = check(f"verdict: {{axis: quant_mode, {asked}}}", pair(2), compared=[coarse]).reason
    assert reason.endswith(f": logbook ab {command}")
    answered = check("verdict: {axis: quant_mode, values: [none, int8], min_effect: 0.1}", [], compared=[ab(1, 0.2)])
    assert answered.state == MET, "what shows 1% shows 10%"


def test_the_base_is_the_first_value_and_each_comparison_answers_its_own_question() -> None:
    """A hill climb: fp8 against none, then int8 against fp8, then int8 against none."""
    climb = [
        ab(1, 0.08, side="fp8"),
        ab(2, 0.05, base="fp8"),
        ab(3, 0.13),
    ]
    for values, evidence in (("none, fp8", "D-001"), ("fp8, int8", "D-002"), ("none, int8", "D-003")):
        found = check(f"verdict: {{axis: quant_mode, values: [{values}]}}", [], compared=climb)
        assert (found.state, found.evidence) == (MET, (evidence,))
    assert check("verdict: {axis: quant_mode, values: [int8, none]}", [], compared=climb).state == UNMET


def test_words_of_a_verdict() -> None:
    question = "verdict: {{axis: quant_mode, values: [none, int8], verdicts: [{}]{}}}"
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
        ("where: {topk: 2}, verdicts: [better]", MET),
        ("where: {topk: 4}, verdicts: [better]", UNMET),
        ("where: {topk: 8}", UNMET),
        ("where: {hidden: 2}", UNMET),
        ("device: V5P, verdicts: [better]", MET),
        ("device: v6", UNMET),
        ("for_each: {topk: [2, 4]}", MET),
        ("for_each: {topk: [2, 4, 8]}", UNMET),
        ("cases: 2", MET),
        ("cases: 2, verdicts: [better]", UNMET),
        ("cases: 3", UNMET),
    ):
        text = f"verdict: {{axis: quant_mode, values: [none, int8], {chosen}}}"
        assert check(text, [], compared=[two, four]).state == state, chosen


def test_what_was_settled_stays_settled_while_a_comparison_is_open() -> None:
    text = "verdict: {axis: quant_mode, values: [none, int8], verdicts: [better]}"
    settled = ab(1, 0.08)
    for more in (ab(2, 0.08), ab(2, 0.0, pairs=3), ab(2, 0.0, pairs=3, topk=4), ab(2, -0.08, topk=4)):
        assert check(text, [], compared=[settled, more]).state == MET
    # Other code of the same case decides, once it is settled.
    found = check(text, [], compared=[settled, ab(2, -0.08)])
    assert (found.state, found.evidence) == (UNMET, ("D-002",))
    void = dataclasses.replace(settled, entry="D-001", void=True)
    assert check(text, [], compared=[void]).state == UNMET


def test_commits_are_named_by_name_or_by_a_hash_of_any_length() -> None:
    code = ab(1, 0.08, axis="code", base="main@3f2a9c01d", side="WORK+a1b2c3d")
    for axis, values in (
        ("code", "main, WORK"),
        ("code", "3f2a9c01d, WORK"),
        ("commit", "3f2a, WORK"),
        ("commit", "3f2a9c01de5576, WORK"),
    ):
        assert check(f"verdict: {{axis: {axis}, values: [{values}]}}", [], compared=[code]).state == MET
    assert check("verdict: {axis: code, values: [other, WORK]}", [], compared=[code]).state == UNMET
    # The same code by another name goes on with the question, and is still known by the first one.
    both = [
        ab(1, 0.08, axis="code", base="main@3f2a9c01d", side="tip@a1b2c3d77", key="k"),
        ab(2, 0.08, axis="code", base="v1@3f2a9c01d", side="HEAD@a1b2c3d77", key="k", start=60),
    ]
    for values in ("main, tip", "v1, HEAD", "main, HEAD"):
        assert check(f"verdict: {{axis: code, values: [{values}]}}", [], compared=both).state == MET
    reason = check("verdict: {axis: code, values: [v1, WORK]}", []).reason
    assert reason == "no comparison of code=WORK with v1: logbook ab --code v1 WORK -- COMMAND"


def test_a_number_in_another_unit_reaches_no_target() -> None:
    rows_of = {unit: rows("MOE-I8-001", {"topk": 2}, [200.0] * 7, unit=unit) for unit in ("TF/s", "GF/s", None)}
    found = {unit: check("target: {metric: tflops, at_least: 100}", own).state for unit, own in rows_of.items()}
    assert found == {"TF/s": MET, "GF/s": UNMET, None: MET}


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


def test_a_target_stays_reached_whatever_else_is_measured() -> None:
    """More runs that reach it, in whatever entries, and more cases, however many, never take it back."""
    text = "target: {metric: tflops, at_least: 100}"
    met = rows("MOE-I8-001", {"topk": 2}, [99.0, *[101.0] * 10])
    for number in range(1, 40):
        met += rows(f"MOE-I8-{number:03d}", {"topk": 2}, [100.0])
        met += [
            row for topk in range(3, 9) for row in rows(f"MOE-I8-{number:03d}", {"topk": topk, "n": number}, [90.0])
        ]
        assert check(text, met).state == MET
    sweep = [row for n in range(100) for row in rows("MOE-I8-001", {"topk": n}, [101.0 if n % 9 else 90.0])]
    assert check(text, sweep).state == UNMET, "single runs of a sweep"


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


def test_rows_that_failed_and_those_of_runs_that_did_not_finish_count_for_nothing() -> None:
    assert check("measured: {runs: 1}", rows("MOE-I8-001", {"topk": 2}, [200.0], failed=True)).state == UNMET
    for state, outcome in (("finished", MET), ("failed", UNMET), ("interrupted", UNMET)):
        assert check("measured: {runs: 1}", rows("MOE-I8-001", {"topk": 2}, [200.0], state=state)).state is outcome


def test_the_criteria_of_the_ep_seed() -> None:
    def side(topk: int, mode: str, value: float) -> list[Case]:
        mesh = "1x1" if mode == "none" else "1x4"
        return rows("MOE-EP-001", {"parallel_mode": mode, "topk": topk, "mesh": mesh}, [value])

    two = [*side(2, "none", 231.5), *side(2, "ep", 240.1)]
    unmet = check(EP_TABLES, two)
    assert (unmet.state, unmet.reason) == (UNMET, "topk=8 parallel_mode=none was not measured")
    eight = [*side(8, "none", 338.25), *side(8, "ep", 340.0)]
    assert check(EP_TABLES, [*two, *eight]).state == MET


def test_the_criteria_of_the_null_routing_seed() -> None:
    def case(shape: str, fraction: float) -> list[Case]:
        return rows("MOE-NULL-001", {"shape": shape, "null_route_frac": fraction}, [100 - 10 * fraction])

    s = [t for fraction in (0.0, 0.1, 0.5, 0.9) for t in case("S", fraction)]
    m = [t for fraction in (0.0, 0.1, 0.5) for t in case("M", fraction)]
    unmet = check(NULL_SWEEP, [*s, *m])
    assert (unmet.state, unmet.reason) == (UNMET, "shape=M null_route_frac=0.9 was not measured")
    failed = rows("MOE-NULL-002", {"shape": "M", "null_route_frac": 0.9}, [1.0], failed=True)
    assert check(NULL_SWEEP, [*s, *m, *failed]).state == UNMET
    assert check(NULL_SWEEP, [*s, *m, *case("M", 0.9)]).state == MET


@pytest.mark.parametrize(
    ("text", "state", "reason"),
    [
        ("measured: {runs: 2, where: {topk: 2}}", "met", "1 or more cases with 2 runs each"),
        ("measured: {runs: 9}", "unmet", "0 of 1 cases with 9 runs"),
        (
            "target: {metric: tflops, at_least: 108}",
            "met",
            "tflops is at least 108 in 8 of 8 runs of a case, median 108.35",
        ),
        (
            "target: {metric: tflops, at_least: 120}",
            "unmet",
            "tflops is at least 120 in 0 of 8 runs of a case, median 108.35",
        ),
        (
            "target: {metric: tflops, at_most: 101, runs: 9}",
            "unmet",
            "tflops is at most 101 in 8 of 8 runs of a case, median 100.35; 1 more that reaches it would settle it",
        ),
        ("target: {metric: mfu, at_least: 0.5}", "unmet", "no case has mfu"),
        ("compared: {axis: impl, values: [a, b]}", "not computable", "no row has impl"),
        ("date: 2026-02-11", "met", "2026-02-11 has come"),
        ("date: 2026-02-12", "unmet", "2026-02-12 has not come yet"),
        ("judgement: {}", "unmet", "nobody has judged it yet"),
        ("budget: {runs: 12, hours: 2}", "met", "12 of 12 runs and 0.50 of 2 hours spent"),
        ("budget: {hours: 2}", "unmet", "0.50 of 2 hours spent"),
        ("all: [{date: 2026-02-11}, {judgement: {}}]", "unmet", "nobody has judged it yet"),
        ("any: [{judgement: {}}, {date: 2026-02-11}]", "met", "2026-02-11 has come"),
        ("any: [{judgement: {}}, {compared: {axis: impl, values: [a, b]}}]", "not computable", "no row has impl"),
    ],
)
def test_every_kind_of_predicate(text: str, state: str, reason: str) -> None:
    found = check(text, pair(2, runs=8), runs=12, hours=0.5)
    assert (found.state, found.reason) == (state, reason)


PLATEAU = "plateau: {metric: tflops, entries: 3}"


def test_a_plateau_is_what_the_last_comparisons_found() -> None:
    flat = [ab(n, 0.0, pairs=60) for n in (1, 2)]
    assert check(PLATEAU, pair(2), compared=flat).reason == "2 of 3 comparisons in tflops are settled"
    found = check(PLATEAU, [], compared=[*flat, ab(3, -0.05)])
    assert (found.state, found.evidence) == (MET, ("D-001", "D-002", "D-003"))
    assert found.reason == "the last 3 comparisons in tflops found nothing better"
    # One that is open says nothing yet; one in another metric, another case or with a larger minimum effect neither.
    others = [ab(4, 0.05, pairs=3), ab(4, 0.05, metric="mem"), ab(4, 0.0, minimum_effect=0.1)]
    assert all(check(PLATEAU, [], compared=[*flat, ab(3, -0.05), one]).state == MET for one in others)
    better = check(PLATEAU, [], compared=[*flat, ab(3, -0.05), ab(4, 0.05)])
    assert (better.state, better.reason[:16]) == (UNMET, "D-004: int8 has ")
    assert check(f"{PLATEAU[:-1]}, within: 0.1}}", [], compared=[*flat, ab(3, 0.05)]).state == MET
    assert check(f"{PLATEAU[:-1]}, where: {{topk: 4}}}}", [], compared=[*flat, ab(3, 0.0)]).state == UNMET
    assert check("plateau: {metric: mem, entries: 1}", []).state == NOT_COMPUTABLE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("compare: {axis: a, values: [1, 2]}", "unknown predicate 'compare'; did you mean compared?"),
        ("compared: {axis: a, value: [1, 2]}", "compared.value: unknown key; did you mean values?"),
        ("compared: {axis: a, values: [1]}", "compared: values: at least two are needed, the first is the base"),
        ("compared: {values: [1, 2]}", "compared.axis: missing"),
        ("target: {metric: a}", "target: say either at_least or at_most"),
        ("budget: {}", "budget: say runs, hours, or both"),
        ("date: soon", "date: 'soon' is not a date; write it as 2026-12-31"),
        (
            "verdict: {axis: a, values: [1, 2], verdicts: [good]}",
            "verdict: verdicts: of better, worse, no difference",
        ),
        ("all: []", "all: expected a list of predicates"),
        ("measured: {for_each: {topk: []}}", "measured: for_each.topk: no values, so it would hold for nothing"),
        ("any: [{budget: {runs: -1}}]", "budget: runs: expected a number above 0, got -1"),
        ("budget: {hours: 0}", "budget: hours: expected a number above 0, got 0"),
        ("budget: {hours: .inf}", "budget: .nan and .inf are never reached"),
        ("judgement: {foo: 1}", "judgement.foo: unknown key; available: none"),
        ("target: {metric: a, at_least: .nan}", "target: .nan and .inf are never reached"),
        ("target: {metric: a, at_most: .inf}", "target: .nan and .inf are never reached"),
        ("sweep: {axis: a, values: [1, .nan]}", "sweep: .nan and .inf are never reached"),
        (
            "verdict: {axis: a, values: [1, 2], min_effect: 2}",
            "verdict: min_effect: expected a fraction from 0 up to 1",
        ),
        ("verdict: {axis: a, values: [1, 2], allow: [argv]}", "verdict.allow: unknown key"),
        ("[]", "a predicate has one key, its kind: "),
    ],
)
def test_what_is_no_predicate(text: str, said: str) -> None:
    with pytest.raises(PredicateError) as error:
        parse(yaml.safe_load(text))
    assert str(error.value).startswith(said)
