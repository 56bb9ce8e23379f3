"""A campaign on code: keep, discard and patch."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock
from tests.contract.agents.generated_trees import snapshot
from tests.seams import Store
from tests.stored import at

pytestmark = pytest.mark.slow

Git = Callable[..., str]
COMMAND = ("python", "bench.py")


def measure(cli: Cli, folder: Path, value: int, *options: str) -> str:
    """Change what the benchmark prints, and run it; the new entry."""
    (folder / "bench.py").write_text(f"print('RESULT tflops={value}')\n")
    made: str = cli("run", "--json", *options, "--", *COMMAND).data["id"]
    return made


@pytest.fixture
def campaign(git: Git, started: Cli, folder: Path) -> Cli:
    """A logbook in a repository that ignores it, whose base was measured and kept."""
    (folder / ".gitignore").write_text("logbooks/\n")
    git("add", ".")
    git("commit", "-q", "-m", "ignore")
    assert measure(started, folder, 1) == "MOE-000"
    git("commit", "-q", "-a", "-m", "base")
    assert started("keep", "MOE-000").code == 0
    return started


def test_a_kept_idea_names_its_commit(campaign: Cli, git: Git, folder: Path) -> None:
    idea = measure(campaign, folder, 2, "--next", "keep it if it is faster")
    answer = campaign("keep", idea, "--why", "twice as fast")
    assert f"logbook keep {idea}" in answer.out
    assert f"to leave it open: logbook edit {idea} --next 'keep it if it is faster'\n" in answer.out
    assert "closes its next action, written before its runs: keep it if it is faster" in answer.out
    assert "one that was written after them stays open" in " ".join(campaign("keep", "--help").out.split())
    # What is left of it does not have to be remembered.
    [left] = [one for one in campaign("next", "--json").data["steps"] if one["kind"] == "next action"]
    assert left["command"] == f"git add bench.py && git commit -m 'Keep {idea}' -- bench.py"
    subprocess.run(["sh", "-c", left["command"]], cwd=folder, check=True, capture_output=True)
    [left] = [one for one in campaign("next", "--json").data["steps"] if one["kind"] == "next action"]
    assert left["command"] == f"logbook keep {idea}"
    again = campaign(*shlex.split(left["command"])[1:], "--json").data
    assert campaign("status", "--json").data["next_actions"] == []
    assert (again["commit"], again["is_committed"]) == (git("rev-parse", "HEAD"), True)
    assert f"(commit {again['commit'][:9]})" in campaign("status").out
    refused = campaign("keep", idea, "--json")
    assert (refused.code, again["id"] in refused.error["message"]) == (2, True)


def test_the_first_decision_is_completed_by_the_commit(campaign: Cli, git: Git, folder: Path) -> None:
    idea = measure(campaign, folder, 2)
    first = campaign("keep", idea, "--why", "twice as fast", "--json").data
    git("commit", "-q", "-a", "-m", "twice as fast")
    again = campaign("keep", idea, "--json").data
    assert (again["id"], again["why"], again["commit"]) == (first["id"], "twice as fast", git("rev-parse", "HEAD"))
    assert [line["id"] for line in campaign("list", "--kind", "decision", "--json").data] == ["MOE-001", first["id"]]
    assert again["commit"][:9] in (folder / "logbooks/moe.md").read_text()


def test_a_commit_with_other_changes_beside_completes_it(campaign: Cli, git: Git, folder: Path) -> None:
    (folder / "kernels.py").write_text("SPEED = 2\n")
    idea = measure(campaign, folder, 2)
    first = campaign("keep", idea, "--json").data
    (folder / "README.md").write_text("Twice as fast\n")
    (folder / "tests").mkdir()
    (folder / "tests/test_bench.py").write_text("assert True\n")
    (folder / "notes.py").write_text("# not committed\n")
    git("add", "bench.py", "README.md", "tests")
    git("commit", "-q", "-m", "twice as fast, without the kernels")
    refused = campaign("keep", idea, "--json")
    assert (refused.code, "kernels.py" in refused.error["cause"]) == (2, True)
    git("add", "kernels.py")
    git("commit", "-q", "-m", "the kernels")
    again = campaign("keep", idea, "--json").data
    assert (again["id"], again["commit"], again["is_committed"]) == (first["id"], git("rev-parse", "HEAD"), True)


def to_keep(cli: Cli) -> str:
    """What `next` types to complete a decision to keep changes; empty where nothing is left of it."""
    steps = [one for one in cli("next", "--json").data["steps"] if one["kind"] == "next action"]
    assert len(steps) < 2
    return str(steps[0]["command"]) if steps else ""


def test_what_head_has_instead_is_compared_before_it_is_kept(campaign: Cli, git: Git, folder: Path) -> None:
    idea = measure(campaign, folder, 2)
    first = campaign("keep", idea, "--json").data
    # HEAD is not what it will be.
    assert "commit its changes" in campaign("keep", idea, "--json").error["hint"]
    (folder / "bench.py").write_text("# with a comment\nprint('RESULT tflops=2')\n")
    git("commit", "-q", "-a", "-m", "twice as fast")
    error = campaign("keep", idea, "--json").error
    assert (error["cause"], "--commit" in error["hint"]) == ("HEAD does not hold what it ran: bench.py", False)
    assert error["hint"].endswith(f"to compare it: {to_keep(campaign)}")
    # No reader names a command that would be refused now.
    assert f"logbook keep {idea}" not in campaign("status").out + campaign("next").out
    typed = shlex.split(error["hint"][error["hint"].index("logbook ") :])[1:]
    compared = campaign(*typed, "--pairs", "1", "--json").data
    assert [value.rpartition("@")[2] for value in compared["values"]] == [
        git("rev-parse", "--short=9", name) for name in ("HEAD~1", "HEAD")
    ]
    # A person may know that it is the same.
    assert to_keep(campaign) == f"logbook keep {idea} --commit HEAD"
    made = campaign(*to_keep(campaign).split()[1:], "--json").data
    assert to_keep(campaign) == ""
    assert (made["id"], made["commit"], made["is_committed"]) == (first["id"], git("rev-parse", "HEAD"), True)
    assert campaign("keep", idea, "--commit", "nowhere").code == 2


def test_code_that_was_thrown_away_is_taken_from_its_diff(campaign: Cli, git: Git, folder: Path) -> None:
    idea = measure(campaign, folder, 2)
    assert campaign("keep", idea).code == 0
    git("checkout", "-q", "bench.py")
    git("commit", "-q", "--allow-empty", "-m", "something else")
    hint = campaign("keep", idea, "--json").error["hint"]
    assert campaign(*shlex.split(hint[hint.index("logbook ") :])[1:]).code == 0
    git("commit", "-q", "-a", "-m", "twice as fast")
    assert campaign("keep", idea, "--json").data["commit"] == git("rev-parse", "HEAD")


def test_a_next_action_that_was_written_after_a_continuation_is_open(
    campaign: Cli, folder: Path, clock: FixedClock
) -> None:
    idea = measure(campaign, folder, 2, "--next", "look at topk")
    clock.tick(1)
    assert campaign("note", "--title", "Looked", "--continues", idea).code == 0
    assert campaign("status", "--json").data["next_actions"] == []
    clock.tick(1)
    assert (
        campaign("edit", idea, "--next", "look at `topk()`, with `--topk 8`, or `python bench.py | head -1`").code == 0
    )
    [step] = [one for one in campaign("next", "--json").data["steps"] if one["kind"] == "next action"]
    assert (step["id"], step.get("command")) == (idea, None)


@pytest.mark.parametrize("decision", [("keep",), ("discard", "--why", "slower")])
def test_a_decision_leaves_what_was_written_after_its_runs(
    campaign: Cli, folder: Path, clock: FixedClock, decision: tuple[str, ...]
) -> None:
    def left() -> list[str]:
        found = campaign("status", "--json").data["next_actions"]
        # That of the decision is to commit the changes.
        return [one["next"] for one in found if one["next"] != f"Commit the changes of {idea}"]

    idea = measure(campaign, folder, 2, "--next", "keep it if it is faster")
    assert campaign("edit", idea, "--next", "try topk=8").code == 0
    first, *more = decision
    assert campaign(first, idea, *more, "--json").data["closes"] is None
    assert left() == ["try topk=8"]
    clock.tick(1)
    assert campaign("run", "--id", idea, "--", *COMMAND).code == 0
    assert left() == ["try topk=8"]
    clock.tick(1)
    assert campaign(first, idea, "--why", "still so", "--json").data["closes"] == "try topk=8"
    assert left() == []
    # As its answer says, the same words leave it open.
    clock.tick(1)
    assert campaign("edit", idea, "--next", "try topk=8").code == 0
    assert left() == ["try topk=8"]


def test_other_code_that_was_committed_since_is_not_the_commit(campaign: Cli, git: Git, folder: Path) -> None:
    base = git("rev-parse", "HEAD")
    idea = measure(campaign, folder, 2)
    (folder / "bench.py").write_text("print('RESULT tflops=5')\n")
    git("commit", "-q", "-a", "-m", "another idea")
    kept = campaign("keep", idea, "--json").data
    assert (kept["commit"], kept["is_committed"]) == (base, False)


def test_a_discarded_idea_keeps_its_record(campaign: Cli, git: Git, folder: Path) -> None:
    base = git("rev-parse", "HEAD")
    idea = measure(campaign, folder, 3)
    assert campaign("discard", idea).code == 2
    records = snapshot(folder / "logbooks/moe/runs")
    found = campaign("discard", idea, "--why", "wrong numbers", "--json").data
    assert campaign("patch", idea, "--undo").code == 0
    assert git("status", "--porcelain") == ""
    assert git("rev-parse", "HEAD") == base
    assert snapshot(folder / "logbooks/moe/runs") == records
    assert f"Decided by: {found['id']}" in campaign("show", idea).out
    assert campaign("status", "--json").data["decisions"][0]["text"] == "wrong numbers"


def test_a_change_of_mind(campaign: Cli, folder: Path) -> None:
    idea = measure(campaign, folder, 2)
    kept = campaign("keep", idea, "--json").data["id"]
    discarded = campaign("discard", idea, "--why", "not at topk=8", "--json").data
    assert (discarded["id"] != kept, discarded["commit"]) == (True, None)
    assert "superseded_by" in str(campaign("show", kept, "--json").data)


def test_an_untracked_script_is_part_of_the_code(campaign: Cli, git: Git, folder: Path) -> None:
    (folder / "fresh.py").write_text("print('RESULT tflops=9')\n")
    assert campaign("run", "--", "python", "fresh.py").code == 0
    assert campaign("keep", "MOE-002", "--json").data["is_committed"] is False
    git("add", "fresh.py")
    git("commit", "-q", "-m", "fresh")
    assert campaign("keep", "MOE-002", "--json").data["commit"] == git("rev-parse", "HEAD")


def test_what_is_refused(campaign: Cli) -> None:
    assert campaign("run", "--", "false").code == 1
    for line, named in (
        ("keep MOE-001", "MOE-001 is a decision"),
        ("keep MOE-002", "MOE-002 has no run"),
        ("discard MOE-002 --why ' '", "MOE-002 needs a reason"),
        ("keep MOE-404", "MOE-404"),
        ("patch MOE-002", "diff"),
        ("patch MOE-000/7", "no run MOE-000/7"),
        ("patch MOE-000 --show --undo", "--undo"),
        ("patch MOE-000 --paths ../x", "outside"),
    ):
        answer = campaign(*shlex.split(line), "--json")
        said = answer.error["message"] + answer.error["cause"]
        assert (answer.code, named in said) == (2, True), (line, said)


# -- patch -------------------------------------------------------------------------------------------


def test_overlapping_changes_are_named_and_stay(campaign: Cli, git: Git, folder: Path) -> None:
    (folder / "other.py").write_text("a\n")
    git("add", "-N", "other.py")
    idea = measure(campaign, folder, 2)
    (folder / "bench.py").write_text("print('RESULT tflops=7')\n")
    answer = campaign("patch", idea, "--undo", "--json")
    assert (answer.code, "bench.py" in answer.error["cause"]) == (2, True)
    assert (folder / "other.py").read_text() == "a\n"
    assert campaign("patch", idea, "--undo", "--paths", "other.py").code == 0
    assert not (folder / "other.py").exists()
    assert (folder / "bench.py").read_text() == "print('RESULT tflops=7')\n"


def test_a_diff_without_its_secrets_is_not_applied(
    campaign: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "bench.py").write_text("password = 'hunter2-hunter2'\n")
    monkeypatch.setenv("MY_PASSWORD", "hunter2-hunter2")
    assert campaign("run", "--", "true").code == 0
    answer = campaign("patch", "MOE-002", "--undo", "--json")
    assert (answer.code, "secrets" in answer.error["message"] + answer.error["cause"]) == (2, True), answer.error
    assert (folder / "bench.py").read_text() == "password = 'hunter2-hunter2'\n"
    assert "hunter2" not in campaign("patch", "MOE-002", "--json").out


def test_other_places_than_the_checkout_are_refused(
    campaign: Cli, git: Git, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    idea = measure(campaign, folder, 2)
    monkeypatch.setenv("LOGBOOK_ROOT", str(folder / "logbooks"))
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    assert campaign("patch", idea, "--apply").code == 2
    git("init", "-q", cwd=other)
    assert campaign("patch", idea, "--apply").code == 2
    assert "diff --git" in campaign("patch", idea, "--show").out


def test_a_diff_that_fits_is_applied_without_its_commit(
    campaign: Cli, git: Git, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A clone of a squashed branch has the files, and none of the commits."""
    idea = measure(campaign, folder, 2)
    monkeypatch.setenv("LOGBOOK_ROOT", str(folder / "logbooks"))
    squashed = tmp_path / "squashed"
    squashed.mkdir()
    git("init", "-q", cwd=squashed)
    (squashed / "bench.py").write_text("print('RESULT tflops=1')\n")
    monkeypatch.chdir(squashed)
    assert campaign("patch", idea, "--apply", "--json").data["changed"] == ["bench.py"]
    assert (squashed / "bench.py").read_text() == "print('RESULT tflops=2')\n"


