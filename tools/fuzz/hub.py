"""A host that serves one issue as somebody wrote it: as much of GitHub's REST API as a sync asks for."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REPOSITORY = "acme/moe"
_USER = {"login": "ada", "id": 1, "type": "User"}


class Hub:
    """`raw`: what every request is answered with, where it is not None; else `state`."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {"issue": None, "comments": [], "user": _USER}
        self.raw: bytes | None = None
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.host = f"127.0.0.1:{self._server.server_address[1]}"

    def settings(self) -> str:
        return f'[github]\nrepository = "{REPOSITORY}"\nhost = "http://{self.host}"\n'

    def open_issue(self) -> None:
        self.state["issue"] = self._issue("An issue", "What people wrote.")

    def load(self, content: bytes) -> None:
        """Serve this document from now on."""
        self.raw = None
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            self.state = {"issue": found.get("issue"), "comments": found.get("comments"), "user": found.get("user")}
        else:
            self.raw = content

    def dump(self) -> bytes:
        """The state without what differs from one start to the next."""
        return json.dumps(self.state).replace(self.host, "{host}").encode()

    def answer(self, method: str, path: str, data: Any) -> Any:
        if self.raw is not None:
            return self.raw
        steps = path.partition("?")[0].removeprefix("/api/v3").strip("/").split("/")
        if steps == ["user"]:
            return self.state["user"]
        if method == "POST" and steps[-1] == "comments":
            made = self._comment(data.get("body"))
            if isinstance(self.state["comments"], list):
                self.state["comments"].append(made)
            return made
        if method == "PATCH" and "comments" in steps:
            return self._comment(data.get("body"))
        if method in ("PATCH", "POST") and len(steps) > 4:
            if isinstance(self.state["issue"], dict) and isinstance(data, dict):
                self.state["issue"].update(data)
            return self.state["issue"]
        if steps[-1] == "comments":
            return self.state["comments"]
        if len(steps) > 4 and steps[4].isdigit():
            return self.state["issue"]
        return [self.state["issue"]] if steps[-1] == "issues" else {"full_name": REPOSITORY}

    def _issue(self, title: str, body: str) -> dict[str, Any]:
        url = f"http://{self.host}/{REPOSITORY}/issues/1"
        return {
            "number": 1,
            "id": 11,
            "html_url": url,
            "title": title,
            "body": body,
            "state": "open",
            "user": _USER,
            "locked": False,
        }

    def _comment(self, body: Any) -> dict[str, Any]:
        number = 100 + len(self.state["comments"] or ())
        return {
            "id": number,
            "html_url": f"http://{self.host}/{REPOSITORY}/issues/1#c{number}",
            "user": _USER,
            "author_association": "OWNER",
            "body": body,
        }


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A state that this host cannot serve ends the connection, which is an answer, too."""


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            text = self.rfile.read(length)
            found = hub.answer(self.command, self.path, json.loads(text) if text else {})
            content = found if isinstance(found, bytes) else _as_json(found).replace(b"{host}", hub.host.encode())
            self.send_response(201 if self.command == "POST" else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = _serve  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    return Handler


def _as_json(found: Any) -> bytes:
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass")
