"""Processes that leave the group and the session of their command: found, ended with it, or named in the record."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.running.executors.conftest import is_gone, wait_for
from tests.seams import Store

pytestmark = pytest.mark.slow

# A child in a session of its own whose parent ends at once; the second has none of the variables of its command either.
# Ctrl-C ends them, which a shell has what it starts in the background ignore.
SLEEPER = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_DFL); time.sleep(61)"
ESCAPES = (
    f"sh -c 'setsid {sys.executable} -SE sleeper.py > /dev/null 2>&1 & echo $! > one';"
    f" sh -c 'env -i setsid {sys.executable} -SE sleeper.py > /dev/null 2>&1 & echo $! > two'; sleep 0.2; touch made; "
)


@pytest.fixture(autouse=True)
def _sleeper(folder: Path) -> None:
    (folder / "sleeper.py").write_text(SLEEPER)


def pids(folder: Path, *names: str) -> list[int]:
    wait_for((folder / "made").exists)
    return [int((folder / name).read_text()) for name in names]


def end(found: list[int]) -> None:
    for pid in found:
        if not is_gone(pid):
            os.kill(pid, signal.SIGKILL)


def test_cancel_ends_what_left_the_session(started: Cli, folder: Path) -> None:
    assert started("run", "--detach", "--", "sh", "-c", ESCAPES + "sleep 60").code == 0
    found = pids(folder, "one", "two")
    assert started("cancel", "MOE-000").code == 0
    assert [is_gone(pid) for pid in found] == [True, True]
    [run] = Store(folder).runs("MOE-000")
    assert run.exit.interrupted
    assert not run.problems


def test_an_interrupt_ends_them_in_the_foreground(started: Cli, folder: Path) -> None:
    words = [sys.executable, "-m", "logbook_agent", "run", "--", "sh", "-c", ESCAPES + "sleep 60"]
    tool = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)
    [one, two] = pids(folder, "one", "two")
    tool.send_signal(signal.SIGINT)
    assert tool.wait() == 130
    assert is_gone(one)
    end([two])


@pytest.mark.parametrize("options", [(), ("--detach",)])
def test_what_outlives_a_run_is_named_and_left_alone(started: Cli, folder: Path, options: tuple[str, ...]) -> None:
    started("run", *options, "--", "sh", "-c", ESCAPES)
    found = pids(folder, "one", "two")
    started("wait", "MOE-000")
    assert [is_gone(pid) for pid in found] == [False, False]
    [run] = Store(folder).runs("MOE-000")
    [problem] = [p.text for p in run.problems]
    seen = found if options else found[:1]
    assert [f"pid {pid})" in problem for pid in found] == [pid in seen for pid in found]
    end(found)


def test_ctrl_c_after_the_end_of_the_command_leaves_them_alone(started: Cli, folder: Path) -> None:
    holds = f"setsid {sys.executable} -SE sleeper.py & echo $! > one; touch made"
    words = [sys.executable, "-m", "logbook_agent", "run", "--", "sh", "-c", f"{holds}; echo RESULT tflops=1"]
    tool = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)
    [one] = pids(folder, "one")
    wait_for(lambda: (log := Store(folder).log_path("MOE-000", 1)).exists() and b"RESULT" in log.read_bytes())
    tool.send_signal(signal.SIGINT)
    tool.wait()
    assert not is_gone(one)
    end([one])


def test_adopted_processes_are_waited_for(started: Cli, folder: Path) -> None:
    orphans = "for i in 1 2 3 4 5; do sh -c 'sleep 0.1 & echo $!' >> adopted; done; touch made; sleep 0.5"
    assert (
        started("run", "--detach", "--", "sh", "-c", f"{orphans}; cat /proc/$PPID/task/*/children > left; true").code
        == 0
    )
    assert started("wait", "MOE-000").code == 0
    left = (folder / "left").read_text().split()
    assert not {*(folder / "adopted").read_text().split()} & {*left}


@pytest.mark.wide
def test_a_killed_worker_leaves_no_child_behind_when_its_command_is_stopped(started: Cli, folder: Path) -> None:
    assert started("run", "--detach", "--", "sh", "-c", f"echo $PPID > worker; {ESCAPES} sleep 60").code == 0
    [one, two] = pids(folder, "one", "two")
    [worker] = pids(folder, "worker")
    os.kill(worker, signal.SIGKILL)
    wait_for(lambda: is_gone(worker))
    assert started("cancel", "MOE-000").code == 0
    assert is_gone(one)
    end([two])
