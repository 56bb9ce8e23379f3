"""A planned entry is executed by one process at a time, and once, in all worktrees of a clone."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Answer, Cli
from tests.seams import groups_in

JOB = """
import sys, time
open(sys.argv[1], "a").write("begun\\n")
time.sleep(float(sys.argv[2]))
print("METRIC a=1")
"""


In = Callable[..., Answer]


@pytest.fixture
def within(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> In:
    """`logbook WORDS` in a worktree."""

    def typed(tree: Path, *words: str) -> Answer:
        monkeypatch.chdir(tree)
        return cli(*words)

    return typed


def git(tree: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=tree, check=True, capture_output=True)


@pytest.fixture
def trees(within: In, tmp_path: Path) -> tuple[Path, Path]:
    """Two worktrees with one plan, which appends to a file and then takes its time."""
    git(tmp_path, "init", "-q", "-b", "main")
    within(tmp_path, "start", "moe", "--prefix", "MOE", "--metric", "a:max")
    job, log = tmp_path / "job.py", tmp_path / "log"
    job.write_text(JOB)
    planned = within(tmp_path, "note", "--plan", "First", "--command", f"Job: {sys.executable} {job} {log} 30")
    assert planned.code == 0, planned.err
    git(tmp_path, "add", "logbooks")
    git(tmp_path, "commit", "-q", "-m", "plan")
    git(tmp_path, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    return tmp_path, tmp_path / "other"


def wait_for(path: Path, lines: int) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() or len(path.read_text().splitlines()) < lines:
        assert time.monotonic() < deadline, "the command did not start"
        time.sleep(0.05)


def test_a_second_one_is_told_who_has_it_and_a_killed_claim_returns(trees: tuple[Path, Path], within: In) -> None:
    first, second = trees
    job, log = first / "job.py", first / "log"

    execution = ("run", "--id", "MOE-000")

    def refusal(tree: Path) -> str:
        answer = within(tree, *execution, "--json")
        assert answer.code == 3, answer
        return answer.error["message"]

    agent = subprocess.Popen(
        [sys.executable, "-m", "logbook_agent", *execution],
        cwd=first, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(log, 1)
    [claim] = within(second, "status", "--json").data["claimed"]
    assert (claim["id"], claim["pid"], claim["root"]) == ("MOE-000", agent.pid, str(first / "logbooks"))
    plan = within(second, "next", "--json").data["steps"][0]
    assert str(agent.pid) in plan["claimed_by"]
    message = refusal(second)
    for named in (str(agent.pid), os.uname().nodename, f"{first}/logbooks"):
        assert named in message

    hint = within(second, *execution, "--json").error["hint"]
    assert hint.startswith(f"wait until it ends: logbook wait MOE-000 --root {first}/logbooks; ")

    # The process is killed and its command lives on: nobody else starts it.
    os.kill(agent.pid, signal.SIGKILL)
    agent.wait()
    refusal(second)
    [child] = groups_in(first)
    os.kill(child, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while within(first, "list", "--json").data[0]["state"] in ("running", "orphaned"):
        assert time.monotonic() < deadline, "its command goes on"

    # Killed as a whole, it returns: here as run 2 of the same entry, since run 1 executed nothing.
    job.write_text(JOB.replace("time.sleep(float(sys.argv[2]))", "None"))
    assert within(first, *execution).code == 0
    assert log.read_text() == "begun\n" * 2
    assert f"{first}/logbooks" in within(second, *execution, "--json").error["message"]

    # Unless somebody says that it is to be executed here, too.
    assert within(second, "note", "--plan", "--release", "MOE-000").code == 0
    assert within(second, *execution).code == 0
    assert log.read_text() == "begun\n" * 3
    assert not within(first, "status", "--json").data.get("claimed")


def test_what_was_executed_is_not_left(cli: Cli) -> None:
    cli("start", "moe", "--prefix", "MOE")
    cli("note", "--plan", "Two", "--command", "A: true", "--command", "B: false")
    assert cli("run", "--id", "MOE-000", "--label", "A").code == 0
    # A command that failed was executed.
    assert cli("run", "--id", "MOE-000").code == 1
    refused = cli("run", "--id", "MOE-000", "--json")
    assert (refused.code, refused.error["code"]) == (2, "usage")
    assert len(cli("show", "MOE-000", "--json").data["runs"]) == 2


def test_a_plan_is_executed_once_also_where_a_branch_does_not_have_its_runs(cli: Cli, folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    cli("start", "moe", "--prefix", "MOE")
    cli("note", "--plan", "One", "--command", "true")
    git(folder, "add", "logbooks")
    git(folder, "commit", "-q", "-m", "plan")
    assert cli("run", "--id", "MOE-000").code == 0
    git(folder, "switch", "-q", "-c", "other")
    git(folder, "add", "logbooks")
    git(folder, "commit", "-q", "-m", "run")
    git(folder, "switch", "-q", "main")
    assert cli("run", "--id", "MOE-000").code == 3
    [step] = cli("next", "--json").data["steps"]
    assert ("command" in step, f"in {folder}/logbooks at " in step["executed"]) == (False, True)
    assert [one["id"] for one in cli("status", "--json").data["executed"]] == ["MOE-000"]
    assert "executed: MOE-000 in " in cli("status").out
    assert cli("status", "--json").data["next_actions"] == [{"id": "MOE-000", "next": step["what"]}]
    assert "to execute it here: logbook run --id MOE-000\n" in cli("note", "--plan", "--release", "MOE-000").out
    assert ("executed" in cli("status", "--json").data, cli("run", "--id", "MOE-000").code) == (False, 0)


def test_pairs_that_another_branch_has_are_named_before_anything_is_checked_out(cli: Cli, folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    cli("start", "moe", "--prefix", "MOE", "--metric", "time_s:min:s")
    (folder / "bench.sh").write_text("echo METRIC time_s=1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "bench")
    (folder / "bench.sh").write_text("echo METRIC time_s=2\n")
    ask = ("--evaluator", "none", "--max-pairs", "1", "--plan", "--", "sh", "bench.sh")
    assert cli("ab", "--code", "HEAD", "WORK", *ask).code == 0
    git(folder, "add", "logbooks")
    git(folder, "commit", "-q", "-m", "plan")
    assert cli("ab", "--id", "MOE-000", "--max-pairs", "1").code == 0
    git(folder, "switch", "-q", "-c", "other")
    git(folder, "add", "logbooks")
    git(folder, "commit", "-q", "-m", "run")
    git(folder, "switch", "-q", "main")
    refused = cli("ab", "--id", "MOE-000")
    assert (refused.code, "executed already" in refused.err, "checking out" in refused.err) == (3, True, False)
    [step] = cli("next", "--json").data["steps"]
    assert ("command" in step, "executed" in step) == (False, True)
    assert "logbook ab --id MOE-000" in cli("note", "--plan", "--release", "MOE-000").out


def test_release_of_what_nobody_claims(cli: Cli) -> None:
    cli("start", "moe", "--prefix", "MOE")
    cli("note", "--plan", "Two", "--command", "true")
    assert cli("note", "--plan", "--release", "moe-0").out.startswith("nobody claims MOE-000\n")
    assert cli("note", "--plan", "Three", "--release", "MOE-000").code == 2
    assert cli("note", "--release", "MOE-001").code == 2


def test_what_a_removed_worktree_executed_is_left_to_do(trees: tuple[Path, Path], within: In) -> None:
    first, second = trees
    (first / "job.py").write_text(JOB.replace("time.sleep(float(sys.argv[2]))", "None"))
    assert within(second, "run", "--id", "MOE-000").code == 0
    [step] = within(first, "next", "--json").data["steps"]
    assert ("command" in step, "executed" in step) == (False, True)
    git(first, "worktree", "remove", "--force", str(second))
    [step] = within(first, "next", "--json").data["steps"]
    assert (step.get("command"), "executed" in step) == ("logbook run --id MOE-000", False)
    assert within(first, "run", "--id", "MOE-000").code == 0


def test_a_plan_that_was_killed_in_another_worktree_is_gone_on_with_there(cli: Cli, within: In, folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    cli("start", "moe", "--prefix", "MOE", "--metric", "a:max")
    job, log, there = folder / "job.py", folder / "log", folder / "other"
    job.write_text(JOB)
    words = f"{sys.executable} {job} {log}"
    cli("note", "--plan", "Two", "--command", f"A: {words} 0", "--command", f"B: {words} 30")
    git(folder, "add", "logbooks")
    git(folder, "commit", "-q", "-m", "plan")
    git(folder, "worktree", "add", "-q", "-b", "other", str(there))
    agent = subprocess.Popen(
        [sys.executable, "-m", "logbook_agent", "run", "--id", "MOE-000"],
        cwd=there, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def left_alone() -> None:
        [step] = within(folder, "next", "--json").data["steps"]
        assert ("command" in step, f"in {there}/logbooks at " in step["executed"]) == (False, True)
        refused = within(folder, "run", "--id", "MOE-000", "--json")
        assert (refused.code, "go on there" in refused.error["hint"]) == (3, True)

    wait_for(log, 2)
    os.kill(agent.pid, signal.SIGKILL)
    agent.wait()
    left_alone()
    [child] = groups_in(there)
    os.kill(child, signal.SIGKILL)
    job.write_text(JOB.replace("time.sleep(float(sys.argv[2]))", "None"))
    left_alone()
    deadline = time.monotonic() + 30
    while within(there, "list", "--json").data[0]["state"] in ("running", "orphaned"):
        assert time.monotonic() < deadline, "its command goes on"
    assert within(there, "run", "--id", "MOE-000").code == 0
    left_alone()
    assert log.read_text() == "begun\n" * 3


def test_an_entry_on_another_branch_is_found_by_its_commit(cli: Cli, folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    cli("start", "moe", "--prefix", "MOE")
    git(folder, "add", "logbooks")
    git(folder, "commit", "-q", "-m", "start")
    git(folder, "switch", "-q", "-c", "other")
    cli("note", "--plan", "One", "--command", "true")
    git(folder, "add", "logbooks")
    git(folder, "commit", "-q", "-m", "The plan")
    git(folder, "switch", "-q", "main")
    hint = cli("run", "--id", "MOE-000", "--json").error["hint"]
    words = shlex.split(hint.partition("its commit: ")[2])
    found = subprocess.run(words, cwd=folder / "logbooks", capture_output=True, text=True)
    assert found.stdout.endswith(" The plan\n"), hint


RECIPE = """\
name: two
question: Does it matter?
command: [bash, bench.sh, "{size}"]
axes:
  size: [1, 2]
