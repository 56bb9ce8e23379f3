"""Serves the live view on 127.0.0.1 until it is asked to end."""

from __future__ import annotations

import contextlib
import errno
import signal
import socket
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from logbook_agent.model.errors import UsageError
from logbook_agent.report.live.guard import HEADERS, Access, Response, said
from logbook_agent.report.live.site import LiveSite
from logbook_agent.store.workspace import Workspace


def bound(port: int) -> socket.socket:
    """A socket that listens on 127.0.0.1; port 0: any that is free. Raises UsageError."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        is_taken = error.errno == errno.EADDRINUSE
        raise UsageError(
            f"cannot listen on port {port}",
            cause="another program uses it" if is_taken else str(error.strerror or error),
            hint="let the system choose a port: logbook report --serve",
        ) from error
    return listening


def serve(space: Callable[[], Workspace], listening: socket.socket, access: Access) -> None:
    """Serve until INT or TERM."""
    with contextlib.closing(LiveSite(space)) as site, _Server(listening, site, access) as server:

        def end(*_: object) -> None:
            # `shutdown` waits for the loop, in which this signal arrived.
            threading.Thread(target=server.shutdown).start()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        server.serve_forever(poll_interval=0.2)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, site: LiveSite, access: Access) -> None:
        super().__init__(("127.0.0.1", access.port), _Request, bind_and_activate=False)
        self.socket.close()
        self.socket, self.site, self.access = listening, site, access

    def handle_error(self, request: Any, client_address: Any) -> None:
        """As the library, but for viewers who leave."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Request(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    # A browser that says nothing more for so long (s) opens another connection.
    timeout = 60

    def _answer(self) -> None:
        access, (target, _, query) = self.server.access, self.path.partition("?")
        path = unquote(target)
        answer = (
            access.refused(self.command, self.headers)
            or access.let_in(path, query, self.headers)
            or self.server.site.answer(path, self.headers.get("if-none-match"))
        )
        self._send(answer)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _answer  # noqa: N815

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no request that the library understands; what follows it on the connection is none either."""
        self.close_connection = True
        self._send(said(int(code), message or "This request cannot be read."))

    def _send(self, answer: Response) -> None:
        body = answer.body
        is_whole = isinstance(body, bytes)
        # The body of a request to change something stays unread; the end of pieces is that of the connection.
        if not is_whole or self.command not in ("GET", "HEAD"):
            self.close_connection = True
        self.send_response(answer.status)
        for name, value in {**HEADERS, "content-type": answer.media_type, **answer.headers}.items():
            self.send_header(name, value)
        if isinstance(body, bytes):
            self.send_header("content-length", str(len(body)))
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            for piece in (body,) if isinstance(body, bytes) else body:
                self.wfile.write(piece)

    def version_string(self) -> str:
        return "logbook"

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: the terminal belongs to the address that was printed."""
