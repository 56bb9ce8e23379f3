"""What git refuses, and what to type: it works as printed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli

Git = Callable[..., str]


@pytest.fixture
def ready(cli: Cli, folder: Path, git: Git) -> Cli:
    """A logbook in a repository with two commits of a benchmark."""
    assert cli("start", "t", "--prefix", "T", "--metric", "x:min").code == 0
    for number in (1, 2):
        (folder / "b.sh").write_text(f"echo METRIC x={number}\n")
        git("add", "-A")
        git("commit", "-q", "-m", f"b {number}")
    return cli


def test_a_shallow_clone(ready: Cli, folder: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = tmp_path / "clone"
    git("clone", "-q", "--depth=1", f"file://{folder}", str(clone))
    monkeypatch.chdir(clone)
    words = ("ab", "--json", "--code", "HEAD~1", "HEAD", "--evaluator", "none", "--max-pairs", "1", "--", "sh", "b.sh")
    refused = ready(*words)
    assert (refused.code, "shallow" in refused.error["cause"]) == (2, True)
    subprocess.run(refused.error["hint"].split(), cwd=clone, check=True)
    assert ready(*words).code == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")
def test_a_repository_of_another_user(
    ready: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The command writes a new file in place of this one, which must never be /dev/null.
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 1234, 1234, follow_symlinks=False)
    words = ("ab", "--json", "--code", "HEAD~1", "HEAD", "--evaluator", "none", "--max-pairs", "1", "--", "sh", "b.sh")
    refused = ready(*words)
    assert "dubious ownership" in refused.error["message"]
    _, _, command = refused.error["hint"].partition("to allow it: ")
    subprocess.run(command.split(), cwd=folder, check=True)
    assert ready(*words).code == 0