metrics: [a]
confirm: 0
"""


def test_a_sweep_that_another_worktree_went_on_with_is_not_gone_on_with_here(
    cli: Cli, within: In, tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    within(tmp_path, "start", "moe", "--prefix", "MOE", "--metric", "a:max")
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes/two.yaml").write_text(RECIPE)
    stop = "[ $1 = 2 ] && [ ! -e again ] && { touch again; kill -INT $PPID; sleep 5; }\n"
    (tmp_path / "bench.sh").write_text(stop + "echo METRIC a=$1\n")
    assert within(tmp_path, "sweep", "two").code == 130
    git(tmp_path, "add", "bench.sh", "recipes", "logbooks")
    git(tmp_path, "commit", "-q", "-m", "sweep")
    other = tmp_path / "other"
    git(tmp_path, "worktree", "add", "-q", "-b", "other", str(other))
    (other / "again").touch()
    assert within(tmp_path, "sweep", "--id", "MOE-000").code == 0
    refused = within(other, "sweep", "--id", "MOE-000", "--json")
    assert (refused.code, f"in {tmp_path}/logbooks" in refused.error["message"]) == (3, True)
    assert within(other, "note", "--plan", "--release", "MOE-000").code == 0
    assert within(other, "sweep", "--id", "MOE-000").code == 0


def test_what_was_cut_off_in_one_worktree_is_left_to_do_in_another(trees: tuple[Path, Path], within: In) -> None:
    first, second = trees
    (first / "job.py").write_text("import os, signal, time\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(5)\n")
    assert within(first, "run", "--id", "MOE-000").code == 130
    (first / "job.py").write_text("print('METRIC a=1')\n")
    assert within(second, "run", "--id", "MOE-000").code == 0


def test_what_is_being_made_is_waited_for(cli: Cli) -> None:
    cli("start", "moe", "--prefix", "MOE")
    entry = cli("run", "--detach", "--json", "--", "sleep", "30").data["id"]
    [step] = cli("next", "--json").data["steps"]
    assert (step["id"], step["command"]) == (entry, f"logbook wait {entry}")
    assert cli("cancel", entry).code == 0
    assert f"logbook wait {entry}" not in cli("next").out
