"""The server of the live view: it answers requests from this machine, by its own name, to read, with the token.

A page of any site may have its browser ask an address of this machine, also by a name that leads here (DNS
rebinding). So a request must name the host that is served and come from no other page; it must have the token or the
cookie that was given for it; and it can change nothing, since nothing but GET and HEAD is answered.
"""

from __future__ import annotations

import errno
import hmac
import re
import secrets
import socketserver
import sys
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote

from msgspec import Struct, field

from logbook_agent.model.errors import UsageError

POLICY = "content-security-policy"
# What every answer has, unless it has its own.
_HEADERS = {
    POLICY: "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
# A path of ours that the token is given with: `//host` would lead elsewhere.
_PATH = re.compile(r"/[A-Za-z0-9_.-]*", re.ASCII)


class Response(Struct, frozen=True, kw_only=True):
    """An answer to a request, its body in pieces."""

    status: int = 200
    body: Iterable[bytes] = ()
    media_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


def said(status: int, text: str, **headers: str) -> Response:
    """A sentence as an answer."""
    return Response(status=status, body=[f"{text}\n".encode()], headers=headers)


class LiveServer(socketserver.ThreadingTCPServer):
    """Listens on a port of 127.0.0.1, 0: any that is free. `answered` gives the answer to a path, for who has a version
    of a page. Raises UsageError where it cannot listen."""

    daemon_threads = allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, port: int, answered: Callable[[str, str | None], Response]) -> None:
        self._answered = answered
        self.token, self._session = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        try:
            super().__init__(("127.0.0.1", port), _Request)
        except OSError as error:
            raise UsageError(
                f"cannot listen on port {port}",
                cause="another program uses it" if error.errno == errno.EADDRINUSE else str(error.strerror or error),
                hint="let the system choose a port: logbook report --serve",
            ) from error
        self.port: int = self.server_address[1]

    def address(self, path: str) -> str:
        """The address that the user opens."""
        return f"http://127.0.0.1:{self.port}{path}?token={self.token}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """As the library, but for viewers who leave."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def answer(self, request: BaseHTTPRequestHandler) -> Response:
        """The answer to a request: of the site, where it may ask."""
        headers, (target, _, query) = request.headers, request.path.partition("?")
        path, hosts = unquote(target), [f"{name}:{self.port}" for name in ("127.0.0.1", "localhost")]
        if [name.lower() for name in headers.get_all("host", [])] not in [[host] for host in hosts]:
            return said(403, "This server answers only requests for 127.0.0.1.")
        is_foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        is_opened = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        origins = {*headers.get_all("origin", [])} - {f"http://{host}" for host in hosts}
        if origins or (is_foreign and not is_opened):
            return said(403, "This server answers only its own pages.")
        if request.command not in ("GET", "HEAD"):
            return said(405, "This server is read-only.", allow="GET, HEAD")
        # The cookie of a second server has another name.
        name = f"logbook_{self.port}"
        if _is_same(query, f"token={self.token}"):
            place = path if _PATH.fullmatch(path) else "/"
            given = {"set-cookie": f"{name}={self._session}; HttpOnly; Path=/; SameSite=strict"}
            # After a link on another site, a browser has the cookie only for what our own answer opens.
            if is_foreign:
                return Response(headers={"refresh": f"0; url={place}", **given})
            return Response(status=303, headers={"location": place, **given})
        cookies = [part.strip() for line in headers.get_all("cookie", []) for part in line.split(";")]
        if query or not any([_is_same(cookie, f"{name}={self._session}") for cookie in cookies]):  # noqa: C419 - always all
            return said(401, "Open the address that `logbook report --serve` printed: it contains the token.")
        return self._answered(path, headers.get("if-none-match"))


class _Request(BaseHTTPRequestHandler):
    # A browser that says nothing for so long (s) opens another connection.
    timeout = 60
    server: LiveServer

    def _answer(self) -> None:
        self._send(self.server.answer(self))

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _answer  # noqa: N815

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """The answer to what is no request that the library understands."""
        self._send(said(int(code), message or "This request cannot be read."))

    def _send(self, answer: Response) -> None:
        self.send_response(answer.status)
        for name, value in {**_HEADERS, "content-type": answer.media_type, **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in answer.body if self.command != "HEAD" else ():
            self.wfile.write(piece)

    def version_string(self) -> str:
        return "logbook"

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: the terminal belongs to the address that was printed."""


def _is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
