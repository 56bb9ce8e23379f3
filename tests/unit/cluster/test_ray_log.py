"""What is read from the log of a Ray Job: each event once, however many lines came since, and no event that is none."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from typing import Any, cast

import pytest

from logbook_agent.cluster import ray_log
from logbook_agent.cluster.ray_log import PREFIX, JobLog, Jobs
from logbook_agent.model.errors import StoreError

KEY = "job.0"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_log, "_PACE_S", 0.0)


class Head:
    """Gives the last lines of a log, as the head of a cluster does, and counts how many it gave."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.given = 0

    def job(self, job: str) -> dict[str, Any]:
        return {"status": "RUNNING", "driver_node_id": "head"}

    def log(self, node: str, job: str, lines: int = -1) -> Iterator[bytes]:
        found = self.lines if lines == -1 else self.lines[-lines:]
        self.given += len(found)
        yield from (f"{line}\n".encode() for line in found)

    def say(self, **event: Any) -> None:
        self.lines.append(PREFIX + json.dumps({"n": len(self.lines) + 1, "key": KEY, **event}))


class Files(dict[str, bytes]):
    """What came of the files of a run."""

    def bring(self, name: str, at: int, data: bytes) -> None:
        if not 0 <= at <= len(self.get(name, b"")):
            raise StoreError("nothing stands before it", cause="test")
        self[name] = self.get(name, b"")[:at] + data


def piece(name: str, at: int, data: bytes) -> tuple[str, int, str]:
    return name, at, base64.b64encode(zlib.compress(data)).decode()


def test_each_event_is_read_once() -> None:
    head = Head()
    log = JobLog(cast(Jobs, head), "job")
    files = Files()
    told = log.run(KEY, files.bring)
    for number in range(700):
        head.say(files=[piece("output.log", number, b"x")])
        if number in (0, 3, 40, 650):
            log.refresh()
            assert files["output.log"] == b"x" * (number + 1)
    log.refresh()
    assert files["output.log"] == b"x" * 700
    head.given = 0
    log.refresh()
    assert head.given <= 8, "nothing is new"
    head.say(head={"stage": "ended"})
    assert not told.head
    log.refresh()
    assert told.head == {"stage": "ended"}


def test_what_is_no_event_is_ignored() -> None:
    head = Head()
    log = JobLog(cast(Jobs, head), "job")
    files = Files()
    told = log.run(KEY, files.bring)
    head.lines += ["Traceback", PREFIX, f"{PREFIX}[]", f'{PREFIX}{{"n": "1"}}', f'{PREFIX}{{"n": 1, "key": "job.0"']
    for given in (
        7,
        [["output.log", 0, "no base64"]],
        [["output.log", 0, "AAAA"]],
        [["output.log", 1 << 40, piece("", 0, b"x")[2]]],
        [["output.log", -1, piece("", 0, b"x")[2]]],
        [[["output.log"], 0, piece("", 0, b"x")[2]]],
    ):
        head.say(files=given)
    head.say(head=7)
    head.say(files=[piece("output.log", 0, b"good")], head={"stage": "running"})
    log.refresh()
    assert (files["output.log"], told.head) == (b"good", {"stage": "running"})
