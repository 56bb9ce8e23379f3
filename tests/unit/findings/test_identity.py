"""What tells two rows apart, beside the axis of a question."""

from __future__ import annotations

import pytest

from logbook_agent.findings.cases import Case
from logbook_agent.findings.identity import identity, residue
from logbook_agent.model.run import Row, Scalar


def _case(config: dict[str, Scalar], command: str, **facts: str) -> Case:
    facts = {"commit": "aaa", **facts}
    return Case(entry="T-000", run=1, row=Row(config=config), facts=facts, command=tuple(command.split()))


@pytest.mark.parametrize(
    ("one", "other", "axis", "found"),
    [
        (_case({"k": 1}, "b --k 1"), _case({"k": 2}, "b --k 2"), ["k"], []),
        (_case({"k": 1, "n": 64}, "b"), _case({"k": 2, "n": 64.0}, "b"), ["k"], []),
        (_case({"k": 1, "n": 64}, "b"), _case({"k": 2}, "b"), ["k"], ["n"]),
        (_case({"k": 1}, "b --k 1"), _case({"k": 2}, "b --k 2 --fast"), ["k"], ["command"]),
        (_case({"k": 1}, "b --k 1"), _case({"k": 2}, "b --k 2 --fast"), ["k", "argv"], []),
        (_case({"k": "a"}, "b --src wt/a"), _case({"k": "z"}, "b --src wt/z"), ["k"], []),
        (_case({"k": 1}, "b --k 1 --seed 1"), _case({"k": 2}, "b --k 2 --seed 1"), ["k"], []),
        (_case({}, "b", **{"env:X": "1"}), _case({}, "b"), [], ["env:X"]),
        (_case({}, "b", **{"env:X": "1"}), _case({}, "b"), ["env"], []),
        (_case({}, "b", **{"package:jax": "1"}), _case({}, "b"), [], []),
        (_case({}, "b", **{"package:jax": "1"}), _case({}, "b", **{"package:jax": "2"}), [], ["package:jax"]),
        (_case({"commit": "x"}, "b", commit="y"), _case({"commit": "x"}, "b", commit="z"), [], ["@commit"]),
    ],
)
def test_the_residue_is_what_differs_beside_the_axis(one: Case, other: Case, axis: list[str], found: list[str]) -> None:
    assert residue([one, other], axis) == residue([other, one], axis) == found
    assert (identity(one, axis) == identity(other, axis)) <= (not found)
