"""Which entries count: one rule, and one answer of every reader."""

from __future__ import annotations

import itertools
from typing import cast

import pytest

from logbook_agent.findings.computed_texts import said_of
from logbook_agent.findings.thread import Standing, standings
from logbook_agent.model.entry import INVERSE, RELATIONS, Entry, State
from logbook_agent.model.record import Record
from logbook_agent.model.summary import SaidByEntry
from logbook_agent.pages.sections import LATER, sections

pytestmark = pytest.mark.slow


def _claim(entry_id: str, state: State = "finished", **said: str) -> SaidByEntry:
    return cast("SaidByEntry", {"id": entry_id, "state": state, **dict.fromkeys(RELATIONS), **said})


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


def test_no_relation_is_forgotten_on_a_page() -> None:
    assert {*INVERSE} <= {*RELATIONS}
    assert {*LATER} == {*INVERSE.values()} == {*Standing(**dict.fromkeys(INVERSE.values(), ("A",))).later}
    targets = {name: f"A-{n:03d}" for n, name in enumerate(RELATIONS)}
    entry = Entry(id="A-009", title="x", opened="2026-02-10T10:43:00+00:00", **targets)
    record = Record(entry=entry, state="noted")
    later = {name: ["A-010"] for name in INVERSE.values()}
    found = sections(record, said_of(record, (), lambda _table, _notes: ""), later=later)
    assert [s.text for s in found] == [*targets.values(), *["A-010"] * len(INVERSE)]
    assert entry.touches == ("A-009", *(targets[name] for name in INVERSE))


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
