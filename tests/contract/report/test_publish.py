"""`logbook publish`: one file, and a branch that is made and pushed without touching the work tree."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli

Git = Callable[..., str]


@pytest.fixture
def pushed(started: Cli, folder: Path, git: Git) -> Path:
    """A repository with a logbook, and a bare one that is its remote."""
    assert started("run", "--title", "A run", "--", "echo", "RESULT tflops=2").code == 0
    git("add", "-A")
    git("commit", "-qm", "a logbook")
    bare = folder.parent / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    git("remote", "add", "origin", str(bare))
    return bare


def test_one_file_holds_the_log(pushed: Path, started: Cli, folder: Path) -> None:
    answer = started("publish", "--file", "moe.html", "--json")
    assert [one["path"] for one in answer.data["files"]] == ["moe.html"]
    text = (folder / "moe.html").read_text()
    assert base64.b64encode(b"RESULT tflops=2\n").decode() in text
    assert 'href="index.html"' not in text
    assert started("publish", "--file", "moe.html").code == 0
    (folder / "mine.html").write_text("mine")
    for name in ("mine.html", "none/moe.html", "."):
        answer = started("publish", "--file", name)
        assert (answer.code in (2, 3, 4), name in answer.err) == (True, True), answer.err
    assert (folder / "mine.html").read_text() == "mine"


@pytest.mark.slow
def test_a_branch_is_made_and_pushed_and_the_work_tree_stays(
    pushed: Path, started: Cli, folder: Path, git: Git
) -> None:
    (folder / "dirty.txt").write_text("mine")
    git("add", "dirty.txt")
    before = git("status", "--porcelain"), git("rev-parse", "HEAD")
    listed = started("publish", "--branch", "pages", "--dry-run", "--json").data
    assert (listed["published"], "moe.html" in [one["path"] for one in listed["files"]]) == (None, True)
    assert git("branch", "--list", "pages").strip() == ""
    assert started("publish", "--branch", "pages", "--push", "origin").code == 0
    names = git("ls-tree", "-r", "--name-only", "pages").split()
    assert {".nojekyll", "index.html", "moe.html"} <= {*names}
    there = subprocess.run(["git", "-C", str(pushed), "rev-parse", "pages"], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == git("rev-parse", "pages").strip()
    assert (git("status", "--porcelain"), git("rev-parse", "HEAD")) == before
    assert started("note", "--title", "another").code == 0
    assert started("publish", "--branch", "pages").code == 0
    assert len(git("log", "--format=%h", "pages").split()) == 2
    assert git("worktree", "list").count("\n") <= 1


@pytest.mark.slow
def test_what_cannot_be_published_is_refused(pushed: Path, started: Cli, folder: Path, git: Git) -> None:
    branch = git("branch", "--show-current").strip()
    git("branch", "code")
    for words, code in (
        (["--branch", "code"], 2),
        (["--branch", "-f"], 2),
        (["--branch", "HEAD"], 2),
        (["--branch", "a..b"], 2),
        (["--branch", branch], 2),
        (["--branch", "pages", "--push", "--receive-pack=touch ran"], 4),
        (["--branch", "pages", "--push", "nowhere"], 4),
        ([], 2),
        (["--file", "a.html", "--branch", "b"], 2),
        (["--file", "a.html", "--push", "origin"], 2),
    ):
        answer = started("publish", *words, "--json")
        assert answer.code == code, answer
        assert not words or words[-1].partition("=")[0] in str(answer.error), answer
    assert not (folder / "ran").exists()
    git("worktree", "add", "-q", str(folder.parent / "elsewhere"), "pages")
    assert started("publish", "--branch", "pages").code == 2
