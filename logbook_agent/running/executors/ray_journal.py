"""What a coordinator on a Ray cluster has told of its works, as far as it was read in this process."""

from __future__ import annotations

import contextlib
import functools
import json
import time
from dataclasses import dataclass, field
from typing import Any

from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.ray_files import BEAT_S
from logbook_agent.running.executors.ray_jobs import Jobs, jobs_at
from logbook_agent.running.executors.ray_plan import PREFIX

# Whoever asks again earlier gets what was read last.
_PACE_S = 0.5
# The log is read from its end: so many lines first, then more until none is missing.
_LINES = (8, 100, 1000, -1)
_GOING = ("PENDING", "RUNNING")


@dataclass(slots=True)
class Journal:
    """A Job by its id: how it is (`status` None: Ray does not know it), and what was told of each work by its key, with
    the time `seen_at` which this process read it (by the monotonic clock; -inf for what its first reading found).

    `has_begun`: before that nothing was started.
    """

    jobs: Jobs
    job: str
    status: str | None = None
    message: str = ""
    has_begun: bool = False
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    _head: str | None = None
    _last: int = 0
    _read_at: float = float("-inf")

    @property
    def is_going(self) -> bool:
        return self.status in _GOING

    def refresh(self, *, at_once: bool = False) -> None:
        """Read what is new. Raises ToolError."""
        if not at_once and time.monotonic() - self._read_at < _PACE_S:
            return
        # Asked before the log is read, which is then complete for a Job that has ended.
        found = self.jobs.job(self.job)
        self.status = None if found is None else str(found.get("status"))
        if found is not None:
            self.message = str(found.get("message") or "")
            self._head = found.get("driver_node_id") or self._head
        if self._head is not None:
            self._read(self._head)
        self._read_at = time.monotonic()

    def _read(self, head: str) -> None:
        for lines in _LINES:
            text = self.jobs.log_bytes(head, f"job-driver-{self.job}.log", lines=lines)
            events = [] if text is None else _events(text)
            if lines == -1 or (events and events[0]["n"] <= self._last + 1):
                break
        now = time.monotonic() if self.has_begun else float("-inf")
        for event in events:
            if event["n"] > self._last:
                self._last = event["n"]
                self.has_begun = True
                if event.get("key"):
                    self.told.setdefault(event["key"], {}).update(event, seen_at=now)


def _events(text: bytes) -> list[dict[str, Any]]:
    """The lines that are ours, without one that is not whole yet."""
    found = []
    for line in text.split(b"\n"):
        if line.startswith(PREFIX.encode()):
            with contextlib.suppress(ValueError):
                found.append(json.loads(line[len(PREFIX) :]))
    return found


@functools.cache
def journal_of(address: str, job: str) -> Journal:
    """The same for all who ask in this process."""
    return Journal(jobs_at(address), job)


@dataclass(slots=True)
class Heard:
    """What this process knows of runs already: of each, the number of what was told last when somebody asked, and when
    that was, by the monotonic clock."""

    address: str
    _known: dict[str, tuple[int, float]] = field(default_factory=dict)

    def has_news(self, job: str, key: str) -> bool:
        """Whether following this run may tell something new. One that says no is asked again; after a yes, the caller
        follows it."""
        journal = journal_of(self.address, job)
        try:
            journal.refresh()
        except ToolError:
            return True
        told, now = journal.told.get(key, {}), time.monotonic()
        number, asked_at = self._known.get(key, (None, now))
        is_due = told.get("event") == "placed" and now - asked_at >= BEAT_S
        if journal.is_going and number == told.get("n", 0) and not is_due:
            return False
        self._known[key] = told.get("n", 0), now
        return True
