"""Sentences about findings: their grammar, and the one word for a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from logbook_agent.findings.comparison.answer import Answer, Finding, Lacks, Outcome, Side
from logbook_agent.findings.comparison.synopsis import outcome
from logbook_agent.findings.comparison.words import sentence
from logbook_agent.model.comparison import Question

NO_CASE: Mapping[str, str] = {}
BETTER, WORSE, SAME, OPEN = Outcome.BETTER, Outcome.WORSE, Outcome.NO_DIFFERENCE, Outcome.OPEN


def finding(**more: Any) -> Finding:
    given = {"metric": "time_s", "unit": "s", "outcome": BETTER, "change": -0.081, "low": -0.094, "high": -0.069}
    given |= {"case": NO_CASE, "pairs": 12, "config": {}, "device": "", "side": "int8", "is_watched": False} | more
    given.setdefault("judged", given["pairs"])
    return Finding(**given, direction="min", base=Side(), other=Side())


def answer(*findings: Finding, axis: str = "mode", base: str = "none") -> Answer:
    question = Question(axis=axis, base=base, sides=tuple({f.side for f in findings}))
    known = {"pairs": 12, "sittings": 1, "confidence": "exploratory", "reasons": (), "code": {}}
    return Answer(entry="M-000", question=question, findings=findings, **known)  # type: ignore[arg-type]


def said(axis: str = "mode", base: str = "none", **of: Any) -> str:
    found = finding(**of)
    return sentence(answer(found, axis=axis, base=base), found)


SPEED = {"metric": "tflops", "unit": "TF/s"}
LOSS = {"metric": "loss", "unit": None}
SLOWER = {"outcome": WORSE, "change": 3.5, "low": 3.0, "high": 4.0}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "int8 takes 8.1% less time than none (95%: -9.4 to -6.9%; 12 pairs)"),
        (SLOWER, "int8 takes 350% more time than none (4.5x as long; 95%: +300 to +400%; 12 pairs)"),
        (SPEED, "int8 has 8.1% less tflops than none (95%: -9.4 to -6.9%; 12 pairs)"),
        ({"case": {"topk": "4"}}, "int8 takes 8.1% less time than none at topk=4 (95%: -9.4 to -6.9%; 12 pairs)"),
        (
            LOSS | {"outcome": SAME, "change": 0.0001, "low": -0.002, "high": 0.004, "pairs": 1},
            "int8 and none show no difference in loss (95%: -0.2 to +0.4%; 1 pair)",
        ),
        (
            {"outcome": OPEN, "change": 0.02, "low": -0.01, "high": 0.05, "lacks": Lacks("pairs", 9)},
            "int8 against none is open in time_s, +2% so far (95%: -1 to +5%; 12 pairs; needs at least 9 more pairs)",
        ),
        (
            {"outcome": OPEN, "change": 0.02, "low": -0.01, "high": 0.05, "lacks": Lacks("pairs", 50)},
            "int8 against none is open in time_s, +2% so far (95%: -1 to +5%; 12 pairs; needs tens of pairs more)",
        ),
        (
            {"change": -0.909, "low": -0.912, "high": -0.903},
            "int8 takes 90.9% less time than none (11x as fast; 95%: -91.2 to -90.3%; 12 pairs)",
        ),
        (
            SPEED | {"change": 9.66, "low": 9.2, "high": 10.1},
            "int8 has 966% more tflops than none (10.7x; 95%: +920 to +1,010%; 12 pairs)",
        ),
        # Of pairs that are no whole block yet, the interval knows nothing.
        (
            {
                "outcome": OPEN,
                "change": 0.02,
                "low": 0.0,
                "high": 0.05,
                "pairs": 14,
                "judged": 10,
                "lacks": Lacks("side"),
            },
            "int8 against none is open in time_s, +2% so far (95%: 0 to +5%; 10 of 14 pairs)",
        ),
        (
            {"axis": "tile", "base": "8", "side": "16"},
            "tile=16 takes 8.1% less time than 8 (95%: -9.4 to -6.9%; 12 pairs)",
        ),
        (
            {"change": -0.00003, "low": -0.00005, "high": -0.00001},
            "int8 takes 0.003% less time than none (95%: -0.005 to -0.001%; 12 pairs)",
        ),
    ],
)
def test_a_finding_in_one_sentence(given: dict[str, Any], expected: str) -> None:
    assert said(**given) == expected


def test_the_word_for_a_comparison() -> None:
    """One metric gained, and another did something; what is watched does not decide, but it is said."""

    def word(other: Outcome | None = None, *, is_watched: bool = False) -> str:
        made = [finding(outcome=BETTER)]
        return outcome(answer(*made, *([finding(outcome=other, is_watched=is_watched)] if other else [])))

    assert [word(of) for of in (None, SAME, OPEN, WORSE)] == ["better", "better", "better in part", "mixed"]
    assert word(WORSE, is_watched=True) == "mixed"
    assert outcome(answer(finding(outcome=OPEN))) == "open"


def test_what_may_still_be_better_is_no_negative_result() -> None:
    same, still = finding(outcome=SAME), finding(**SPEED, outcome=OPEN)
    assert [len(answer(*of).without_gain) for of in ((same,), (same, still))] == [1, 0]
