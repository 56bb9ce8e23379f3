"""The code that ran is the code that is recorded: edits during a run, and in the middle of an A/B."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import Store
from tests.stored import at

pytestmark = pytest.mark.slow

Git = Callable[..., str]
Change = Callable[[Git, Path], object]

SLOW = ("run", "--", "sh", "-c", "sleep 1.6; sh b.sh")


@pytest.fixture
def ready(cli: Cli, git: Git, folder: Path) -> Cli:
    """A committed `b.sh` that sources `lib.sh`, with a document, settings and results beside it."""
    (folder / "b.sh").write_text(". ./lib.sh; echo METRIC x=1\n")
    (folder / "lib.sh").write_text("true\n")
    (folder / "settings.yaml").write_text("a: 1\n")
    (folder / "README.md").write_text("A benchmark\n")
    (folder / "results.json").write_text("{}\n")
    (folder / "docs").mkdir()
    (folder / "docs/conf.py").write_text("a = 1\n")
    assert cli("start", "t", "--prefix", "T", "--metric", "x:min").code == 0
    git("add", ".")
    git("commit", "-q", "-m", "All")
    git("checkout", "-q", "-b", "other")
    (folder / "lib.sh").write_text("true # on the other branch\n")
    git("commit", "-q", "-a", "-m", "Other")
    git("checkout", "-q", "main")
    return cli


@contextmanager
def meanwhile(after_s: float, change: Callable[[], object]) -> Iterator[None]:
    """Have something done after so many seconds of the block."""
    timer = threading.Timer(after_s, change)
    timer.start()
    try:
        yield
    finally:
        timer.join()


def problems(folder: Path, grade: str, entry: str = "T-000", number: int = 1) -> list[str]:
    found = Store(folder, "t").run(entry, number).problems or ()
    return [problem.text for problem in found if problem.grade == grade]


def writes(name: str, text: str = "echo METRIC x=7\n") -> Change:
    return lambda _, folder: (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (writes("b.sh"), "b.sh"),
        (writes("lib.sh"), "lib.sh"),
        (writes("settings.yaml", "a: 2\n"), "settings.yaml"),
        (lambda git, _: git("checkout", "-q", "other"), "lib.sh"),
        (lambda _, folder: (folder / "lib.sh").unlink(), "lib.sh"),
    ],
    ids=["script", "sourced", "settings", "branch", "deleted"],
)
def test_code_edited_in_a_run(ready: Cli, git: Git, folder: Path, change: Change, named: str) -> None:
    with meanwhile(0.9, lambda: change(git, folder)):
        answer = ready(*SLOW)
    [said] = problems(folder, "withheld")
    assert named in said
    assert said in answer.err
    assert said in (folder / "logbooks/t.md").read_text()


@pytest.mark.parametrize("place", ["untracked", "ignored", "no git", "shell"])
def test_a_named_file_is_code_wherever_it_is(cli: Cli, folder: Path, place: str) -> None:
    if place != "no git":
        subprocess.run(["git", "init", "-q"], check=True)
    (folder / ".gitignore").write_text("new.dat\n" if place == "ignored" else "")
    (folder / "new.dat").write_text("1\n")
    assert cli("start", "t", "--prefix", "T", "--metric", "x:min").code == 0
    command = "sleep 1.6; cat new.dat; echo METRIC x=1"
    words = ("run", "--shell", "--", command) if place == "shell" else ("run", "--", "sh", "-c", command)
    with meanwhile(0.9, lambda: (folder / "new.dat").write_text("2\n")):
        cli(*words)
    [said] = problems(folder, "withheld")
    assert "new.dat" in said


@pytest.mark.parametrize(
    ("change", "noted"),
    [
        (writes("README.md"), ""),
        (writes("docs/conf.py", "a = 2\n"), ""),
        (writes("results.json", "[]\n"), "results.json"),
        (lambda _, folder: os.utime(folder / "b.sh"), ""),
        (lambda git, _: git("commit", "-q", "-a", "-m", "Done before"), ""),
        (lambda git, _: (git("add", "late.py"), git("commit", "-q", "-m", "Late")), ""),
        (writes("notes.txt"), ""),
    ],
    ids=["readme", "docs", "results", "touched", "committed", "added", "untracked"],
)
def test_what_is_no_edit_of_the_code(ready: Cli, git: Git, folder: Path, change: Change, noted: str) -> None:
    (folder / "settings.yaml").write_text("a: 3\n")
    (folder / "late.py").write_text("print(1)\n")
    with meanwhile(0.9, lambda: change(git, folder)):
        ready(*SLOW)
    assert problems(folder, "withheld") == []
    assert [noted in said for said in problems(folder, "noted")] == [True] * bool(noted)


@pytest.mark.parametrize(
    "command",
    [
        "sleep 1.2; echo true >out.sh; sh out.sh",
        "sleep 1.2; cp b.sh made.sh; cc() { echo 'echo METRIC x=2' >\"$2\"; }; cc -o made.sh; sh made.sh",
        "sleep 1.2; (echo METRIC x=1; date +%N) | tee log.txt",
    ],
    ids=["redirected", "compiled", "tee"],
)
def test_what_the_command_itself_writes_is_no_edit(ready: Cli, folder: Path, command: str) -> None:
    for name in ("out.sh", "made.sh", "log.txt"):
        (folder / name).write_text("old\n")
    assert ready("run", "--", "sh", "-c", command).code == 0
    assert problems(folder, "withheld") == []


def test_a_project_says_what_is_code(ready: Cli, folder: Path) -> None:
    (folder / "logbook.toml").write_text(
        '[code]\ndocuments = ["lib.sh"]\nsuffixes = [".json"]\noutputs = ["settings.*", "gen/*"]\n'
    )
    for name in ("lib.sh", "settings.yaml"):
        with meanwhile(0.9, lambda name=name: (folder / name).write_text("b: 1\n")):  # type: ignore[misc]
            ready(*SLOW)
    assert [problems(folder, "withheld", entry) for entry in ("T-000", "T-001")] == [[], []]
    assert [problems(folder, "noted", entry) for entry in ("T-000", "T-001")] == [[], []]
    with meanwhile(0.9, lambda: (folder / "results.json").write_text("[1]\n")):
        ready(*SLOW)
    assert "results.json" in problems(folder, "withheld", "T-002")[0]
    (folder / "logbook.toml").write_text('[code]\nsuffixs = [".json"]\n')
    refused = ready("run", "--", "true")
    assert (refused.code, "documents, suffixes, outputs" in refused.err) == (2, True)


# -- A/B ---------------------------------------------------------------------------------------------


AB = ("ab", "--axis", "env:Q=1,2", "--json")


def test_an_ab_stops_at_once_when_its_code_changes(ready: Cli, folder: Path) -> None:
    (folder / "b.sh").write_text("sleep 0.3; echo METRIC x=1\n")
    with meanwhile(2, lambda: (folder / "b.sh").write_text("echo METRIC x=7\n")):
        answer = ready(*AB, "--", "sh", "b.sh")
    assert (answer.code, answer.data["stopped"]["by"]) == (1, "code-changed")
    assert "b.sh" in answer.data["stopped"]["why"]
    runs = Store(folder, "t").runs("T-000")
    assert answer.data["pairs"] < 6
    assert sum(not run.discarded for run in runs) == 2 * answer.data["pairs"]
    assert all(sample == 1 for run in runs if not run.discarded for sample in run.rows[0].metrics["x"].samples)


def test_a_setup_that_changes_the_code_is_named(ready: Cli, folder: Path) -> None:
    words = ("--setup", "cp new.txt lib.sh", "--max-pairs", "2", "--", "sh", "b.sh")
    (folder / "new.txt").write_text("true # generated\n")
    refused = ready(*AB, *words)
    assert refused.code != 0
    assert "setup changed the code: lib.sh" in refused.error["message"]
    again = ready(*AB, *words)
    assert (again.code, again.data["pairs"]) == (0, 2), again.err


def test_an_ab_goes_on_when_documents_or_results_change(ready: Cli, git: Git, folder: Path) -> None:
    """A commit of documents, or of what was measured, throws no pair away."""
    command = ("--", "sh", "-c", "date +%N >results.json; sh b.sh")
    first = ready(*AB, "--max-pairs", "2", *command)
    assert (first.code, first.data["pairs"], first.data["answer"]["pairs"]) == (0, 2, 2), first.err
    (folder / "README.md").write_text("More words\n")
    git("add", ".")
    git("commit", "-q", "-m", "Words, results and the entry")
    more = ready("ab", "--json", "--id", "T-000", "--max-pairs", "2")
    assert (more.data["pairs"], more.data["answer"]["pairs"]) == (4, 4)
    again = ready(*AB, "--max-pairs", "2", *command)
    assert (again.data["id"], again.data["answer"]["pairs"]) == ("T-000", 6)


def test_pairs_of_changes_and_of_their_commit_are_of_one_code(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "lib.sh").write_text("true # not committed\n")
    (folder / "new.sh").write_text("sh b.sh # not even added\n")
    command = ("--max-pairs", "2", "--", "sh", "new.sh")
    assert ready(*AB, *command).data["answer"]["pairs"] == 2
    git("add", ".")
    git("commit", "-q", "-m", "Now it is")
    assert ready(*AB, *command).data["answer"]["pairs"] == 4
    (folder / "lib.sh").write_text("true # other code\n")
    assert ready(*AB, *command).data["answer"]["pairs"] == 2


# -- a copy ------------------------------------------------------------------------------------------


def test_frozen_runs_the_code_as_it_was(ready: Cli, git: Git, folder: Path) -> None:
    (folder / "lib.sh").write_text("echo as it was, not committed\n")
    tree = ("status", "--short", "--", ".", ":!logbooks")
    before = git(*tree), git("worktree", "list")
    answer = ready("run", "--frozen", "--detach", "--", "sh", "-c", "sleep 1.6; sh b.sh")
    assert answer.code == 0, answer.err
    (folder / "lib.sh").write_text("echo edited meanwhile\n")
    assert ready("wait").code == 0
    assert "as it was" in Store(folder, "t").log_path("T-000", 1).read_text()
    assert problems(folder, "withheld") == []
    assert (git(*tree), git("worktree", "list")) == before

    def edit_after_the_first_run() -> None:
        while not [*at(folder / "logbooks/t/runs/T-001").glob("*/run.json")]:
            time.sleep(0.05)
        (folder / "b.sh").write_text("echo METRIC x=7\n")

    with meanwhile(0.1, edit_after_the_first_run):
        pairs = ready(*AB, "--frozen", "--max-pairs", "4", "--", "sh", "-c", "sleep 0.2; sh b.sh")
    assert (pairs.code, pairs.data["pairs"]) == (0, 4), pairs.err
    assert all(run.rows[0].metrics["x"].samples == [1.0] for run in Store(folder, "t").runs("T-001"))
    refused = ready("run", "--frozen", "--on", "somewhere", "--", "true")
    assert (refused.code, "--frozen" in refused.err) == (2, True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")
def test_a_repository_of_another_user(ready: Cli, folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 1234, 1234, follow_symlinks=False)
    with meanwhile(0.9, lambda: (folder / "b.sh").write_text("echo METRIC x=7\n")):
        assert ready(*SLOW).code == 0
    [said] = problems(folder, "noted")
    assert "code not identified" in said
    assert f"git config --global --add safe.directory {folder}" in said
    assert "b.sh" in problems(folder, "withheld")[0]
