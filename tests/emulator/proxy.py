"""A proxy before the emulator: as strict as GitHub where the emulator is not, and failing on demand.

It serves the API under /api/v3, as an Enterprise server does, keeps a log of all requests, and adds what the emulator
lacks: 401 for an unknown token, 422 for a body that is too long, and the faults of `faults`.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from tests.emulator.faults import JSON, MAX_BODY_BYTES, Fault, Request, Rules, refusal
from tests.emulator.server import Emulator, Reply

PREFIX, GRAPHQL = "/api/v3", "/api/graphql"
# Of one connection, or said anew by this server.
NOT_PASSED_ON = {"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"}


def public_token(user: str) -> str:
    return f"token-of-{user}-for-tests"


class Proxy(ThreadingHTTPServer):
    """A context manager that runs the emulator too. `pushed`: commits taken to be there, beside the true ones."""

    daemon_threads = True

    def __init__(self, users: Sequence[str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.users = {public_token(user): user for user in users}
        self.web = f"http://127.0.0.1:{self.server_address[1]}"
        self.api = self.web + PREFIX
        self.emulator = Emulator(self.api, users)
        self.rules = Rules()
        self.requests: list[Request] = []
        self.pushed: set[str] = set()
        self.troubles: list[BaseException] = []
        self._open: set[socket.socket] = set()

    def __enter__(self) -> Proxy:
        try:
            self.emulator.__enter__()
        except BaseException:
            self.server_close()
            raise
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.rules.clear()
        self.shutdown()
        self._thread.join()
        for connection in tuple(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()
        self.emulator.stop()

    def reset(self) -> None:
        """For the next test."""
        self.rules.clear()
        self.requests, self.troubles, self.pushed = [], [], set()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone away is no trouble; all else is seen by the test."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, ConnectionError):
            self.troubles.append(error)

    def upstream(self, request: Request, method: str | None = None) -> Reply:
        target = request.path + (f"?{request.query}" if request.query else "")
        content = request.body.encode() if method is None and request.body else None
        reply = self.emulator.ask(method or request.method, target, user=request.user, content=content)
        # Pages of the web stand outside the prefix, and pages of lists on this server.
        content = reply.content.replace(f'"html_url":"{self.api}/'.encode(), f'"html_url":"{self.web}/'.encode())
        headers = {name: value for name, value in reply.headers.items() if name not in NOT_PASSED_ON}
        if "link" in headers:
            headers["link"] = headers["link"].replace(f"http://127.0.0.1:{self.emulator.port}", self.api)
        return Reply(status=reply.status, headers=headers, content=content)

    def strict(self, request: Request) -> Reply | None:
        """Where GitHub refuses and the emulator does not; commits that were never pushed to the emulator; and whose
        token it is, which is all that is asked of GraphQL."""
        if request.authorization is not None and request.user is None:
            return refusal(401, "Bad credentials")
        if request.path == GRAPHQL:
            account = {"data": {"viewer": {"login": request.user}}}
            return Reply(status=200, headers={"content-type": JSON}, content=json.dumps(account).encode())
        commit = request.path.rsplit("/git/commits/", 1)[-1]
        if request.method == "GET" and commit in self.pushed:
            return Reply(status=200, headers={"content-type": JSON}, content=json.dumps({"sha": commit}).encode())
        if request.is_write and request.body:
            with contextlib.suppress(ValueError):
                body = json.loads(request.body).get("body")
                if isinstance(body, str) and len(body.encode("utf-8", "surrogatepass")) > MAX_BODY_BYTES:
                    why = {"code": "unprocessable", "field": "data", "message": "Body is too long"}
                    return refusal(422, "Validation Failed", errors=[{"resource": "IssueComment", **why}])
        return None

    def answer(self, request: Request, fault: Fault | None) -> Reply | None:
        if fault is not None and not fault.applied:
            before = self.upstream(request, "GET") if fault.name == "old_body" else None
            return fault.answers(request, before)
        reply = self.strict(request)
        if reply is None:
            reply = self.upstream(request)
            request.applied = True
        return reply if fault is None else fault.answers(request, reply)


class Handler(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"
    # Head and content leave in one piece: two would cost 40 ms each time.
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """`requests` is the log."""

    def serve(self) -> None:
        at = time.monotonic()
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode("utf-8", "surrogatepass")
        target = urlsplit(self.path)
        authorization = self.headers.get("Authorization")
        token = (authorization or "").removeprefix("Bearer ").removeprefix("token ").strip()
        request = Request(
            method=self.command,
            path=target.path.removeprefix(PREFIX),
            query=target.query,
            at=at,
            host=self.headers.get("Host", ""),
            authorization=authorization,
            user=self.server.users.get(token),
            body=body,
        )
        self.server.requests.append(request)
        fault = self.server.rules.fault(request)
        request.fault = None if fault is None else fault.name
        reply = (
            self.server.answer(request, fault)
            if target.path.startswith((PREFIX, GRAPHQL))
            else refusal(404, "Not Found")
        )
        if reply is None:
            self.close_connection = True
            return
        request.status = reply.status
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status != 204:
            self.send_header("Content-Length", str(len(reply.content)))
        self.end_headers()
        self.wfile.write(reply.content)
        self.wfile.flush()


for _method in ("GET", "POST", "PATCH", "PUT", "DELETE"):
    setattr(Handler, f"do_{_method}", Handler.serve)
