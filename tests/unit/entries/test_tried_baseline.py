"""Moving the baseline is an event with a reason."""

from __future__ import annotations

from logbook_agent.model.header import Baseline, BaselineMove, Header


def test_the_config_of_an_earlier_baseline_stays_config() -> None:
    moved = BaselineMove(at="2026-02-10T10:45:00+00:00", reason="x", before=Baseline(config={"mode": "none"}))
    header = Header(topic="moe", title="moe", prefix="MOE", opened="2026-02-10T10:45:00+00:00", baseline_moves=(moved,))
    assert header.case_keys == ("mode",)
