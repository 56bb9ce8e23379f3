"""Budgets of a logbook: what starts beyond them is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.running.executors.conftest import far_place
from tests.seams import Store

RUN = ("run", "--", "echo", "RESULT tflops=1")
AB = ("ab", "--axis", "env:Q=1,2", "--", "echo", "RESULT tflops=1")
RECIPE = 'name: one\nquestion: q\ncommand: [echo, "RESULT tflops={k}"]\naxes: {k: [1, 2, 3, 4]}\nconfirm: 0\n'


def begin(cli: Cli, *budget: str) -> None:
    options = [word for part in budget for word in ("--budget", part)]
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s", *options).code == 0


def runs(folder: Path) -> int:
    store = Store(folder)
    return sum(len(store.runs(entry)) for entry in store.entry_ids())


@pytest.fixture
def spent(cli: Cli, folder: Path) -> Cli:
    """A logbook of two runs at most, which were made."""
    begin(cli, "runs=2")
    assert [cli(*RUN).code, cli(*RUN).code] == [0, 0]
    (folder / "one.yaml").write_text(RECIPE)
    return cli


@pytest.mark.parametrize(
    "words",
    [
        RUN,
        AB,
        ("sweep", "one.yaml"),
        ("run", "--noise", "--", "echo", "RESULT tflops=1"),
        ("run", "--repeat", "3", "--", "true"),
        ("run", "--id", "MOE-000", "--", "true"),
        ("run", "--detach", "--", "true"),
        ("ab", "--detach", *AB[1:]),
        ("sweep", "one.yaml", "--detach"),
    ],
)
def test_nothing_starts_beyond_the_budget(spent: Cli, folder: Path, words: tuple[str, ...]) -> None:
    answer = spent(*words)
    assert answer.code == 2
    assert "budget" in answer.err
    assert "2 of 2 runs" in answer.err
    assert "logbook criteria --budget runs=" in answer.err
    assert runs(folder) == 2
    assert Store(folder).entry_ids() == ["MOE-000", "MOE-001"]


def test_what_is_typed_raises_it(spent: Cli, folder: Path) -> None:
    hint = spent(*RUN).err.partition("logbook criteria ")[2].split("\n")[0].split()
    assert spent("criteria", *hint).code == 0
    assert spent(*RUN).code == 0
    assert "3 of 4 runs" in spent("criteria").out
    assert "3 of 4 runs" in spent("status").out
    assert "budget: runs=4" in Store(folder).view_path.read_text()


def test_a_limit_is_taken_away(spent: Cli) -> None:
    assert spent("criteria", "--budget", "runs=").code == 0
    assert spent(*RUN).code == 0


def test_what_makes_no_run_goes_on(spent: Cli) -> None:
    assert spent("sweep", "one.yaml", "--dry-run").code == 0
    assert spent("note", "--title", "a note").code == 0
    assert spent("show", "MOE-000").code == 0


def test_warm_ups_are_no_runs(cli: Cli, folder: Path) -> None:
    begin(cli, "runs=2")
    assert cli("run", "--discard", "2", "--repeat", "2", "--", "echo", "RESULT tflops=1").code == 0
    assert runs(folder) == 4
    assert cli(*RUN).code == 2


def test_repeats_stop_in_their_midst(cli: Cli, folder: Path) -> None:
    begin(cli, "runs=2")
    answer = cli("run", "--repeat", "3", "--", "echo", "RESULT tflops=1")
    assert answer.code == 2
    assert "2 of 2 runs" in answer.err
    assert runs(folder) == 2


def test_an_ab_stops_in_its_midst(cli: Cli, folder: Path) -> None:
    begin(cli, "runs=5")
    answer = cli(*AB)
    assert answer.code == 2
    assert "5 of 5 runs" in answer.out
    assert "logbook criteria --budget" in answer.out
    assert "better" not in answer.out
    assert runs(folder) == 5


def test_a_sweep_stops_in_its_midst_tears_down_and_goes_on_later(cli: Cli, folder: Path) -> None:
    begin(cli, "runs=3")
    (folder / "one.yaml").write_text(RECIPE + "setup: [[touch, up]]\nteardown: [[rm, up]]\n")
    answer = cli("sweep", "one.yaml")
    assert answer.code == 2
    assert "3 of 3 runs" in answer.out + answer.err
    assert not (folder / "up").exists()
    assert cli("sweep", "--id", "MOE-000").code == 2
    assert cli("criteria", "--budget", "runs=20").code == 0
    assert cli("sweep", "--id", "MOE-000").code == 0


def test_a_sweep_that_is_done_is_shown(cli: Cli, folder: Path) -> None:
    begin(cli, "runs=4")
    (folder / "one.yaml").write_text(RECIPE)
    assert cli("sweep", "one.yaml").code == 0
    assert cli("sweep", "--id", "MOE-000").code == 0


def test_a_sweep_elsewhere_stops_too(cli: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(cli, "runs=3")
    place = far_place(cli, folder, tmp_path / "far", monkeypatch, "equivalent = true")
    (folder / "one.yaml").write_text(RECIPE)
    answer = place.cli("sweep", "one.yaml", "--on", "far", "--parallel", "2")
    assert (answer.code, runs(folder)) == (2, 3), answer.err
    states = {run.exit["code"] for run in Store(folder).runs("MOE-000")}
    assert states == {0}


def test_of_many_processes_some_get_the_last_runs(cli: Cli, folder: Path) -> None:
    begin(cli, "runs=2")
    words = [sys.executable, "-m", "logbook_agent", *RUN]
    going = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(6)]
    assert sorted(process.wait(60) for process in going) == [0, 0, 2, 2, 2, 2]
    assert runs(folder) == 2
    assert len(Store(folder).entry_ids()) == 2


def test_runs_in_progress_count(cli: Cli, folder: Path) -> None:
    begin(cli, "runs=1")
    assert cli("run", "--detach", "--", "sleep", "20").code == 0
    assert cli(*RUN).code == 2
    cli("cancel", "MOE-000")
    cli("wait", "--timeout", "20s")


def test_hours_refuse_once_they_are_spent(cli: Cli, folder: Path) -> None:
    begin(cli, f"hours={0.3 / 3600}")
    assert cli("run", "--", "sleep", "0.1").code == 0
    answer = cli("run", "--", "sleep", "20")
    assert answer.code == 124
    assert answer.err.count("budget") == 1
    assert cli(*RUN).code == 2
    # Who reads it later sees that it was no limit of its own.
    assert "the hours of the budget are spent" in cli("show", "MOE-001").out


def test_a_runs_own_limit_is_the_shorter_one(cli: Cli, folder: Path) -> None:
    begin(cli, "hours=1")
    began = time.monotonic()
    answer = cli("run", "--timeout", "0.3s", "--", "sleep", "20")
    assert answer.code == 124
    assert "budget" not in answer.err
    assert time.monotonic() - began < 10
    assert cli(*RUN).code == 0
    assert Store(folder).runs("MOE-000")[0].timeout_s == 0.3


def test_time_that_is_running_counts(cli: Cli, folder: Path) -> None:
    begin(cli, f"hours={0.5 / 3600}")
    process = subprocess.Popen(
        [sys.executable, "-m", "logbook_agent", "run", "--", "sleep", "30"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ},
    )
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and (cli("list").code, runs(folder) if Store(folder).entry_ids() else 0)[1] == 0:
        time.sleep(0.05)
    time.sleep(0.7)
    assert cli(*RUN).code == 2
    assert process.wait(30) == 124


def test_the_criterion_reads_the_same_numbers(cli: Cli) -> None:
    begin(cli, "runs=2")
    assert cli("criteria", "--add", "the budget is spent", "--predicate", "budget: {}").code == 0
    assert "0 of 2 runs" in cli("criteria").out
    assert [cli(*RUN).code, cli(*RUN).code, cli(*RUN).code] == [0, 0, 2]
    assert cli("criteria").code == 0
    assert cli("criteria", "--budget", "runs=3").code == 0
    assert cli("criteria").code == 1
    assert "2 of 3 runs" in cli("criteria").out


def test_a_criterion_with_numbers_of_its_own_refuses_as_well(cli: Cli) -> None:
    begin(cli)
    assert cli("criteria", "--add", "spent", "--predicate", "budget: {runs: 1}").code == 0
    assert cli(*RUN).code == 0
    answer = cli(*RUN)
    assert answer.code == 2
    hint = answer.err.partition("logbook criteria ")[2].split("\n")[0].split()
    assert cli("criteria", *hint).code == 0
    assert cli(*RUN).code == 0
    assert "2 of 2 runs" in cli("criteria").out


def test_a_header_file_states_it(cli: Cli, folder: Path) -> None:
    (folder / "header.yaml").write_text("topic: moe\nprefix: MOE\nbudget: {runs: 1, hours: 2}\n")
    assert cli("start", "--from", "header.yaml", "--budget", "runs=2").code == 0
    assert Store(folder).header.budget == {"runs": 2, "hours": 2.0}


@pytest.mark.parametrize(
    "text", ["runs=0", "runs=-1", "runs=many", "runs=1.5", "hours=0", "minutes=3", "3", "hours=inf"]
)
def test_what_is_no_budget_is_refused(cli: Cli, folder: Path, text: str) -> None:
    answer = cli("start", "moe", "--budget", text)
    assert answer.code == 2
    assert "--budget" in answer.err
    assert not (folder / "logbooks").exists()


def test_a_run_that_was_killed_before_its_command_is_not_spent(
    cli: Cli, git: Callable[..., str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(cli, "runs=2")
    # Before the command starts, the tool asks git which code it is.
    (folder.parent / "bin").mkdir()
    kill = f'ls {folder}/logbooks/moe/runs/*/*/work >/dev/null 2>&1 && kill -9 $PPID\nexec {shutil.which("git")} "$@"\n'
    (folder.parent / "bin/git").write_text(f"#!/bin/sh\n{kill}")
    (folder.parent / "bin/git").chmod(0o755)
    words = [sys.executable, "-m", "logbook_agent", *RUN]
    path = f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    killed = subprocess.run(words, env={**os.environ, "PATH": path}, capture_output=True, check=False)
    assert killed.returncode == -9
    assert [one["state"] for one in cli("list", "--json").data] == ["never-started"]
    assert [cli(*RUN).code, cli(*RUN).code, cli(*RUN).code] == [0, 0, 2]
