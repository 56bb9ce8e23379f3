"""Workers as processes of their own: what is left when one of the parties is killed, and clear states for all of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from logbook_agent.model.codec import encode
from logbook_agent.model.errors import StoreError, ToolError
from logbook_agent.model.record import run_state
from logbook_agent.model.run import Exit, Process, Run
from logbook_agent.running.executors import local as local_executor
from logbook_agent.running.executors.contract import OVER
from logbook_agent.running.executors.intake import take_in_all
from logbook_agent.running.launch.family import end_group
from logbook_agent.running.order import work_of
from logbook_agent.running.worker.work import sealed, unsealed
from logbook_agent.store.book import Book
from logbook_agent.store.spool import Spool
from logbook_agent.store.workspace import Workspace
from tests.conftest import Cli
from tests.contract.running.executors.conftest import Place, collect, is_gone, sh, wait_for
from tests.contract.running.executors.test_executors_contract import SECRET

WAITS = "echo RESULT tflops=2; until [ -e go ]; do sleep 0.02; done; echo RESULT tflops=3"
# Submits a run and dies at once, as the shell of a client may.
CLIENT = """
import os, sys
from pathlib import Path
from tests.contract.running.executors.conftest import Place
place = Place("local", Path.cwd())
run = place.send("sh", "-c", sys.argv[1])
os.kill(os.getpid(), 9)
"""


def worker_of(place: Place, run: Run) -> int:
    """The pid of the worker, when its command runs."""
    wait_for(lambda: place.follow(run, 0).output)
    began = place.spool(run).began()
    assert began is not None
    assert began.tool is not None
    return began.tool.pid


def child_of(place: Place, run: Run) -> int:
    found = wait_for(lambda: (b := place.spool(run).began()) is not None and b.child)
    return int(found.pid)


def state(place: Place, run: Run) -> str:
    return run_state(place.read(run), place.book.life)


@pytest.mark.slow
def test_a_killed_worker_leaves_an_orphan_and_then_a_lost_run(local: Place) -> None:
    run = local.send(*sh(WAITS))
    worker, child = worker_of(local, run), child_of(local, run)
    os.kill(worker, signal.SIGKILL)
    local.until(run, "orphaned")
    assert state(local, run) == "orphaned"
    assert local.collected(run).exit is None, "its command still runs"
    local.executor.stop(local.spool(run))
    assert is_gone(child)
    assert local.until(run, "lost") == "lost"
    assert state(local, run) == "lost"
    done = local.collected(run)
    assert done.exit == Exit(lost=True)
    assert run_state(done, local.book.life) == "lost"
    assert done.ended is None
    assert done.duration_s is None
    assert [row.metrics["tflops"].samples for row in done.rows] == [(2.0,)], "what its log holds"
    assert done.problems[0].startswith("lost: its worker vanished; this record was rebuilt from its log, last written")
    assert local.log(run) == b"RESULT tflops=2\n"


@pytest.mark.slow
def test_a_killed_client_loses_nothing(local: Place) -> None:
    client = subprocess.run([sys.executable, "-c", CLIENT, WAITS], cwd=local.folder, check=False, timeout=60)
    assert client.returncode == -signal.SIGKILL
    [run] = local.book.runs("MOE-000")
    local.until(run, "running")
    assert state(local, run) == "running"
    (local.folder / "go").touch()
    done = local.ended(run)
    assert done.exit == Exit(code=0)
    assert len(done.rows) == 1


@pytest.mark.slow
def test_hangup_and_ctrl_c_of_the_terminal_do_not_reach_it(local: Place) -> None:
    run = local.send(*sh(WAITS))
    worker = worker_of(local, run)
    assert os.getsid(worker) == worker
    assert os.getsid(child_of(local, run)) != os.getsid(0)
    (local.folder / "go").touch()
    assert local.ended(run).exit == Exit(code=0)


@pytest.mark.slow
def test_a_machine_that_was_started_again(local: Place) -> None:
    """The lock is free and the processes are others: what a reboot leaves."""
    run = local.send(*sh(WAITS))
    worker, child = worker_of(local, run), child_of(local, run)
    os.kill(worker, signal.SIGKILL)
    os.killpg(child, signal.SIGKILL)
    wait_for(lambda: is_gone(child))
    began = json.loads((local.spool(run).folder / "began.json").read_text())
    # The numbers of processes are handed out again.
    began["child"] = {"pid": os.getpid(), "started": 1000.0}
    (local.spool(run).folder / "began.json").write_text(json.dumps(began))
    assert state(local, run) == "lost"


@pytest.mark.slow
def test_a_process_that_only_has_a_number_is_left_alone(local: Place) -> None:
    """A repository that was pulled may name any process."""
    run = local.send(*sh(WAITS))
    worker, child = worker_of(local, run), child_of(local, run)
    os.kill(worker, signal.SIGKILL)
    local.until(run, "orphaned")
    spool = local.spool(run)
    began = json.loads((spool.folder / "began.json").read_text())
    del began["child"]["started"]
    (spool.folder / "began.json").write_text(json.dumps(began))
    assert state(local, run) == "lost"
    local.executor.stop(spool)
    assert not is_gone(child)
    with pytest.raises(StoreError, match=f"process {child} is not ended"):
        end_group(Process(pid=child))
    os.killpg(child, signal.SIGKILL)


@pytest.mark.slow
def test_a_client_that_died_before_it_started_a_worker(local: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_executor.Local, "start", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        local.send("true")
    [run] = local.book.runs("MOE-000")
    assert state(local, run) == "never-started"
    done = local.collected(run)
    assert done.exit == Exit(never_started=True)
    assert done.problems == ("never started: its worker did not start",)
    assert local.book.spools() == []


@pytest.mark.slow
def test_a_worker_that_the_system_refuses(local: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    run = local.send("true")
    assert run.exit == Exit(never_started=True)
    assert run.problems == ("never started: no worker was started: No such file or directory (refused by the system)",)
    assert local.book.spools() == []


@pytest.mark.slow
def test_a_spool_that_cannot_be_read(local: Place) -> None:
    run = local.send("echo", "RESULT tflops=1")
    local.until(run, "ended")
    final = local.spool(run).folder / "final.json"
    text = final.read_text()
    final.write_text(text[: len(text) // 2])
    wait_for(lambda: not local.spool(run).is_held())
    assert state(local, run) == "lost"
    final.write_text(text)
    assert local.collected(run).exit == Exit(code=0), "nothing was lost by looking"


@pytest.mark.slow
def test_of_another_machine_nothing_is_said(local: Place) -> None:
    run = local.send("true")
    local.until(run, "ended")
    wait_for(lambda: not local.spool(run).is_held())
    spool = local.spool(run)
    (spool.folder / "final.json").unlink()
    holder = json.loads((spool.folder / "worker.lock").read_text())
    (spool.folder / "worker.lock").write_text(json.dumps({**holder, "host": "elsewhere"}))
    assert state(local, run) == "running"
    assert local.collected(run).exit is None


def work(place: Place, *argv: str, env: dict[str, str] | None = None) -> tuple[Workspace, dict[str, object], Spool]:
    """Sealed work as a file in a spool, for a worker that an engine starts."""
    workspace = place.workspace
    plan = place.plan(workspace, *argv, env=env or {})
    done, _ = sealed(work_of(workspace, workspace.book(), plan, 1), workspace.redactor)
    spool = Spool(folder=place.folder / "far/MOE-000.01", within=place.folder / "far")
    spool.make()
    plain = encode(done)
    (spool.folder / "work.json").write_text(json.dumps(plain))
    return workspace, plain, spool


def worker(spool: Spool, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "logbook_agent.worker", str(spool.folder), *options],
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow
def test_work_in_a_file_goes_by_names(local: Place) -> None:
    _, plain, spool = work(local, "sh", "-c", "echo RESULT tflops=1 is=$TOKEN", env={"TOKEN": SECRET})
    assert SECRET not in json.dumps(plain)
    assert plain["hidden"] == {"env.TOKEN": "TOKEN"}
    done = worker(spool)
    assert done.returncode == 125
    assert done.stderr == (
        "not set where the worker runs: TOKEN (they hold secrets, and a secret is never sent with a command)\n"
    )
    assert not spool.has("began.json")
    assert worker(spool, TOKEN=SECRET).returncode == 0
    end = spool.end()
    assert end is not None
    assert end.exit == Exit(code=0)
    assert (spool.folder / "output.log").read_text() == "RESULT tflops=1 is=$TOKEN\n"
    again = worker(spool, TOKEN=SECRET)
    assert again.returncode == 125
    assert again.stderr == "MOE-000.01 has already been started (it holds a run)\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux alone binds a process to its parent")
def test_bound_to_its_parent(local: Place) -> None:
    _, _, spool = work(local, "sh", "-c", "sleep 60 & echo $! > grandchild; wait")
    engine = subprocess.Popen(
        ["sh", "-c", '"$0" -m logbook_agent.worker "$1" --with-parent & wait', sys.executable, str(spool.folder)]
    )
    wait_for(lambda: (local.folder / "grandchild").exists() and (local.folder / "grandchild").read_text())
    grandchild = int((local.folder / "grandchild").read_text())
    engine.kill()
    engine.wait()
    wait_for(lambda: is_gone(grandchild))
    end = wait_for(spool.end)
    assert end.exit.interrupted


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="nobody tells where an open file lies now")
@pytest.mark.slow
def test_a_repository_that_is_moved_during_a_run_loses_nothing(local: Place, cli: Cli) -> None:
    go = local.folder.parent / "go"
    run = local.send(*sh(f"cd /; echo begins; until [ -e {go} ]; do sleep 0.02; done; echo RESULT tflops=3"))
    worker_of(local, run)
    for name in ("moved", "moved-again"):
        local.folder = local.folder.rename(local.folder.with_name(name))
        os.chdir(local.folder)
        assert "holds open runs of this logbook, whose root was" in cli("doctor").out
        assert cli("doctor", "--fix").code == 0
        assert "running" in cli("list").out
    go.touch()
    done = local.ended(run)
    assert done.problems == ()
    assert done.exit == Exit(code=0)
    assert len(done.rows) == 1
    assert local.book.spools() == []


@pytest.mark.slow
def test_a_folder_in_the_logbook_is_no_spool(started: Cli, folder: Path) -> None:
    """A branch may bring one, under the name that the record of a run tells."""
    assert started("run", "--detach", "--", *sh(f"{WAITS}; echo RESULT tflops=2")).code == 0
    name = json.loads((folder / "logbooks/moe/runs/MOE-000/01/run.json").read_text())["spool"]
    forged = folder / "logbooks/moe/open" / name
    forged.mkdir(parents=True)
    for file in ("final.json", "claim.json", "output.log"):
        (forged / file).write_text(
            '{"format": 1, "ended": "2026-01-01T00:00:00+00:00", "duration_s": 1, "exit": {"code": 9}}'
        )
    assert started("list").out.split()[3] == "running"
    assert "brought by a branch" in started("doctor").out
    Path("go").touch()
    assert started("wait", "MOE-000").code == 0
    assert started("show", "MOE-000", "--json").data["runs"][0]["exit"]["code"] == 0
    assert "a folder is kept in the backups" in started("doctor").out
    started("doctor", "--fix")
    assert started("doctor").code == 0
    assert not forged.exists()


def test_a_new_clone_has_the_old_place_of_a_moved_one(started: Cli, local: Place) -> None:
    """The worker goes on writing by the old name, and the new clone has spools of its own there."""
    assert started("run", "--detach", "--", "true").code == 0
    run = local.read(local.book.runs("MOE-000")[0])
    local.until(run, *OVER)
    moved = local.folder.with_name("moved")
    local.folder.rename(moved)
    os.chdir(moved)
    assert "lost: logbook doctor looks for its worker" in started("list").out
    assert "lost: logbook doctor looks for its worker" in started("wait", run.entry).out
    assert started("doctor", "--fix").code == 0
    local.folder.mkdir()
    os.chdir(local.folder)
    assert started("start", "moe", "--prefix", "MOE").code == 0
    assert started("run", "--detach", "--", "true").code == 0
    ended = started("wait")
    assert (ended.out, ended.err) == ("MOE-000: finished, 0 rows\n", "")
    os.chdir(moved)
    assert started("wait", run.entry).out == f"{run.entry}: finished, 0 rows\n"


def test_the_runs_of_a_copied_repository_stay_with_the_first(local: Place, cli: Cli) -> None:
    """A moved root is known by its old path, where nothing is left."""
    run = local.send("true")
    local.until(run, *OVER)
    copied = local.folder.with_name("copied")
    shutil.copytree(local.folder, copied)
    os.chdir(copied)
    assert "whose root was" not in cli("doctor", "--fix").out
    os.chdir(local.folder)
    assert local.ended(run).exit == Exit(code=0)


@pytest.mark.slow
def test_an_end_that_somebody_else_wrote_does_not_count_while_the_worker_works(started: Cli, local: Place) -> None:
    assert started("run", "--detach", "--", *sh(WAITS)).code == 0
    run = local.read(local.book.runs("MOE-000")[0])
    worker_of(local, run)
    final = local.spool(run).folder / "final.json"
    final.write_text('{"format": 1, "ended": "x", "duration_s": -5, "exit": {"code": 0}}')
    assert started("list").out.split()[3] == "running"
    final.write_text("{}")
    late = started("wait", "--timeout", "1s")
    assert (late.code, late.out, late.err) == (124, "still running: MOE-000\n", "")
    (local.folder / "go").touch()
    assert started("wait").out == "MOE-000: finished, 1 row\n"


@pytest.mark.slow
def test_an_entry_whose_file_is_removed_during_its_run(started: Cli, local: Place) -> None:
    assert started("run", "--detach", "--", *sh(WAITS)).code == 0
    (local.folder / "logbooks/moe/entries/MOE-000.yaml").unlink()
    for words in (("wait", "MOE-000"), ("cancel", "MOE-000"), ("show", "MOE-000", "--log")):
        said = started(*words).err
        assert "cause: its file was removed, but its runs are there" in said
        assert "next:  logbook doctor --fix writes an entry for them" in said
    assert "entry MOE-000 written" in started("doctor", "--fix").out
    (local.folder / "go").touch()
    assert started("wait", "MOE-000").out == "MOE-000: finished, 1 row\n"


def test_a_secret_in_a_word_goes_by_a_name_of_ours(local: Place) -> None:
    workspace = local.workspace
    plan = local.plan(workspace, "sh", "-c", "true", "--token", SECRET)
    whole = work_of(workspace, workspace.book(), plan, 1)
    shut, values = sealed(whole, workspace.redactor)
    assert shut.argv == ("sh", "-c", "true", "--token", "")
    assert values == {"LOGBOOK_SECRET_4": SECRET}
    assert unsealed(shut, values) == whole
    with pytest.raises(ToolError):
        unsealed(shut, {})


@pytest.mark.slow
def test_runs_that_are_taken_in_together(local: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cannot be read, and the record of another cannot be written: the third is there."""
    runs = [local.send("echo", "RESULT tflops=1") for _ in range(3)]
    for run in runs:
        local.until(run, "ended")
    (local.spool(runs[0]).folder / "final.json").write_text("{")
    write_runs = Book.write_runs

    def refused(book: Book, runs: Sequence[Run]) -> list[Run]:
        if any(run.run == 2 for run in runs):
            raise StoreError("cannot write run 2: No space left on device")
        return write_runs(book, runs)

    workspace = local.workspace
    with monkeypatch.context() as patch:
        patch.setattr(Book, "write_runs", refused)
        assert [run.run for run in collect(workspace, workspace.book())] == [3]
    assert [warning.split(":")[1].strip() for warning in workspace.warnings] == ["MOE-000.01", "MOE-000.02"]
    assert [local.read(run).exit for run in runs] == [None, None, Exit(code=0)]
    workspace = local.workspace
    assert [run.run for run in collect(workspace, workspace.book())] == [2]
    assert len(local.read(runs[1]).rows) == 1


def test_a_spool_that_cannot_be_removed_keeps_no_other_run(local: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [local.send(*sh("echo RESULT tflops=1")) for _ in range(4)]
    spools = [local.spool(run) for run in runs]
    for run in runs:
        local.until(run, "ended")
    drop = Spool.drop

    def refused(spool: Spool) -> None:
        if spool.folder in (spools[0].folder, spools[2].folder):
            raise StoreError("cannot remove it")
        drop(spool)

    monkeypatch.setattr(Spool, "drop", refused)
    workspace = local.workspace
    taken = take_in_all(workspace, workspace.book(), spools[:2])
    assert set(taken.ended) == {spool.folder for spool in spools[:2]}
    assert set(taken.errors) == {spools[0].folder}
    assert not spools[1].folder.exists()
    assert len(collect(workspace, workspace.book())) == 2
    assert not spools[3].folder.exists()
    assert "not removed: cannot remove it" in workspace.warnings
