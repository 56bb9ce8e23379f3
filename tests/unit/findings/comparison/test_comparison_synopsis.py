"""A comparison in one sentence: one side and case, several of them, and why it is open."""

from __future__ import annotations

from typing import Any

import pytest

from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome, PairSeries, Side
from logbook_agent.findings.comparison.synopsis import outcome, synopsis, why_open
from logbook_agent.model.comparison import Question

BETTER, WORSE, SAME, OPEN = Outcome.BETTER, Outcome.WORSE, Outcome.NO_DIFFERENCE, Outcome.OPEN
SURE = {"low": 0.02, "high": 0.09}
UNSURE = {"outcome": OPEN, "low": -0.02, "high": 0.09}


def found(metric: str = "tflops", **more: Any) -> Finding:
    given = {"outcome": BETTER, "change": 0.05, "low": None, "high": None, "side": "int8", "case": {}, "pairs": 12}
    given |= {"unit": "TF/s", "is_guard": False} | more
    return Finding(
        **given, metric=metric, direction="max", judged=given["pairs"], base=Side(), other=Side(),
        series=PairSeries(y=(), signs=(), entries=()),
    )  # fmt: skip


def answer(*findings: Finding, sides: tuple[str, ...] = ("int8",), sittings: int = 2) -> Answer:
    return Answer(
        entry="M-000", entries=("M-000",), question=Question(axis="mode", base="none", sides=sides), findings=findings,
        pairs=12, sittings=sittings, confidence="exploratory", reasons=(), code={},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([found(**SURE)], "int8 has 5% more tflops than none (95%: 2 to 9%; 12 pairs in 2 sittings)"),
        # Further metrics follow: with their outcome where it is another one.
        (
            [found(**SURE), found("tokens_per_s", **SURE), found("mem", outcome=WORSE), found("loss", outcome=SAME)],
            "int8 has 5% more tflops than none (95%: 2 to 9%; 12 pairs in 2 sittings);"
            " the same in tokens_per_s; mem +5% (worse); no difference in loss",
        ),
        # One that no run reports.
        (
            [found(**SURE), found("mem", outcome=OPEN, change=None, pairs=0)],
            "int8 has 5% more tflops than none (95%: 2 to 9%; 12 pairs in 2 sittings); no number of mem",
        ),
        # What is settled comes first, whatever the order of the metrics.
        (
            [found(**UNSURE), found("mem", unit="B", outcome=WORSE, **SURE)],
            "int8 has 5% higher mem than none (95%: 2 to 9%; 12 pairs in 2 sittings); tflops +5% (open)",
        ),
        # A long case is not cut in the middle of a name.
        (
            [found(**UNSURE, case={"tokens": "4096", "experts": "16", "mlp_dim": "352"})],
            "int8 against none at tokens=4096 experts=16 mlp_dim=352 is open in tflops, +5% so far"
            " (95%: -2 to +9%; 12 pairs in 2 sittings)",
        ),
        (
            [found(f"m{n}", change=0.05 + n / 100, **SURE) for n in range(8)],
            "; m1 +6%; m2 +7%; m3 +8%; m4 +9%; 3 more metrics",
        ),
        # Metrics that follow from one another.
        ([found(f"m{n}", **SURE) for n in range(7)], "; the same in m1, m2, m3, m4 and 2 more"),
    ],
)
def test_one_side_and_case(findings: list[Finding], expected: str) -> None:
    text = synopsis(answer(*findings))
    assert text.endswith(expected) if expected.startswith(";") else text == expected


def test_several_cases_and_sides() -> None:
    cases = [
        found(case={"size": "9", "topk": "1"}, pairs=8, **UNSURE),
        found("tokens_per_s", case={"size": "9", "topk": "1"}, pairs=8, **UNSURE),
        found(case={"size": "9", "topk": "4"}, **SURE),
        found("tokens_per_s", case={"size": "9", "topk": "4"}, **SURE),
    ]
    assert synopsis(answer(*cases)) == (
        "int8 against none at size=9 in tflops: better at topk=4 (+5%); open at topk=1 (+5%);"
        " the same in tokens_per_s (95% intervals; 8 to 12 pairs each in 2 sittings)"
    )
    cases[3] = found("tokens_per_s", case={"size": "9", "topk": "4"}, outcome=SAME)
    assert "; tokens_per_s: 1 no difference, 1 open (95%" in synopsis(answer(*cases))
    sides = [found(side="int8", **SURE), found(side="fp8", outcome=WORSE, change=-0.1)]
    assert synopsis(answer(*sides, sides=("int8", "fp8"), sittings=1)) == (
        "int8, fp8 against none in tflops: int8 (+5%) is better; fp8 (-10%) is worse"
        " (95% intervals; 12 pairs in 1 sitting)"
    )


def test_the_word_for_a_comparison() -> None:
    assert outcome(answer(found())) == "better"
    # One metric gained, and another is as it was.
    assert outcome(answer(found(), found("loss", outcome=SAME))) == "better"
    assert outcome(answer(found(), found("loss", outcome=OPEN))) == "better in part"
    assert outcome(answer(found(), found("loss", outcome=WORSE))) == "mixed"
    # A guard does not turn it.
    assert outcome(answer(found(), found("loss", outcome=WORSE, is_guard=True))) == "better"
    assert outcome(answer(found(outcome=OPEN))) == "open"


def test_why_it_is_open() -> None:
    assert why_open(answer(found())) == ""
    few = found(outcome=OPEN, pairs=7, to_settle="at least 1 more pair")
    assert why_open(answer(few)) == "a comparison is first judged at 8 pairs; it needs at least 1 more pair"
    many = found(**UNSURE, to_settle="about 30 more pairs")
    said = "the interval includes 0, so either side may be better; it needs about 30 more pairs"
    assert why_open(answer(many)) == said
    # The one that is nearest to an answer.
    assert why_open(answer(found(**UNSURE, to_settle="more pairs than is practical"), many)) == said
    # Of several cases the nearest is named.
    cases = [found(**UNSURE, case={"topk": n}, to_settle=f"about {n}0 more pairs") for n in "31"]
    assert why_open(answer(*cases)) == (
        "topk=1 in tflops is the nearest to an answer: the interval includes 0, so either side may be better;"
        " it needs about 10 more pairs"
    )
    # Beside one that is settled, it is named.
    assert why_open(answer(found("loss", unit="s", **SURE), many)) == (
        f"int8 against none is open in tflops, +5% so far: {said}"
    )
    small = found(outcome=OPEN, change=0.004, low=0.001, high=0.02, to_settle="about 9 more pairs")
    assert why_open(answer(small)).startswith("the change is below the minimum effect of 1%; it needs")
