"""Curves of real runs: what a run leaves, also one whose tool and command are killed."""

from __future__ import annotations

from logbook_agent.cluster.archive import worker_code


def test_a_worker_elsewhere_has_what_keeps_points() -> None:
    names = {*worker_code().contents}
    assert {"logbook_agent/curves/point_sink.py", "logbook_agent/features.py"} <= names
