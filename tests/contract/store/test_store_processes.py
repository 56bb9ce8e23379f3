"""Which process is which: a number alone names none for good."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

import pytest

from logbook_agent.store.processes import alive, create_time


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def test_a_process_is_known_by_when_it_started(child: subprocess.Popen[bytes]) -> None:
    started = create_time(child.pid)
    assert started is not None
    assert abs(started - time.time()) < 60
    assert alive(child.pid, started)
    assert alive(child.pid, started + 1), "the boot time is read anew now and then"
    assert alive(child.pid, None)
    assert not alive(child.pid, started - 3), "its number was another's then"
    child.kill()
    until = time.monotonic() + 10
    while alive(child.pid, started) and time.monotonic() < until:
        time.sleep(0.01)
    assert not alive(child.pid, None), "nobody has waited for it, and it does no more"
    child.wait()
    assert create_time(child.pid) is None
