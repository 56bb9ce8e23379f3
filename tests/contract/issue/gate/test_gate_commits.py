"""Which commits are compared: merge commits of GitHub, clones that lack history, and commits that are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Answer, Cli
from tests.contract.issue.gate.gate_support import Git, commit

pytestmark = pytest.mark.slow


@pytest.fixture
def job(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """`job(event, words)`: a job of GitHub Actions with this event; nothing is sent anywhere."""

    def run(event: object, *words: str) -> Answer:
        (tmp_path / "event.json").write_text(json.dumps(event))
        for name, value in {
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": "ada/bench",
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        }.items():
            monkeypatch.setenv(name, value)
        return cli("ci", "--json", "--dry-run", "--root", str(tmp_path / "record"), *words, "--", "true")

    return run


def event(base: str, head: str) -> dict[str, Any]:
    sides = {"base": {"sha": base}, "head": {"sha": head}}
    return {"pull_request": {"number": 1, **sides}}


def sides(git: Git, folder: Path) -> tuple[str, str]:
    """The tip of the target, and the head of a pull request that left it one commit before."""
    git("config", "uploadpack.allowAnySHA1InWant", "true")
    git("checkout", "-q", "-b", "pr")
    head = commit(git, folder, "speed.txt", "2")
    git("checkout", "-q", "main")
    return commit(git, folder, "other.txt", "1"), head


def shallow(git: Git, folder: Path, place: Path, branch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `actions/checkout` makes: a clone with one commit, which becomes the current folder."""
    git("clone", "-q", "--depth=1", f"--branch={branch}", f"file://{folder}", str(place))
    monkeypatch.chdir(place)


def test_a_merge_commit_is_compared_with_what_it_is_merged_into(
    job: Any, git: Git, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, head = sides(git, folder)
    git("checkout", "-q", "-b", "merged")
    git("merge", "-q", "--no-ff", "-m", "Merge pr into main", "pr")
    shallow(git, folder, tmp_path / "clone", "merged", monkeypatch)
    answer = job(event(target, head))
    assert answer.code == 2
    assert target[:12] in answer.error["message"]
    assert "fetch-depth: 0" in answer.error["hint"]
    assert "--fetch" in answer.error["hint"]
    data = job(event(target, head), "--fetch").data
    assert (data["base"], data["head"]) == (target, git("rev-parse", "merged"))
    # Alone, without its history.
    assert git("rev-parse", "--is-shallow-repository", cwd=tmp_path / "clone") == "true"


def test_the_history_is_fetched_where_the_head_is_no_merge_commit(
    job: Any, git: Git, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = git("rev-parse", "main")
    target, head = sides(git, folder)
    shallow(git, folder, tmp_path / "clone", "pr", monkeypatch)
    assert job(event(target, head)).code == 2
    data = job(event(target, head), "--fetch").data
    assert (data["base"], data["head"]) == (left, head)


def test_a_base_that_is_named_is_taken_as_it_is(job: Any, cli: Cli, git: Git, folder: Path) -> None:
    """Whatever the event says, which may be damaged or of something else. No hook of the repository is started."""
    target, head = sides(git, folder)
    hook = folder / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {folder}/hooked\n")
    hook.chmod(0o755)
    for odd in (None, [], {"pull_request": None}, {"pull_request": {"number": "1; touch hooked", "base": 7}}):
        data = job(odd, "--base", "main", "--head", "pr").data
        assert (data["base"], data["head"]) == (target, head)
        assert job(odd).error["hint"].endswith("--base origin/main")
    assert not (folder / "hooked").exists()
    assert git("worktree", "list").count("\n") == 0
    for name in ("--upload-pack=touch hooked", "nothing", "main..pr"):
        assert cli("ci", f"--base={name}", "--", "true").code == 2


def test_outside_of_a_repository(cli: Cli, folder: Path) -> None:
    answer = cli("ci", "--json", "--", "true")
    assert answer.code == 2
    assert "git repository" in answer.error["message"] + answer.error["cause"]


def test_changes_that_are_not_committed_are_reported(cli: Cli, git: Git, folder: Path, tmp_path: Path) -> None:
    (folder / "bench.py").write_text("raise SystemExit(1)")
    answer = cli("ci", "--base", "HEAD", "--root", str(tmp_path / "record"), "--", "true")
    assert answer.code == 0
    assert "uncommitted" in answer.err
