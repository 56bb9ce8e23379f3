"""What the tests of live views share: a command as a process, and a whole picture of a folder."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.contract.e2e.e2e_support import LOGBOOK

GO = "until [ -e go ]; do sleep 0.02; done"


def whole(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Every path below a folder, indexes and locks included, with its inode and content; but not the work of runs that
    go on."""
    return {
        str(p.relative_to(folder)): (p.lstat().st_ino, p.read_bytes() if p.is_file() else None)
        for p in sorted(folder.rglob("*"))
        if "runs" not in p.parts or "work" not in p.relative_to(folder).parts
    }


def wait_for(condition: Callable[[], object], within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def killed_if_late(process: subprocess.Popen[bytes], within_s: float = 120.0) -> Iterator[None]:
    """Kill a process that still runs after a while: whoever reads what it says would wait for ever."""
    timer = threading.Timer(within_s, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def running(*words: str, cwd: Path, number: int = signal.SIGINT, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """`logbook WORDS` until the block is left; then a signal ends it."""
    process = subprocess.Popen(
        [*LOGBOOK, *words], cwd=cwd, env={**os.environ, **more}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        with killed_if_late(process):
            yield process
    finally:
        if process.poll() is None:
            process.send_signal(number)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert process.stderr is not None
        assert b"Traceback" not in (told := process.stderr.read()), told.decode()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


class Served:
    """A server that runs, asked with the cookie that it gave for its token."""

    def __init__(self, address: str) -> None:
        found = urlsplit(address)
        self.port, self.path, self.token = found.port or 0, found.path, found.query
        answer, _ = self.ask(f"{self.path}?{self.token}", cookie="")
        assert (answer.status, answer.headers["location"]) == (303, self.path)
        given = answer.headers["set-cookie"]
        assert "HttpOnly" in given
        assert "SameSite=strict" in given
        assert self.token.partition("=")[2] not in given
        self.cookie = given.partition(";")[0]

    def ask(
        self, path: str, method: str = "GET", cookie: str | None = None, **headers: str
    ) -> tuple[http.client.HTTPResponse, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        cookie = self.cookie if cookie is None else cookie
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers={**({"Cookie": cookie} if cookie else {}), **named})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        return answer, text

    def status(self, path: str, method: str = "GET", cookie: str | None = None, **headers: str) -> int:
        return self.ask(path, method, cookie, **headers)[0].status

    def parts(self, path: str) -> str:
        """The address of the parts of a page."""
        answer, text = self.ask(path)
        found = re.search(r'data-parts="([^"]*)"', text)
        assert found is not None, (answer.status, text)
        return f"/{found[1]}"

    @contextmanager
    def following(self, path: str) -> Iterator[Follow]:
        """What is told to a viewer of a page."""
        yield Follow(self, self.parts(path))


class Follow:
    """The parts of a page, asked for again and again."""

    def __init__(self, served: Served, address: str) -> None:
        self._served, self._address = served, address
        self._known: dict[str, str] = {}
        self._parts: list[dict[str, str | None]] = []

    def until(self, id: str, text: str | None) -> str:
        """Wait until a part of the page has a text (None: until it is gone); its HTML."""
        deadline = time.monotonic() + 60
        while True:
            while self._parts:
                part = self._parts.pop(0)
                html = part["html"]
                if part["id"] == id and (html is None if text is None else text in (html or "")):
                    return html or ""
            answer, body = self._served.ask(self._address, **self._known)
            assert answer.status in (200, 304)
            assert time.monotonic() < deadline
            self._known = {"If_None_Match": answer.headers["etag"]}
            self._parts = json.loads(body) if answer.status == 200 else []
            time.sleep(0 if self._parts else 0.1)


@contextmanager
def serving(*words: str, cwd: Path, number: int = signal.SIGTERM) -> Iterator[Served]:
    """`logbook report --serve`, which ends as it should when the block is left."""
    with running("report", "--serve", "--json", *words, cwd=cwd, number=number) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        yield Served(json.loads(process.stdout.readline())["data"]["url"])
        process.send_signal(number)
        assert process.wait(timeout=20) == 0
        assert process.stderr.read().count(b"\n") == 1, "no traceback"
