"""Values that were printed too coarsely, or measured by a timer that ticks, are never neutral."""

from __future__ import annotations

import math

import pytest

from logbook_agent.findings.evidence.answers import answer_values
from logbook_agent.findings.evidence.coarse import step_of
from logbook_agent.findings.evidence.verdict import Verdict, judge
from tests.evidence.pair_support import ask, only, trial


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([0.10] * 12, math.inf),  # nobody sees how long the tick is
        ([0.12, 0.13, 0.11, 0.12], 0.01 / 0.12),
        ([0.1, 0.2, 0.1], 1.0),  # printed as 0.10: as a number it is 0.1, whose last digit is the first one
        ([12.5, 12.6], 0.1 / 12.55),
        ([1.25e-05, 1.35e-05], 0.01 / 1.3),
        # A timer's tick, with the jitter of the clock that reads it.
        ([5 / 32 + n * 1e-7 for n in range(8)], math.inf),
        ([(10 + n % 2) / 64 + n * 1e-8 for n in range(8)], 1 / 10.5),
        ([100.0, 101.0, 102.0, 103.0], 1 / 101.5),
        ([123456.0] * 3, 1 / 123456),
        # In full precision, and yet no more than three values come up: a timer's tick.
        ([n / 64 / 3 for n in (30, 31, 32) for _ in range(4)], 1 / 31),
        # As many values as there are runs have no step.
        ([0.123456789012345, 0.223456789012345, 0.323456789012345], 0.0),
        # One value alone in full precision tells nothing, the same one again and again an unknown step.
        ([1 / 3], 0.0),
        ([1 / 3] * 6, math.inf),
        ([0.0, 0.0], 0.0),
    ],
)
def test_the_step_of_values(values: list[float], step: float) -> None:
    assert step_of(values) == pytest.approx(step)
    assert step_of(values[::-1]) == step_of(values)
    if step < math.inf:
        assert step_of([-v for v in values]) == pytest.approx(step)


def turns(pairs: int) -> list[bool]:
    return [bool(n % 2) for n in range(pairs)]


def verdict_of(base: list[float], other: list[float], *, paired: bool = True, minimum: float = 0.01) -> Verdict:
    first = turns(len(base)) if paired else None
    return judge(
        [[x] for x in base], [[x] for x in other], direction="max", minimum_effect=minimum, other_first=first
    ).verdict


@pytest.mark.parametrize("paired", [True, False])
def test_coarse_values_are_never_neutral(paired: bool) -> None:
    """0.10 may be 0.096 on one side and 0.104 on the other: 8% that nobody sees."""
    for same in ([0.10] * 8, [0.5] * 8, [1 / 3] * 8, [7.0] * 8):
        assert verdict_of(same, same, paired=paired) is Verdict.INCONCLUSIVE
    ticks = [n / 64 for n in (32, 32, 33, 32, 32, 32, 32, 33)]
    assert verdict_of(ticks, ticks[::-1], paired=paired) is Verdict.INCONCLUSIVE
    # What was printed with enough digits is.
    fine = [0.10001, 0.10002, 0.10003, 0.10004, 0.10005, 0.10001, 0.10002, 0.10003]
    assert verdict_of(fine, fine[::-1], paired=paired) is Verdict.NEUTRAL
    # The step counts beside the interval: 0.5% each are within 1%, 1% each are not.
    assert verdict_of([200.0] * 8, [200.0] * 8, paired=paired) is Verdict.NEUTRAL
    assert verdict_of([99.0] * 8, [99.0] * 8, paired=paired) is Verdict.INCONCLUSIVE
    assert verdict_of([99.0] * 8, [99.0] * 8, paired=paired, minimum=0.02) is Verdict.NEUTRAL


def test_an_effect_that_is_seen_in_coarse_values_is_one() -> None:
    assert verdict_of([0.10] * 8, [0.20] * 8) is Verdict.BENEFICIAL
    assert verdict_of([0.20] * 8, [0.10] * 8) is Verdict.REGRESSIVE


@pytest.mark.parametrize(
    ("value", "said", "advice"),
    [
        (0.10, "all values are the same: too coarse", "print more digits, or measure for longer"),
        (1 / 3, "all values are the same: too coarse", "print more digits, or measure for longer"),
        (8.0, "values come in steps of 12.5% of their size: too coarse", "measure for longer"),
    ],
)
def test_the_reader_is_told_what_to_do(value: float, said: str, advice: str) -> None:
    rows = [trial(run, {"mode": mode}, value) for run, mode in enumerate("abba" * 3)]
    [answer] = answer_values(rows, ask(axis="mode"))
    m = only(answer)
    assert m.judgement is not None
    assert m.judgement.verdict is Verdict.INCONCLUSIVE
    assert m.reasons[0] == f"{said} to rule out an effect of 1%; {advice}"
