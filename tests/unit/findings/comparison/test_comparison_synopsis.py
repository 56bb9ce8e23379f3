"""A comparison in one sentence: one side and case, several of them, and why it is open."""

from __future__ import annotations

from typing import Any

import pytest

from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome, Side
from logbook_agent.findings.comparison.synopsis import outcome, synopsis
from logbook_agent.model.comparison import Question

BETTER, WORSE, SAME, OPEN = Outcome.BETTER, Outcome.WORSE, Outcome.NO_DIFFERENCE, Outcome.OPEN
SURE = {"low": 0.02, "high": 0.09}
UNSURE = {"outcome": OPEN, "low": -0.02, "high": 0.09}


def found(metric: str = "tflops", **more: Any) -> Finding:
    given = {"outcome": BETTER, "change": 0.05, "low": None, "high": None, "side": "int8", "case": {}, "pairs": 12}
    given |= {"unit": "TF/s", "is_watched": False} | more
    return Finding(
        **given, metric=metric, direction="max", judged=given["pairs"], base=Side(), other=Side(),
        series=(),
    )  # fmt: skip


def answer(*findings: Finding, sides: tuple[str, ...] = ("int8",), sittings: int = 2) -> Answer:
    return Answer(
        entry="M-000", question=Question(axis="mode", base="none", sides=sides), findings=findings,
        pairs=12, sittings=sittings, confidence="exploratory", reasons=(), code={},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        (
            [found(**SURE), found("tokens_per_s", **SURE), found("mem", outcome=WORSE), found("loss", outcome=SAME)],
            "int8 has 5% more tflops than none (95%: +2 to +9%; 12 pairs in 2 sittings);"
            " the same in tokens_per_s; mem +5% (worse); no difference in loss",
        ),
        (
            [found(**UNSURE), found("mem", unit="B", outcome=WORSE, **SURE)],
            "int8 has 5% higher mem than none (95%: +2 to +9%; 12 pairs in 2 sittings); tflops +5% (open)",
        ),
        (
            [found(f"m{n}", change=0.05 + n / 100, **SURE) for n in range(8)],
            "; m1 +6%; m2 +7%; m3 +8%; m4 +9%; 3 more metrics",
        ),
    ],
)
def test_one_side_and_case(findings: list[Finding], expected: str) -> None:
    text = synopsis(answer(*findings))
    assert text.endswith(expected) if expected.startswith(";") else text == expected


def test_the_word_for_a_comparison() -> None:
    assert outcome(answer(found())) == "better"
    # One metric gained, and another is as it was.
    assert outcome(answer(found(), found("loss", outcome=SAME))) == "better"
    assert outcome(answer(found(), found("loss", outcome=OPEN))) == "better in part"
    assert outcome(answer(found(), found("loss", outcome=WORSE))) == "mixed"
    # What is watched does not decide, but it is said.
    assert outcome(answer(found(), found("loss", outcome=WORSE, is_watched=True))) == "mixed"
    assert outcome(answer(found(outcome=OPEN))) == "open"
