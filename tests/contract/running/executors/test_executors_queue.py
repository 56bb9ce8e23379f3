"""Runs that need the same device are made one after another, whoever started them and whoever dies: real processes."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess

import pytest

from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.running.executors.conftest import Place, exit_of, is_gone, sh, wait_for
from tests.seams import Facts

pytestmark = pytest.mark.slow

TIMED = 'b=$(date +%s.%N); sleep 0.2; echo "RESULT tflops=1 begin=$b end=$(date +%s.%N)"'
GO = "echo $PPID > worker; echo $$ > command; echo RESULT tflops=1; until [ -e go ]; do sleep 0.02; done"


@pytest.fixture
def two(local: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Workers on a machine with two devices."""
    monkeypatch.setenv("LOGBOOK_DEVICES", "gpu0,gpu1")
    return local


def waiting(place: Place, run: Facts) -> str:
    """What `status` says of a run that waits, when it does."""
    said: str = wait_for(lambda: place.said(run))
    assert place.state(run) == "submitted"
    return said


def test_runs_at_one_device_never_overlap(two: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    # Each time limit is shorter than the wait.
    runs = [two.ended(run) for run in [two.send(*sh(TIMED), options=("--timeout", "1.5s")) for _ in range(5)]]
    assert [(exit_of(run), run.problems) for run in runs] == [({}, None)] * 5, "none was made beside another"
    times = sorted((run.rows[0].observations["begin"], run.rows[0].observations["end"]) for run in runs)
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(times))
    assert all(not (run.contention or {}).get("runs") for run in runs)


def test_who_waits_for_what(two: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    first = two.send(*sh(GO))
    two.printed(first)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    beside = two.ended(two.send(*sh(TIMED)))
    assert exit_of(beside) == {}, "at another device, and at once"
    assert beside.contention.runs == ["MOE-000 run 1"]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    both = two.send(*sh(GO))
    assert {"gpu0", "MOE-000"} <= {*waiting(two, both).split()}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    behind = two.send(*sh(TIMED))
    assert {"gpu1", both.entry} <= {*waiting(two, behind).split()}
    monkeypatch.setenv("LOGBOOK_DEVICES", "none")
    assert exit_of(two.ended(two.send("true"))) == {}
    assert two.cli("cancel", both.entry).code == 0
    cancelled = two.ended(both)
    assert exit_of(cancelled) == {"never_started": True}
    assert "MOE-000" in cancelled.problems[-1].text
    assert exit_of(two.ended(behind)) == {}, "it does not wait for what was cancelled"
    (two.folder / "go").touch()
    assert exit_of(two.ended(first)) == {}


@pytest.mark.skipif(os.path.isdir("/proc/driver/nvidia/gpus"), reason="the GPUs of this machine count")  # noqa: PTH112
def test_the_record_and_the_queue_see_the_same_devices(local: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """As CUDA does: the list counts up to the first device that is not there."""
    program = local.folder / "bin/nvidia-smi"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho GPU-a, NVIDIA H200; echo GPU-b, NVIDIA H200\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.delenv("LOGBOOK_DEVICES")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    first = local.send(*sh(GO))
    local.printed(first)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,9,1")
    beside = local.ended(local.send("true"))
    assert [(device["platform"], device["count"]) for device in beside.devices] == [("gpu", 1)]
    assert beside.contention.runs == [f"{first.entry} run 1"]
    (local.folder / "go").touch()
    assert exit_of(local.ended(first)) == {}


def test_whoever_is_killed(two: Place) -> None:
    """A device is taken as long as its command runs, and no longer."""
    first = two.send(*sh(GO))
    two.printed(first)
    worker, command = two.number("worker"), two.number("command")
    second = two.send(*sh(GO))
    waiting(two, second)
    client = subprocess.Popen(
        [*LOGBOOK, "run", "--detach", "--", *sh(TIMED)],
        cwd=two.folder,
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdout is not None
    third = two.store.runs(client.stdout.readline().strip())[0]
    client.kill()
    client.communicate()
    waiting(two, third)
    os.kill(worker, signal.SIGKILL)
    assert two.until(first, "orphaned")
    assert first.entry in waiting(two, second), "its command has the device yet"
    os.kill(command, signal.SIGKILL)
    wait_for(lambda: is_gone(command))
    assert exit_of(two.ended(first)) == {"lost": True}
    two.printed(second)
    (two.folder / "go").touch()
    assert [exit_of(two.ended(run)) for run in (second, third)] == [{}, {}]


def test_what_a_command_leaves_behind_takes_no_device(two: Place) -> None:
    """Neither from a run that waits already nor from a later one."""
    first = two.send(*sh(f"sleep 300 <&- >&- 2>&- & echo $! > left; {GO}"))
    two.printed(first)
    second = two.send(*sh(TIMED))
    assert first.entry in waiting(two, second)
    (two.folder / "go").touch()
    assert [exit_of(two.ended(run)) for run in (first, second)] == [{}, {}]
    assert exit_of(two.ended(two.send(*sh(TIMED)))) == {}
    os.kill(two.number("left"), signal.SIGKILL)
