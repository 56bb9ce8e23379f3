"""What the driver of a Ray Job (`ray_driver.py`) tells of its runs, read from the log of the Job.

Ray gives the last lines of a log, or all of it. As the events are numbered, only what is new is read: the last lines
first, then more until none is missing.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import requests
import urllib3
from msgspec import Struct, field

from logbook_agent.model.errors import StoreError, ToolError
from logbook_agent.running.executors.contract import Unavailable
from logbook_agent.running.programs import NoAnswer

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


class RunEvents(Struct):
    """What was told of a run: its last state. `bring` takes the pieces of its files."""

    bring: Callable[[str, int, bytes], None]
    head: dict[str, Any] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Take in an event. Raises ValueError, TypeError or zlib.error for one that is none, and StoreError."""
        for name, at, data in event.get("files", ()):
            self.bring(str(name), at, zlib.decompressobj().decompress(base64.b64decode(data), _MOST_PIECE_BYTES))
        self.head = dict(event.get("head", self.head))


class JobLog(Struct):
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

    def head(self, key: str) -> Mapping[str, Any]:
        """The last state of a run; empty where none was told."""
        return self._runs[key].head if key in self._runs else {}

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
        facts = self.facts or {}
        if facts.get("entrypoint") == EMPTY:
            return "the submission never arrived"
        # Ray puts the last lines of the log behind words of its own.
        lines = [] if self.has_begun else str(facts.get("message") or "").strip().splitlines()[-1:]
        why = "".join(lines).strip()[:_MESSAGE_CHARS]
        return f"its driver ended as {self.status}{why and f': {why}'}"


# -- a Ray cluster over HTTP -----------------------------------------------------------------------


# The address is answered by the head itself: what it does may take a moment, that it answers does not.
_TIMEOUT_S = (5.0, 60.0)
_OK, _MISSING = 200, 404
# What Ray takes at once.
MOST_PACKAGE_BYTES = 100 * 2**20 - 2**16


class Jobs:
    """The cluster behind an address."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self._session = requests.Session()

    def version(self) -> dict[str, Any]:
        return self._json(self._call("GET", "/api/version"))

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that live, with what they offer."""
        found = self._json(self._call("GET", "/api/v0/nodes?detail=1"))
        return [row for row in found["data"]["result"]["result"] if row["state"] == "ALIVE"]

    def provide(self, name: str, content: Callable[[], bytes]) -> str:
        """The address of a package on the cluster, which is put there first if it is not there. Ray removes it when no
        Job has used it for ten minutes."""
        place = f"/api/packages/gcs/{name}"
        if self._call("GET", place, allowed=(_OK, _MISSING)).status_code == _MISSING:
            data = content()
            if len(data) > MOST_PACKAGE_BYTES:
                raise ToolError(
                    f"{len(data) / 2**20:.0f} MiB is too much to send to Ray",
                    cause="Ray accepts at most 100 MiB at a time",
                    hint="add large files to .gitignore, or set sync = false and tree for this executor",
                )
            self._call("PUT", place, data=data)
        return f"gcs://{name}"

    def submit(self, job: str, entrypoint: str, environment: Mapping[str, object] | None = None) -> bool:
        """Start a Job of this id; False when there is, or was, one of it. Raises NoAnswer when that is unknown."""
        body = {"submission_id": job, "entrypoint": entrypoint, "runtime_env": environment or {}}
        answer = self._call("POST", "/api/jobs/", json=body, allowed=None)
        if answer.status_code == _OK:
            return True
        if "already exists" in answer.text:
            return False
        said = answer.text.strip().splitlines()[-1:] or [f"status {answer.status_code}"]
        raise NoAnswer(f"Ray at {self.address} did not start the job", cause=said[0], hint="ray status")

    def job(self, job: str) -> dict[str, Any] | None:
        """What Ray says of a Job; None for one that it does not know."""
        answer = self._call("GET", f"/api/jobs/{job}", allowed=(_OK, _MISSING))
        return None if answer.status_code == _MISSING else self._json(answer)

    def log(self, node: str, job: str, lines: int = -1) -> Iterator[bytes]:
        """The log of a Job whose driver runs, or ran, on this node: its last lines, or all; empty where there is
        none. Raises NoAnswer where the answer breaks off."""
        options = {"node_id": node, "filename": f"job-driver-{job}.log", "lines": str(lines)}
        with self._call("GET", "/api/v0/logs/file", params=options, allowed=None, stream=True) as answer:
            try:
                if answer.status_code == _OK:
                    # Else it closes itself before its last lines are read.
                    answer.raw.auto_close = False
                    yield from io.BufferedReader(answer.raw)
            except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
                raise self._unreachable(NoAnswer, error) from error

    # -- underneath ----------------------------------------------------------------------------------

    def _call(
        self,
        method: str,
        place: str,
        *,
        allowed: tuple[int, ...] | None = (_OK,),
        **request: Any,
    ) -> requests.Response:
        """Raises NoAnswer without an answer, Unavailable without a connection, ToolError for an answer that is not
        among those allowed (None: all are). `request`: as `requests.request` takes it."""
        try:
            answer = self._session.request(
                method, self.address + place, timeout=_TIMEOUT_S, allow_redirects=False, **request
            )
        except requests.RequestException as error:
            refused = isinstance(error, requests.ConnectTimeout) or "NewConnectionError" in repr(error)
            raise self._unreachable(Unavailable if refused else NoAnswer, error) from error
        if allowed is not None and answer.status_code not in allowed:
            said = answer.text.strip().splitlines()[-1:] or ["no reason given"]
            raise ToolError(f"Ray at {self.address} answered {answer.status_code}", cause=said[0][:500])
        return answer

    def _unreachable(self, kind: type[ToolError], error: Exception) -> ToolError:
        return kind(f"Ray at {self.address} does not answer", cause=type(error).__name__, hint="logbook executors")

    def _json(self, answer: requests.Response) -> dict[str, Any]:
        try:
            found = answer.json()
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ToolError(f"{self.address} is not a Ray dashboard", cause="its answer is not JSON")
        return found
