"""The confidence in an entry: from its comparison, and as a person states it."""

from __future__ import annotations

import pytest

from logbook_agent.findings.trust import NOT_COMPARED, Compared, Trust, trust_of
from logbook_agent.model.entry import Confidence, Entry

REPLICATED = Compared(confidence="replicated", reasons=("settled in two sittings",))


def found(compared: Compared = REPLICATED, *, runs: int = 4, **entry: object) -> Trust | None:
    made = Entry(id="X-000", title="t", opened="2026-02-10T10:43:00+00:00", **entry)  # type: ignore[arg-type]
    return trust_of(made, runs, compared)


def text(**entry: object) -> str:
    trust = found(**entry)  # type: ignore[arg-type]
    assert trust is not None
    return trust.text


def test_a_comparison_says_how_far_it_is_borne_out_and_runs_without_one_are_exploratory() -> None:
    assert text() == "replicated (computed: settled in two sittings)"
    assert text(compared=NOT_COMPARED) == "exploratory"


@pytest.mark.parametrize(
    ("word", "reason", "expected"),
    [
        ("stable", "seen on three hosts", "stable (stated by hand: seen on three hosts; computed: replicated)"),
        ("stable", None, "stable (stated by hand without a reason; computed: replicated)"),
        ("replicated", None, "replicated (stated by hand; computed: replicated)"),
        ("exploratory", None, "exploratory (stated by hand; computed: replicated)"),
    ],
)
def test_what_a_person_states_counts_and_is_marked(word: Confidence, reason: str | None, expected: str) -> None:
    assert text(confidence=word, confidence_reason=reason) == expected


def test_what_claims_nothing_has_none() -> None:
    assert found(kind="note") is None
    assert found(runs=0) is None
    assert text(kind="decision", confidence="stable", runs=0).startswith("stable ")
