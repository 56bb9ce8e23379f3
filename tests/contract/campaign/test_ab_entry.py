"""An A/B owns its command and its code: what `logbook ab --id ID` takes from the entry, wherever and whenever it is
typed."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from tests.conftest import Cli, FixedClock
from tests.contract.campaign.ab_entry_support import (
    ASK,
    BENCH,
    COMMAND,
    MORE,
    Git,
    added,
    commit,
    refused,
    runs,
    speeds,
    state,
    with_benchmark,
)
from tests.contract.e2e.e2e_support import LOGBOOK, logbook
from tests.seams import groups_in
from tests.stored import at


@pytest.fixture
def ready(started: Cli, git: Git, folder: Path) -> Cli:
    return with_benchmark(started, git, folder)


# -- the code that is recorded -----------------------------------------------------------------------------


def test_the_id_alone_goes_on_in_place(ready: Cli, git: Git, folder: Path) -> None:
    made = added(ready(*ASK, "--title", "Both", "--json", *COMMAND), 1)
    stated = yaml.safe_load(at(folder / "logbooks/moe/entries/MOE-000.yaml").read_text())["comparison"]
    assert stated["run"]["argv"] == ["sh", "bench.sh", "--mode", "{axis}"]
    assert stated["code"]["base"]["commit"] == git("rev-parse", "HEAD")
    assert made["stopped"]["why"].endswith("; to continue: logbook ab --id MOE-000 --max-pairs 9")
    more = added(ready(*MORE), 2)
    assert (more["id"], more["values"], more["title"]) == ("MOE-000", ["base", "new"], "Both")
    assert {run["cwd"] for run in runs(folder)} == {runs(folder)[0]["cwd"]}
    assert len({(*run["argv"][:3], run["config"]["mode"] == run["argv"][3]) for run in runs(folder)}) == 1


@pytest.mark.slow
def test_after_a_change_it_runs_in_a_folder_of_which_git_holds_no_file(
    ready: Cli, git: Git, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "notes").mkdir()
    (folder / "one.sh").write_text("echo RESULT tflops=10$LOGBOOK_RUN\n")
    commit(git, "One")
    monkeypatch.chdir(folder / "notes")
    added(ready(*ASK, "--json", "--", "sh", "../one.sh", "--mode", "{axis}"), 1)
    monkeypatch.chdir(folder)
    (folder / "one.sh").write_text("echo RESULT tflops=20$LOGBOOK_RUN\n")
    commit(git, "Other")
    more = added(ready(*MORE), 2)
    assert more["id"] == "MOE-000"


@pytest.mark.slow
@pytest.mark.parametrize("is_committed", [False, True], ids=["edited", "committed"])
def test_after_a_change_it_runs_a_checkout_and_leaves_the_tree_alone(
    ready: Cli, git: Git, folder: Path, is_committed: bool
) -> None:
    assert ready(*ASK, *COMMAND).code == 0
    git("checkout", "-q", "-b", "next")
    (folder / "lib.sh").write_text("speed=500\n")
    if is_committed:
        commit(git, "Faster")
    before = state(git, folder)
    added(ready(*MORE), 2)
    assert state(git, folder) == before
    assert speeds(folder) == {100}
    main = git("rev-parse", "--short=9", "main")
    assert f"  - code: `{main}` on main\n" in ready("show", "MOE-000").out
    # The same question of the code as it is now is another entry, which names the first.
    typed = added(ready(*ASK, "--json", *COMMAND), 1)
    assert (typed["id"], typed["answer"]["earlier"], speeds(folder, "MOE-001")) == ("MOE-001", ["MOE-000"], {500})
    # Back on the first code, it is that of the first entry again.
    git("stash", "-q", "--", "lib.sh") if not is_committed else git("checkout", "-q", "main", "--", "lib.sh")
    assert added(ready(*ASK, "--json", *COMMAND), 3)["id"] == "MOE-000"


@pytest.mark.slow
def test_changes_and_a_script_that_no_commit_holds_are_brought_back(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "lib.sh").write_text("speed=200\n")
    (folder / "mine.sh").write_text(BENCH)
    command = ("--", "sh", "mine.sh", "--mode", "{axis}")
    assert ready(*ASK, *command).code == 0
    (folder / "lib.sh").write_text("speed=500\n")
    (folder / "mine.sh").unlink()
    before = state(git, folder)
    added(ready(*MORE), 2)
    assert (speeds(folder), state(git, folder)) == ({200}, before)
    # A commit of just that is the same code: in place.
    (folder / "lib.sh").write_text("speed=200\n")
    (folder / "mine.sh").write_text(BENCH)
    commit(git, "As it ran")
    assert added(ready(*ASK, "--json", *command), 3)["id"] == "MOE-000"
    for kept in (folder / "logbooks/moe/code").rglob("*"):
        if kept.is_file():
            kept.unlink()
    (folder / "lib.sh").write_text("speed=500\n")
    assert "--id MOE-000" not in refused(ready(*MORE), "cannot be brought back")


@pytest.mark.slow
def test_code_that_this_clone_lacks_is_named_with_what_fetches_it(
    ready: Cli, git: Git, folder: Path, tmp_path: Path
) -> None:
    assert ready(*ASK, *COMMAND).code == 0
    first = git("rev-parse", "HEAD")
    (folder / "lib.sh").write_text("speed=500\n")
    commit(git, "Faster")
    there = tmp_path / "shallow"
    git("clone", "-q", "--depth", "1", f"file://{folder}", str(there))
    done = logbook(*MORE, cwd=there)
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, first[:9] in error["message"]) == (2, True), error
    assert error["hint"] == f"git fetch origin {first}"
    git("config", "uploadpack.allowAnySHA1InWant", "true")
    subprocess.run(shlex.split(error["hint"]), cwd=there, check=True, capture_output=True)
    done = logbook(*MORE, cwd=there)
    assert (done.returncode, json.loads(done.stdout)["data"]["pairs"]) == (0, 2), done


@pytest.mark.slow
def test_what_a_build_made_is_named_and_setup_makes_it(ready: Cli, git: Git, folder: Path) -> None:
    (folder / ".gitignore").write_text("build/\ndata.bin\n__pycache__/\n")
    (folder / "bench.sh").write_text(f"cat build/kernel\n{BENCH}")
    commit(git, "It needs a build")
    for name in ("build/kernel", "data.bin", "__pycache__/x.pyc"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x\n")
    assert ready(*ASK, *COMMAND).code == 0
    # In place, nothing is missing.
    added(ready(*MORE), 2)
    (folder / "lib.sh").write_text("speed=500\n")
    before = state(git, folder)
    hint = refused(ready(*MORE), "build", "data.bin")
    assert hint.startswith("logbook ab --id MOE-000 --max-pairs 1 --setup '")
    assert "__pycache__" not in hint
    assert len(runs(folder)) == 4, "nothing ran"
    broken = ready(*MORE, "--setup", "false")
    assert (broken.code, broken.data["stopped"]["by"], broken.data["pairs"]) == (1, "failed", 2), broken.out
    added(ready(*MORE, "--setup", "mkdir build && echo x > build/kernel"), 3)
    # The entry keeps it.
    added(ready(*MORE), 4)
    assert (speeds(folder), state(git, folder)) == ({100}, before)


@pytest.mark.slow
def test_setup_true_says_that_nothing_is_needed(ready: Cli, git: Git, folder: Path) -> None:
    (folder / ".gitignore").write_text("notes.bin\n")
    commit(git, "Notes")
    (folder / "notes.bin").write_text("x")
    assert ready(*ASK, *COMMAND).code == 0
    (folder / "lib.sh").write_text("speed=500\n")
    hint = refused(ready(*MORE), "notes.bin")
    assert hint.endswith("--setup 'COMMAND THAT MAKES THEM'")
    assert ready(*ASK, "--new", "--plan", *COMMAND).code == 0
    [why] = [one["why"] for one in ready("next", "--json").data["steps"] if one["kind"] == "plan"]
    assert "add --setup COMMAND, which makes notes.bin" in why
    added(ready(*MORE, "--setup", "true"), 2)


@pytest.mark.slow
def test_a_setup_that_is_typed_first_runs_in_each_folder(ready: Cli, git: Git, folder: Path) -> None:
    (folder / ".gitignore").write_text("kernel\n")
    (folder / "bench.sh").write_text(f"cat kernel || exit 4\n{BENCH}")
    commit(git, "It needs a build")
    build = ("--setup", "test ! -e bench.sh || echo x > kernel")
    added(ready(*ASK, *build, "--json", *COMMAND), 1)
    (folder / "lib.sh").write_text("speed=500\n")
    commit(git, "Faster")
    (folder / "kernel").unlink()
    added(ready(*MORE), 2)
    assert not (folder / "kernel").exists()
    codes = ready("ab", "--code", "HEAD~1", "HEAD", "--max-pairs", "1", *build, "--json", "--", "sh", "bench.sh")
    assert added(codes, 1)["answer"]["findings"][0]["change"] > 1


# -- plans, and who runs it --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_plan_is_taken_up_in_another_worktree(ready: Cli, git: Git, folder: Path, tmp_path: Path) -> None:
    planned = ready(*ASK, "--plan", "--title", "Both", "--json", *COMMAND)
    assert (planned.code, planned.data["run"]) == (0, "logbook ab --id MOE-000"), planned.err
    assert runs(folder) == []
    assert ready("list", "--json").data[0]["state"] == "planned"
    # Stated again it is the same plan.
    assert ready(*ASK, "--plan", "--json", *COMMAND).data["id"] == "MOE-000"
    there = tmp_path / "there"
    git("worktree", "add", "-q", "-b", "other", str(there))
    # Without a commit, the other worktree has nothing to take up, and is told why.
    early = logbook("ab", "--id", "MOE-000", "--json", cwd=there)
    error = json.loads(early.stdout)["error"]
    assert "another worktree made it" in error["cause"], early
    assert str(folder / "logbooks") in error["cause"]
    assert (
        error["hint"] == "go on there; or commit that folder there and merge its branch, with its code: git merge main"
    )
    assert subprocess.run(["sh", "-c", planned.data["share"]], cwd=folder, check=True, capture_output=True)
    subprocess.run(["git", "merge", "-q", "main"], cwd=there, check=True, capture_output=True)
    (there / "lib.sh").write_text("speed=500\n")
    done = logbook(*shlex.split(planned.data["run"])[1:], "--max-pairs", "1", "--json", cwd=there)
    assert (done.returncode, json.loads(done.stdout)["data"]["pairs"]) == (0, 1), done
    assert (speeds(there), runs(folder)) == ({100}, [])


@pytest.mark.slow
def test_pairs_that_two_worktrees_make_of_one_plan_count_together(
    ready: Cli, git: Git, folder: Path, tmp_path: Path
) -> None:
    assert ready("ab", "--axis", "mode=base,new", "--max-pairs", "10", "--plan", *COMMAND).code == 0
    commit(git, "Plan")
    there = tmp_path / "there"
    git("worktree", "add", "-q", "-b", "other", str(there))
    assert ready("ab", "--id", "MOE-000").code == 0
    commit(git, "Pairs")
    assert logbook("note", "--plan", "--release", "MOE-000", cwd=there).returncode == 0
    # A block that is not finished there is finished here.
    made = logbook("ab", "--id", "MOE-000", "--max-pairs", "4", "--json", cwd=there)
    assert json.loads(made.stdout)["data"]["pairs"] == 4
    commit(lambda *words: git(*words, cwd=there), "Pairs of the other worktree")
    git("merge", "-q", "--no-edit", "other")
    more = added(ready("ab", "--id", "MOE-000", "--max-pairs", "6", "--json"), 20)
    [finding] = more["answer"]["findings"]
    assert (finding["pairs"], finding["left_out"], finding["outcome"]) == (20, [], "better")
    parts = [run["part"] for run in runs(folder)]
    assert sorted(part["pair"] for part in parts) == sorted([*range(1, 11)] * 4)
    copies = [part.get("copy") for part in parts]
    assert sorted(copies.count(copy) for copy in {*copies}) == [20, 20], "each has a draw of its own"


def begun(folder: Path, count: int, *words: str) -> subprocess.Popen[str]:
    """An A/B in the middle of its run of that number."""
    process = subprocess.Popen(
        [*LOGBOOK, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 30
    while not (folder / "waits").exists() or not groups_in(folder):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert len(runs(folder)) == count
    return process


@pytest.mark.slow
def test_one_process_at_a_time_here_and_in_another_worktree(ready: Cli, git: Git, folder: Path, tmp_path: Path) -> None:
    (folder / ".gitignore").write_text("waits\n")
    (folder / "bench.sh").write_text(f"[ $LOGBOOK_RUN -ne 3 ] || {{ : > waits; exec sleep 60; }}\n{BENCH}")
    commit(git, "It waits")
    assert ready(*ASK, *COMMAND).code == 0
    commit(git, "An entry")
    there = tmp_path / "there"
    git("worktree", "add", "-q", "-b", "other", str(there))
    process = begun(folder, 3, *MORE)
    for place in (folder, there):
        second = logbook(*MORE, cwd=place)
        error = json.loads(second.stdout)["error"]
        assert (second.returncode, error["code"]) == (3, "locked"), second
        assert "MOE-000" in error["message"]
        assert error["hint"]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert len(runs(folder)) == 3
    # Free again, there first.
    (there / "bench.sh").write_text(BENCH)
    commit(lambda *words: git(*words, cwd=there), "It waits no more")
    assert json.loads(logbook(*ASK, "--json", *COMMAND, cwd=there).stdout)["data"]["id"] == "MOE-001"


@pytest.mark.slow
def test_a_pair_that_was_killed_is_completed(ready: Cli, git: Git, folder: Path) -> None:
    (folder / ".gitignore").write_text("waits\n")
    (folder / "bench.sh").write_text(f"[ $LOGBOOK_RUN -ne 2 ] || {{ : > waits; exec sleep 60; }}\n{BENCH}")
    commit(git, "It waits")
    process = begun(folder, 2, *ASK, "--seed", "1", *COMMAND)
    process.kill()
    process.communicate(timeout=30)
    os.killpg(groups_in(folder)[-1], signal.SIGKILL)
    deadline = time.monotonic() + 10
    while ready("list", "--json").data[0]["state"] != "interrupted":
        assert time.monotonic() < deadline, "its command goes on"
    more = ready("ab", "--id", "MOE-000", "--json")
    assert (more.code, more.data["pairs"], more.data["ran"]) == (0, 1, 1), more.err
    assert [run["part"]["pair"] for run in runs(folder)] == [1, 1, 1]
    assert runs(folder)[1]["part"] == runs(folder)[2]["part"]


# -- what a checkout changes by itself is no other condition --------------------------------------------


@pytest.mark.slow
def test_files_that_the_command_names_by_their_whole_path(ready: Cli, git: Git, folder: Path, tmp_path: Path) -> None:
    (folder / ".gitignore").write_text("own/\n")
    commit(git, "Ignore the program")
    (folder / "own").mkdir()
    (folder / "own/shell").symlink_to(Path("/bin/sh"))
    (folder / "bench.sh").write_text(BENCH.replace(". ./lib.sh", '. "$LIB"'))
    commit(git, "A variable says where the library lies")
    link = tmp_path / "link"
    link.symlink_to(folder)
    words = ("--env", f"LIB={folder}/lib.sh", "--env", f"PYTHONPATH={link}")
    ask = (*ASK, *words, "--setup", "true", "--", "own/shell", str(link / "bench.sh"), "--mode", "{axis}")
    assert ready(*ask).code == 0
    text = f"cd {folder} && LIB={folder}/lib.sh sh bench.sh --mode {{axis}}"
    assert ready(*ASK, "--setup", "true", "--shell", "--", text).code == 0
    (folder / "lib.sh").write_text("speed=500\n")
    added(ready(*MORE), 2)
    added(ready("ab", "--id", "MOE-001", *MORE[3:]), 2)
    assert (speeds(folder), speeds(folder, "MOE-001")) == ({100}, {100})
    assert added(ready(*ask[:-5], "--json", *ask[-5:]), 1)["answer"]["earlier"] == ["MOE-000"]


@pytest.mark.slow
def test_a_program_or_a_folder_that_is_gone_here_is_in_the_checkout(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub/bench").write_text(f"#!/bin/sh\ncd ..\n{BENCH}")
    (folder / "sub/bench").chmod(0o755)
    commit(git, "A program")
    assert ready(*ASK, "--cwd", "sub", "--", "./bench", "--mode", "{axis}").code == 0
    (folder / "sub/bench").unlink()
    added(ready(*MORE), 2)
    (folder / "sub").rmdir()
    added(ready(*MORE), 3)


@pytest.mark.slow
def test_code_that_comes_back_otherwise_than_it_was_is_refused(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "lib.sh").write_text("speed=200\npassword=hunter2hunter2\n")
    assert ready(*ASK, *COMMAND).code == 0
    (folder / "lib.sh").write_text("speed=500\n")
    before = state(git, folder)
    hint = refused(ready(*MORE), "cannot be brought back as it was")
    assert (len(runs(folder)), state(git, folder)) == (2, before)
    assert (
        added(ready("ab", "--json", *shlex.split(hint.partition("logbook ab")[2])[:], "--max-pairs", "1"), 1)["id"]
        == "MOE-001"
    )


@pytest.mark.slow
def test_code_that_no_repository_has_any_more_is_asked_about_afresh(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "lib.sh").write_text("speed=200\n")
    git("commit", "-q", "-a", "-m", "An idea")
    assert ready(*ASK, *COMMAND).code == 0
    git("reset", "-q", "--hard", "HEAD~1")
    git("reflog", "expire", "--expire=now", "--all")
    git("gc", "-q", "--prune=now")
    hint = refused(ready(*MORE), "is not in this clone")
    [step] = ready("next", "--json").data["steps"]
    assert ", so no pair of that code can be made" in step["why"]
    assert added(ready(*shlex.split(hint)[1:], "--max-pairs", "1", "--json"), 1)["id"] == "MOE-001"
    assert step["command"] == "logbook ab --like MOE-000 --max-pairs 9"


@pytest.mark.slow
@pytest.mark.parametrize("axis", ["mode", "code"])
def test_no_second_sitting_is_proposed_for_code_that_is_gone(
    ready: Cli, git: Git, folder: Path, clock: FixedClock, axis: str
) -> None:
    (folder / "lib.sh").write_text("speed=200\n")
    git("commit", "-q", "-a", "-m", "An idea")
    ask = (
        ("--axis", "mode=base,new", *COMMAND)
        if axis == "mode"
        else ("--code", "HEAD~1", "HEAD", "--", "sh", "bench.sh")
    )
    assert ready("ab", *ask).code == 0
    clock.tick(60)
    [step] = ready("next", "--json").data["steps"]
    assert step["kind"] == "replication"
    git("reset", "-q", "--hard", "HEAD~1")
    assert ready("next", "--json").data["steps"] == [step]
    git("reflog", "expire", "--expire=now", "--all")
    git("gc", "-q", "--prune=now")
    assert ready("next", "--json").data["steps"] == []


@pytest.mark.slow
def test_a_setup_that_failed_is_a_step_with_another_setup(ready: Cli, git: Git, folder: Path) -> None:
    ask = ("ab", "--code", "main", "WORK", "--max-pairs", "2", "--title", "Both builds", "--setup", "cat Makefile")
    git("branch", "-M", "main")
    (folder / "lib.sh").write_text("speed=110\n")
    failed = ready(*ask, "--json", "--", "sh", "bench.sh")
    why = failed.data["stopped"]["why"]
    said = (
        "the setup fails again on the same code: mend it, or give ab --id MOE-000 another --setup, or discard the entry"
    )
    assert (failed.code, failed.data["stopped"]["by"]) == (1, "failed")
    assert said in why, why
    assert "no pair has a number yet: setup failed: exit code 1: cat: " in ready("compare", "MOE-000").out
    [step] = [one for one in ready("next", "--json").data["steps"] if one["kind"] == "comparison"]
    # No command holds a place that a person has to fill. How it failed is said: no log has to be looked at.
    assert (step["id"], step["why"].endswith(said), "Makefile" in step["why"]) == ("MOE-000", True, True)
    assert step["command"] == "logbook discard MOE-000 --why 'the setup fails'"
    assert "setup failed: exit code 1" in step["why"]
    assert step["what"] in ready("status").out
    more = ready("ab", "--id", "MOE-000", "--setup", "test ! -e Makefile || cat Makefile", "--json")
    assert added(more, 2)["title"] == "Both builds"
    assert not [one for one in ready("next", "--json").data["steps"] if "COMMAND" in one.get("command", "")]


def test_a_planned_comparison_is_read_before_it_is_run(ready: Cli, folder: Path) -> None:
    words = ("--plan", "--setup", "make -s || true", "--min-effect", "2%", "--env", "N=1")
    assert ready("ab", "--axis", "mode=base,new", "--max-pairs", "12", *words, *COMMAND).code == 0
    lines = [
        "N=1 sh bench.sh --mode",
        "setup: `make -s || true`",
        "mode: new against base; by tflops; at most 12 pairs; an effect below 2% does not matter",
    ]
    for text in (ready("show", "MOE-000").out, (folder / "logbooks/moe.md").read_text()):
        assert all(line in text for line in lines), text
    stated = ready("show", "MOE-000", "--json").data["comparison"]
    assert (stated["run"]["setup"], stated["design"]["budget_pairs"]) == ("make -s || true", 12)
    ready("ab", "--axis", "mode=base,new", "--plan", "--setup", f"true {'a' * 200}", *COMMAND)
    assert "  - setup:\n    ```bash\n    true a" in ready("show", "MOE-001").out, "a fence begins its line"
    # Its runs say it once there are some.
    assert ready("ab", "--id", "MOE-000", "--max-pairs", "1").code == 0
    assert "at most" not in ready("show", "MOE-000").out


@pytest.mark.slow
def test_the_step_of_pairs_that_were_judged_once_names_the_new_entry(ready: Cli) -> None:
    assert ready("ab", "--axis", "mode=base,new", "--pairs", "2", *COMMAND).code == 0
    [step] = [one for one in ready("next", "--json").data["steps"] if one["kind"] == "comparison"]
    assert step["what"] == "Ask the open comparison MOE-000 again, in a new entry"
    assert step["command"].startswith("logbook ab --new --like MOE-000 ")
    assert "to ask it again, by up to " in ready("status").out
    assert ready(*shlex.split(step["command"])[1:], "--json").data["id"] == "MOE-001"
