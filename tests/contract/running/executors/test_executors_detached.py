"""`--detach`, and what is typed afterwards: real commands in real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import runs_of
from tests.contract.e2e.e2e_support import logbook
from tests.contract.running.executors.conftest import exit_of, is_gone, samples, series, wait_for
from tests.seams import Store
from tests.stored import at

GO = "until [ -e go ]; do sleep 0.02; done"


WAITS = ("sh", "-c", f"echo RESULT tflops=2; {GO}; echo RESULT tflops=3; exit 3")


def typed(*words: str, cwd: Path) -> str:
    """A command that goes well; what it prints."""
    done = logbook(*words, cwd=cwd)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def running(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("status", "--json").data["running"]
    return found


@pytest.mark.slow
def test_a_run_from_its_start_to_its_end(started: Cli, folder: Path) -> None:
    done = started("run", "--label", "Slow", "--detach", "--", *WAITS)
    assert (done.code, done.out) == (0, "MOE-000\n")
    assert "logbook wait MOE-000 --follow" in done.err
    [now] = wait_for(lambda: (found := running(started)) and found[0]["host"] and found)
    assert (now["id"], now["run"], now["state"], now["executor"]) == ("MOE-000", 1, "running", "local")
    assert now["host"] == os.uname().nodename
    assert now["since"]
    wait_for(lambda: running(started)[0].get("heartbeat"))
    assert wait_for(lambda: started("show", "MOE-000", "--log").out) == "RESULT tflops=2\n"
    late = started("wait", "MOE-000", "--timeout", "100ms")
    assert (late.code, late.out) == (124, "still running: MOE-000\n")
    (folder / "go").touch()
    waited = started("wait", "MOE-000")
    assert (waited.code, waited.out) == (3, "MOE-000: failed, 1 row\n")
    assert started("show", "MOE-000", "--log", "--tail", "1").out == "RESULT tflops=3\n"
    assert started("wait", "MOE-000").code == 3, "and again"
    past = started("wait")
    assert (past.code, past.out.endswith("MOE-000: failed, 1 row\n")) == (3, True), "nothing runs: the last to end"
    assert running(started) == []
    [run] = runs_of(folder)
    assert samples(run) == [[2.0, 3.0]]
    assert "Slow" in (folder / "logbooks/moe.md").read_text()
    assert started("doctor").code == 0


@pytest.mark.slow
def test_every_command_collects_first(started: Cli, folder: Path) -> None:
    for number, words in enumerate((("list",), ("status",))):
        script = f"echo $PPID > worker{number}; echo RESULT tflops={number + 7}"
        assert started("run", "--detach", "--", "sh", "-c", script).code == 0
        gone(folder, f"worker{number}")
        assert started(*words).code == 0
        assert samples(runs_of(folder, f"MOE-00{number}")[-1]) == [[number + 7]]
    assert "tflops: 7" in (folder / "logbooks/moe.md").read_text()


def gone(folder: Path, file: str) -> None:
    """Wait until the worker has ended whose number its command wrote into this file."""
    path = folder / file
    wait_for(lambda: path.exists() and path.read_text() and is_gone(int(path.read_text())))


@pytest.mark.slow
def test_wait_prints_the_output_as_it_comes(started: Cli, folder: Path) -> None:
    assert started("run", "--detach", "--", "sh", "-c", f"seq 20; {GO}; echo RESULT tflops=8; exit 3").code == 0
    wait_for(lambda: "20" in started("show", "MOE-000", "--log").out.split())
    assert started("wait", "MOE-000", "--follow", "--timeout", "100ms").code == 124
    (folder / "go").touch()
    done = started("wait", "MOE-000", "--follow")
    assert done.code == 3
    assert done.out.endswith("\n19\n20\nRESULT tflops=8\nMOE-000: failed, 1 row\n")
    assert started("wait", "--follow").code == 2


@pytest.mark.slow
def test_any_of_several(started: Cli, folder: Path) -> None:
    assert started("run", "--detach", "--", *WAITS).code == 0
    assert started("run", "--detach", "--", "sh", "-c", "sleep 0.2; echo RESULT tflops=1").code == 0
    data = started("wait", "--any", "--json").data
    assert [one["id"] for one in data["ended"]] == ["MOE-001"]
    assert data["going"] == ["MOE-000"]
    (folder / "go").touch()
    both = started("wait", "MOE-000", "MOE-001", "--json")
    assert both.code == 3
    assert [one["exit_status"] for one in both.data["ended"]] == [3, 0]


@pytest.mark.slow
def test_cancel(started: Cli, folder: Path) -> None:
    answer = started("run", "--detach", "--json", "--", "sh", "-c", "echo RESULT tflops=4; exec sleep 60")
    assert answer.data["id"] == "MOE-000"
    assert answer.data["run"] == 1
    wait_for(lambda: started("show", "MOE-000", "--log").out)
    done = started("cancel", "MOE-000", "--json")
    assert done.code == 0
    assert [(one["id"], one["run"], one["state"], len(one["rows"])) for one in done.data["ended"]] == [
        ("MOE-000", 1, "interrupted", 1)
    ]
    assert started("wait", "MOE-000").code == 130
    nothing = started("cancel", "MOE-000")
    assert (nothing.code, "MOE-000" in nothing.err, "interrupted" in nothing.err) == (2, True, True)


@pytest.mark.slow
def test_the_end_of_the_terminal(started: Cli, folder: Path) -> None:
    """A shell that is hung up takes its jobs along; not this one."""
    line = f"{sys.executable} -m logbook_agent run --detach -- sh -c '{GO}; echo RESULT tflops=1'; sleep 60"
    shell = subprocess.Popen(["sh", "-c", line], start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert shell.stdout is not None
    assert shell.stdout.readline() == b"MOE-000\n"
    os.killpg(shell.pid, signal.SIGHUP)
    shell.communicate()
    assert started("status", "--json").data["running"][0]["state"] == "running"
    (folder / "go").touch()
    assert started("wait", "MOE-000").code == 0


@pytest.mark.slow
def test_what_is_wrong_is_said_before_anything_is_started(started: Cli, folder: Path) -> None:
    for more in ((), ("--repeat", "3")):
        done = logbook("run", "--detach", *more, "--", "no-such-program", cwd=folder)
        assert done.returncode == 127
        assert b"no-such-program" in done.stderr
        assert done.stdout == b""
    assert not (folder / "logbooks/moe/entries").exists()


def test_the_plots_of_a_series_are_drawn(started: Cli, folder: Path) -> None:
    assert started("run", "--repeat", "6", "--", "echo", "RESULT tflops=2").code == 0
    assert started("plot", "MOE-000", "--kind", "noise", "--save").code == 0
    assert started("run", "--detach", "--repeat", "2", "--id", "MOE-000", "--", "echo", "RESULT tflops=7").code == 0
    assert started("wait", "MOE-000").code == 0
    [drawn] = (folder / "logbooks/moe/plots").glob("*.svg")
    assert "MOE-000/8, run 8 in time order: 7.000 TF/s" in drawn.read_text()


@pytest.mark.slow
def test_a_series(started: Cli, folder: Path) -> None:
    script = 'n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; echo RESULT tflops=$n; [ "$n" != 1 ] || exit 5'
    assert typed("run", "--detach", "--repeat", "3", "--", "sh", "-c", script, cwd=folder) == "MOE-000\n"
    waited = started("wait", "MOE-000")
    assert (waited.code, waited.out) == (5, "MOE-000: finished, 3 rows\n"), (
        "the state is that of the last run of a command"
    )
    assert [(run.repeat, run.executor) for run in runs_of(folder)] == [(1, "local"), (2, "local"), (3, "local")]
    record = at(folder / "logbooks/moe/runs/MOE-000/03/run.json")
    plain = json.loads(record.read_text())
    record.write_text(json.dumps(plain | {"ended": "2199-01-01T00:00:00+00:00"}))
    assert started("wait", "MOE-000").code == 5, "whatever the clock of the worker says"
    assert any("MOE-000 run 2: failed" in log.read_text() for log in Store(folder).folder.glob("open/*/output.log"))
    assert started("doctor").code == 0


@pytest.mark.slow
def test_a_series_whose_entry_another_branch_holds_is_not_waited_for(started: Cli, folder: Path) -> None:
    typed("run", "--detach", "--repeat", "2", "--", "sh", "-c", f": > began; {GO}", cwd=folder)
    wait_for(lambda: (folder / "began").exists())
    for name in ("entries", "runs"):
        (folder / "logbooks/moe" / name).rename(folder / name)
    waited = started("wait", "--timeout", "5s")
    for name in ("entries", "runs"):
        (folder / name).rename(folder / "logbooks/moe" / name)
    (folder / "go").touch()
    assert (waited.code, waited.out) == (0, "nothing is running\n"), waited.err
    assert started("wait").out == "MOE-000: finished, 0 rows\n"


@pytest.mark.slow
def test_wait_says_that_a_series_was_cut_off(started: Cli, folder: Path) -> None:
    typed("run", "--detach", "--repeat", "2", "--", "sh", "-c", f": > began; {GO}", cwd=folder)
    wait_for(lambda: (folder / "began").exists())
    [coordinator] = series(folder)
    coordinator.kill()
    coordinator.wait()
    (folder / "go").touch()
    waited = started("wait", "MOE-000")
    assert (waited.code, "logbook doctor" in waited.out) == (125, True)


@pytest.mark.slow
def test_a_secret_is_in_no_log_of_a_series(started: Cli, folder: Path) -> None:
    secret = "hf_" + "Zk4" * 12
    words = ("--env", f"HF_TOKEN={secret}", "--", "sh", "-c", 'echo "$HF_TOKEN $1"', "sh", secret)
    typed("run", "--detach", "--repeat", "2", *words, cwd=folder)
    assert started("wait", "MOE-000").code == 0
    files = [p for p in folder.rglob("*") if p.is_file()]
    assert [str(p) for p in files if secret.encode() in p.read_bytes()] == []


@pytest.mark.slow
def test_cancelling_a_series_ends_its_commands_too(started: Cli, folder: Path) -> None:
    typed("run", "--detach", "--repeat", "5", "--", "sh", "-c", "echo $$ >> pids; exec sleep 60", cwd=folder)
    wait_for(lambda: (folder / "pids").exists() and (folder / "pids").read_text().strip())
    assert len(series(folder)) == 1
    assert started("cancel", "MOE-000").out == "MOE-000 run 1: interrupted, 0 rows\n"
    wait_for(lambda: not series(folder))
    assert [is_gone(int(pid)) for pid in (folder / "pids").read_text().split()] == [True]
    assert started("wait", "MOE-000").code == 130
    assert len(runs_of(folder)) == 1


@pytest.mark.slow
def test_an_end_that_cannot_be_read(started: Cli, folder: Path) -> None:
    """It keeps no other run from being taken in, and nothing is lost by looking."""
    for number in (0, 1):
        script = f"echo $PPID > worker{number}; echo RESULT tflops=7; until [ -e go ]; do sleep 0.02; done"
        assert started("run", "--detach", "--", "sh", "-c", script).code == 0
    marker = Store(folder).marker("MOE-000", 1)
    spool = Store(folder).working()[0]
    (folder / "go").touch()
    for number in (0, 1):
        gone(folder, f"worker{number}")
    (spool / "final.json").write_text("{")
    listed = started("list", "--json")
    assert {one["id"]: one["state"] for one in listed.data} == {"MOE-000": "lost", "MOE-001": "finished"}
    assert marker.replace("_", "/") in json.loads(listed.out)["warnings"][0]
    told = started("doctor")
    assert (told.code, "logbook doctor --fix" in told.out) == (1, True)
    assert started("doctor", "--fix").code == 0
    [run] = runs_of(folder)
    assert (exit_of(run), samples(run)) == ({"lost": True}, [[7]])
    assert started("doctor").code == 0


def test_what_has_no_run_can_be_given_one(started: Cli) -> None:
    """The hint fits what the entry holds."""
    started("note", "--title", "one")
    started("note", "--plan", "two", "--command", "true")
    for entry_id, hint in (("MOE-000", "logbook show MOE-000"), ("MOE-001", "logbook run --id MOE-001")):
        assert started("wait", entry_id, "--json").error["hint"] == hint
        for words in (("show", entry_id, "--log"), ("wait", entry_id, "--follow")):
            assert started(*words).err.endswith(f"{hint}\n")
