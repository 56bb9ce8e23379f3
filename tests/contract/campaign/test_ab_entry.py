"""An A/B owns its command and its code: what `logbook ab --id ID` takes from the entry, wherever and whenever it is
typed."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Answer, Cli, FixedClock
from tests.contract.e2e.e2e_support import LOGBOOK, logbook
from tests.stored import at

Git = Callable[..., str]

# The mode `new` is 6% faster; the noise follows from the number of the run.
BENCH = """\
. ./lib.sh
case "$2" in new) speed=$((speed + 6));; esac
echo "RESULT tflops=$speed.$((LOGBOOK_RUN * 7 % 10))"
"""
ASK = ("ab", "--axis", "mode=base,new", "--max-pairs", "1")
COMMAND = ("--", "sh", "bench.sh", "--mode", "{axis}")
MORE = ("ab", "--id", "MOE-000", "--max-pairs", "1", "--json")


@pytest.fixture
def ready(started: Cli, git: Git, folder: Path) -> Cli:
    (folder / "bench.sh").write_text(BENCH)
    (folder / "lib.sh").write_text("speed=100\n")
    commit(git, "The benchmark")
    return started


def commit(git: Git, message: str) -> None:
    git("add", "-A")
    git("commit", "-q", "-m", message)


def state(git: Git, folder: Path) -> list[str]:
    """What must stay as it is: references, index, stash, worktrees, and the files outside of the logbooks."""
    kept = [git("for-each-ref"), git("symbolic-ref", "HEAD"), git("stash", "list"), git("worktree", "list")]
    files = {path.name: path.read_text() for path in sorted(folder.glob("*.*")) if path.is_file()}
    return [*kept, git("ls-files", "-s"), git("status", "--short", "--", ".", ":!logbooks"), str(files)]


def runs(folder: Path, entry_id: str = "MOE-000") -> list[dict[str, Any]]:
    paths = sorted(at(folder / "logbooks/moe/runs" / entry_id).glob("*/run.json"))
    return [json.loads(path.read_text()) for path in paths]


def speeds(folder: Path, entry_id: str = "MOE-000") -> set[int]:
    """Of the base: which code ran."""
    of_base = [run for run in runs(folder, entry_id) if run.get("part", {}).get("side") == "base"]
    return {int(run["rows"][0]["metrics"]["tflops"]["samples"][0]) for run in of_base}


def added(answer: Answer, pairs: int) -> Any:
    """The data of an answer whose entry has so many pairs, which all count."""
    assert answer.code == 0, answer.err or answer.out
    found = answer.data["answer"]
    assert (answer.data["pairs"], found["pairs"], found["left_out"]) == (pairs, pairs, []), found
    return answer.data


def refused(answer: Answer, *named: str) -> str:
    """The hint of a command that was refused."""
    assert answer.code == 2, answer.out
    text = json.dumps(answer.error, ensure_ascii=False)
    assert all(name in text for name in named), text
    return answer.error["hint"]


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
    added(ready(*MORE, "--setup", "sh -c 'mkdir build; echo x > build/kernel'"), 3)
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
    assert "--setup true" in refused(ready(*MORE), "notes.bin")
    added(ready(*MORE, "--setup", "true"), 2)


@pytest.mark.slow
def test_a_setup_that_is_typed_first_runs_in_each_folder(ready: Cli, git: Git, folder: Path) -> None:
    (folder / ".gitignore").write_text("kernel\n")
    (folder / "bench.sh").write_text(f"cat kernel || exit 4\n{BENCH}")
    commit(git, "It needs a build")
    build = ("--setup", "sh -c 'echo x > kernel'")
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
    assert error["hint"] == "commit logbooks/ in that worktree, then type here: git merge BRANCH"
    assert subprocess.run(["sh", "-c", planned.data["share"]], cwd=folder, check=True, capture_output=True)
    subprocess.run(["git", "merge", "-q", "main"], cwd=there, check=True, capture_output=True)
    (there / "lib.sh").write_text("speed=500\n")
    done = logbook(*shlex.split(planned.data["run"])[1:], "--max-pairs", "1", "--json", cwd=there)
    assert (done.returncode, json.loads(done.stdout)["data"]["pairs"]) == (0, 1), done
    assert (speeds(there), runs(folder)) == ({100}, [])


def begun(folder: Path, count: int, *words: str) -> subprocess.Popen[str]:
    """An A/B in the middle of its run of that number."""
    process = subprocess.Popen(
        [*LOGBOOK, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 30
    while not (folder / "waits").exists() or "child" not in runs(folder)[-1]:
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
    os.killpg(runs(folder)[1]["child"]["pid"], signal.SIGKILL)
    deadline = time.monotonic() + 10
    while ready("list", "--json").data[0]["state"] != "interrupted":
        assert time.monotonic() < deadline, "its command goes on"
    more = ready("ab", "--id", "MOE-000", "--json")
    assert (more.code, more.data["pairs"], more.data["ran"]) == (0, 1, 1), more.err
    assert [run["part"]["pair"] for run in runs(folder)] == [1, 1, 1]
    assert runs(folder)[1]["part"] == runs(folder)[2]["part"]


# -- typed again ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_second_sitting_after_a_commit_of_documents_replicates_it(
    ready: Cli, git: Git, folder: Path, clock: FixedClock
) -> None:
    ask = ("ab", "--axis", "mode=base,new", "--json", *COMMAND)
    assert added(ready(*ask), 10)["answer"]["confidence"] == "exploratory"
    (folder / "README.md").write_text("# What it is\n")
    (folder / "docs").mkdir()
    (folder / "docs/more.py").write_text("# an example\n")
    commit(git, "Documents and the entry")
    clock.tick(60)
    again = added(ready(*ask), 20)
    assert (again["id"], again["answer"]["sittings"], again["answer"]["confidence"]) == ("MOE-000", 2, "replicated")


def test_another_entry_about_the_same_code_is_asked_for(ready: Cli) -> None:
    for new, entry_id, earlier in ((), "MOE-000", []), (("--new",), "MOE-001", ["MOE-000"]):
        made = added(ready(*ASK, *new, "--json", *COMMAND), 1)
        assert (made["id"], made["answer"]["earlier"]) == (entry_id, earlier)
    # Typed again, the later one gets the pairs.
    assert added(ready(*ASK, "--json", *COMMAND), 2)["id"] == "MOE-001"
    assert added(ready(*MORE), 2)["id"] == "MOE-000"


def test_text_that_is_typed_again_is_not_taken_and_said_so(ready: Cli) -> None:
    assert ready(*ASK, "--title", "First", *COMMAND).code == 0
    again = ready(*ASK, "--title", "Second", "--json", *COMMAND)
    assert added(again, 2)["title"] == "First"
    [warning] = json.loads(again.out)["warnings"]
    assert ("MOE-000" in warning, "logbook edit" in warning) == (True, True)


# -- as it was typed -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ("lr=1e-3,1e-4", ("1e-3", "1e-4")),
        ("lr=0.10,.2", ("0.10", ".2")),
        ("""lr='"a,b",c'""", ("a,b", "c")),
        ("lr=true,007", ("true", "007")),
    ],
)
def test_values_are_run_as_they_were_typed(ready: Cli, folder: Path, axis: str, words: tuple[str, ...]) -> None:
    [axis] = shlex.split(axis)
    ask = ("ab", "--axis", axis, "--max-pairs", "1", "--json", "--", "sh", "bench.sh", "--lr", "{axis}")
    added(ready(*ask), 1)
    added(ready(*MORE), 2)
    assert added(ready(*ask), 3)["id"] == "MOE-000"
    assert sorted(run["argv"][3] for run in runs(folder)) == sorted(words * 3)


def test_null_leaves_the_flag_out_again(ready: Cli, folder: Path) -> None:
    added(ready("ab", "--axis", "lr=null,2", "--max-pairs", "1", "--json", "--", "sh", "bench.sh", "--lr", "1"), 1)
    added(ready(*MORE), 2)
    said = sorted(tuple(run["argv"][2:]) for run in runs(folder))
    assert said == [(), (), ("--lr", "2"), ("--lr", "2")]


def test_a_variable_and_a_shell_command(ready: Cli, folder: Path) -> None:
    script = 'echo "RESULT tflops=1.$LOGBOOK_RUN" | cat; echo "lr=$LR x=$X" >&2'
    ask = ("ab", "--shell", "--env", "X=two words", "--axis", "env:LR=,1e-3", "--max-pairs", "1", "--json")
    added(ready(*ask, "--", script), 1)
    added(ready(*MORE), 2)
    logs = [path.read_text() for path in at(folder / "logbooks/moe/runs/MOE-000").glob("*/output.log")]
    lines = sorted(line for log in logs for line in log.splitlines() if "lr=" in line)
    assert [line[line.index("lr=") :] for line in lines] == ["lr= x=two words"] * 2 + ["lr=1e-3 x=two words"] * 2


def test_from_another_folder_and_with_several_logbooks(
    ready: Cli, git: Git, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    assert ready("start", "other", "--prefix", "OTHER", "--metric", "tflops:max").code == 0
    made = added(ready(*ASK, "-L", "moe", "--json", *COMMAND), 1)
    monkeypatch.chdir(folder / "sub")
    again = shlex.split(made["stopped"]["why"].partition("to continue: ")[2])
    assert again == ["logbook", "ab", "--id", "MOE-000", "--max-pairs", "9"]
    added(ready(*again[1:-1], "1", "--json"), 2)
    (folder / "lib.sh").write_text("speed=500\n")
    added(ready(*MORE), 3)
    assert (speeds(folder), len({run["cwd"] for run in runs(folder)[:4]})) == ({100}, 1)


def test_the_folder_in_which_it_was_typed_is_a_part_of_it(
    ready: Cli, git: Git, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    for name in ("bench.sh", "lib.sh"):
        (folder / "sub" / name).write_text((folder / name).read_text().replace("100", "300"))
    commit(git, "A folder")
    monkeypatch.chdir(folder / "sub")
    added(ready(*ASK, "--json", *COMMAND), 1)
    monkeypatch.chdir(folder)
    added(ready(*MORE), 2)
    (folder / "sub/lib.sh").write_text("speed=500\n")
    added(ready(*MORE), 3)
    assert speeds(folder) == {300}
    (folder / "sub/lib.sh").write_text("speed=300\n")
    assert added(ready(*ASK, "--json", *COMMAND), 1)["id"] == "MOE-001"


def test_a_secret_in_the_command_is_not_recorded_and_typing_it_again_works(
    ready: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "hush-hush-hush-4711")
    (folder / "seen").mkdir()
    (folder / "bench.sh").write_text(f'echo "$4" >"{folder}/seen/$LOGBOOK_RUN"\n{BENCH}')
    command = (*COMMAND, "--token", "hush-hush-hush-4711")
    added(ready(*ASK, "--json", *command), 1)
    assert not [p for p in (folder / "logbooks").rglob("*") if p.is_file() and b"hush-hush" in p.read_bytes()]
    # What is a variable here is known here.
    assert added(ready(*MORE), 2)["id"] == "MOE-000"
    monkeypatch.delenv("API_TOKEN")
    assert "without --id" in refused(ready(*MORE), "MOE-000", "secret")
    monkeypatch.setenv("API_TOKEN", "hush-hush-hush-4711")
    assert added(ready(*ASK, "--json", *command), 3)["id"] == "MOE-000"
    seen = {word for path in sorted((folder / "seen").iterdir()) for word in path.read_text().split()}
    assert seen == {"hush-hush-hush-4711"}


def test_a_secret_that_no_variable_holds(ready: Cli) -> None:
    command = (*COMMAND, "--password", "Xk29!vbQz-0")
    added(ready(*ASK, "--json", *command), 1)
    assert "without --id" in refused(ready(*MORE), "MOE-000", "secret")
    assert added(ready(*ASK, "--json", *command), 2)["id"] == "MOE-000"


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
    assert added(ready(*shlex.split(hint)[1:], "--max-pairs", "1", "--json"), 1)["id"] == "MOE-001"


@pytest.mark.slow
def test_one_question_in_several_spellings(ready: Cli, folder: Path) -> None:
    (folder / "sub").mkdir()
    made = ready(*ASK, "--input", "lib.sh", "--input", "bench.sh", *COMMAND)
    assert made.code == 0, made.err
    named = ("--", "sh", "bench.sh", "--mode", "{mode}")
    assert added(ready(*ASK, "--input", "bench.sh", "--input", "lib.sh", "--cwd", "sub/..", "--json", *named), 2)


@pytest.mark.slow
def test_another_build_is_another_question(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "lib.sh").write_text(". ./built\n")
    (folder / ".gitignore").write_text("built\n")
    commit(git, "A build")
    ask = (*ASK, "--json", "--setup")
    for place, speed in enumerate((100, 300, 300)):
        made = ready(*ask, f"sh -c 'echo speed={speed} > built'", *COMMAND)
        assert made.data["id"] == f"MOE-{min(place, 1):03d}", made.err
    assert (speeds(folder), speeds(folder, "MOE-001")) == ({100}, {300})


@pytest.mark.slow
def test_another_program_that_was_written_into_the_entry_is_another_command(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub/bench.sh").write_text(BENCH)
    commit(git, "Two benchmarks")
    assert ready(*ASK, *COMMAND).code == 0
    path = at(folder / "logbooks/moe/entries/MOE-000.yaml")
    path.write_text(path.read_text().replace("- bench.sh", "- sub/bench.sh"))
    found = ready(*MORE).data["answer"]
    assert (found["pairs"], found["left_out"]) == (1, ["1 pair: the command is another than that of the first pair"])
