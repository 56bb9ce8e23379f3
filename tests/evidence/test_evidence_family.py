"""Verdicts of one question corrected together, as scipy corrects p-values."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.findings.comparisons.told import data, notes
from logbook_agent.findings.evidence.alike import Difference, DifferenceStanding, Terms
from logbook_agent.findings.evidence.answers import Answer, Ask, answer_values
from logbook_agent.findings.evidence.compared import Compared
from logbook_agent.findings.evidence.family import adjusted, claims_alone, held_together, is_tested
from logbook_agent.findings.evidence.noise import noise_of
from logbook_agent.findings.evidence.verdict import CLAIMS, Verdict
from logbook_agent.findings.tables.spec import Case
from logbook_agent.model.entry import Comparison, Design
from tests.evidence.pair_support import DECLARED, trial


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_p_values_are_adjusted_as_by_scipy(p_values: list[float]) -> None:
    assert adjusted(p_values) == pytest.approx(list(scipy.stats.false_discovery_control(p_values)))


def test_of_none_there_is_none() -> None:
    assert adjusted([]) == []


def cases(gains: dict[int, float], *, pairs: int = 6, noise: float = 0.001, seed: int = 1) -> list[Case]:
    """Pairs AB BA of each case k, in which b is better by its gain."""
    chance, found = random.Random(seed), []
    for run, mode in enumerate("abba" * (pairs // 2)):
        for k, gain in gains.items():
            value = (1 + gain if mode == "b" else 1.0) * (1 + chance.gauss(0, noise))
            found.append(replace(trial(run, {"mode": mode, "k": k}, value), repeat=run // 2 + 1))
    return found


def asked(trials: list[Case], **more: Any) -> list[Answer]:
    return answer_values(trials, Ask(terms=Terms(axis="mode"), declared=DECLARED, **more))


def metrics(answers: list[Answer]) -> list[Compared]:
    return [m for answer in answers for line in answer.lines for m in line.metrics]


def test_one_claim_among_many_tests_needs_more() -> None:
    """Of six pairs p is 3% at best: one of two tests may claim with it only when the other does, too."""
    [alone] = metrics(asked(cases({1: 0.1})))
    assert alone.judgement is not None
    assert (alone.judgement.verdict, alone.judgement.tests, alone.judgement.alone) == (Verdict.BENEFICIAL, 1, None)
    one, _ = metrics(asked(cases({1: 0.1, 2: 0.0})))
    assert one.judgement is not None
    assert (one.judgement.verdict, one.judgement.alone) == (Verdict.INCONCLUSIVE, Verdict.BENEFICIAL)
    assert one.reasons[0] == "corrected for the 2 tests of this question (Benjamini-Hochberg), p = 0.062"
    assert one.reasons == one.judgement.reasons
    both = metrics(asked(cases({1: 0.1, 2: 0.1})))
    assert [m.judgement and m.judgement.verdict for m in both] == [Verdict.BENEFICIAL] * 2
    # With more pairs one claim stands beside many that are none.
    many = metrics(asked(cases({1: 0.1, **dict.fromkeys(range(2, 9), 0.0)}, pairs=12)))
    assert many[0].judgement is not None
    assert many[0].judgement.verdict is Verdict.BENEFICIAL


def test_only_what_is_tested_counts() -> None:
    two = metrics(asked(cases({1: 0.1, 2: 0.1})))
    order = Difference(name="order", base=None, other=None, standing=DifferenceStanding.DIFFERS, why="x")
    assert is_tested(two[1])
    assert not is_tested(replace(two[1], withheld_by=(order,)))
    no_direction = replace(two[1], direction=None)
    assert not is_tested(no_direction)
    [first, second] = held_together([two[0], no_direction])
    assert first.judgement == two[0].judgement, "it is the only test"
    assert second is no_direction
    # Too few pairs for an interval test nothing.
    few = metrics(asked([*cases({1: 0.1}), *cases({2: 0.1}, pairs=4)]))
    assert [is_tested(m) for m in few] == [True, False]
    assert [m.judgement and m.judgement.tests for m in few] == [1, 1]


def test_a_result_that_was_looked_at_more_often_weighs_less() -> None:
    """Its p-value is held against less, and so it is counted as larger beside the others."""

    def designed(k: int, looks: int) -> list[Case]:
        rows = cases({k: 0.1}, pairs=8, seed=k)
        return [replace(c, repeat=c.run // 2 + 1, design=Design(seed=1, rounds=8, looks=looks)) for c in rows]

    one, _ = metrics(asked([*designed(1, 2), *designed(2, 2)]))
    assert one.judgement is not None
    assert one.judgement.effect is not None
    assert (one.judgement.effect.alpha, one.judgement.verdict, one.judgement.tests) == (0.0294, Verdict.BENEFICIAL, 2)


def test_the_whole_question_is_one_family_and_says_how_many_claims_would_stand_alone() -> None:
    answers = asked(cases({1: 0.1, 2: 0.0, 3: 0.0, 4: 0.0}))
    assert claims_alone(metrics(answers)) == (1, 4)
    text = notes(answers, noise_of(answers))[0]
    assert text == (
        "4 tests corrected together (Benjamini-Hochberg): 0 claim an effect; judged one by one, 1 would, "
        "up to 1 of them by chance alone"
    )
    told = [m for p in data(Comparison(references=("T-0",)), answers)["comparisons"][0]["pairs"] for m in p["metrics"]]
    assert [m["tests"] for m in told] == [4] * 4


def test_values_against_one_base_are_one_family() -> None:
    rounds = ["abc", "cba"] * 3
    gains = {"a": 0.0, "b": 0.1, "c": 0.0}
    trials = [
        replace(trial(3 * n + at, {"mode": mode}, 1 + gains[mode] + n / 1e4), repeat=n + 1)
        for n, order in enumerate(rounds)
        for at, mode in enumerate(order)
    ]
    designed = [replace(case, design=Design(seed=1, rounds=6)) for case in trials]
    one, other = metrics(asked(designed))
    assert one.judgement is not None
    assert other.judgement is not None
    assert (one.judgement.tests, other.judgement.tests) == (2, 2)
    assert (one.judgement.alone, one.judgement.verdict) == (Verdict.BENEFICIAL, Verdict.INCONCLUSIVE)


@pytest.mark.slow
def test_where_nothing_differs_hardly_any_question_claims_anything() -> None:
    """Ten cases of ten pairs, 200 times: any claim in at most 5%; 22 come up in one of 1,000. Alone, 40% would."""
    claimed = alone = 0
    for seed in range(200):
        found = metrics(asked(cases(dict.fromkeys(range(10), 0.0), pairs=10, noise=0.02, seed=seed)))
        claimed += any(m.judgement is not None and m.judgement.verdict in CLAIMS for m in found)
        alone += claims_alone(found)[0] > 0
    assert claimed < 22
    assert alone > 40
