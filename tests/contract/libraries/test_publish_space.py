"""`logbook publish --space` by the Hub's own client, against a fake that answers what the client asks of the Hub."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY

PYTHON = REPOSITORY / ".venv-exports/bin/python"
CHANGE = f"/spaces/acme/pages/commit/{'2' * 40}"


class FakeHub(BaseHTTPRequestHandler):
    """Keeps the files of one Space. `refuses`: it answers that the token may not write."""

    files: dict[str, bytes]
    said: list[str]
    refuses = False

    def _answer(self, data: Any, code: int = 200) -> None:
        body = json.dumps(data).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Server", "fake-hub")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.said.append(f"GET {self.path}")
        if "/tree/" in self.path:
            return self._answer([{"type": "file", "path": "old.html", "size": 1, "oid": "0" * 40}])
        return self._answer({"id": "acme/pages", "sha": "1" * 40, "siblings": [{"rfilename": "old.html"}]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.said.append(f"POST {self.path}")
        if self.refuses:
            return self._answer({"error": "You are not allowed to do this"}, 403)
        if self.path == "/api/repos/create":
            self.said.append(body.decode())
            return self._answer({"url": f"http://{self.headers['Host']}/spaces/acme/pages", "name": "acme/pages"})
        if "/preupload/" in self.path:
            asked = json.loads(body)["files"]
            return self._answer(
                {"files": [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in asked]}
            )
        if "/commit/" in self.path:
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    self.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                elif line["key"] == "deletedFile":
                    self.files.pop(line["value"]["path"], None)
            return self._answer(
                {"commitOid": "2" * 40, "commitUrl": f"http://{self.headers['Host']}{CHANGE}", "success": True}
            )
        return self._answer({"errors": [], "warnings": []})

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path) -> Any:
    FakeHub.files, FakeHub.said, FakeHub.refuses = {"old.html": b""}, [], False
    with ThreadingHTTPServer(("127.0.0.1", 0), FakeHub) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def publish(hub: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "HOME": str(folder),
        "HF_ENDPOINT": hub,
        "HF_TOKEN": "hf_" + "a" * 34,
    }
    argv = [str(PYTHON), "-m", "logbook_agent", *words]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_the_pages_are_a_static_space(hub: str, tmp_path: Path) -> None:
    assert publish(hub, tmp_path, "start", "moe", "--prefix", "MOE").returncode == 0
    listed = publish(hub, tmp_path, "publish", "--space", "acme/pages", "--dry-run")
    assert (listed.returncode, "moe.html" in listed.stderr, FakeHub.said) == (0, True, [])
    done = publish(hub, tmp_path, "publish", "--space", "acme/pages")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("/spaces/acme/pages")
    assert {"README.md", "index.html", "moe.html"} == {*FakeHub.files} - {".gitattributes"}
    assert b"sdk: static" in FakeHub.files["README.md"]
    assert any('"sdk":"static"' in said.replace(" ", "") for said in FakeHub.said)


def test_what_the_hub_says_is_told(hub: str, tmp_path: Path) -> None:
    assert publish(hub, tmp_path, "start", "moe", "--prefix", "MOE").returncode == 0
    FakeHub.refuses = True
    done = publish(hub, tmp_path, "publish", "--space", "acme/pages")
    assert (done.returncode, "the Space acme/pages was not updated" in done.stderr) == (4, True), done.stderr
    assert "hf_aaaa" not in done.stderr
