from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.issue.commit import commit_root
from logbook_agent.model.errors import StoreError

pytestmark = pytest.mark.slow

Git = Callable[..., str]


@pytest.fixture
def root(folder: Path, git: Git) -> Path:
    """A repository with one commit of code, and an uncommitted logbook root with a log that git ignores."""
    root = folder / "notes [x]*/logbooks"
    root.mkdir(parents=True)
    (root / "moe.md").write_text("view\n")
    (root / ".gitignore").write_text("*.log\n")
    (root / "output.log").write_text("log\n")
    return root


def commit(root: Path, message: str = "logbook: moe") -> str | None:
    return commit_root(root, message, os.environ)


def committed(git: Git, where: Path | None = None) -> list[str]:
    return git("show", "--name-only", "--format=", "HEAD", cwd=where).splitlines()


def hook(folder: Path, script: str, name: str = "pre-commit") -> None:
    place = folder / f".git/hooks/{name}"
    place.parent.mkdir(exist_ok=True)
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)


def test_the_root_alone_is_committed(root: Path, git: Git) -> None:
    before = git("rev-parse", "HEAD")
    sha = commit(root, "# with a mark\n\n-m é")
    assert sha == git("rev-parse", "HEAD")
    assert git("rev-parse", "HEAD~1") == before
    assert committed(git) == ["notes [x]*/logbooks/.gitignore", "notes [x]*/logbooks/moe.md"]
    assert git("log", "-1", "--format=%B") == "# with a mark\n\n-m é"
    assert git("status", "--porcelain") == ""
    assert commit(root) is None
    assert git("rev-parse", "HEAD") == sha


def test_what_else_is_staged_changed_or_untracked_stays_so(root: Path, folder: Path, git: Git) -> None:
    (folder / "both.py").write_text("1\n")
    (folder / "gone.py").write_text("1\n")
    git("add", "both.py", "gone.py")
    git("commit", "-q", "-m", "more")
    (folder / "both.py").write_text("2\n")
    (folder / "staged.py").write_text("x\n")
    git("add", "both.py", "staged.py")
    (folder / "both.py").write_text("3\n")
    git("rm", "-q", "gone.py")
    (folder / "bench.py").write_text("changed\n")
    (folder / "untracked.py").write_text("x\n")
    # A folder that the root's name would match if it were a pattern.
    (folder / "notes xy/logbooks").mkdir(parents=True)
    (folder / "notes xy/logbooks/other.md").write_text("x\n")
    before = git("status", "--porcelain", "--", ".", ":(exclude,literal)notes [x]*")
    assert before.splitlines() == [
        *("M bench.py", "MM both.py", "D  gone.py", "A  staged.py", '?? "notes xy/"', "?? untracked.py"),
    ]
    diffs = [git("diff"), git("diff", "--cached", "--", "*.py")]
    assert commit(root) is not None
    assert committed(git) == ["notes [x]*/logbooks/.gitignore", "notes [x]*/logbooks/moe.md"]
    assert git("status", "--porcelain") == before
    assert [git("diff"), git("diff", "--cached", "--", "*.py")] == diffs


@pytest.mark.slow
def test_a_hook_that_hangs_is_stopped(root: Path, folder: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logbook_agent.issue.commit.COMMIT_TIMEOUT_S", 0.5)
    hook(folder, "exec sleep 60 >/dev/null 2>&1")
    with pytest.raises(StoreError, match=r"git commit took longer than 0\.5 s and was stopped"):
        commit(root)
    # It took its locks along.
    assert list((folder / ".git").glob("*.lock")) == []


def conflict(folder: Path, git: Git) -> None:
    git("checkout", "-q", "-b", "side")
    (folder / "bench.py").write_text("side\n")
    git("commit", "-q", "-am", "side")
    git("checkout", "-q", "main")
    (folder / "bench.py").write_text("main\n")
    git("commit", "-q", "-am", "main")


def test_a_merge_under_way(root: Path, folder: Path, git: Git) -> None:
    conflict(folder, git)
    with pytest.raises(subprocess.CalledProcessError):
        git("merge", "side")
    before = (git("status", "--porcelain"), (folder / ".git/index").read_bytes())
    with pytest.raises(StoreError) as caught:
        commit(root)
    error = caught.value
    assert (error.message, error.cause) == (
        "a merge is under way, so the logbook is not committed",
        "git cannot do a partial commit during a merge",
    )
    assert error.hint == f"finish it first: git -C {folder} status"
    assert (git("status", "--porcelain"), (folder / ".git/index").read_bytes()) == before
    # And that is what git itself says.
    git("add", "bench.py")
    done = subprocess.run(["git", "commit", "-m", "x", "bench.py"], capture_output=True, text=True, check=False)
    assert "cannot do a partial commit during a merge" in done.stderr
