"""`logbook report --serve`: who may ask it for what, and that it tells of changes; a real server and real requests."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.report.live.live_support import GO, Served, serving, whole
from tests.stored import at


@pytest.fixture
def served(started: Cli, folder: Path) -> Iterator[Served]:
    hostile = "echo '<script>alert(1)</script>'; echo RESULT tflops=2"
    assert started("run", "--title", "<img src=x onerror=alert(2)>", "--", "sh", "-c", hostile).code == 0
    with serving(cwd=folder) as found:
        yield found


@pytest.mark.slow
def test_what_is_refused(served: Served, folder: Path) -> None:
    before = whole(folder)
    for path in ("/", "/moe.html", "/moe/logs/MOE-000-01.txt"):
        assert served.status(path) == 200
        assert served.status(path, cookie="") == 401
        assert served.status(path, cookie=served.cookie[:-1]) == 401
        assert served.status(f"{path}?token=x") == 401
    name = f"evil.example:{served.port}"
    for headers in (
        {"Host": name}, {"Host": "127.0.0.1"}, {"Host": f"127.0.0.1:{served.port + 1}"}, {"Origin": f"http://{name}"},
        {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"},
    ):  # fmt: skip
        assert served.status("/moe.html", **headers) == 403, headers
        assert served.status(f"/moe.html?{served.token}", cookie="", **headers) == 403, headers
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        assert served.status("/moe.html", method) == 405
    assert served.status(f"/moe.html?{'a=1&' * 50}", cookie="") == 401
    at(folder / "logbooks/moe/runs/MOE-000/02").symlink_to(at(folder / "logbooks/moe/runs/MOE-000/01"))
    before = whole(folder)
    for path in (
        "/../moe/logbook.yaml", "/moe/logbook.yaml", "/%2e%2e/x.html", "/moe/logs/..%2f..%2flogbook-01.txt",
        "/other.html", "/other/parts", "/moe/logs/MOE-000-02.txt", "/openapi.json",
    ):  # fmt: skip
        assert served.status(path) == 404, path
    _, page = served.ask("/moe.html")
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert served.token.partition("=")[2] not in page
    answer, log = served.ask("/moe/logs/MOE-000-01.txt")
    assert "<script>alert(1)" in log
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert whole(folder) == before, "nothing is written, not even an index"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET http://[x/moe/parts HTTP/1.1\r\nHost: {}", b"404"),
        ('GET /moe/parts HTTP/1.1\r\nIf-None-Match: "{}.{:05000}"\r\nHost: {}', b"404"),
        ("GET /moe/parts HTTP/1.1\r\nHost: {}" + "\r\nX: y" * 200, b"431"),
    ],
    ids=["address", "version", "headers"],
)
def test_what_nobody_can_mean_is_refused_once(served: Served, request_line: str, status: bytes) -> None:
    host, (answer, _) = f"127.0.0.1:{served.port}", served.ask("/moe/parts")
    started = answer.headers["etag"].strip('"').partition(".")[0]
    words = (started, 1, host) if "{:" in request_line else (host,)
    head = f"{request_line.format(*words)}\r\nConnection: close\r\nCookie: {served.cookie}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(head.encode())
        told = b"".join(iter(lambda: connection.recv(65536), b""))
    first, _, rest = told.partition(b"\r\n")
    assert first.split()[1] == status
    assert b"HTTP/" not in rest


@pytest.mark.slow
def test_changes_are_told(served: Served, started: Cli, folder: Path) -> None:
    with served.following("/moe.html") as page:
        page.until("MOE-000", "onerror")
        script = f"echo '<b>bold</b>'; {GO}; echo RESULT tflops=7"
        assert started("run", "--detach", "--", "sh", "-c", script).code == 0
        now = page.until("now", "MOE-001/01")
        assert "<b>bold" not in (now if "bold" in now else page.until("now", "bold"))
        (folder / "go").touch()
        page.until("now", "logbook status")
        assert started("status").code == 0
        page.until("MOE-001", "tflops")
        (folder / "logbooks").rename(folder / "away")
        page.until("now", "cannot be read now")
        (folder / "away").rename(folder / "logbooks")
        page.until("now", "nothing is running")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_quietly_while_a_page_is_open(started: Cli, folder: Path, number: int) -> None:
    with contextlib.ExitStack() as stack, serving(cwd=folder, number=number) as served:
        for path in ("/moe.html", "/"):
            stack.enter_context(served.following(path)).until("now", "nothing is running")
