"""`job`: a checkout with a pull request on the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.issue.gate.gate_support import Git, Job, pull_request
from tests.contract.issue.sync_support import FakeTime
from tests.emulator.fixtures import Hub, github, github_server
from tests.seams import set_github_pace, set_waits

__all__ = ["github", "github_server"]


@pytest.fixture
def job(cli: Cli, git: Git, folder: Path, github: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """With the branch `pr` checked out, whose files are those of `main`."""
    time = FakeTime()
    set_waits(monkeypatch, clock=time.clock, sleep=time.sleep)
    set_github_pace(monkeypatch)
    git("checkout", "-q", "-b", "pr")
    git("commit", "-q", "--allow-empty", "-m", "A change of nothing")
    away = tmp_path / "away"
    away.mkdir()
    repo = github.new_repo()
    return Job(
        cli=cli,
        git=git,
        folder=folder,
        github=github,
        repo=repo,
        number=pull_request(github, repo),
        monkeypatch=monkeypatch,
        away=away,
    )
