"""A Ray cluster over HTTP (`http://HOST:8265`): its Jobs, its packages, and files of the log folders of its nodes. Ray
itself is not needed here."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import requests
import urllib3

from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.contract import NoAnswer, Unavailable

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
        # Files that are being read, with how far they were.
        self._open: dict[tuple[str, str], tuple[int, requests.Response]] = {}

    def version(self) -> dict[str, Any]:
        return self._json(self._call("GET", "/api/version"))

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that live, with what they offer."""
        found = self._json(self._call("GET", "/api/v0/nodes?detail=1"))
        return [row for row in found["data"]["result"]["result"] if row["state"] == "ALIVE"]

    # -- packages ------------------------------------------------------------------------------------

    def provide(self, name: str, data: bytes) -> None:
        """Put a package on the cluster if it is not there. Ray removes it ten minutes after it was last asked for."""
        place = f"/api/packages/gcs/{name}"
        if self._call("GET", place, allowed=(_OK, _MISSING)).status_code == _OK:
            return
        if len(data) > MOST_PACKAGE_BYTES:
            raise ToolError(
                f"{len(data) / 2**20:.0f} MiB is too much to send to Ray",
                cause="Ray accepts at most 100 MiB at a time",
                hint="add large files to .gitignore, or set sync = false and tree for this executor",
            )
        self._call("PUT", place, data=data)

    def write(self, name: str, data: bytes = b"-") -> None:
        """Write a value to the store of the cluster, where it stays until a program there removes it."""
        self._call("PUT", f"/api/packages/gcs/{name}", data=data)

    # -- jobs ----------------------------------------------------------------------------------------

    def submit(self, job: str, entrypoint: str) -> bool:
        """Start a Job of this id; False when there is, or was, one of it. Raises NoAnswer when that is open."""
        body = {"submission_id": job, "entrypoint": entrypoint}
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

    # -- files ---------------------------------------------------------------------------------------

    def log(self, node: str, name: str, *, lines: int = -1) -> requests.Response | None:
        """A file of a node's log folder, or its last lines, to be read from `raw`; None when it, or its node, is not
        there."""
        options: dict[str, str] = {"node_id": node, "filename": name, "lines": str(lines)}
        answer = self._call("GET", "/api/v0/logs/file", params=options, allowed=None, stream=True)
        if answer.status_code == _OK:
            return answer
        answer.close()
        return None

    def log_bytes(self, node: str, name: str, *, lines: int = -1) -> bytes | None:
        answer = self.log(node, name, lines=lines)
        if answer is None:
            return None
        with self._answers():
            return answer.content

    def piece(self, node: str, name: str, offset: int, most: int) -> bytes:
        """A file of a node's log folder from this byte on; empty where there is no more, or no file. Raises ToolError.

        Ray gives a file from its beginning only, so one that was not read to its end stays open until it is read on."""
        at, answer = self._open.pop((node, name), (0, None))
        if answer is not None and at != offset:
            answer.close()
            at, answer = 0, None
        answer = answer or self.log(node, name)
        if answer is None:
            return b""
        with self._answers():
            while at < offset:
                skipped = len(_read(answer, min(most, offset - at)))
                if not skipped:
                    return b""
                at += skipped
            found = _read(answer, most)
        if len(found) == most:
            self._open[node, name] = (at + most, answer)
        else:
            answer.close()
        return found

    @contextlib.contextmanager
    def _answers(self) -> Iterator[None]:
        """Raise NoAnswer if an answer that is read in this block breaks off."""
        try:
            yield
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise self._unreachable(NoAnswer, error) from error

    # -- underneath ----------------------------------------------------------------------------------

    def _call(
        self,
        method: str,
        place: str,
        *,
        allowed: tuple[int, ...] | None = (_OK,),
        stream: bool = False,
        data: bytes | None = None,
        json: dict[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Raises NoAnswer without an answer, Unavailable without a connection, ToolError for an answer that is not
        among those allowed (None: all are)."""
        try:
            answer = self._session.request(
                method,
                self.address + place,
                params=params,
                data=data,
                json=json,
                stream=stream,
                timeout=_TIMEOUT_S,
                allow_redirects=False,
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


def _read(answer: requests.Response, size: int) -> bytes:
    found = b""
    while len(found) < size and (more := answer.raw.read(size - len(found))):
        found += more
    return found


@functools.cache
def jobs_at(address: str) -> Jobs:
    """The connections to an address; one object for each in this process."""
    return Jobs(address)
