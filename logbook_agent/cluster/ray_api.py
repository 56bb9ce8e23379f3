"""A Ray cluster over HTTP (`http://HOST:8265`): its nodes, packages and Jobs, and the logs of Jobs. Ray itself is not
needed here."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import requests
import urllib3

from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.contract import Unavailable
from logbook_agent.running.programs import NoAnswer

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
