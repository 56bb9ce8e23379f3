"""Runs that end badly: Ctrl-C, timeouts, signals, and the death of the tool itself. Real processes throughout."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import Cli
from tests.contract.e2e.e2e_support import LOGBOOK, blocks_of
from tests.seams import Store
from tests.stored import at

pytestmark = pytest.mark.slow

# A child with a grandchild; each writes its pid, and ignores what `trap` says.
SCRIPT = """\
{trap}
echo "RESULT topk=1 tflops=1.5"
echo $$ > child.pid
bash -c '{trap} echo $$ > grandchild.pid; echo deep; while :; do sleep 0.05; done'
while :; do sleep 0.05; done
"""


def wait_for(what: Callable[[], object], seconds: float = 10) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "did not happen in time"
        time.sleep(0.01)


@pytest.fixture
def spawn(started: Cli, folder: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts `logbook run ARGS -- CMD` and waits until its grandchild runs."""
    begun: list[subprocess.Popen[bytes]] = []

    def run(*options: str, trap: str = "") -> subprocess.Popen[bytes]:
        command = ["bash", "-c", SCRIPT.format(trap=trap)]
        process = subprocess.Popen(
            [*LOGBOOK, "run", *options, "--", *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        begun.append(process)
        wait_for(lambda: len(list(folder.glob("*.pid"))) == 2 and all(p.read_text() for p in folder.glob("*.pid")))
        store = Store(folder)
        wait_for(lambda: (log := store.log_path("MOE-000", 1)).exists() and b"deep" in log.read_bytes())
        return process

    yield run
    for process in begun:
        process.kill()
    for pid in pids(folder):
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)
    for process in begun:
        process.communicate(timeout=20)


def pids(folder: Path) -> list[int]:
    return [int(p.read_text()) for p in folder.glob("*.pid") if p.read_text().strip()]


def alive(folder: Path) -> list[int]:
    found = []
    for pid in pids(folder):
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
        except psutil.NoSuchProcess:
            continue
    return found


def first_run(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(at(folder / "logbooks/moe/runs/MOE-000/01/run.json").read_text())
    return found


def assert_row_is_kept(folder: Path) -> None:
    view = (folder / "logbooks/moe.md").read_text()
    assert "tflops: 1.500" in view
    assert first_run(folder)["rows"]


def test_ctrl_c(spawn: Callable[..., subprocess.Popen[bytes]], started: Cli, folder: Path) -> None:
    process = spawn("--repeat", "3")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert b"Traceback" not in err
    assert alive(folder) == []
    assert first_run(folder)["exit"]["interrupted"] is True  # type: ignore[index]
    assert started("list", "--json").data[0]["state"] == "interrupted"
    assert started("list", "--json").data[0]["runs"] == 1, "the series ends there"
    assert_row_is_kept(folder)
    assert [p for p in (folder / "logbooks/moe/open").iterdir() if not p.name.startswith(".")] == []


def test_ctrl_c_twice_kills_what_ignores_it(
    spawn: Callable[..., subprocess.Popen[bytes]], started: Cli, folder: Path
) -> None:
    process = spawn(trap='trap "" INT TERM;')
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    process.communicate(timeout=20)
    assert time.monotonic() - began < 10
    assert process.returncode == 130
    assert alive(folder) == []
    assert_row_is_kept(folder)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.sample(1)
def test_other_signals_end_the_group_too(
    spawn: Callable[..., subprocess.Popen[bytes]], folder: Path, number: signal.Signals
) -> None:
    process = spawn()
    process.send_signal(number)
    process.communicate(timeout=20)
    assert (process.returncode, alive(folder)) == (130, [])
    assert_row_is_kept(folder)


@pytest.mark.parametrize("code", [1, 77, 255])
@pytest.mark.sample(2)
def test_the_childs_code_is_passed_on(started: Cli, code: int) -> None:
    assert started("run", "--", "bash", "-c", f"exit {code}").code == code


def test_the_tool_is_killed_while_the_command_goes_on(
    spawn: Callable[..., subprocess.Popen[bytes]], started: Cli, folder: Path
) -> None:
    process = spawn("--title", "survivor")
    process.kill()
    process.wait()
    assert started("status", "--json").data["open"]["orphaned"][0]["id"] == "MOE-000"
    assert "RESULT topk=1" in Store(folder).log_path("MOE-000", 1).read_text()
    assert started("render").code == 0
    assert started("show", "MOE-000", "--json").data["state"] == "orphaned"
    os.killpg(os.getpgid(pids(folder)[0]), signal.SIGKILL)
    wait_for(lambda: not alive(folder))
    assert started("status", "--json").data["open"]["interrupted"][0]["id"] == "MOE-000"
    assert started("render").code == 0
    assert started("run", "--title", "after", "--", "true").code == 0
    assert blocks_of(folder / "logbooks/moe.md") == ["header", "MOE-000", "MOE-001"]
    assert started("show", "MOE-000", "--json").data["state"] == "interrupted"


def test_a_running_entry_is_seen_by_others(
    spawn: Callable[..., subprocess.Popen[bytes]], started: Cli, folder: Path
) -> None:
    spawn("--title", "now")
    assert started("status", "--json").data["open"]["running"] == [{"id": "MOE-000", "title": "now"}]
    assert started("note", "--title", "meanwhile", "--json").data["id"] == "MOE-001"
    assert "running since" in (folder / "logbooks/moe.md").read_text()


def test_many_at_once_get_ids_of_their_own(started: Cli, folder: Path) -> None:
    words = [*LOGBOOK, "run", "--", sys.executable, "-c", "print('RESULT tflops=1')"]
    begun = [subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    errors = [p.communicate(timeout=60)[1] for p in begun]
    assert [p.returncode for p in begun] == [0] * 4, errors
    assert blocks_of(folder / "logbooks/moe.md") == ["header", "MOE-000", "MOE-001", "MOE-002", "MOE-003"]
    before = (folder / "logbooks/moe.md").read_text()
    started("render")
    assert (folder / "logbooks/moe.md").read_text() == before
    assert before.count("tflops: 1.000") == 4


def test_a_reader_that_goes_away(started: Cli, folder: Path) -> None:
    """`logbook run ... | head -1`: the run goes on and is recorded."""
    command = "bash -c 'for i in $(seq 2000); do echo RESULT i=$i n=$i; done; echo last'"
    shell = f"{' '.join(LOGBOOK)} run -- {command} | head -1"
    done = subprocess.run(["bash", "-c", shell], cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "RESULT i=1 n=1\n"
    assert "Traceback" not in done.stderr
    assert started("list", "--json").data[0]["state"] == "finished"
