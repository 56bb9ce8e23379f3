"""Stands between a client and the dashboard of Ray, and loses what it is told to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

_HOP = {"connection", "transfer-encoding", "content-encoding", "content-length", "host"}


class Relay:
    """`loses`: `answer` or `request` of the submissions that come; nothing when empty. `kept`: what never arrived."""

    def __init__(self, far: str) -> None:
        self.far, self.loses = far, ""
        self.kept: list[tuple[str, dict[str, str], bytes]] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def late(self) -> int:
        """Send what was kept; the status of the answer."""
        path, headers, body = self.kept[0]
        return requests.post(self.far + path, headers=headers, data=body, timeout=60).status_code

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        relay = self

        class Handler(BaseHTTPRequestHandler):
            def pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
                loses = relay.loses if self.command == "POST" and self.path.rstrip("/") == "/api/jobs" else ""
                if loses == "request":
                    relay.kept.append((self.path, headers, body))
                    return
                found = requests.request(self.command, relay.far + self.path, headers=headers, data=body, timeout=60)
                if loses == "answer":
                    return
                self.send_response(found.status_code)
                for name, value in found.headers.items():
                    if name.lower() not in _HOP:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(found.content)))
                self.end_headers()
                self.wfile.write(found.content)

            do_GET = do_POST = do_PUT = do_DELETE = pass_on  # noqa: N815

            def log_message(self, *_: Any) -> None: ...

        return Handler


@contextmanager
def relayed(address: str) -> Iterator[Relay]:
    relay = Relay(address)
    threading.Thread(target=relay.server.serve_forever, daemon=True).start()
    try:
        yield relay
    finally:
        relay.server.shutdown()
        relay.server.server_close()
