"""What the driver of a Ray Job (`ray_driver.py`) tells of its runs, read from the log of the Job.

Ray gives the last lines of a log, or all of it. As the events are numbered, only what is new is read: the last lines
first, then more until none is missing.
"""

from __future__ import annotations

import base64
import contextlib
import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from logbook_agent.cluster.ray_api import Jobs
from logbook_agent.model.errors import StoreError
from logbook_agent.model.worker_report import OVER

# How the events begin in the log of the Job.
PREFIX = "LOGBOOK "
# The Job that takes an id.
EMPTY = "true"
# Whoever asks for a Job again earlier gets what was read last.
_PACE_S = 0.5
_LINES = (8, 64, 512)
_MOST_PIECE_BYTES = 1 << 20
# Of what Ray says of a Job that did not begin.
_MESSAGE_CHARS = 300

Event = dict[str, Any]


@dataclass(slots=True)
class RunEvents:
    """What was told of a run: its last state. `bring` takes the pieces of its files."""

    bring: Callable[[str, int, bytes], None]
    head: dict[str, Any] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return self.head.get("stage") in OVER

    def apply(self, event: Event) -> None:
        """Take in an event. Raises ValueError, TypeError or zlib.error for one that is none, and StoreError."""
        for name, at, data in event.get("files", ()):
            self.bring(str(name), at, zlib.decompressobj().decompress(base64.b64decode(data), _MOST_PIECE_BYTES))
        self.head = dict(event.get("head", self.head))


@dataclass(slots=True)
class JobLog:
    """A Job by its id, as far as it was read in this process: what Ray says of it (None: Ray does not know it), and the
    events of the runs that were asked for, by their keys. `has_begun`: before that nothing was started."""

    jobs: Jobs
    job: str
    facts: dict[str, Any] | None = None
    has_begun: bool = False
    _runs: dict[str, RunEvents] = field(default_factory=dict)
    # The number of the last event that was read.
    _last: int = 0
    _read_at: float = float("-inf")

    @property
    def status(self) -> object:
        return None if self.facts is None else self.facts.get("status")

    @property
    def is_going(self) -> bool:
        return self.status in ("PENDING", "RUNNING")

    @property
    def is_empty(self) -> bool:
        return self.facts is not None and self.facts.get("entrypoint") == EMPTY

    def run(self, key: str, bring: Callable[[str, int, bytes], None]) -> RunEvents:
        """What was told of a run up to the last `refresh` after it was first asked for."""
        if key not in self._runs:
            self._runs[key] = RunEvents(bring)
            self._last, self._read_at = 0, float("-inf")
        return self._runs[key]

    def refresh(self) -> None:
        """Read what is new. Raises ToolError."""
        if time.monotonic() - self._read_at < _PACE_S:
            return
        # Asked before the log is read, which is then complete for a Job that has ended.
        self.facts = self.jobs.job(self.job)
        if self.facts is not None and (node := self.facts.get("driver_node_id")):
            for event in self._news(node):
                self._apply(event)
        self._read_at = time.monotonic()

    def _news(self, node: str) -> Iterable[Event]:
        """The events since the last one, and perhaps some before."""
        for lines in _LINES:
            events = list(self._events(node, lines))
            if events and events[0]["n"] <= self._last + 1:
                return events
        return self._events(node, -1)

    def _events(self, node: str, lines: int) -> Iterator[Event]:
        for line in self.jobs.log(node, self.job, lines):
            if line.startswith(PREFIX.encode()):
                with contextlib.suppress(ValueError, RecursionError):  # its end is still to come
                    event = json.loads(line[len(PREFIX) :])
                    if isinstance(event, dict) and isinstance(event.get("n"), int):
                        yield event

    def _apply(self, event: Event) -> None:
        if event["n"] <= self._last:
            return
        self._last, self.has_begun = event["n"], True
        if (run := self._runs.get(event.get("key", ""))) is not None:
            with contextlib.suppress(ValueError, TypeError, zlib.error, StoreError):
                run.apply(event)

    @property
    def ended_as(self) -> str:
        """Why a run has no end that the driver saw."""
        if self.facts is None:
            return "Ray no longer knows its Job: the head was restarted"
        if self.is_empty:
            return "the submission never arrived"
        # Ray puts the last lines of the log behind words of its own.
        lines = [] if self.has_begun else str(self.facts.get("message") or "").strip().splitlines()[-1:]
        why = "".join(lines).strip()[:_MESSAGE_CHARS]
        return f"its driver ended as {self.status}{why and f': {why}'}"
