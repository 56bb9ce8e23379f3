"""Signals that are caught, ignored, inherited and sent: what a shell or an engine did before must not change a run."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.store.processes import MARK, end_command
from tests.unit.running.launch.test_runner_execute import is_running, wait_until

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (*STOPS, signal.SIGCHLD)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_what_nohup_ignores_is_no_request_to_stop() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with StopRequests() as stops:
        os.kill(os.getpid(), signal.SIGHUP)
        assert (stops.count, stops.take()) == (0, False)
        os.kill(os.getpid(), signal.SIGTERM)
        assert (stops.count, stops.last) == (1, signal.SIGTERM)
        assert (stops.take(), stops.take()) == (True, False)


@pytest.mark.slow
def test_who_does_not_end_with_its_leader_is_killed() -> None:
    script = "(trap '' INT TERM; echo ready; while :; do sleep 0.1; done) & echo $!; wait"
    marked = {**os.environ, MARK: "MOE-000.aaaaa/01.aaaaa"}
    words = ["sh", "-c", script]
    with subprocess.Popen(words, env=marked, stdout=subprocess.PIPE, text=True, start_new_session=True) as leader:
        assert leader.stdout is not None
        left = int("".join(leader.stdout.readline() for _ in range(2)).replace("ready", ""))
        ladder = ((signal.SIGINT, 0.2), (signal.SIGTERM, 0.2), (signal.SIGKILL, 2.0))
        assert not end_command(leader.pid, marked[MARK], ladder[:2])
        assert end_command(leader.pid, marked[MARK], ladder)
        assert wait_until(lambda: not is_running(left))
