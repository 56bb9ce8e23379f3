"""Runs that need the same device are made one after another, whoever started them and whoever dies: real processes."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pwd
import signal
import subprocess
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from logbook_agent.model.record import run_state
from logbook_agent.model.run import Exit, Run
from logbook_agent.store.device_queue import Queue, queue_folder
from tests.conftest import Cli
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.running.executors.conftest import LONG_S, Place, is_gone, sh, wait_for

TIMED = 'b=$(date +%s.%N); sleep 0.2; echo "RESULT tflops=1 begin=$b end=$(date +%s.%N)"'
GO = "echo RESULT tflops=1; until [ -e go ]; do sleep 0.02; done"


@pytest.fixture
def two(local: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Workers on a machine with two devices."""
    monkeypatch.setenv("LOGBOOK_DEVICES", "gpu0,gpu1")
    return local


def waiting(place: Place, run: Run) -> str:
    """What a run that waits says of it, when it does."""

    def said() -> str | None:
        followed = place.follow(run)
        return followed.said if followed.stage == "sent" else None

    found: str = wait_for(said)
    assert place.follow(run).stage == "sent"
    assert run_state(place.read(run), place.book.life) == "submitted"
    return found


def begun(place: Place, run: Run) -> None:
    wait_for(lambda: b"RESULT" in place.follow(run, 0).output)


def tickets(place: Place) -> list[str]:
    return [ticket.run for ticket in Queue(folder=queue_folder(place.workspace.environ)).tickets()]


def kill(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: all(map(is_gone, pids)))


def worker_of(place: Place, run: Run) -> int:
    holder = place.spool(run).holder()
    assert holder is not None
    return holder[0].pid


def command_of(place: Place, run: Run) -> int:
    began = wait_for(lambda: found if (found := place.spool(run).began()) is not None and found.child else None)
    pid: int = began.child.pid
    return pid


@pytest.mark.slow
def test_eight_runs_at_one_device_never_overlap(two: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    # Each time limit is shorter than the wait.
    runs = [two.ended(run) for run in [two.send(*sh(TIMED), timeout_s=1.5) for _ in range(8)]]
    assert [run.exit for run in runs] == [Exit(code=0)] * 8
    times = sorted((run.rows[0].observations["begin"], run.rows[0].observations["end"]) for run in runs)
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(times))
    assert [run.problems for run in runs] == [()] * 8, "none was made beside another"
    assert all(run.contention is None or run.contention.runs == () for run in runs)
    assert tickets(two) == []


@pytest.mark.slow
def test_who_waits_for_what(two: Place, started: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    first = two.send(*sh(GO))
    begun(two, first)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    beside = two.ended(two.send(*sh(TIMED)))
    assert beside.exit == Exit(code=0), "at another device, and at once"
    assert beside.contention is not None
    assert beside.contention.runs == ("MOE-000 run 1",)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    both = two.send(*sh(GO))
    assert waiting(two, both) == "queued for gpu0 behind MOE-000 run 1"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    behind = two.send(*sh(TIMED))
    assert waiting(two, behind) == "queued for gpu1 behind MOE-000 run 3"
    status = started("status", "--json").data["running"]
    assert [(one["run"], one["state"], one["said"]) for one in status[1:]] == [
        (3, "submitted", "queued for gpu0 behind MOE-000 run 1"),
        (4, "submitted", "queued for gpu1 behind MOE-000 run 3"),
    ]
    monkeypatch.setenv("LOGBOOK_DEVICES", "none")
    assert two.ended(two.send("true")).exit == Exit(code=0)
    two.executor.stop(two.spool(both))
    cancelled = two.ended(both)
    assert cancelled.exit == Exit(never_started=True)
    assert "cancelled while it was queued for gpu0 behind MOE-000 run 1" in cancelled.problems[-1]
    assert two.ended(behind).exit == Exit(code=0), "it does not wait for what was cancelled"
    (two.folder / "go").touch()
    assert two.ended(first).exit == Exit(code=0)


@pytest.mark.slow
def test_whoever_is_killed(two: Place) -> None:
    """A device is taken as long as its command runs, and no longer."""
    first = two.send(*sh(GO))
    begun(two, first)
    second = two.send(*sh(GO))
    waiting(two, second)
    third = two.send(*sh(GO))
    waiting(two, third)
    client = subprocess.Popen([*LOGBOOK, "run", "--detach", "--", *sh(TIMED)], cwd=two.folder, start_new_session=True)
    fourth = wait_for(lambda: len(found := tickets(two)) == 4 and found[-1])
    if client.poll() is None:
        os.killpg(client.pid, signal.SIGKILL)
    client.wait()
    command = command_of(two, first)
    kill(worker_of(two, first))
    assert two.until(first, "orphaned")
    assert waiting(two, second) == "queued for gpu0, gpu1 behind MOE-000 run 1"
    kill(worker_of(two, third))
    kill(command)
    assert run_state(two.ended(first), two.book.life) == "lost"
    begun(two, second)
    assert two.ended(third).exit == Exit(never_started=True)
    (two.folder / "go").touch()
    assert two.ended(second).exit == Exit(code=0)
    [last] = [run for run in two.book.runs(fourth.split()[0]) if fourth == f"{run.entry} run {run.run}"]
    assert two.ended(last).exit == Exit(code=0), "its client was killed while it was queued"
    assert tickets(two) == []


def hold(folder: Path, user: int, run: str, answers: Connection) -> None:
    """Draw a ticket as this user, say what is ahead, and keep it until the other side hangs up."""
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    os.umask(0o077)
    with Queue(folder=folder).drawn(run, "/logbooks", ("gpu0",)) as drawn:
        answers.send([ticket.name for ticket in drawn.ahead])
        answers.poll(LONG_S)


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become other users")
def test_users_wait_for_one_another() -> None:
    started: list[tuple[Any, Connection]] = []

    def ahead_of(user: int, run: str) -> list[str]:
        mine, its = fork.Pipe()
        process = fork.Process(target=hold, args=(folder, user, run, its))
        process.start()
        started.append((process, mine))
        assert mine.poll(LONG_S)
        found: list[str] = mine.recv()
        return found

    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        folder = Path(name) / "queue"
        assert ahead_of(65533, "MOE-001 run 1") == []
        assert ahead_of(65534, "MOE-002 run 1") == ["MOE-001 run 1 of user 65533"]
        started[0][0].kill()
        started[0][0].join()
        told = ahead_of(65534, "\x1b[2J run 1")
        assert told == ["MOE-002 run 1"], "the first user's ticket is over, though others cannot remove it"
        assert ahead_of(65533, "MOE-004 run 1")[1] == f"a run of user {pwd.getpwuid(65534).pw_name}"
        for process, _ in started:
            process.kill()
            process.join()
