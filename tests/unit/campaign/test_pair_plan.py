"""Which runs come next, by values alone: what is made of a plan is left out, and blocks are completed first."""

from __future__ import annotations

import itertools

from logbook_agent.campaign.pair_plan import PairPlan
from logbook_agent.model.comparison import Design, Part

PLAN = PairPlan(design=Design(seed=3), sides=("none", "int8"), cases=("small", "large"))


def pairs(plan: PairPlan, made: list[Part], count: int) -> list[tuple[int, str]]:
    """The pairs that come next, each with the copy that began its block."""
    units = itertools.islice(plan.units(made), count)
    return [(unit[0].pair, unit[0].copy) for unit in units]


def test_a_pair_has_each_side_of_each_case_in_an_order_of_its_own() -> None:
    drawn = [*itertools.islice(PLAN.units([]), 10)]
    for unit in drawn:
        assert [part.case for part in unit] == ["small", "small", "large", "large"]
        assert {(part.side, part.case) for part in unit} == {(s, c) for s in PLAN.sides for c in PLAN.cases}
    for at in (0, 2):
        assert sum(unit[at].side == "none" for unit in drawn) == 5, "each side is first in half of the pairs"


def test_what_a_block_lacks_comes_before_a_new_one() -> None:
    made = [*PLAN.parts(1, ""), *PLAN.parts(2, "")[:3], *PLAN.parts(4, "")]
    assert PLAN.whole(made) == {(1, ""), (4, "")}
    assert pairs(PLAN, made, 9) == [(pair, "") for pair in (2, 3, 5, 6, 7, 8, 9, 10, 11)]


def test_a_block_of_another_copy_is_completed_and_the_next_is_ones_own() -> None:
    here = PairPlan(design=PLAN.design, sides=PLAN.sides, cases=PLAN.cases, copy="here")
    made = [part for pair in range(1, 10) for part in PLAN.parts(pair, "")]
    assert pairs(here, made, 3) == [(10, ""), (11, "here"), (12, "here")]
    assert pairs(here, [], 1) == [(1, "here")]