def test_an_untracked_script_comes_and_goes(campaign: Cli, git: Git, folder: Path) -> None:
    script = "#!/bin/sh\nprintf 'RESULT tflops=9'"
    (folder / "new").mkdir()
    (folder / "new/[a] ü.sh").write_text(script)
    (folder / "bench.py").write_text("print('RESULT tflops=2')\n")
    assert campaign("run", "--", "sh", "new/[a] ü.sh").code == 0
    assert "+printf 'RESULT tflops=9'" in campaign("patch", "MOE-002").out

    undone = campaign("patch", "MOE-002", "--undo", "--json").data
    assert (undone["changed"], undone["left"]) == (["bench.py"], ["new/[a] ü.sh"])
    assert (folder / "new/[a] ü.sh").read_text() == script
    again = campaign("patch", "MOE-002", "--apply", "--json").data
    assert (again["changed"], again["left"]) == (["bench.py"], ["new/[a] ü.sh"]), "what was left is there already"
    assert campaign("patch", "MOE-002", "--undo").code == 0
    (folder / "new/[a] ü.sh").write_text("other work\n")
    for way in ("--apply", "--undo"):
        answer = campaign("patch", "MOE-002", way, "--paths", ".", "--json")
        assert (answer.code, "new/[a] ü.sh" in answer.error["cause"]) == (2, True)
        assert ((folder / "new/[a] ü.sh").read_text(), git("status", "--porcelain", "-uno")) == ("other work\n", "")

    (folder / "new/[a] ü.sh").unlink()
    (folder / "bench.py").write_text("print('RESULT tflops=1')\n")
    assert campaign("patch", "MOE-002", "--apply", "--json").data["changed"] == ["bench.py", "new/[a] ü.sh"]
    assert ((folder / "new/[a] ü.sh").read_text(), os.access(folder / "new/[a] ü.sh", os.X_OK)) == (script, True)
    assert campaign("patch", "MOE-002", "--apply").code == 2, "a change that is there already does not fit"
    assert campaign("patch", "MOE-002", "--undo", "--paths", "new").code == 0
    assert not (folder / "new").exists()
    assert git("status", "--porcelain") == "M bench.py"


