"""What `next` and `status` ask for where the code of a comparison waits for a decision."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.campaign.test_ab_code import COMMAND, ready  # noqa: F401

pytestmark = pytest.mark.slow

Git = Callable[..., str]


def first(cli: Cli) -> dict[str, Any]:
    """The first step of `next`, which `status` names, too."""
    [step, *_] = cli("next", "--json").data["steps"]
    named = cli("status", "--json").data["next_actions"][0]
    assert (named["id"], named["next"]) == (step["id"], step["what"])
    return dict(step)


def test_better_code_is_kept_or_discarded(ready: Cli, git: Git, folder: Path, clock: FixedClock) -> None:  # noqa: F811
    assert ready("criteria", "--add", "Nothing more is asked.").code == 0
    (folder / "speed.txt").write_text("80")
    assert ready("ab", "--code", "HEAD", "WORK", *COMMAND).code == 0
    assert ready("criteria", "--met", "1", "--evidence", "SPEED-000").code == 0
    step = first(ready)
    assert (step["kind"], step["command"]) == ("decision", "logbook keep SPEED-000")
    assert step["what"] == "Decide SPEED-000: keep it or discard it"
    # A second sitting is due: of one entry there is one step.
    clock.tick(11)
    [step] = ready("next", "--json").data["steps"]
    assert step["kind"] == "decision"
    assert "logbook ab --id SPEED-000 --max-pairs 10" in step["why"]
    git("commit", "-q", "-a", "-m", "Faster still")
    assert [one["kind"] for one in ready("next", "--json").data["steps"]] == ["replication"], "HEAD holds it"
    (folder / "other.py").write_text("x = 1\n")
    git("add", "other.py")
    git("commit", "-q", "-m", "Something else")
    assert [one["kind"] for one in ready("next", "--json").data["steps"]] == ["replication"], "it still does"
    git("reset", "-q", "--hard", "HEAD~2")
    assert ready(*shlex.split(step["command"])[1:]).code == 0
    assert "decision" not in [one["kind"] for one in ready("next", "--json").data["steps"]]


def test_better_code_that_was_committed_on_its_branch_waits_for_its_decision(
    ready: Cli,  # noqa: F811
    git: Git,
    folder: Path,
) -> None:
    assert ready("criteria", "--add", "Nothing more is asked.").code == 0
    git("checkout", "-q", "-b", "idea")
    (folder / "speed.txt").write_text("80")
    assert ready("ab", "--code", "main", "WORK", *COMMAND).code == 0
    assert ready("criteria", "--met", "1", "--evidence", "SPEED-000").code == 0
    assert first(ready)["command"] == "logbook keep SPEED-000"
    git("commit", "-q", "-a", "-m", "Faster")
    assert first(ready)["command"] == "logbook keep SPEED-000"
    # It is merged beside something else.
    git("checkout", "-q", "--detach", "main")
    (folder / "other.py").write_text("x = 1\n")
    git("add", "other.py")
    git("commit", "-q", "-m", "Something else")
    git("merge", "-q", "-m", "The idea", "idea")
    git("branch", "-f", "main", "HEAD")
    git("checkout", "-q", "idea")
    assert "decision" not in [one["kind"] for one in ready("next", "--json").data["steps"]]


def test_a_side_that_was_killed_once_is_run_again(cli: Cli, git: Git, folder: Path) -> None:
    assert cli("start", "t", "--prefix", "T", "--metric", "time_ms:min").code == 0
    once = folder.parent / "once"
    killed = f"[ $1 = 1 ] || [ -e {once} ] || {{ touch {once}; kill -9 $$; }}\necho METRIC time_ms=1\n"
    (folder / "bench.sh").write_text(killed)
    git("add", ".")
    git("commit", "-q", "-m", "first")
    assert cli("ab", "--axis", "k=1,2", "--max-pairs", "1", "--", "sh", "bench.sh", "{axis}").code == 137
    step = first(cli)
    assert (step["kind"], "fails again" in step["why"]) == ("comparison", False)
    assert cli(*shlex.split(step["command"])[1:], "--json").data["pairs"] == 1


def test_worse_code_is_discarded_and_undone(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    (folder / "speed.txt").write_text("120")
    assert ready("ab", "--code", "HEAD", "WORK", *COMMAND).code == 0
    step = first(ready)
    assert step["command"].startswith("logbook discard SPEED-000 --why 'WORK takes ")
    discarded = ready(*shlex.split(step["command"])[1:])
    undo = "logbook patch SPEED-000 --undo"
    assert f"to take its changes back: {undo}" in discarded.out
    assert ready(*shlex.split(undo)[1:]).code == 0
    assert (folder / "speed.txt").read_text() == "90"
    assert "SPEED-000" not in ready("next").out
    # Of what is gone there is nothing to undo.
    assert undo not in ready("discard", "SPEED-000", "--why", "it is slower").out


@pytest.mark.parametrize("speed", ["120", "90.0"], ids=["worse", "no difference"])
def test_changes_that_did_not_help_wait_for_a_decision_after_another_commit(
    ready: Cli,  # noqa: F811
    git: Git,
    folder: Path,
    speed: str,
) -> None:
    (folder / "speed.txt").write_text(speed)
    assert ready("ab", "--code", "HEAD", "WORK", *COMMAND).code == 0
    (folder / "other.py").write_text("x = 1\n")
    git("add", "other.py")
    git("commit", "-q", "-m", "Something else", "--", "other.py")
    step = first(ready)
    assert step["what"] == "Decide SPEED-000: keep it or discard it"
    assert f"  type: {step['command']}" in ready("status").out.splitlines()
    undo = ready(*shlex.split(step["command"])[1:]).out.partition("to take its changes back: ")[2].strip()
    assert ready(*shlex.split(undo)[1:]).code == 0
    assert ((folder / "speed.txt").read_text(), (folder / "other.py").exists()) == ("90", True)
    assert "SPEED-000" not in ready("next").out
    assert "to take its changes back" not in ready("discard", "SPEED-000", "--why", "it is over").out


def test_a_change_that_failed_and_was_taken_back_is_discarded(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    (folder / "speed.txt").write_text("no number")
    assert ready("ab", "--code", "HEAD", "WORK", *COMMAND).code == 1
    git("checkout", "-q", "--", "speed.txt")
    step = first(ready)
    assert step["command"].startswith("logbook discard SPEED-000")
    assert ready(*shlex.split(step["command"])[1:]).code == 0, step["command"]
    assert "SPEED-000" not in ready("next").out


def test_pairs_of_a_new_entry_are_asked_for_while_the_changes_are_here(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    (folder / "speed.txt").write_text("90.1")
    assert ready("ab", "--code", "HEAD", "WORK", "--pairs", "2", *COMMAND).code == 0
    step = first(ready)
    assert (step["kind"], "--new" in step["command"]) == ("comparison", True)
    git("checkout", "-q", "--", "speed.txt")
    assert "SPEED-000" not in ready("next").out
    assert ready("patch", "SPEED-000", "--apply").code == 0
    assert first(ready)["command"] == step["command"]
    assert ready(*shlex.split(step["command"])[1:]).code == 0


def test_a_change_that_failed_can_be_taken_back(ready: Cli, folder: Path) -> None:  # noqa: F811
    (folder / "speed.txt").write_text("no number")
    assert ready("ab", "--code", "HEAD", "WORK", *COMMAND).code == 1
    discarded = ready(*shlex.split(first(ready)["command"])[1:])
    undo = discarded.out.partition("to take its changes back: ")[2].strip()
    assert ready(*shlex.split(undo)[1:]).code == 0
    assert (folder / "speed.txt").read_text() == "90"


def test_two_changes_that_were_kept_and_committed_at_once_are_completed(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    for speed in ("80", "70"):
        (folder / "speed.txt").write_text(speed)
        assert ready("ab", "--code", "HEAD", "WORK", *COMMAND).code == 0
        assert ready(*shlex.split(first(ready)["command"])[1:]).code == 0
    git("commit", "-q", "-a", "-m", "Both")
    for _ in range(2):
        step = first(ready)
        assert step["kind"] == "next action"
        assert ready(*shlex.split(step["command"])[1:]).code == 0, step
    assert "next action" not in [one["kind"] for one in ready("next", "--json").data["steps"]]


def test_worse_code_that_was_committed_is_discarded_and_taken_back(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    (folder / "speed.txt").write_text("120")
    assert ready("ab", "--code", "HEAD", "WORK", *COMMAND).code == 0
    git("commit", "-q", "-a", "-m", "Slower")
    step = first(ready)
    assert (step["kind"], "the code here has it" in step["why"]) == ("decision", True)
    discarded = ready(*shlex.split(step["command"])[1:])
    assert "decision" not in [one["kind"] for one in ready("next", "--json").data["steps"]]
    assert "to take its changes back: logbook patch SPEED-000 --undo" in discarded.out
    assert ready("patch", "SPEED-000", "--undo").code == 0
    assert (folder / "speed.txt").read_text() == "90"


@pytest.mark.parametrize("records", [False, True])
def test_a_worse_branch_that_was_merged_is_discarded_and_taken_back(
    ready: Cli,  # noqa: F811
    git: Git,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    records: bool,
) -> None:
    git("branch", "-f", "main", "faster")
    git("checkout", "-q", "-b", "slower")
    (folder / "speed.txt").write_text("120")
    assert ready("note", "An idea").code == 0
    git("add", *(["logbooks"] if records else []), "speed.txt")
    git("commit", "-q", "-m", "Slower")
    assert ready("ab", "--code", "main", "slower", *COMMAND).code == 0
    assert "decision" in [one["kind"] for one in ready("next", "--json").data["steps"]]
    git("stash", "-q", "-u")
    git("checkout", "-q", "main")
    git("stash", "pop", "-q")
    assert "decision" not in [one["kind"] for one in ready("next", "--json").data["steps"]], "main has not got it"
    git("stash", "-q", "-u")
    git("checkout", "-q", "slower")
    git("stash", "pop", "-q")
    git("branch", "-f", "main", "slower")
    (folder / "other.py").write_text("x = 1\n")
    git("add", "other.py")
    git("commit", "-q", "-m", "Something else")
    step = next(one for one in ready("next", "--json").data["steps"] if one["kind"] == "decision")
    discarded = ready(*shlex.split(step["command"])[1:]).out
    undo = discarded.partition("to take its changes back: ")[2].strip()
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    assert ready(*shlex.split(undo)[1:]).code == 0
    monkeypatch.chdir(folder)
    assert (folder / "speed.txt").read_text() == "90"
    assert ready("patch", step["id"], "--apply").code == 0
    assert (folder / "speed.txt").read_text() == "120"
    assert ready(*shlex.split(undo)[1:]).code == 0
    assert ready("show", "SPEED-000").code == 0
    # Of what a later commit took back, nothing is left to decide or to take back.
    git("commit", "-q", "-m", "As before", "--", "speed.txt")
    next((folder / "logbooks").rglob("SPEED-002.*.yaml")).unlink()
    assert "decision" not in [one["kind"] for one in ready("next", "--json").data["steps"]]
    assert "to take its changes back" not in ready("discard", step["id"], "--why", "slower").out


def test_a_kept_branch_that_was_not_merged_is_named(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    assert ready("ab", "--code", "main", "faster", *COMMAND).code == 0
    assert ready("keep", "SPEED-000").code == 0

    def merging() -> list[str]:
        return [
            one["command"] for one in ready("next", "--json").data["steps"] if "git merge" in one.get("command", "")
        ]

    assert not merging(), "its own branch is checked out"
    git("add", "logbooks")
    git("commit", "-q", "-m", "The records")
    git("checkout", "-q", "main")
    (folder / "other.py").write_text("x = 1\n")
    git("add", "other.py")
    git("commit", "-q", "-m", "Something else")
    git("checkout", "-q", "faster", "--", "logbooks")
    git("commit", "-q", "-m", "The records, here")
    [command] = merging()
    assert command == "git merge faster"
    git("checkout", "-q", "-b", "another")
    assert not merging(), "the base is not checked out"
    git("checkout", "-q", "main")
    git(*shlex.split(command)[1:], "--no-edit")
    assert not merging()


def test_where_nothing_is_left_status_says_how_to_close(ready: Cli, folder: Path) -> None:  # noqa: F811
    assert ready("criteria", "--add", "Nothing more is asked.").code == 0
    assert ready("ab", "--code", "main", "HEAD", "--pairs", "8", *COMMAND).code == 0
    assert ready("criteria", "--met", "1", "--evidence", "SPEED-000").code == 0
    # Also on the branch of the idea, which holds it always.
    assert "type: logbook keep SPEED-000" in ready("next").out
    assert ready("keep", "SPEED-000").code == 0
    said = "all stop criteria are met: logbook close --help"
    assert ready("next").out == f"{said}\n"
    assert f"next: {said}" in ready("status").out
    assert ready("report", "--out", "pages").code == 0
    pages = [page.read_text() for page in (folder / "pages").rglob("*.html")]
    assert any("All stop criteria are met: <code>logbook close --help</code>" in page for page in pages)


def test_code_that_was_amended_waits_for_its_decision(ready: Cli, git: Git, folder: Path) -> None:  # noqa: F811
    assert ready("criteria", "--add", "Nothing more is asked.").code == 0
    (folder / "speed.txt").write_text("80")
    git("checkout", "-q", "-b", "idea")
    git("commit", "-q", "-a", "-m", "Faster")
    assert ready("ab", "--code", "main", "idea", *COMMAND).code == 0
    assert ready("criteria", "--met", "1", "--evidence", "SPEED-000").code == 0
    assert first(ready)["command"] == "logbook keep SPEED-000"
    git("commit", "-q", "--amend", "-m", "Faster, said better")
    assert first(ready)["command"] == "logbook keep SPEED-000"
    # Merged as another commit, nothing is to be decided.
    git("update-ref", "refs/heads/main", git("commit-tree", "idea^{tree}", "-p", "main", "-m", "Faster, on main"))
    assert "decision" not in [one["kind"] for one in ready("next", "--json").data["steps"]]


def test_a_comparison_whose_code_changed_before_its_first_pair_is_open(
    cli: Cli,
    git: Git,
    folder: Path,
) -> None:
    assert cli("start", "t", "--prefix", "T", "--metric", "time_ms:min").code == 0
    once = folder.parent / "once"
    edit = f"[ -e {once} ] || echo '# edited' >> bench.sh; touch {once}; echo METRIC time_ms=1\n"
    (folder / "bench.sh").write_text(edit)
    git("add", ".")
    git("commit", "-q", "-m", "first")
    assert "the code changed: bench.sh" in cli("ab", "--axis", "k=1,2", "--", "sh", "bench.sh", "{axis}").out
    step = first(cli)
    assert (step["id"], step["kind"], step["why"]) == ("T-000", "comparison", "no pair counts yet")
    assert cli(*shlex.split(step["command"])[1:], "--max-pairs", "1", "--json").data["pairs"] == 1


def test_what_failed_and_was_answered_of_other_code_is_no_failure(ready: Cli, folder: Path) -> None:  # noqa: F811
    good = (folder / "bench.py").read_text()
    (folder / "bench.py").write_text("raise SystemExit(3)\n")
    ask = ("ab", "--code", "HEAD", "WORK", "--title", "One idea", "--evaluator", "none", *COMMAND)
    assert ready(*ask).code == 3
    assert [one["id"] for one in ready("status", "--json").data["failed"]] == ["SPEED-000"]
    (folder / "bench.py").write_text(good)
    (folder / "speed.txt").write_text("85")
    assert ready(*ask[:4], "--title", "Another", *COMMAND).code == 0
    assert [one["id"] for one in ready("status", "--json").data["failed"]] == ["SPEED-000"]
    (folder / "speed.txt").write_text("80")
    assert ready(*ask).code == 0
    assert not ready("status", "--json").data.get("failed")


def test_what_failed_is_over_once_it_was_asked_again_under_another_title(ready: Cli, folder: Path) -> None:  # noqa: F811
    good = (folder / "bench.py").read_text()
    (folder / "bench.py").write_text("raise SystemExit(3)\n")
    ask = ("ab", "--code", "HEAD", "WORK", "--evaluator", "none")
    idea = ready("note", "An idea", "--next", "try it", "--json").data["id"]
    assert ready(*ask, "--continues", idea, *COMMAND).code == 3
    (folder / "bench.py").write_text("raise SystemExit(4)\n")
    assert ready("ab", "--like", "SPEED-001", "--title", "Again").code == 4
    assert [one["id"] for one in ready("status", "--json").data["failed"]] == ["SPEED-002", "SPEED-001"]
    again = ready("ab", "--like", "SPEED-002", "--json")
    assert (again.code, again.data["id"], "stays as it is" in again.err) == (4, "SPEED-002", False)
    (folder / "bench.py").write_text(good)
    (folder / "speed.txt").write_text("80")
    assert ready("ab", "--like", "SPEED-002", "--title", "Mended", "--max-pairs", "1").code == 0
    assert ready("show", "SPEED-003", "--json").data["completes"] == "SPEED-002"
    assert not ready("status", "--json").data.get("failed")
    assert "try it" not in ready("next").out, "what it was to continue was taken up"
