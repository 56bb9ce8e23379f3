"""Signals that are caught, ignored, inherited and sent: what a shell or an engine did before must not change a run."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (*STOPS, signal.SIGCHLD)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.slow
def test_a_session_of_its_own_has_signals_as_a_fresh_process() -> None:
    code = """
import os, signal
from logbook_agent.running.launch.signals import own_session
numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD)
for number in numbers:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
own_session()
print(*(signal.getsignal(n) is signal.SIG_DFL for n in numbers), not signal.pthread_sigmask(signal.SIG_BLOCK, ()))
print(os.getsid(0) == os.getpid())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["True"] * 7