def test_an_untracked_file_of_a_comparison_of_code_is_removed_only_by_name(
    campaign: Cli, git: Git, folder: Path
) -> None:
    (folder / "kernel.py").write_text("TFLOPS = 5\n")
    (folder / "bench.py").write_text("import kernel\nprint(f'RESULT tflops={kernel.TFLOPS}')\n")
    idea = campaign(
        "ab", "--code", "HEAD", "WORK", "--evaluator", "none", "--pairs", "1", "--json", "--", *COMMAND
    ).data["id"]
    said = campaign("patch", idea, "--undo").out
    assert "left as they are (untracked): kernel.py" in said
    assert git("status", "--porcelain") == "?? kernel.py"
    remove = next(line for line in said.splitlines() if line.startswith("to remove: ")).partition("logbook ")[2]
    assert campaign(*shlex.split(remove)).code == 0
    assert git("status", "--porcelain") == ""
    assert campaign("patch", idea, "--apply", "--json").data["changed"] == ["bench.py", "kernel.py"]
    git("add", "kernel.py")
    assert campaign("patch", idea, "--undo", "--json").data["changed"] == ["bench.py", "kernel.py"]


def test_a_commit_that_is_merged_as_another_one(campaign: Cli, git: Git, folder: Path) -> None:
    main = git("branch", "--show-current")
    git("checkout", "-q", "-b", "idea")
    (folder / "bench.py").write_text("print('RESULT tflops=8')\n")
    git("commit", "-q", "-a", "-m", "idea")
    idea = campaign("run", "--json", "--", *COMMAND).data["id"]
    git("checkout", "-q", main)
    said = campaign("keep", idea, "--why", "faster").out
    measured = git("rev-parse", "idea")
    git("merge", "-q", "--squash", "idea")
    git("commit", "-q", "-m", "squashed")
    typed = said[said.rindex("logbook keep") :].split()[1:]
    assert campaign(*typed, "--json").data["commit"] == git("rev-parse", "HEAD")
    # A merge that holds the commit leaves it as it is.
    assert campaign("keep", idea, "--commit", "idea", "--json").data["commit"] == measured
    git("checkout", "-q", "idea")
    (folder / "README.md").write_text("Eight")
    git("add", "README.md")
    git("commit", "-q", "-m", "Say so")
    again = campaign(*typed)
    assert (again.code, f"commit: {measured[:9]}, the one that was measured\n" in again.out) == (0, True)
    git("checkout", "-q", main)
    git("checkout", "-q", "-b", "here")
    here = measure(campaign, folder, 9)
    git("commit", "-q", "-a", "-m", "here")
    assert "HEAD does not hold" not in campaign("keep", here).out


