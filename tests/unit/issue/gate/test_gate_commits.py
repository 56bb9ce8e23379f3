"""Which commits are compared: merge commits of GitHub, clones that lack history, targets that moved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from logbook_agent.issue.gate.pull_request import PullRequest, commits_of, pull_of
from logbook_agent.model.errors import UsageError
from logbook_agent.running.provenance.worktrees import Checkout, checkout_of
from tests.contract.issue.gate.gate_support import Git, commit

pytestmark = pytest.mark.slow


def here(folder: Path) -> Checkout:
    return checkout_of(folder, os.environ)


@pytest.fixture
def merged(git: Git, folder: Path, tmp_path: Path) -> tuple[Path, PullRequest, str]:
    """What `actions/checkout` makes of a pull request: one commit, that which GitHub merged it into its target by. The
    folder, the pull request, and the tip of the target."""
    git("checkout", "-q", "-b", "pr")
    head = commit(git, folder, "speed.txt", "2")
    git("checkout", "-q", "main")
    target = commit(git, folder, "other.txt", "1")
    git("checkout", "-q", "-b", "merged")
    git("merge", "-q", "--no-ff", "-m", "Merge pr into main", "pr")
    git("config", "uploadpack.allowAnySHA1InWant", "true")
    clone = tmp_path / "clone"
    git("clone", "-q", "--depth=1", "--branch=merged", f"file://{folder}", str(clone))
    return clone, PullRequest(number=1, base=target, head=head), target


def test_a_merge_commit_is_compared_with_what_it_is_merged_into(
    merged: tuple[Path, PullRequest, str], git: Git
) -> None:
    clone, pull, target = merged
    with pytest.raises(UsageError) as caught:
        commits_of(here(clone), pull, base=None, head=None, fetch=False)
    assert caught.value.message == f"the base {target[:12]} is not in this clone"
    assert caught.value.cause == "the clone is shallow: actions/checkout fetches one commit unless told otherwise"
    assert (
        "set fetch-depth: 0 for actions/checkout in the workflow, or let logbook fetch the base: --fetch"
        in caught.value.hint
    )
    found = commits_of(here(clone), pull, base=None, head=None, fetch=True)
    assert (found.base, found.shown, found.head) == (target, pull.head, git("rev-parse", "merged"))
    # Alone, without its history.
    assert here(clone).is_shallow()


def test_the_history_is_fetched_where_the_head_is_no_merge_commit(git: Git, folder: Path, tmp_path: Path) -> None:
    left = git("rev-parse", "main")
    git("checkout", "-q", "-b", "pr")
    head = commit(git, folder, "speed.txt", "2")
    git("checkout", "-q", "main")
    target = commit(git, folder, "other.txt", "1")
    git("config", "uploadpack.allowAnySHA1InWant", "true")
    clone = tmp_path / "clone"
    git("clone", "-q", "--depth=1", "--branch=pr", f"file://{folder}", str(clone))
    pull = PullRequest(number=1, base=target, head=head)
    with pytest.raises(UsageError, match="the base is not in this clone"):
        commits_of(here(clone), pull, base=None, head=None, fetch=False)
    found = commits_of(here(clone), pull, base=None, head=None, fetch=True)
    assert (found.base, found.head, found.tip) == (left, head, None)


def test_a_worktree_is_removed_whatever_a_build_leaves_there(git: Git, folder: Path, tmp_path: Path) -> None:
    checkout, place = here(folder), tmp_path / "base"
    hook = folder / ".git/hooks/post-checkout"
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    with pytest.raises(KeyError), checkout.worktree(place, git("rev-parse", "HEAD")) as tree:  # noqa: PT012
        assert not (tree / "hooked").exists(), "no hook of the repository is started"
        (tree / "build").mkdir()
        (tree / "build/file").write_text("x")
        raise KeyError
    assert not place.exists()
    assert git("worktree", "list").count("\n") == 0


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        {"pull_request": None},
        {"pull_request": {"number": "1; touch hacked"}},
        {"pull_request": {"number": True, "base": 7}},
        {"number": 5, "issue": {}},
        {"pull_request": {"number": -1}},
    ],
)
def test_an_event_that_is_damaged_or_of_something_else_has_no_pull_request(event: object) -> None:
    assert pull_of(event) is None
