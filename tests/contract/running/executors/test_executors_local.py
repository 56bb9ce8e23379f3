"""Workers as processes of their own: what is left when one of the parties is killed, and clear states for all of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.running.executors.conftest import Place, exit_of, is_gone, samples, sh, wait_for
from tests.seams import Facts

pytestmark = pytest.mark.slow

WAITS = (
    "echo $PPID > worker; echo $$ > command; echo RESULT tflops=2; until [ -e go ]; do sleep 0.02; done;"
    " echo RESULT tflops=3"
)


def begun(place: Place) -> tuple[Facts, int, int]:
    """A run that goes on, with the numbers of its worker and of its command."""
    run = place.send(*sh(WAITS))
    place.printed(run)
    return run, place.number("worker"), place.number("command")


def test_a_killed_worker_leaves_an_orphan_and_then_a_lost_run(local: Place) -> None:
    run, worker, command = begun(local)
    os.kill(worker, signal.SIGKILL)
    assert local.until(run, "orphaned")
    assert local.read(run).exit is None, "its command still runs"
    assert local.cli("cancel", run.entry).code == 0
    assert is_gone(command)
    done = local.ended(run)
    assert exit_of(done) == {"lost": True}
    assert local.state(run) == "lost"
    assert (done.ended, done.duration_s) == (None, None)
    assert samples(done) == [[2.0]], "what its log holds"
    assert done.problems
    assert local.log(run) == b"RESULT tflops=2\n"


def test_a_process_that_only_has_a_number_is_left_alone(local: Place) -> None:
    """A reboot leaves that, after which the numbers of processes are given out again."""
    run, worker, command = begun(local)
    for pid in (worker, command):
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: is_gone(pid))  # noqa: B023
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as other:
        lock = local.left() / "worker.lock"
        plain = json.loads(lock.read_text())
        assert plain["group"] == command, "where the number of the process stands"
        lock.write_text(json.dumps(plain | {"pid": other.pid, "group": other.pid}))
        for words in (["cancel", run.entry], ["doctor", "--fix"]):
            local.cli(*words)
        assert other.poll() is None
        other.kill()
    assert local.state(run) == "lost"


def test_of_another_machine_nothing_is_known(local: Place) -> None:
    """A container that vanished had a name of its own."""
    run, worker, command = begun(local)
    for pid in (worker, command):
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: is_gone(pid))  # noqa: B023
    lock = local.left() / "worker.lock"
    lock.write_text(json.dumps({**json.loads(lock.read_text()), "host": "elsewhere"}))
    assert local.state(run) == "unknown"
    local.cli("doctor")
    assert local.read(run).exit is None
    assert local.cli("doctor", "--fix").code == 0
    assert (exit_of(local.read(run)), samples(local.read(run))) == ({"lost": True}, [[2.0]])
    assert not local.store.working()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="nobody tells where an open file lies now")
def test_a_repository_that_is_moved_during_a_run_loses_nothing(local: Place, cli: Cli) -> None:
    go = local.folder.parent / "go"
    run = local.send(*sh(f"cd /; echo begins; until [ -e {go} ]; do sleep 0.02; done; echo RESULT tflops=3"))
    local.printed(run, "begins")
    for name in ("moved", "moved-again"):
        local.folder = local.folder.rename(local.folder.with_name(name))
        os.chdir(local.folder)
        assert cli("doctor").code == 0
        assert local.state(run) == "running"
    go.touch()
    done = local.ended(run)
    assert (exit_of(done), done.problems, samples(done)) == ({}, None, [[3.0]])
    assert cli("doctor").code == 0


def test_a_folder_that_a_branch_brings_is_no_place_of_a_run(local: Place) -> None:
    run, _, _ = begun(local)
    (local.folder / "go").touch()
    local.ended(run)
    folder = local.store.run_folder(run.entry, 1)
    forged = folder.with_name("02.aaaaa")
    record = {name: value for name, value in json.loads((folder / "run.json").read_text()).items() if name != "exit"}
    (forged / "work").mkdir(parents=True)
    (forged / "run.json").write_text(json.dumps(record))
    (forged / "work/final.json").write_text(
        '{"format": 1, "ended": "2026-01-01T00:00:00+00:00", "duration_s": 1, "exit": {"code": 9}}'
    )
    (local.store.folder / "open" / local.store.marker(run.entry, 2)).write_text("1")
    local.cli("status")
    assert local.store.run(run.entry, 2).exit is None
    assert local.cli("doctor", "--fix").code == 0
    assert exit_of(local.store.run(run.entry, 2)) == {"lost": True}


def test_a_repository_that_is_moved_before_its_run_is_taken_in(local: Place) -> None:
    run, worker, _ = begun(local)
    (local.folder / "go").touch()
    wait_for(lambda: is_gone(worker))
    os.chdir(local.folder.rename(local.folder.with_name("moved")))
    assert local.cli("wait", run.entry, "--json").data["ended"][0]["state"] == "finished"
    assert local.cli("doctor").code == 0


def test_the_runs_of_a_copied_repository_stay_with_the_first(local: Place, cli: Cli) -> None:
    run, worker, _ = begun(local)
    (local.folder / "go").touch()
    wait_for(lambda: is_gone(worker))
    copied = local.folder.with_name("copied")
    shutil.copytree(local.folder, copied)
    os.chdir(copied)
    cli("doctor", "--fix")
    os.chdir(local.folder)
    assert exit_of(local.ended(run)) == {}


def test_an_end_that_somebody_else_wrote_does_not_count_while_the_worker_works(local: Place) -> None:
    run, _, _ = begun(local)
    final = local.left() / "final.json"
    for text in ('{"format": 1, "ended": "x", "duration_s": -5, "exit": {"code": 0}}', "{}"):
        final.write_text(text)
        assert local.state(run) == "running"
    assert local.cli("wait", "--timeout", "100ms").code == 124
    (local.folder / "go").touch()
    assert samples(local.ended(run)) == [[2.0, 3.0]]


def test_an_entry_whose_file_is_removed_during_its_run(local: Place) -> None:
    run, _, _ = begun(local)
    path = local.store.entry_path(run.entry)
    text = path.read_text()
    path.unlink()
    for words in (("wait", run.entry, "--json"), ("cancel", run.entry, "--json"), ("show", run.entry, "--json")):
        answer = local.cli(*words)
        assert (answer.code, "logbook doctor" in answer.error["hint"]) == (2, True)
    assert f"write logbooks/moe/entries/{path.name}" in local.cli("doctor").out
    path.write_text(text)
    (local.folder / "go").touch()
    assert samples(local.ended(run)) == [[2.0, 3.0]]