def test_a_commit_that_was_amended_is_kept_as_it_is_now(campaign: Cli, git: Git, folder: Path) -> None:
    (folder / "bench.py").write_text("print('RESULT tflops=8')\n")
    git("commit", "-q", "-a", "-m", "idea")
    idea = campaign("run", "--json", "--", *COMMAND).data["id"]
    git("commit", "-q", "--amend", "-m", "idea, reworded")
    assert campaign("keep", idea, "--json").data["commit"] == git("rev-parse", "HEAD")
    # Also where it was kept before; what was edited meanwhile, a person knows.
    changed = measure(campaign, folder, 9)
    assert campaign("keep", changed).code == 0
    assert to_keep(campaign).startswith("git add bench.py && git commit ")
    git("commit", "-q", "-a", "-m", "nine")
    assert campaign("keep", changed).code == 0
    assert to_keep(campaign) == ""
    git("commit", "-q", "--amend", "-m", "nine, reworded")
    assert to_keep(campaign) == f"logbook keep {changed}"
    assert campaign("keep", changed, "--json").data["commit"] == git("rev-parse", "HEAD")
    assert to_keep(campaign) == ""
    (folder / "bench.py").write_text("print('RESULT tflops=9')  # faster\n")
    git("commit", "-q", "-a", "--amend", "-m", "nine, edited")
    assert to_keep(campaign).startswith("logbook ab --code ")


