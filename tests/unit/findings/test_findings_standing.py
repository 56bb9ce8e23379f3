"""Which entries count: every state with every relation, chains and circles."""

from __future__ import annotations

import itertools
from typing import cast

import pytest

from logbook_agent.findings.thread import standings
from logbook_agent.model.entry import RELATIONS, State
from logbook_agent.model.summary import SaidByEntry

pytestmark = pytest.mark.slow


def _claim(entry_id: str, state: State = "finished", **said: str) -> SaidByEntry:
    return cast("SaidByEntry", {"id": entry_id, "state": state, "kept": None, **dict.fromkeys(RELATIONS), **said})


def test_every_state_and_relation() -> None:
    for state, relation in itertools.product(("finished", "noted", "blocked", "abandoned", "void"), RELATIONS):
        found = standings([_claim("A"), _claim("B", state, **{relation: "A"})])
        a, b = found["A"], found["B"]
        stands = state not in ("abandoned", "void")
        assert b.counts is stands
        assert b.why == ("" if stands else state)
        assert a.counts is not (stands and relation == "supersedes")
        assert a.superseded_by == (("B",) if stands and relation == "supersedes" else ())
        assert a.completed_by == (("B",) if stands and relation == "completes" else ())
        assert a.taken_up_by == (("B",) if stands else ())


def test_chains_and_circles() -> None:
    chain = [_claim("A"), _claim("B", supersedes="A"), _claim("C", supersedes="B")]
    assert {i: s.why for i, s in standings(chain).items()} == {"A": "superseded by B", "B": "superseded by C", "C": ""}
    taken_back = [*chain[:2], _claim("C", "void", supersedes="B")]
    assert {i: s.counts for i, s in standings(taken_back).items()} == {"A": False, "B": True, "C": False}
    circle = [_claim("A", supersedes="B"), _claim("B", supersedes="A"), _claim("C", supersedes="C")]
    assert {i: s.counts for i, s in standings(circle).items()} == {"A": False, "B": False, "C": True}
    twice = [_claim("A"), _claim("B", supersedes="A"), _claim("C", supersedes="A")]
    assert standings(twice)["A"].why == "superseded by B, C"
    assert standings([_claim("B", supersedes="A")]).keys() == {"B"}
