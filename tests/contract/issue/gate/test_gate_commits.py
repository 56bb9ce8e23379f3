"""Which commits are compared: merge commits of GitHub, clones that lack history, targets that moved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from logbook_agent.issue.gate.pull_request import commits_of
from logbook_agent.running.provenance.worktrees import Checkout, checkout_of
from tests.conftest import Cli
from tests.contract.issue.gate.gate_support import Git, commit

pytestmark = pytest.mark.slow


def here(folder: Path) -> Checkout:
    return checkout_of(folder, os.environ)


def test_a_base_that_is_named_is_taken_as_it_is(cli: Cli, git: Git, folder: Path) -> None:
    git("checkout", "-q", "-b", "pr")
    head = commit(git, folder, "speed.txt", "2")
    git("checkout", "-q", "main")
    target = commit(git, folder, "other.txt", "1")
    found = commits_of(here(folder), None, base="main", head="pr", fetch=False)
    assert (found.base, found.head) == (target, head)
    for name in ("--upload-pack=touch hacked", "nothing", "main..pr"):
        assert cli("ci", f"--base={name}", "--", "true").code == 2
    assert cli("ci", "--", "true").err == (
        "error: no base to compare with\n"
        "  cause: this is not a pull request job, and the clone does not know the default branch of origin\n"
        "  next:  name a commit: --base origin/main\n"
    )


def test_outside_of_a_repository(cli: Cli, folder: Path) -> None:
    answer = cli("ci", "--", "true")
    assert answer.code == 2
    assert "is not in a git repository" in answer.err


def test_changes_that_are_not_committed_are_told(cli: Cli, git: Git, folder: Path, tmp_path: Path) -> None:
    (folder / "bench.py").write_text("raise SystemExit(1)")
    answer = cli("ci", "--base", "HEAD", "--root", str(tmp_path / "record"), "--", "true")
    assert answer.code == 0
    assert "warning: uncommitted changes are not measured: the head is the last commit" in answer.err
