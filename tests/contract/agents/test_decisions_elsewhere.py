"""Decisions on code that was staged, merged, changed or left out of git since it was compared."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.test_ab_code import COMMAND, ready, runs  # noqa: F401

pytestmark = pytest.mark.slow

Git = Callable[..., str]
ASK = ("ab", "--code", "HEAD", "WORK", *COMMAND)


def kinds(cli: Cli) -> list[str]:
    return [one["kind"] for one in cli("next", "--json").data["steps"]]


def typed(cli: Cli, verb: str) -> list[str]:
    """The commands of `next` that hold a word."""
    return [one["command"] for one in cli("next", "--json").data["steps"] if verb in one.get("command", "")]


def test_a_branch_that_went_on_is_merged_as_it_was_tested(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    assert ready("ab", "--code", "main", "faster", *COMMAND).code == 0
    assert ready("keep", "SPEED-000").code == 0
    tested = git("rev-parse", "--short=9", "HEAD").strip()
    (folder / "speed.txt").write_text("1000")
    git("commit", "-q", "-m", "Nobody tested this", "--", "speed.txt")
    git("checkout", "-q", "main")
    assert typed(ready, "git merge") == [f"git merge {tested}"]
    # A squash merge, in which the same lines arrive as another commit beside others.
    (folder / "other.py").write_text("x = 1\n")
    git("checkout", tested, "--", "speed.txt")
    git("add", "other.py")
    git("commit", "-q", "-m", "Squashed", "--", "speed.txt", "other.py")
    assert not typed(ready, "git merge")
    git("branch", "-q", "-D", "faster")
    assert not typed(ready, "git merge")


def test_what_is_staged_is_not_committed(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    (folder / "speed.txt").write_text("80")
    assert ready(*ASK).code == 0
    (folder / "other.py").write_text("x = 1\n")
    assert "decision" in kinds(ready)
    git("add", "speed.txt")
    assert "decision" in kinds(ready)


def test_what_git_ignores_is_not_to_be_committed(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    (folder / ".gitignore").write_text("data.cfg\n")
    git("add", ".gitignore")
    git("commit", "-q", "-m", "Data is ignored")
    (folder / "data.cfg").write_text("1\n")
    (folder / "speed.txt").write_text("80")
    assert ready("run", "--title", "Faster", "--", "python3", "bench.py", "data.cfg").code == 0
    assert ready("keep", "SPEED-000").code == 0
    [command] = typed(ready, "git commit")
    assert "data.cfg" not in command
    for one in command.split(" && "):
        git(*shlex.split(one)[1:])
    [command] = typed(ready, "keep")
    assert ready(*shlex.split(command)[1:]).code == 0
    assert not typed(ready, "keep")


def test_another_commit_in_between_leaves_the_command_to_commit(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    (folder / "speed.txt").write_text("80")
    assert ready(*ASK).code == 0
    assert ready("keep", "SPEED-000").code == 0
    (folder / "other.py").write_text("x = 1\n")
    git("add", "other.py")
    git("commit", "-q", "-m", "Something else", "--", "other.py")
    [command] = typed(ready, "git commit")
    (folder / "speed.txt").write_text("85")
    assert not typed(ready, "git commit"), "another change is not the one that was tested"
    (folder / "speed.txt").write_text("80")
    for one in command.split(" && "):
        git(*shlex.split(one)[1:])
    [command] = typed(ready, "keep")
    assert ready(*shlex.split(command)[1:]).code == 0


def test_what_is_open_and_was_committed_waits_for_its_decision(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    (folder / "note.py").write_text("x = 1\n")
    git("add", "note.py")
    noisy = ("--", "sh", "-c", "echo METRIC step_ms=$((100 + LOGBOOK_RUN * 37 % 50))")
    assert ready("ab", "--code", "HEAD", "WORK", "--min-effect", "0.0001", *noisy).code == 0
    [command] = typed(ready, "discard SPEED-000")
    git("commit", "-q", "-a", "-m", "No difference")
    assert typed(ready, "discard SPEED-000") == [command]
    assert ready(*shlex.split(command)[1:]).code == 0
    assert not typed(ready, "discard")


def test_a_diff_without_its_secret_is_not_put_back(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    (folder / "speed.txt").write_text("80")
    (folder / "auth.py").write_text('password = "hunter2hunter"\n')
    git("add", "auth.py")
    assert ready(*ASK).code == 0
    assert ready("keep", "SPEED-000").code == 0
    git("stash", "-q", "--", "speed.txt", "auth.py")
    assert not typed(ready, "patch")
    git("stash", "pop", "-q")
    assert "patch" not in ready("discard", "SPEED-000", "--why", "not this").out


def test_pairs_of_code_that_was_not_kept_whole_are_asked_of_the_code_as_it_is(
    ready: Cli,  # noqa: F811
    git: Git,
    folder: Path,
) -> None:
    (folder / "auth.py").write_text('password = "hunter2hunter"\n')
    git("add", "auth.py")
    ask = ("ab", "--axis", "env:MODE=a,b", "--max-pairs", "2", *COMMAND)
    assert ready(*ask).code == 0
    assert typed(ready, "ab --id SPEED-000")
    git("stash", "-q", "--", "auth.py")
    [command] = typed(ready, "ab --like SPEED-000")
    assert ready(*shlex.split(command)[1:]).code == 0


def test_a_secret_behind_a_comparison_is_none_of_the_record(ready: Cli, folder: Path) -> None:  # noqa: F811
    secret = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    assert ready("run", "--", "echo", "METRIC step_ms=1", f"token=={secret}").code == 0
    assert not [file for file in (folder / "logbooks").rglob("*") if file.is_file() and secret in file.read_text()]


def test_a_side_of_code_is_cited_by_what_the_error_prints(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    """A subject has blanks; and a commit that a table shows names the side, too."""
    assert ready("ab", "--code", "HEAD~1", "HEAD", "--pairs", "2", *COMMAND).code == 0
    (folder / "note.md").write_text("[[SPEED-000 step_ms]]")
    said = ready("cite", "--check", "note.md").err
    first = said.partition("name one: ")[2].partition(",")[0].split("\n")[0]
    assert first == f'@code={git("rev-parse", "--short=9", "HEAD~1").strip()} "The benchmark"'
    commit = git("rev-parse", "--short=9", "HEAD~1").strip()
    shown = []
    for where in (first, f"@commit={commit}", f"@{commit}"):
        (folder / "note.md").write_text(f"[[SPEED-000 step_ms{where}]]")
        assert ready("cite", "note.md").code == 0, ready("cite", "note.md").err
        shown.append((folder / "note.md").read_text().partition(">")[2])
    assert len({*shown}) == 1


def test_what_pairs_compared_is_not_to_be_compared_again(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    for number in ("1", "2"):
        (folder / "other.py").write_text(f"x = {number}\n")
        git("add", "other.py")
        git("commit", "-q", "-m", number)
        assert ready("run", "--title", number, *COMMAND).code == 0
    asked = ready("compare", "SPEED-000", "SPEED-001", "--json").data["numbers"]
    assert asked["command"], asked
    assert ready(*shlex.split(asked["command"])[1:], "--max-pairs", "2").code == 0
    again = ready("compare", "SPEED-000", "SPEED-001", "--json").data["numbers"]
    assert (again["answered_by"], again["command"]) == ("SPEED-002", "logbook compare SPEED-002")


def test_a_document_is_left_as_it_is(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    (folder / "README.md").write_text("First\n")
    git("add", "README.md")
    git("commit", "-q", "-m", "A document")
    (folder / "README.md").write_text("Second\n")
    (folder / "speed.txt").write_text("120")
    assert ready(*ASK).code == 0
    undone = ready("patch", "SPEED-000", "--undo").out
    assert ((folder / "speed.txt").read_text(), (folder / "README.md").read_text()) == ("90", "Second\n")
    [command] = [line.partition(": ")[2] for line in undone.splitlines() if "them back, too" in line]
    assert ready(*shlex.split(command)[1:]).code == 0
    assert (folder / "README.md").read_text() == "First\n"


def test_changes_that_were_taken_back_already(ready: Cli, folder: Path) -> None:  # noqa: F811
    (folder / "speed.txt").write_text("120")
    assert ready(*ASK).code == 0
    assert ready("patch", "SPEED-000", "--undo").code == 0
    assert "the changes are not there any more" in ready("patch", "SPEED-000", "--undo").err
    assert ready("next", "--json").data["nothing_left"].startswith("nothing is left to do here")


def test_a_table_begins_with_the_base_that_a_comparison_states(ready: Cli, folder: Path) -> None:  # noqa: F811
    """Whichever side chance ran first."""
    drawn = set()
    for number in range(4):
        ask = ("ab", "--axis", "how=9,8", "--new", "--seed", f"{number}", "--pairs", "1")
        assert ready(*ask, "--", "sh", "-c", "echo METRIC step_ms={how}").code == 0
        drawn.add(runs(folder, f"SPEED-00{number}")[0]["part"]["side"])
        data = ready("table", f"SPEED-00{number}", "--delta", "--json").data
        at = [column["name"] for column in data["columns"]].index("delta step_ms")
        assert [row[at] for row in data["values"]][1] == pytest.approx(-1 / 9)
    assert len(drawn) == 2, "both orders were drawn"


def test_what_a_person_judged_is_not_said_to_be_open(ready: Cli) -> None:  # noqa: F811
    assert ready("criteria", "--add", "good", "--predicate", "judgement: {}").code == 0
    assert ready("run", *COMMAND).code == 0
    assert "nobody has judged it yet" in ready("criteria").out
    assert ready("criteria", "--met", "1", "--evidence", "SPEED-000").code == 0
    assert "nobody has judged it yet" not in ready("criteria").out


def test_the_code_is_no_flag_of_a_command(ready: Cli, folder: Path) -> None:  # noqa: F811
    assert ready("run", *COMMAND).code == 0
    (folder / "speed.txt").write_text("80")
    hint = ready("ab", "--json", "--axis", "code=HEAD,WORK", *COMMAND).error["hint"]
    assert hint == "logbook ab --code HEAD WORK -- python3 bench.py"
    assert ready(*shlex.split(hint)[1:]).code == 0
    assert ready("discard", "SPEED-001", "--why", "not this").code == 0
    assert ready("next", "--json").data["steps"][0]["why"].startswith("What was compared in pairs was discarded")


def test_a_kept_decision_is_not_asked_for_again(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    predicate = "compared: {axis: code, values: [base, faster], for_each: {topk: [1, 4]}, settled: true}"
    git("tag", "base")
    assert ready("criteria", "--add", "faster", "--predicate", predicate).code == 0
    (folder / "speed.txt").write_text("80")
    (folder / "same.py").write_text("x = 1\n")
    git("add", "same.py")
    assert ready("ab", "--code", "HEAD", "WORK", *COMMAND, "--topk", "2").code == 0
    assert ready("keep", "SPEED-000").code == 0
    git("commit", "-q", "-a", "-m", "Faster")
    assert ready("keep", "SPEED-000").code == 0
    [criterion] = ready("criteria", "--json").data["criteria"]
    assert "keep" not in str(criterion), criterion
