"""The server of the tests: as GitHub where it matters, failing on demand, and gone when it is not wanted."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from tests.emulator import faults
from tests.emulator.faults import Fault
from tests.emulator.fixtures import Hub

ROOT = Path(__file__).resolve().parents[3]
Answer = tuple[int, dict[str, str], bytes]


def ask(hub: Hub, method: str, path: str, data: object = None, *, token: str | None = None) -> Answer:
    """Through the proxy, without any library."""
    server = urlsplit(hub.api)
    connection = http.client.HTTPConnection("127.0.0.1", server.port or 0, timeout=5)
    try:
        content = None if data is None else json.dumps(data)
        connection.request(method, server.path + path, content, {"Authorization": f"Bearer {token or hub.token}"})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("fault", "status", "headers"),
    [
        (faults.server_error(), 500, {}),
        (faults.too_many(7), 429, {"retry-after": "7"}),
        (faults.primary_limit(), 403, {"x-ratelimit-remaining": "0"}),
        (faults.moved("http://127.0.0.1:1/"), 301, {"location": "http://127.0.0.1:1/"}),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else "",
)
def test_a_refusal_is_given_before_anything_is_done(
    github: Hub, fault: Fault, status: int, headers: dict[str, str | None]
) -> None:
    repo = github.new_repo()
    github.rules.add("POST", "/issues$", fault, times=1)
    answer = ask(github, "POST", f"/repos/{repo}/issues", {"title": "One"})
    assert (answer[0], {name: answer[1].get(name) for name in headers}) == (status, headers)
    assert github.issues(repo) == []
    assert [(w.fault, w.applied) for w in github.writes] == [(fault.name, False)]
    assert ask(github, "POST", f"/repos/{repo}/issues", {"title": "One"})[0] == 201


def test_an_answer_can_be_lost_after_the_write(github: Hub) -> None:
    repo = github.new_repo()
    github.rules.add("POST", "/issues$", faults.dropped(), times=1)
    github.rules.add("POST", "/issues$", faults.bad_gateway(), nth=2, times=1)
    with pytest.raises(http.client.RemoteDisconnected):
        ask(github, "POST", f"/repos/{repo}/issues", {"title": "Dropped"})
    assert ask(github, "POST", f"/repos/{repo}/issues", {"title": "Lost"})[0] == 502
    assert [issue["title"] for issue in github.issues(repo)] == ["Dropped", "Lost"]


@pytest.mark.slow
def test_it_listens_on_loopback_alone_and_goes_with_its_parent(tmp_path: Path) -> None:
    code = (
        "import time\nfrom tests.emulator.server import Emulator\n"
        "with Emulator('http://127.0.0.1:1', ['ada']) as emulator:\n"
        "    print(emulator._process.pid, flush=True)\n    time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert parent.stdout is not None
    emulator = psutil.Process(int(parent.stdout.readline()))
    listening = [c.laddr.ip for c in emulator.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
    assert listening == ["127.0.0.1"]
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    emulator.wait(5)
