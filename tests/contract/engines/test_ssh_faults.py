"""Runs behind a real ssh when connections, sessions, clients, disks and hosts fail."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import runs_of
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.engines.ssh_place import SshPlace, ssh_place
from tests.contract.running.executors.conftest import exit_of, is_gone, samples, settings, sh, wait_for


def test_connection_and_session_killed(box: SshPlace) -> None:
    run = box.send(*sh("for i in 1 2 3 4 5 6; do echo $i; sleep 0.4; done; echo RESULT tflops=1.5; exit 4"))
    for _ in range(3):
        wait_for(lambda: box.output(run))
        box.cut()
    done = box.ended(run)
    assert (exit_of(done), samples(done)) == ({"code": 4}, [[1.5]])
    assert box.log(run) == b"1\n2\n3\n4\n5\n6\nRESULT tflops=1.5\n"


def test_a_worker_that_is_killed_is_lost(box: SshPlace) -> None:
    run = box.send(*sh("echo RESULT tflops=2; exec sleep 60"))
    box.printed(run)
    [worker] = box.workers()
    for process in (worker, *worker.children(recursive=True)):
        process.kill()
    done = box.ended(run)
    assert (exit_of(done), samples(done)) == ({"lost": True}, [[2.0]])
    assert done.problems


def test_no_host(started: Cli) -> None:
    settings().write_text('[executors.box]\nkind = "ssh"\nhost = "127.0.0.1"\noptions = ["-p", "1"]\nsync = false\n')
    answer = started("run", "--on", "box", "--", "true")
    assert answer.code != 0
    assert "127.0.0.1" in answer.err
    assert "Connection refused" in answer.err
    assert started("list", "--json").data[0]["state"] == "never-started"
    checked = started("executors", "box", "--json")
    assert checked.code == 1
    assert "127.0.0.1" in checked.data["executors"][0]["problem"]


@pytest.fixture
def synced(started: Cli, git: Callable[..., str], folder: Path, tmp_path: Path) -> Iterator[SshPlace]:
    """One that brings the working tree along, which is a git repository."""
    place = ssh_place(started, folder, tmp_path / "ssh", "sync = true")
    yield place
    place.end()


def test_the_code_that_was_synced_is_named(synced: SshPlace, started: Cli, folder: Path) -> None:
    (folder / "bench.py").write_text("print('RESULT tflops=2')\n")
    (folder / "link.py").symlink_to("bench.py")
    assert started("run", "--on", "box", "--", sys.executable, "link.py").code == 0
    (folder / "bench.py").write_text("print('RESULT tflops=3')\n")
    assert started("run", "--on", "box", "--", sys.executable, "link.py").code == 0
    first, second = (runs_of(folder, entry)[0] for entry in ("MOE-000", "MOE-001"))
    assert [samples(run) for run in (first, second)] == [[[2]], [[3]]]
    assert first.code.synced != second.code.synced
    assert first.code.commit is not None
    assert {path.name.partition(".")[0] for path in (synced.engine / "far/trees").iterdir()} == {
        str(first.code.synced),
        str(second.code.synced),
    }
    assert first.host.name == os.uname().nodename


@pytest.mark.slow
def test_two_versions_of_the_code_are_compared_there(
    synced: SshPlace, started: Cli, git: Callable[..., str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each side runs the files of its own checkout, also those that the command names by their whole path."""
    (folder / "src").mkdir()
    (folder / "src/value.py").write_text("SPEED = 10\n")
    (folder / "bench.py").write_text("import os, value\nprint(f'RESULT tflops={value.SPEED}', os.getcwd())\n")
    git("add", "bench.py", "src")
    git("commit", "-q", "-m", "The benchmark")
    (folder / "src/value.py").write_text("SPEED = 20\n")
    monkeypatch.setenv("PYTHONPATH", f"{folder}/src{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    ask = ("ab", "--code", "HEAD", "WORK", "--on", "box", "--max-pairs", "1", "--json")
    made = started(*ask, "--", sys.executable, f"{folder}/bench.py")
    assert (made.code, made.data["pairs"]) == (0, 1), made.err
    sides = {run.part.side.partition("+")[0]: (samples(run), run.code.synced) for run in runs_of(folder)}
    assert sides["WORK"][0] == [[20]]
    assert len({synced for _, synced in sides.values()}) == 2
    assert all(str(folder) not in word for run in runs_of(folder) for word in run.argv)
    # What brings no files along cannot have two versions of them.
    settings().write_text(settings().read_text().replace("sync = true", "sync = false"))
    refused = started(*ask, "--new", "--", sys.executable, "bench.py")
    assert (refused.code, "--code and --on box" in refused.error["message"]) == (2, True)


DAY_S = 24 * 3600.0
_REWRITES = """n=$(cat count.txt); echo RESULT tflops=$n; echo $((n + 100)) > count.txt; rm bench.sh
mkdir -p out; echo kept > out/trace.json
"""


def test_every_run_has_the_synced_files_as_they_were_sent(synced: SshPlace, started: Cli, folder: Path) -> None:
    """Whatever a run does to the files that were synced: the next one measures the same code, the record names what was
    changed, and what else it wrote stays."""
    (folder / "bench.sh").write_text(_REWRITES)
    (folder / "count.txt").write_text("1\n")
    for _ in range(2):
        assert started("run", "--on", "box", "--", "bash", "bench.sh").code == 0
    first, second = (runs_of(folder, entry)[0] for entry in ("MOE-000", "MOE-001"))
    assert [samples(run) for run in (first, second)] == [[[1]], [[1]]]
    for run in (first, second):
        [problem] = [p.text for p in run.problems]
        assert problem.endswith("bench.sh, count.txt")
    slots = [path for path in (synced.engine / "far/trees" / str(first.code.synced)).iterdir() if path.is_dir()]
    assert [(one / "out/trace.json").read_text() for one in slots] == ["kept\n"], "both worked in the first slot"


def test_what_nobody_has_used_for_long_is_removed_there(synced: SshPlace, started: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text("touch out; echo RESULT tflops=1\n")
    for size in range(3):
        (folder / "size").write_text(f"{size}\n")
        assert started("run", "--on", "box", "--", "bash", "bench.sh").code == 0
    codes = [str(runs_of(folder, f"MOE-00{number}")[0].code.synced) for number in range(3)]
    trees, spools = synced.engine / "far/trees", synced.engine / "far/spools"
    for code, days in zip(codes, (15, 13, 15), strict=True):
        for path in (trees / code, trees / f"{code}.tar.gz"):
            os.utime(path, (time.time() - days * DAY_S,) * 2)
    for number, days in ((0, 91), (1, 89)):
        [spool] = spools.glob(f"MOE-00{number}*")
        os.utime(spool, (time.time() - days * DAY_S,) * 2)
    assert started("run", "--on", "box", "--", "bash", "bench.sh").code == 0
    assert {path.name for path in trees.iterdir()} == {name for code in codes[1:] for name in (code, f"{code}.tar.gz")}
    assert sorted(path.name[:7] for path in spools.iterdir()) == ["MOE-001", "MOE-002", "MOE-003"]


def test_a_synced_tree_that_was_removed_is_synced_again(synced: SshPlace, started: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text("echo RESULT tflops=1\n")
    assert started("run", "--on", "box", "--", "bash", "bench.sh").code == 0
    for path in (synced.engine / "far/trees").iterdir():
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
    assert started("run", "--on", "box", "--", "bash", "bench.sh").code == 0


def test_a_tree_that_is_not_there_never_started(box: SshPlace, started: Cli, git: Callable[..., str]) -> None:
    settings().write_text(settings().read_text() + 'tree = "/nowhere/else"\n')
    refused = started("run", "--on", "box", "--", "true")
    assert all(word in refused.err for word in ("/nowhere/else", os.uname().nodename))
    assert started("list", "--json").data[0]["state"] == "never-started"


def test_without_sync_the_far_tree_says_what_it_is(box: SshPlace, git: Callable[..., str], tmp_path: Path) -> None:
    """A checkout with another commit lies there."""
    there = tmp_path / "there"
    git("clone", "-q", ".", str(there))
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "other", cwd=there)
    settings().write_text(settings().read_text() + f'tree = "{there}"\n')
    done = box.ended(box.send("pwd"))
    assert box.log(done) == f"{there}\n".encode()
    assert done.code.commit == git("rev-parse", "HEAD", cwd=there)
    assert done.code.commit != git("rev-parse", "HEAD")
    assert done.code.synced is None


@pytest.mark.parametrize(("days", "how"), [(3, "ahead"), (-3, "behind")])
def test_a_clock_that_is_days_off_is_noted(box: SshPlace, days: int, how: str) -> None:
    run = box.send(*sh("echo $PPID > worker"))
    worker, left = box.number("worker"), box.left()
    wait_for(lambda: is_gone(worker))
    for name, key in (("began.json", "started"), ("final.json", "ended")):
        plain = json.loads((left / name).read_text())
        plain[key] = (datetime.fromisoformat(plain[key]) + timedelta(days=days)).isoformat()
        (left / name).write_text(json.dumps(plain))
    [problem] = [p.text for p in box.ended(run).problems]
    # Three days less what this test took, rounded to minutes.
    assert any(f" is {how} by {length} " in problem for length in ("71 h 59 min", "72 h 00 min")), problem


def test_runs_take_turns_at_the_devices_there(box: SshPlace, started: Cli, folder: Path) -> None:
    """Whatever becomes of the connection and of the client that sent the run that waits."""
    settings().write_text(f'{settings().read_text()}devices = ["tpu0"]\n')
    first = box.send(*sh("echo RESULT tflops=1; until [ -e go ]; do sleep 0.02; done; date +%s.%N"))
    box.printed(first)
    words = [*LOGBOOK, "run", "--on", "box", "--", *sh("date +%s.%N; echo RESULT tflops=2")]
    client = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert client.stderr is not None
    said = next(line for line in client.stderr if b"queued" in line)
    assert {b"tpu0", b"MOE-000"} <= {*said.split()}
    client.kill()
    client.communicate()
    box.cut()
    waits = started("status", "--json").data["running"][0]
    assert (waits["state"], "tpu0" in waits["said"]) == ("submitted", True)
    (folder / "go").touch()
    runs = [box.ended(run) for run in (first, box.store.runs(waits["id"])[-1])]
    assert [exit_of(run) for run in runs] == [{}, {}]
    end, begin = (float(box.log(run).split()[at]) for run, at in zip(runs, (-1, 0), strict=True))
    assert end <= begin
