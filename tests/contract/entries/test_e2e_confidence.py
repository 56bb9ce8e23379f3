"""Stating the confidence in an entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock


@pytest.mark.slow
def test_a_person_lowers_it_freely_and_raises_it_with_a_reason(started: Cli, folder: Path, clock: FixedClock) -> None:
    script = "case $0 in a) v=1000;; b) v=1200;; esac; echo RESULT tflops=$((v + $$ % 3))"
    words = ("--axis", "mode=a,b", "--", "sh", "-c", script, "{mode}")
    assert started("ab", *words).code == 0
    view = folder / "logbooks/moe.md"
    assert "- Confidence: exploratory (computed: settled in one sitting)" in view.read_text()
    clock.tick(20)
    assert started("ab", "--id", "MOE-000", "--max-pairs", "10").code == 0
    computed = "- Confidence: replicated (computed: settled in two sittings)"
    assert computed in view.read_text()
    raised = started("edit", "MOE-000", "--confidence", "stable", "--json")
    assert (raised.code, raised.error["hint"]) == (2, "logbook edit MOE-000 --confidence stable --reason '...'")
    assert "replicated" in raised.error["cause"]
    assert started("edit", "MOE-000", "--confidence", "exploratory").code == 0
    assert "- Confidence: exploratory (stated by hand; computed: replicated)" in view.read_text()
    reason = ("--reason", "held on three hosts")
    assert started("edit", "MOE-000", "--confidence", "stable", *reason).code == 0
    text = "stable (stated by hand: held on three hosts; computed: replicated)"
    assert "(confidence: stable)" in view.read_text()
    assert text in started("show", "MOE-000").out
    assert started("list", "--json").data[0]["confidence_text"] == text
    assert started("edit", "MOE-000", "--next", "more").code == 0, "other edits leave it"
    assert started("edit", "MOE-000", "--reason", "on four").code == 0
    assert "stated by hand: on four;" in view.read_text()
    assert started("edit", "MOE-000", "--confidence", "computed").code == 0
    assert computed in view.read_text()
    assert started("edit", "MOE-000", *reason).code == 2
    assert started("edit", "MOE-000", "--confidence", "computed", *reason).code == 2
