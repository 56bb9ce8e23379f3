"""A run that goes on while a rebase brings another entry with the number of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.e2e.e2e_support import logbook
from tests.contract.running.executors.conftest import exit_of, is_gone, samples, series, wait_for
from tests.seams import Store

WAITS = "echo RESULT tflops=2; until [ -e go ]; do sleep 0.02; done; echo RESULT tflops=3"


def ids(cli: Cli) -> dict[str, str]:
    """The IDs of the entries by their titles."""
    return {entry["title"]: entry["id"] for entry in cli("list", "--json").data}


@pytest.fixture
def rebased(cli: Cli, git: Callable[..., str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Commit this clone's MOE-000, and pull the MOE-000 of another clone; the name by which ours is known then."""
    other = folder.parent / "other"

    def rebase() -> str:
        git("add", "logbooks")
        git("commit", "-qm", "mine")
        git("pull", "-q", "--rebase", str(other), "main")
        assert "interrupted" not in cli("doctor").out
        both = ids(cli)
        assert set(both) == {"of the other", "mine"}
        assert all(name.startswith("MOE-000.") for name in both.values())
        return both["mine"]

    cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s")
    git("add", "logbooks")
    git("commit", "-qm", "start")
    git("clone", "-q", ".", str(other))
    monkeypatch.chdir(other)
    assert cli("run", "--title", "of the other", "--", "echo", "RESULT tflops=1").code == 0
    git("add", "logbooks", cwd=other)
    git("commit", "-qm", "other", cwd=other)
    monkeypatch.chdir(folder)
    return rebase


def assert_both(cli: Cli, folder: Path) -> None:
    book, both = Store(folder), ids(cli)
    [other], [mine] = book.runs(both["of the other"]), book.runs(both["mine"])
    assert (samples(other), samples(mine)) == ([[1.0]], [[2.0, 3.0]])
    assert (exit_of(mine), mine.problems) == ({}, None)
    assert book.log_path(both["mine"], 1).read_text() == "RESULT tflops=2\nRESULT tflops=3\n"
    assert not book.log_path(both["of the other"], 1).exists()
    assert cli("doctor").code == 0


@pytest.mark.slow
def test_a_detached_run_is_collected(cli: Cli, rebased: Callable[[], str], folder: Path) -> None:
    assert cli("run", "--detach", "--title", "mine", "--", "sh", "-c", WAITS).code == 0
    wait_for(lambda: "RESULT" in cli("show", "MOE-000", "--log").out)
    mine = rebased()
    assert mine in cli("status").out
    (folder / "go").touch()
    assert cli("wait", mine).code == 0
    assert_both(cli, folder)


@pytest.mark.slow
def test_a_run_in_the_foreground_writes_its_end(cli: Cli, rebased: Callable[[], str], folder: Path) -> None:
    words = [sys.executable, "-m", "logbook_agent", "run", "--title", "mine", "--", "sh", "-c", WAITS]
    tool = subprocess.Popen(words, cwd=folder, env=dict(os.environ), stdout=subprocess.DEVNULL)
    wait_for(lambda: (log := Store(folder).log_path("MOE-000", 1)).is_file() and log.read_text())
    rebased()
    (folder / "go").touch()
    assert tool.wait() == 0
    assert_both(cli, folder)


@pytest.mark.slow
def test_a_detached_series_goes_on(cli: Cli, rebased: Callable[[], str], folder: Path) -> None:
    started = logbook("run", "--detach", "--repeat", "2", "--title", "mine", "--", "sh", "-c", WAITS, cwd=folder)
    assert started.returncode == 0
    wait_for(lambda: "RESULT" in cli("show", "MOE-000", "--log").out)
    mine = rebased()
    (folder / "go").touch()
    wait_for(lambda: not series(folder))
    assert cli("wait", mine).code == 0
    assert [samples(run) for run in Store(folder).runs(mine)] == [[[2.0, 3.0]]] * 2
    assert cli("doctor").code == 0


@pytest.mark.slow
def test_a_spool_waits_for_its_record_on_another_branch(cli: Cli, git: Callable[..., str], folder: Path) -> None:
    cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s")
    git("add", "logbooks")
    git("commit", "-qm", "start")
    git("checkout", "-qb", "side")
    assert cli("run", "--detach", "--", "sh", "-c", "echo $PPID > ../worker; echo RESULT tflops=2").code == 0
    worker = folder.parent / "worker"
    wait_for(lambda: worker.exists() and worker.read_text() and is_gone(int(worker.read_text())))
    git("add", "logbooks")
    git("commit", "-qm", "run")
    book = Store(folder)
    marker = book.marker("MOE-000", 1)
    git("checkout", "-q", "main")
    [work] = book.working()
    os.utime(work, (0, 0))
    cli("status")
    assert f"holds the run {marker.replace('_', '/')}, whose record is not here" in cli("doctor").out
    git("checkout", "-q", "side")
    assert cli("wait", "MOE-000").code == 0
    assert [len(run.rows) for run in book.runs("MOE-000")] == [1]
