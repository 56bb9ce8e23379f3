"""A bench whose logbook lies in a git repository that is pushed; issues to link with; refusals."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.contract.issue.sync_support import Bench

Git = Callable[..., str]


@dataclass
class Pushed:
    """`git push` goes to a bare repository nearby; the commits are taken to be on the server, too."""

    bench: Bench
    git: Git

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def commit(self, message: str = "All that is here", *paths: str) -> str:
        self.git("add", "--", *(paths or (".",)))
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head

    def push(self) -> str:
        """The SHA of HEAD, which is now pushed."""
        self.git("push", "-q", "origin", "HEAD:main")
        self.bench.github.push(self.head)
        return self.head

    def publish(self, message: str = "All that is here") -> str:
        """Commit everything, and push it."""
        self.commit(message)
        return self.push()

    def steps(self) -> list[str]:
        """The steps of a sync: `block`, and for a comment the step with N for its number."""
        steps = [re.sub(r" \d+: ", " N: ", step["step"]) for step in self.bench.sync()["steps"]]
        return ["block" if "block" in step else step for step in steps]

    def blob(self, sha: str, path: str) -> str:
        """The address at which the server shows a file."""
        return f"{self.bench.github.web}/{self.bench.repo}/blob/{sha}/{path}"

    def line(self, sha: str, path: str, number: int) -> str:
        """Of a file as pushed, counted from 1."""
        return self.git("show", f"{sha}:{path}").split("\n")[number - 1]


@pytest.fixture
def pushed(bench: Bench, git: Git, tmp_path: Path) -> Pushed:
    """Nothing of the logbook is committed yet."""
    git("init", "-q", "--bare", str(tmp_path / "bare.git"))
    git("remote", "add", "origin", f"{bench.github.web}/{bench.repo}.git")
    git("config", "remote.origin.pushurl", str(tmp_path / "bare.git"))
    return Pushed(bench=bench, git=git)


@pytest.fixture
def published(pushed: Pushed) -> Pushed:
    """A note, published, and no issue."""
    pushed.bench.note()
    pushed.publish()
    return pushed


@pytest.fixture
def told(bench: Bench) -> Bench:
    """A note and its issue, up to date."""
    bench.note()
    bench.sync("--create")
    return bench


@pytest.fixture
def other(bench: Bench) -> tuple[str, int, str]:
    """An issue of bob's in another repository of the same host: repository, number, address."""
    repo = bench.github.new_repo()
    number = bench.github.open_issue_as("bob", repo, "Prior work")
    return repo, number, f"{bench.github.web}/{repo}/issues/{number}"


def link(bench: Bench, *args: str) -> Any:
    return bench.ok("link", *args, "--json").data


def tags(bench: Bench) -> list[str]:
    return [ref["ref"] for ref in bench.github.ask("GET", f"/repos/{bench.repo}/git/matching-refs/tags/")]


def refused(bench: Bench, exit_code: int, *args: str) -> dict[str, str]:
    """The error of a command that ends with this code; it says what, why, and what to type."""
    answer = bench.cli(*args, "--json")
    assert answer.code == exit_code, answer
    error = answer.error
    assert all(error[part].strip() for part in ("code", "message", "cause", "hint")), error
    assert "Traceback" not in answer.err
    return error
