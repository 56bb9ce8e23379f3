"""Signals that a shell or an engine ignores: they must not change a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.e2e.e2e_support import LOGBOOK

NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGCHLD")
COMMAND = f"""
import os, signal
assert os.getsid(0) != {{own}}
assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
print("RESULT tflops=", sum(signal.getsignal(getattr(signal, n)) is signal.SIG_DFL for n in {NAMES}[1:]), sep="")
"""
# As `nohup` and shells in the background do.
IGNORES = f"""
import os, signal, sys
for name in {NAMES}:
    signal.signal(getattr(signal, name), signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.slow
def test_a_detached_command_has_signals_as_a_fresh_process(started: Cli, folder: Path) -> None:
    code = COMMAND.replace("{own}", "os.getppid()")
    words = [sys.executable, "-c", IGNORES, *LOGBOOK, "run", "--detach", "--", sys.executable, "-c", code]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=60)
    assert started("wait").code == 0
    [row] = started("show", "MOE-000", "--json").data["runs"][0]["rows"]
    assert row["metrics"]["tflops"]["median"] == len(NAMES) - 1