def test_git_says_where_a_diff_does_not_fit(campaign: Cli, folder: Path) -> None:
    idea = measure(campaign, folder, 2)
    (folder / "bench.py").write_text("print('RESULT tflops=7')\n")
    answer = campaign("patch", idea, "--undo", "--json")
    assert "bench.py: patch does not apply" in answer.error["cause"]


def test_the_decision_is_in_the_entry_file(campaign: Cli, folder: Path) -> None:
    entry = Store(folder).entry("MOE-001")
    assert (entry.kind, entry.decides, entry.kept) == ("decision", "MOE-000", True)
    path = at(folder / "logbooks/moe/entries/MOE-001.yaml")
    path.write_text(path.read_text().replace(entry.commit or "", "$(touch x)"))
    assert campaign("show", "MOE-001").code == 3
    assert os.path.lexists(folder / "bench.py")


def test_head_with_one_more_comment_is_compared_in_place_and_kept(campaign: Cli, git: Git, folder: Path) -> None:
    (folder / "bench.py").write_text("print('RESULT tflops=8')\n")
    ask = ("ab", "--code", "HEAD", "WORK", "--evaluator", "none", "--max-pairs", "1")
    idea = campaign(*ask, "--json", "--", *COMMAND).data["id"]
    assert campaign("keep", idea).code == 0
    (folder / "bench.py").write_text("print('RESULT tflops=8')  # faster\n")
    git("commit", "-q", "-a", "-m", "idea")
    typed = to_keep(campaign)
    assert typed.startswith("logbook ab ")
    assert campaign(*shlex.split(typed)[1:]).code == 0
    assert to_keep(campaign) == f"logbook keep {idea} --commit HEAD"
    assert campaign(*shlex.split(to_keep(campaign))[1:]).code == 0
    assert to_keep(campaign) == ""


