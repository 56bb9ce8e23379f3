"""Stop criteria about versions of the code: which comparisons count for them, and what is printed where none does."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.stored import at

pytestmark = pytest.mark.slow

BENCH = "echo RESULT time_ms=$(($(cat speed.sh) + $$ % 3))\n"


@pytest.fixture
def thread(cli: Cli, git: Callable[..., str], folder: Path) -> Cli:
    """Two commits: the first takes 1,000 ms, the second 1,001."""
    assert cli("start", "t", "--prefix", "T", "--metric", "time_ms:min:ms").code == 0
    (folder / "bench.sh").write_text(BENCH)
    for number, speed in enumerate(("1000", "1001")):
        (folder / "speed.sh").write_text(speed)
        git("add", ".")
        git("commit", "-q", "-m", f"number {number}")
    return cli


def ask(cli: Cli, *codes: str) -> None:
    values = ", ".join(f'"{code}"' for code in codes)
    predicate = f"compared: {{axis: code, values: [{values}], settled: true, min_effect: 0.05}}"
    assert cli("criteria", "--add", "faster", "--predicate", predicate).code == 0


def computed(cli: Cli) -> dict[str, Any]:
    found: dict[str, Any] = cli("criteria", "--json").data["criteria"][-1]["computed"]
    return found


@pytest.mark.parametrize("has_baseline", [True, False])
def test_what_is_printed_asks_of_the_case_that_is_most_in_use(
    thread: Cli, git: Callable[..., str], has_baseline: bool
) -> None:
    """Not of the latest run, which may be of another size."""
    (first, second), pairs = [git("rev-parse", "--short=9", name) for name in ("HEAD~1", "HEAD")], ["--pairs", "1"]
    assert thread("run", "--", "sh", "bench.sh", "small").code == 0
    if has_baseline:
        assert thread("baseline", "--entry", "T-000", "--reason", "the usual size").code == 0
    for size, threads in (("large", "1,2"), ("small", "1,2"), ("large", "1,3")):
        assert thread("ab", "--axis", f"env:THREADS={threads}", *pairs, "--", "sh", "bench.sh", size).code == 0
    assert thread("run", "--", "sh", "bench.sh", "tiny").code == 0
    ask(thread, first, second)
    made = thread(*shlex.split(computed(thread)["command"])[1:], *pairs, "--json")
    assert made.code == 0, made.err
    shown = thread("show", made.data["id"]).out
    assert ("bench.sh small" in shown, "bench.sh large" in shown) == (has_baseline, not has_baseline)


def test_what_is_printed_measures_the_base_of_another_comparison(
    thread: Cli, git: Callable[..., str], folder: Path
) -> None:
    codes = [git("rev-parse", "--short=9", name) for name in ("HEAD~1", "HEAD")]
    ask(thread, *codes)
    made = thread("ab", "--axis", "env:THREADS=1,2,3,4,5,6", "--pairs", "1", "--json", "--", "sh", "bench.sh")
    assert made.code == 0, made.err
    words = shlex.split(computed(thread)["command"])
    assert words[: words.index("--like")] == ["logbook", "ab", "--code", *codes]
    named = words[words.index("--like") + 1]
    entry, _, number = named.partition("/")
    [run] = (at(folder / "logbooks/t/runs" / entry)).glob(f"{int(number):02}.*/run.json")
    assert json.loads(run.read_text())["part"]["side"] == "1", "the base of the A/B"
    assert thread(*words[1:]).code == 0
    assert computed(thread)["state"] == "met"


def test_a_comparison_counts_for_the_commit_that_keeps_its_code(
    thread: Cli, git: Callable[..., str], folder: Path
) -> None:
    base = git("rev-parse", "--short=9", "HEAD")
    (folder / "speed.sh").write_text("800")
    made = thread("ab", "--code", "HEAD", "WORK", "--json", "--", "sh", "bench.sh")
    assert made.code == 0, made.err
    early = thread("keep", made.data["id"], "--json")
    assert early.data["is_committed"] is False
    ask(thread, f"{base}^", base)
    assert computed(thread)["state"] == "unmet", "changes that no commit holds are not their base"
    git("commit", "-q", "-a", "-m", "faster")
    kept = git("rev-parse", "--short=9", "HEAD")
    ask(thread, base, kept)
    assert computed(thread)["state"] == "unmet", "nothing says that it is the same code"
    assert thread("keep", made.data["id"]).code == 0
    assert (computed(thread)["state"], computed(thread)["evidence"]) == ("met", [made.data["id"]])


def test_a_branch_is_compared_by_whatever_name_its_commit_has(
    thread: Cli, git: Callable[..., str], folder: Path
) -> None:
    git("branch", "base", "HEAD~1")
    git("branch", "idea")
    ask(thread, "base", "idea")
    codes = [git("rev-parse", "HEAD~1"), git("rev-parse", "--short=9", "HEAD")]
    made = thread("ab", "--code", *codes, "--json", "--", "sh", "bench.sh")
    assert made.code == 0, made.err
    assert (computed(thread)["state"], computed(thread)["evidence"]) == ("met", [made.data["id"]])


def test_changes_on_a_branch_count_for_it_once_they_are_kept(
    thread: Cli, git: Callable[..., str], folder: Path
) -> None:
    base = git("branch", "--show-current")
    git("checkout", "-q", "-b", "idea")
    ask(thread, base, "idea")
    (folder / "speed.sh").write_text("800")
    made = thread("ab", "--code", base, "WORK", "--json", "--", "sh", "bench.sh")
    assert made.code == 0, made.err
    reason = computed(thread)["reason"]
    assert reason.endswith("compared changes on idea; once they are committed: logbook keep T-000")
    git("commit", "-q", "-a", "-m", "faster")
    assert thread(*shlex.split(reason[reason.index("logbook keep") :])[1:]).code == 0
    assert computed(thread)["state"] == "met"


def test_a_branch_against_its_own_changes_is_asked_of_its_commit(
    thread: Cli, git: Callable[..., str], folder: Path
) -> None:
    branch, commit = git("branch", "--show-current"), git("rev-parse", "--short=9", "HEAD")
    (folder / "speed.sh").write_text("800")
    predicate = f"compared: {{axis: code, values: [{branch}, WORK], settled: true}}"
    refused = thread("criteria", "--add", "faster", "--predicate", predicate, "--json")
    words = shlex.split(refused.error["hint"].rpartition("logbook ")[2])
    assert f"[{commit}, {branch}]" in words[-1]
    assert thread(*words).code == 0


def test_what_met_a_criterion_is_named_by_its_commit_when_a_branch_moves_on(
    thread: Cli, git: Callable[..., str], folder: Path
) -> None:
    git("branch", "base", "HEAD~1")
    git("checkout", "-q", "-b", "idea")
    ask(thread, "base", "idea")
    assert thread("ab", "--code", "base", "idea", "--", "sh", "bench.sh").code == 0
    commits = [git("rev-parse", "--short=9", name) for name in ("base", "idea")]
    (folder / "speed.sh").write_text("1500")
    git("commit", "-q", "-a", "-m", "slower")
    assert computed(thread)["state"] == "met"
    for text in (computed(thread)["reason"], (folder / "logbooks/t.md").read_text()):
        assert f"base was {commits[0]}; idea was {commits[1]}" in text


def test_an_unmet_criterion_is_about_the_commits_of_its_branches_as_they_are_now(
    thread: Cli, git: Callable[..., str], folder: Path
) -> None:
    git("branch", "base", "HEAD~1")
    git("checkout", "-q", "-b", "idea")
    predicate = "compared: {axis: code, values: [base, idea], settled: true, outcomes: [better]}"
    assert thread("criteria", "--add", "better", "--predicate", predicate).code == 0
    (folder / "speed.sh").write_text("1500")
    git("commit", "-q", "-a", "-m", "slower")
    assert thread("ab", "--code", "base", "idea", "--min-effect", "2%", "--", "sh", "bench.sh").code == 0
    assert computed(thread)["reason"].startswith("T-000: idea takes")
    names = f"base was {git('rev-parse', '--short=9', 'base')}, idea was {git('rev-parse', '--short=9', 'idea')}"
    (folder / "speed.sh").write_text("1600")
    git("commit", "-q", "-a", "--amend", "-m", "slower")
    found = computed(thread)
    assert found["reason"] == f"no comparison of code=idea with base as they are now: {names} in T-000"
    assert found["command"] == "logbook ab --code base idea --like T-000 --min-effect 0.01"
    assert thread(*shlex.split(found["command"])[1:], "--max-pairs", "1").code == 0
    assert computed(thread)["reason"].startswith("T-001: idea against base is open")
    # Where two answers name their codes alike, the hash tells them apart.
    answers = {one["id"]: one["answer"] for one in thread("status", "--json").data["answers"]}
    assert answers["T-001"].startswith(f"idea@{git('rev-parse', '--short=9', 'idea')} against base@")
    assert answers["T-000"].startswith("idea@")


def test_two_branches_of_one_commit_are_the_same_code(thread: Cli, git: Callable[..., str], folder: Path) -> None:
    assert thread("run", "--", "sh", "bench.sh").code == 0
    git("branch", "base")
    git("branch", "idea")
    ask(thread, "base", "idea")
    assert computed(thread)["reason"].endswith(f"both are the same code, commit {git('rev-parse', 'HEAD')}")
    for question in ("criteria", "next", "status"):
        assert "logbook ab --code" not in thread(question).out
    git("checkout", "-q", "idea")
    (folder / "speed.sh").write_text("800")
    git("commit", "-q", "-a", "-m", "faster")
    assert thread(*shlex.split(computed(thread)["command"])[1:]).code == 0
    assert computed(thread)["state"] == "met"


def test_the_code_of_the_baseline_is_known_by_what_it_holds(thread: Cli, git: Callable[..., str], folder: Path) -> None:
    assert thread("run", "--", "sh", "bench.sh").code == 0
    assert thread("baseline", "--entry", "T-000", "--reason", "the start").code == 0
    # A commit that changes no code, and another name for it.
    git("add", ".")
    git("commit", "-q", "-m", "Records")
    git("checkout", "-q", "-b", "fast")
    (folder / "speed.sh").write_text("500")
    git("commit", "-q", "-a", "-m", "Half")
    assert thread("ab", "--code", "fast~1", "fast", "--pairs", "10", "--", "sh", "bench.sh").code == 0
    [found] = thread("status", "--json").data["best"]
    assert found["against"] == "better than the baseline (T-002)"


def test_a_branch_that_crashes_is_asked_again_only_once_it_is_another_commit(
    thread: Cli, git: Callable[..., str], folder: Path
) -> None:
    """Also where the criterion names a key that no row reports, and after the entry was discarded."""
    git("checkout", "-q", "-b", "bad")
    (folder / "speed.sh").write_text("900; exit 3")
    (folder / "bench.sh").write_text("exit 3\n")
    git("commit", "-q", "-m", "bad", "bench.sh", "speed.sh")
    git("checkout", "-q", "-")
    assert thread("run", "--", "sh", "bench.sh", "--size", "7").code == 0
    values = f'["{git("branch", "--show-current")}", bad]'
    predicate = f"compared: {{axis: code, values: {values}, settled: true, where: {{size: 7}}}}"
    assert thread("criteria", "--add", "faster", "--predicate", predicate).code == 0
    command = computed(thread)["command"]
    assert "--config size=7" in command
    made = thread(*shlex.split(command)[1:], "--evaluator", "none", "--json").data
    assert made["pairs"] == 0
    assert (computed(thread)["state"], "command" in computed(thread)) == ("unmet", False)
    assert made["id"] in computed(thread)["reason"]
    discarded = thread("discard", made["id"], "--why", "it crashes", "--json").data
    assert discarded["id"] in computed(thread)["reason"]
    git("checkout", "-q", "bad")
    (folder / "bench.sh").write_text(BENCH)
    (folder / "speed.sh").write_text("900")
    git("commit", "-q", "--amend", "-m", "mended", "bench.sh", "speed.sh")
    git("checkout", "-q", "-")
    again = shlex.split(computed(thread)["command"])[1:]
    assert thread(*again, "--evaluator", "none").code == 0
    assert computed(thread)["state"] == "met"
