"""A run that goes on while a rebase and `doctor --fix` give its entry another number."""

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
from tests.stored import at

WAITS = "echo RESULT tflops=2; until [ -e go ]; do sleep 0.02; done; echo RESULT tflops=3"


@pytest.fixture
def rebased(cli: Cli, git: Callable[..., str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Commit this clone's MOE-000, pull the MOE-000 of another clone, and have the doctor mend it."""
    other = folder.parent / "other"

    def rebase() -> None:
        git("add", "logbooks")
        git("commit", "-qm", "mine")
        words = ["git", "pull", "-q", "--rebase", str(other), "main"]
        assert "CONFLICT" in subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False).stdout
        # The conflict is no end of the run.
        assert "interrupted" not in cli("doctor").out
        mended = cli("doctor", "--fix")
        assert "MOE-001" in mended.out
        git("add", "logbooks")
        git("-c", "core.editor=true", "rebase", "--continue")

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


def assert_both(folder: Path) -> None:
    book = Store(folder)
    assert [book.entry(i).title for i in book.entry_ids()] == ["of the other", "mine"]
    [other], [mine] = book.runs("MOE-000"), book.runs("MOE-001")
    assert (samples(other), samples(mine)) == ([[1.0]], [[2.0, 3.0]])
    assert (exit_of(mine), mine.problems) == ({}, None)
    assert book.log_path("MOE-001", 1).read_text() == "RESULT tflops=2\nRESULT tflops=3\n"
    assert not book.log_path("MOE-000", 1).exists()


@pytest.mark.slow
def test_a_detached_run_is_collected_under_its_new_number(cli: Cli, rebased: Callable[[], None], folder: Path) -> None:
    assert cli("run", "--detach", "--title", "mine", "--", "sh", "-c", WAITS).code == 0
    wait_for(lambda: "RESULT" in cli("show", "MOE-000", "--log").out)
    rebased()
    assert "MOE-001" in cli("status").out
    assert cli("doctor").code == 0
    (folder / "go").touch()
    assert cli("wait", "MOE-001").code == 0
    assert_both(folder)
    assert cli("doctor").code == 0


@pytest.mark.slow
def test_a_run_in_the_foreground_writes_its_end_to_its_new_place(
    cli: Cli, rebased: Callable[[], None], folder: Path
) -> None:
    words = [sys.executable, "-m", "logbook_agent", "run", "--title", "mine", "--", "sh", "-c", WAITS]
    tool = subprocess.Popen(words, cwd=folder, env=dict(os.environ), stdout=subprocess.DEVNULL)
    log = at(folder / "logbooks/moe/runs/MOE-000/01/output.log")
    wait_for(lambda: log.is_file() and log.read_text())
    rebased()
    (folder / "go").touch()
    assert tool.wait() == 0
    assert_both(folder)
    assert cli("doctor").code == 0


@pytest.mark.slow
def test_a_detached_series_ends_before_its_entry_gets_another_number(
    cli: Cli, git: Callable[..., str], folder: Path, rebased: Callable[[], None]
) -> None:
    assert (
        logbook("run", "--detach", "--repeat", "2", "--title", "mine", "--", "sh", "-c", WAITS, cwd=folder).returncode
        == 0
    )
    wait_for(lambda: "RESULT" in cli("show", "MOE-000", "--log").out)
    git("add", "logbooks")
    git("commit", "-qm", "mine")
    words = ["git", "pull", "-q", "--rebase", str(folder.parent / "other"), "main"]
    subprocess.run(words, cwd=folder, capture_output=True, check=False)
    refused = cli("doctor", "--fix")
    assert refused.code == 1
    assert "logbook wait MOE-000" in refused.out
    (folder / "go").touch()
    book = Store(folder)
    wait_for(lambda: not series(folder))
    assert "MOE-001" in cli("doctor", "--fix").out
    git("add", "logbooks")
    git("-c", "core.editor=true", "rebase", "--continue")
    assert [book.entry(i).title for i in book.entry_ids()] == ["of the other", "mine"]
    # The series stopped at the conflict; what it had measured is collected.
    assert cli("wait", "MOE-001").code == 0
    assert_both(folder)
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
    git("checkout", "-q", "main")
    book = Store(folder)
    [log] = book.state_folder.rglob("output.log")
    os.utime(log.parent, (0, 0))
    cli("status")
    assert "MOE-000.01" in cli("doctor").out
    git("checkout", "-q", "side")
    assert cli("wait", "MOE-000").code == 0
    assert [len(run.rows) for run in book.runs("MOE-000")] == [1]
