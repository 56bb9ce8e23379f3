"""Leases against a stand-in for a cloud's API and for `dev_tpu.py`, and what goes wrong with both."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

from logbook_agent.cluster.leases import Lease

NOON = datetime(2026, 2, 10, 12, tzinfo=UTC)


def lease(**values: object) -> Lease:
    plain = Lease(id="a", allocator="slice", devices=4, requested=NOON.isoformat(), until=NOON.isoformat())
    return dataclasses.replace(plain, until=(NOON + timedelta(hours=8)).isoformat(), **values)  # type: ignore[arg-type]


def test_device_hours_count_what_was_active() -> None:
    one = lease().seen("waiting", None, NOON)
    hour = timedelta(hours=1)
    one = one.seen("active", None, NOON + hour)
    assert one.device_hours(NOON + 3 * hour) == 8
    one = one.seen("suspended", None, NOON + 3 * hour)
    assert one.device_hours(NOON + 7 * hour) == 8
    one = one.seen("active", None, NOON + 5 * hour)
    assert one.device_hours(NOON + 6 * hour) == 12
    one = one.seen("released", None, NOON + 6 * hour)
    assert (one.device_hours(NOON + 50 * hour), one.is_open) == (12, False)
    assert one.seen("active", None, NOON + 7 * hour) == one, "nothing comes of one that was released"


def test_a_clock_that_jumps_invents_no_device_hours() -> None:
    one = lease().seen("active", None, NOON)
    assert one.device_hours(NOON - timedelta(days=400)) == 0
    assert one.device_hours(NOON + timedelta(days=400)) == 32, "no more than its time to live"
