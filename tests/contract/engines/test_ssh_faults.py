"""Runs behind a real ssh when connections, sessions, clients, disks and hosts fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from logbook_agent.model.record import run_state
from tests.conftest import Cli, confirm
from tests.contract.campaign.recipes.sweep_support import runs_of
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.engines.ssh_place import SshPlace, ssh_place
from tests.contract.running.executors.conftest import sh, wait_for


def test_connection_and_session_killed(box: SshPlace) -> None:
    run = box.send(*sh("for i in 1 2 3 4 5 6; do echo $i; sleep 0.4; done; echo RESULT tflops=1.5; exit 4"))
    for _ in range(3):
        wait_for(lambda: box.follow(run, 0).output)
        box.cut()
    done = box.ended(run)
    assert done.exit is not None
    assert done.exit.code == 4
    assert box.log(run) == b"1\n2\n3\n4\n5\n6\nRESULT tflops=1.5\n"
    assert len(done.rows) == 1


def test_a_worker_that_is_killed_is_lost(box: SshPlace) -> None:
    run = box.send(*sh("echo RESULT tflops=2; exec sleep 60"))
    wait_for(lambda: b"RESULT" in box.follow(run, 0).output)
    [worker] = box.workers()
    for process in (worker, *worker.children(recursive=True)):
        process.kill()
    done = box.ended(run)
    assert run_state(done, box.book.life) == "lost"
    assert len(done.rows) == 1
    assert "its worker vanished" in done.problems[-1]


def test_no_host(started: Cli) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[executors.box]\nkind = "ssh"\nhost = "127.0.0.1"\noptions = ["-p", "1"]\nsync = false\n')
    answer = started("run", "--on", "box", "--", "true")
    assert answer.code != 0
    assert "127.0.0.1 does not answer" in answer.err
    assert "Connection refused" in answer.err
    assert started("list", "--json").data[0]["state"] == "never-started"
    checked = started("executors", "box", "--json")
    assert checked.code == 1
    assert "does not answer" in checked.data["executors"][0]["problem"]


def test_a_project_cannot_choose_where_commands_go(started: Cli, folder: Path) -> None:
    (folder / "logbook.toml").write_text('[executors.box]\nkind = "ssh"\nhost = "nowhere.invalid"\n')
    answer = started("run", "--on", "box", "--", "true")
    assert answer.code == 2
    assert "is not confirmed" in answer.err
    assert started("list", "--json").data == []
    assert "not confirmed" in started("executors").out
    confirm(started)
    assert started("executors", "--offline", "--json").data["executors"][1]["is_confirmed"]
    (folder / "logbook.toml").write_text('[executors.box]\nkind = "ssh"\nhost = "elsewhere.invalid"\n')
    assert "is not confirmed" in started("run", "--on", "box", "--", "true").err


@pytest.fixture
def synced(started: Cli, git: Callable[..., str], folder: Path, tmp_path: Path) -> Iterator[SshPlace]:
    """One that brings the working tree along, which is a git repository."""
    place = ssh_place(folder, tmp_path / "ssh", "sync = true")
    yield place
    place.end()


def test_the_code_that_was_synced_is_named(synced: SshPlace, started: Cli, folder: Path) -> None:
    (folder / "bench.py").write_text("print('RESULT tflops=2')\n")
    (folder / "link.py").symlink_to("bench.py")
    assert started("run", "--on", "box", "--", sys.executable, "link.py").code == 0
    (folder / "bench.py").write_text("print('RESULT tflops=3')\n")
    assert started("run", "--on", "box", "--", sys.executable, "link.py").code == 0
    first, second = (runs_of(folder, entry)[0] for entry in ("MOE-000", "MOE-001"))
    assert [run.rows[0].metrics["tflops"].samples for run in (first, second)] == [(2,), (3,)]
    assert first.code is not None
    assert second.code is not None
    assert first.code.synced != second.code.synced
    assert first.code.commit is not None
    assert sorted(path.name for path in (synced.far / "trees").iterdir()) == sorted(
        [str(first.code.synced), str(second.code.synced)]
    )
    assert first.host.name == os.uname().nodename


_REWRITES = """n=$(cat count.txt); echo RESULT tflops=$n; echo $((n + 100)) > count.txt; rm bench.sh
mkdir out; echo kept > out/trace.json; chmod a-w out
"""


def test_every_run_works_in_a_copy_of_its_own(synced: SshPlace, started: Cli, folder: Path) -> None:
    """Whatever a run does to the files that were synced: the next one measures the same code, the record names what was
    changed, and what else it wrote stays in its copy."""
    (folder / "bench.sh").write_text(_REWRITES)
    (folder / "count.txt").write_text("1\n")
    for _ in range(2):
        assert started("run", "--on", "box", "--", "bash", "bench.sh").code == 0
    first, second = (runs_of(folder, entry)[0] for entry in ("MOE-000", "MOE-001"))
    assert [run.rows[0].metrics["tflops"].samples for run in (first, second)] == [(1,), (1,)]
    said = ("the command changed 2 synced files, in its own copy: bench.sh, count.txt",)
    assert (first.problems, second.problems) == (said, said)
    assert first.code is not None
    original = synced.far / "trees" / str(first.code.synced)
    assert not (original.stat().st_mode | (original / "count.txt").stat().st_mode) & 0o222
    [spool] = (synced.far / "spools").glob("MOE-001*")
    left = [path.relative_to(spool / "tree").as_posix() for path in (spool / "tree").rglob("*") if path.is_file()]
    assert sorted(left) == ["count.txt", "out/trace.json"]
    # On request, what no run needs goes, when it is an hour old.
    for path in (original, *(synced.far / "spools").glob("*"), *(synced.far / "spools").glob("*/closed")):
        os.utime(path, (time.time() - 4000,) * 2)
    assert started("executors", "box", "--prune", "--json").data["pruned"]["box"] | {"bytes": 0} == {
        "trees": 1,
        "runs": 2,
        "bytes": 0,
        "uncollected": 0,
    }
    assert list((synced.far / "spools").iterdir()) == list((synced.far / "trees").iterdir()) == []


def test_a_synced_tree_that_was_changed_is_synced_again(synced: SshPlace, started: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text("echo RESULT tflops=1\n")
    assert started("run", "--on", "box", "--", "bash", "bench.sh").code == 0
    [original] = (synced.far / "trees").iterdir()
    original.chmod(0o700)
    (original / "extra.py").write_text("")
    refused = started("run", "--on", "box", "--", "bash", "bench.sh")
    assert "never started: the synced files in " in refused.err
    assert "were changed there; the next run syncs them again" in refused.err
    assert started("list", "--json").data[1]["state"] == "never-started"
    assert started("run", "--on", "box", "--", "bash", "bench.sh").code == 0


def test_a_tree_that_is_not_there_never_started(box: SshPlace, started: Cli, git: Callable[..., str]) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    file.write_text(file.read_text() + 'tree = "/nowhere/else"\n')
    refused = started("run", "--on", "box", "--", "true")
    assert f"never started: the folder /nowhere/else does not exist on {os.uname().nodename}" in refused.err
    assert started("list", "--json").data[0]["state"] == "never-started"


def test_without_sync_the_far_tree_says_what_it_is(box: SshPlace, git: Callable[..., str], tmp_path: Path) -> None:
    """A checkout with another commit lies there."""
    there = tmp_path / "there"
    git("clone", "-q", ".", str(there))
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "other", cwd=there)
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    file.write_text(file.read_text() + f'tree = "{there}"\n')
    done = box.ended(box.send("pwd"))
    assert box.log(done) == f"{there}\n".encode()
    assert done.code is not None
    assert done.code.commit == git("rev-parse", "HEAD", cwd=there)
    assert done.code.commit != git("rev-parse", "HEAD")
    assert done.code.synced is None


@pytest.mark.parametrize(("days", "said"), [(3, "ahead by 71 h 5"), (-3, "behind by 7")])
def test_a_clock_that_is_days_off_is_noted(box: SshPlace, days: int, said: str) -> None:
    run = box.send("true")
    box.until(run, "ended")
    for name, key in (("began.json", "started"), ("final.json", "ended")):
        file = box.left(run) / name
        plain = json.loads(file.read_text())
        plain[key] = (datetime.fromisoformat(plain[key]) + timedelta(days=days)).isoformat()
        file.write_text(json.dumps(plain))
    [problem] = box.collected(run).problems
    assert problem.startswith(f"the clock of that machine is {said}")


def test_a_spool_that_a_branch_brought_removes_nothing(
    box: SshPlace, started: Cli, folder: Path, tmp_path: Path, git: Callable[..., str]
) -> None:
    """It says that a run of this executor is in some folder there, which it would be fetched from
    and removed."""
    started("run", "--on", "box", "--", "true")
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "output.log").write_text("mine\n")
    record = folder / "logbooks/moe/runs/MOE-000/01/run.json"
    new = {"run": 2, "spool": "f" * 16, "exit": None, "ended": None, "child": None, "rows": []}
    data = json.loads(record.read_text()) | new
    forged = record.parents[1] / "02/run.json"
    forged.parent.mkdir()
    forged.write_text(json.dumps(data))
    sent = folder / "logbooks/moe/open" / ("f" * 16) / "sent.json"
    sent.parent.mkdir(parents=True)
    sent.write_text(json.dumps({"format": 1, "folder": str(precious)}))
    git("add", "-f", str(sent))
    for words in (["list"], ["cancel", "MOE-000"], ["doctor", "--fix"]):
        started(*words)
    assert sorted(file.name for file in precious.iterdir()) == ["output.log"]


def test_runs_take_turns_at_the_devices_there(box: SshPlace, started: Cli, folder: Path) -> None:
    """Whatever becomes of the connection and of the client that sent the run that waits."""
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    file.write_text(f'{file.read_text()}devices = ["tpu0"]\n')
    first = box.send(*sh("echo RESULT tflops=1; until [ -e go ]; do sleep 0.02; done; date +%s.%N"))
    wait_for(lambda: b"RESULT" in box.follow(first, 0).output)
    words = [*LOGBOOK, "run", "--on", "box", "--", *sh("date +%s.%N; echo RESULT tflops=2")]
    client = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert client.stderr is not None
    said = next(line for line in client.stderr if b"queued" in line)
    assert said.endswith(b"queued for tpu0 behind MOE-000 run 1\n")
    client.kill()
    client.communicate()
    box.cut()
    waits = started("status", "--json").data["running"][-1]
    assert (waits["state"], waits["said"]) == ("submitted", "queued for tpu0 behind MOE-000 run 1")
    (folder / "go").touch()
    runs = [box.ended(run) for run in (first, box.book.runs(waits["id"])[-1])]
    assert [run.exit is not None and run.exit.code for run in runs] == [0, 0]
    end, begin = (float(box.log(run).split()[at]) for run, at in zip(runs, (-1, 0), strict=True))
    assert end <= begin
