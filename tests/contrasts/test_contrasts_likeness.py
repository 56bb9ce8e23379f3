"""The matrix of like for like."""

from __future__ import annotations

from typing import Any

import pytest

from logbook_agent.findings.contrasts.likeness import Difference, DifferenceStanding, Terms, differences_text
from logbook_agent.findings.contrasts.matching import Ground, compare_sides
from logbook_agent.findings.contrasts.numbers import compared
from tests.contrasts.like_support import MATRIX, METRIC, sides

PAIRS: list[dict[str, Any]] = MATRIX["pairs"]
LISTS = {
    DifferenceStanding.TESTED: "tested",
    DifferenceStanding.IMPLIED: "implied",
    DifferenceStanding.ALLOWED: "allowed",
    DifferenceStanding.NOTED: "noted",
    DifferenceStanding.DIFFERS: "differs",
    DifferenceStanding.UNKNOWN: "unknown",
}


@pytest.mark.parametrize("case", PAIRS, ids=[p["name"] for p in PAIRS])
def test_like_for_like(case: dict[str, Any]) -> None:
    terms = Terms(axis=case.get("axis"), implied=tuple(case.get("declare", ())), allowed=tuple(case.get("allow", ())))
    base, other = sides(case["base"], case["other"])
    [pair] = compare_sides(Ground([*base, *other], terms), len(base), ("base", "other")).pairs
    expected = {name: standing for standing, key in LISTS.items() for name in case.get(key, ())}
    assert {d.name: d.standing for d in pair.likeness.differences} == expected
    assert sorted(pair.likeness.not_known) == sorted(case.get("not_known", ()))
    assert bool(pair.likeness.withheld_by) == (case["outcome"] == "unlike")
    # Which side is called the base makes no difference.
    [turned] = compare_sides(Ground([*other, *base], terms), len(other), ("other", "base")).pairs
    assert {d.name: d.standing for d in turned.likeness.differences} == expected
    # The numbers are there either way.
    assert compared(pair, METRIC).change == pytest.approx(0.1)


def test_the_matrix_is_well_formed() -> None:
    """A misspelt key in the matrix would expect nothing."""
    known = {
        "name",
        "why",
        "axis",
        "declare",
        "allow",
        "base",
        "other",
        "outcome",
        "not_known",
        *LISTS.values(),
    }
    assert [p["name"] for p in PAIRS if not p["why"] or p["outcome"] not in ("alike", "unlike")] == []
    assert {key for p in PAIRS for key in p} <= known
    assert len({p["name"] for p in PAIRS}) == len(PAIRS) >= 24
    sided = {key for p in PAIRS for side in ("base", "other") for key in p[side]}
    assert sided <= {*MATRIX["facts"], "argv+"}


RAN = "dense matmuls over row tiles of each group, in pure JAX; "


@pytest.mark.parametrize(
    ("base", "other", "said"),
    [
        ("a", "b", "a | b"),
        ("a", None, "a | not known"),
        (f"{RAN}fused", "torch", f"{RAN}fu… | torch"),
        # The difference shows, also where both sides begin alike.
        (
            f"{RAN}forward in one",
            f"{RAN}fused w1 and w3",
            "…roup, in pure JAX; forward in one | …roup, in pure JAX; fused w1 and w3",
        ),
        ("x" * 70 + "a", "x" * 70 + "b", f"…{'x' * 20}a | …{'x' * 20}b"),
        (f"{RAN}a{'a' * 80}", f"{RAN}b", f"…group, in pure JAX; {'a' * 38}… | …group, in pure JAX; b"),
    ],
)
def test_both_sides_of_a_difference_are_cut_where_they_part(base: str, other: str | None, said: str) -> None:
    difference = Difference(name="ran", base=base, other=other, standing=DifferenceStanding.NOTED)
    assert differences_text([difference]) == f"ran ({said})"
