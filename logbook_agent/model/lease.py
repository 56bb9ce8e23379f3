"""A lease: devices that an allocator holds for a logbook until they are released, or their time is over."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

LeaseState = Literal["requested", "waiting", "active", "suspended", "released", "failed"]
LEASE_STATES: tuple[LeaseState, ...] = ("requested", "waiting", "active", "suspended", "released", "failed")
# Nothing more comes of these.
_CLOSED: frozenset[LeaseState] = frozenset({"released", "failed"})
# More than anybody lends, or lives to see.
MOST_DEVICES, MOST_S = 10**6, 10 * 366 * 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """One lease of the allocator `allocator`, with `devices` devices; `id` is what it is called there.

    Times are UTC, ISO 8601. `until`: when the allocator ends it by itself. `active_s`: the seconds that it was active,
    without the time since `active_since`. `given_up`: somebody asked for its release. `said`: what the allocator said
    last.
    """

    format: int = 1
    id: str
    allocator: str
    devices: int = 1
    state: LeaseState = "requested"
    requested: str
    until: str
    active_since: str | None = None
    active_s: float = 0.0
    ended: str | None = None
    given_up: bool = False
    said: str | None = None

    @property
    def is_open(self) -> bool:
        return self.state not in _CLOSED

    def is_overdue(self, now: datetime) -> bool:
        """Whether its time is over."""
        return now > datetime.fromisoformat(self.until)

    def device_hours(self, now: datetime) -> float:
        """The device hours that it has taken until now."""
        return (self.active_s + self._running_s(now)) * self.devices / 3600

    def most_device_hours(self, now: datetime) -> float:
        """The device hours that it takes if it stays until its time is over."""
        left = (datetime.fromisoformat(self.until) - now) / timedelta(seconds=1) if self.is_open else 0.0
        return self.device_hours(now) + max(0.0, left) * self.devices / 3600

    def _running_s(self, now: datetime) -> float:
        """Seconds since it became active last; no more than it may have, and never less than none, whatever a clock
        does."""
        if self.active_since is None:
            return 0.0
        since = datetime.fromisoformat(self.active_since)
        return max(0.0, (min(now, datetime.fromisoformat(self.until)) - since) / timedelta(seconds=1))

    def seen(self, state: LeaseState, said: str | None, now: datetime) -> Lease:
        """The lease as the allocator tells of it now."""
        moment = now.isoformat(timespec="seconds")
        if not self.is_open or (state, said) == (self.state, self.said):
            return self
        is_active, was_active = state == "active", self.active_since is not None
        return dataclasses.replace(
            self,
            state=state,
            said=said,
            active_s=self.active_s if is_active else self.active_s + self._running_s(now),
            active_since=(self.active_since if was_active else moment) if is_active else None,
            ended=moment if state in _CLOSED else None,
        )


def wrong_in(lease: Lease) -> str | None:
    """What cannot be in a lease that was read from a file; None when nothing is wrong."""
    if not 1 <= lease.devices <= MOST_DEVICES:
        return f"devices: expected a number from 1 to {MOST_DEVICES}"
    if not 0 <= lease.active_s <= MOST_S:
        return f"active_s: expected seconds from 0 to {MOST_S:.0f}"
    for name in ("requested", "until", "active_since", "ended"):
        text = getattr(lease, name)
        try:
            if text is not None and datetime.fromisoformat(text).tzinfo is None:
                return f"{name}: {text!r} has no time zone"
            if text is not None and not 2000 <= datetime.fromisoformat(text).year < 9000:
                return f"{name}: {text!r} is no time of a lease"
        except ValueError:
            return f"{name}: {text!r} is not a time in ISO 8601"
    return None
