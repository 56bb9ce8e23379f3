"""Every state of an entry is settled or open, so that no reader meets one that nobody placed."""

from __future__ import annotations

from typing import get_args

from logbook_agent.model.entry import OPEN, SETTABLE_STATES, VOID, SettableState, State, settled


def test_every_state_has_its_stage() -> None:
    for state in get_args(State):
        # A void ID never was an entry; what was cut off is told of, and waits for somebody all the same.
        stages = {VOID: [(False, False)], **{cut: [(True, True)] for cut in ("interrupted", "lost", "never-started")}}
        assert (settled(state), state in OPEN) in stages.get(state, [(True, False), (False, True)])


def test_what_a_person_may_set_is_a_state() -> None:
    assert set(SETTABLE_STATES) == set(get_args(SettableState)) <= set(get_args(State))