def test_a_kept_commit_whose_branch_was_deleted_gets_a_branch(campaign: Cli, git: Git, folder: Path) -> None:
    git("checkout", "-q", "-b", "idea")
    (folder / "bench.py").write_text("print('RESULT tflops=8')\n")
    git("commit", "-q", "-a", "-m", "idea")
    idea = campaign("run", "--json", "--", *COMMAND).data["id"]
    assert campaign("keep", idea).code == 0
    git("checkout", "-q", "-")
    git("branch", "-q", "-D", "idea")
    assert f"Keep {idea} as it is committed now" in campaign("status").out
    typed = shlex.split(to_keep(campaign))
    assert typed[:2] == ["git", "branch"]
    git(*typed[1:])
    assert to_keep(campaign) == ""


def test_a_path_is_printed_as_it_is_typed_in_a_folder(
    campaign: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "new.py").write_text("x = 1\n")
    idea = measure(campaign, folder, 2)
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    said = campaign("patch", idea, "--undo").out
    typed = said[said.index("logbook patch ") :].split("\n")[0]
    assert campaign(*shlex.split(typed)[1:]).code == 0
    assert not (folder / "new.py").exists()


def test_status_is_shown_where_what_was_decided_is_on_another_branch(campaign: Cli, folder: Path) -> None:
    (folder / "bench.py").write_text("print('RESULT tflops=8')\n")
    ask = ("ab", "--code", "HEAD", "WORK", "--evaluator", "none", "--max-pairs", "1")
    idea = campaign(*ask, "--json", "--", *COMMAND).data["id"]
    assert campaign("keep", idea).code == 0
    at(folder / f"logbooks/moe/entries/{idea}.yaml").unlink()
    assert campaign("status").code == 0
