"""The files of a worker's spool on a node of Ray, read over HTTP: a coordinator links it into the log folder there."""

from __future__ import annotations

import base64
import functools
import io
import json
import tarfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import requests

from logbook_agent.running.executors.contract import PIECE_BYTES
from logbook_agent.running.executors.ray_jobs import Jobs, jobs_at
from logbook_agent.store.spool import BEGAN, HEARTBEAT

# A worker writes its heartbeat no more often.
BEAT_S = 4.0


def place_of(key: str, name: str) -> str:
    """Where a file of a spool lies in the log folder of its node."""
    return f"logbook/{key}/{name}"


def inline_files(told: Mapping[str, Any]) -> dict[str, bytes] | None:
    """The files that came with the word that a run is over; None where they lie on its node."""
    if "files" not in told:
        return None
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(told["files"])), mode="r:gz") as tar:
        return {entry.name: file.read() for entry in tar if (file := tar.extractfile(entry)) is not None}


@dataclass(slots=True)
class Beats:
    """What a running worker says of itself, as it was read last."""

    jobs: Jobs
    node: str
    key: str
    began: Any = None
    heartbeat: Any = None
    _read_at: float = float("-inf")

    def refresh(self) -> None:
        """Read it again, when there may be something new. Raises ToolError."""
        is_whole = isinstance(self.began, dict) and self.began.get("child")
        if is_whole and time.monotonic() - self._read_at < BEAT_S:
            return
        if not is_whole:
            self.began = self._read(BEGAN) or self.began
        self.heartbeat = self._read(HEARTBEAT) or self.heartbeat
        self._read_at = time.monotonic()

    def _read(self, name: str) -> Any:
        try:
            return json.loads(self.jobs.log_bytes(self.node, place_of(self.key, name)) or b"null")
        except ValueError:
            return None


@functools.cache
def beats_of(address: str, node: str, key: str) -> Beats:
    """The same for all who ask in this process."""
    return Beats(jobs_at(address), node, key)


@dataclass(slots=True)
class _OpenFile:
    """A file that is read on where it was left: Ray gives it from its beginning only."""

    at: int
    answer: requests.Response


_readings: dict[tuple[str, str, str], _OpenFile] = {}


def piece(address: str, node: str, place: str, offset: int) -> bytes:
    """A file from this byte on, at most `PIECE_BYTES`; empty where there is no more, or no file. Raises ToolError."""
    jobs, name = jobs_at(address), (address, node, place)
    reading = _readings.pop(name, None)
    if reading is None or reading.at != offset:
        if reading is not None:
            reading.answer.close()
        answer = jobs.log(node, place)
        if answer is None:
            return b""
        reading = _OpenFile(at=0, answer=answer)
        while reading.at < offset:
            skipped = len(_read(jobs, reading, min(PIECE_BYTES, offset - reading.at)))
            if not skipped:
                return b""
            reading.at += skipped
    found = _read(jobs, reading, PIECE_BYTES)
    reading.at += len(found)
    if len(found) == PIECE_BYTES:
        _readings[name] = reading
    else:
        reading.answer.close()
    return found


def _read(jobs: Jobs, reading: _OpenFile, size: int) -> bytes:
    found = b""
    with jobs.answers():
        while len(found) < size and (more := reading.answer.raw.read(size - len(found))):
            found += more
    return found
