"""A checkout with a pull request on the emulator, and the command line as a job of GitHub Actions has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Answer, Cli
from tests.emulator.fixtures import Hub

Git = Callable[..., str]

# A program whose speed stands in a file, with noise of 1% from end to end that follows from its number of calls.
BENCH = """
import pathlib, random
calls = pathlib.Path(__file__).resolve().parent.parent / "calls"
calls.write_text(str(number := int(calls.read_text()) + 1 if calls.exists() else 1))
noise = random.Random(f"SEED {number}").random() - 0.5
print(f"RESULT step_ms={float(open('speed.txt').read()) * (1 + 0.01 * noise):.6f}")
"""
BENCH_WORDS = ("--metric", "step_ms:min:ms", "--", "python3", "bench.py")


def with_speeds(git: Git, folder: Path, base: str, head: str, *, seed: str = "1") -> None:
    """`main` and `pr`, which is checked out: one program with two speeds."""
    (folder / "bench.py").write_text(BENCH.replace("SEED", seed))
    commit(git, folder, "speed.txt", base)
    git("checkout", "-q", "-b", "pr")
    commit(git, folder, "speed.txt", head)


def commit(git: Git, folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    git("add", ".")
    git("commit", "-q", "--allow-empty", "-m", f"{name}: {text[:20]}")
    return git("rev-parse", "HEAD")


@dataclass
class Job:
    """Jobs of one pull request: each push and each run of the workflow is another one."""

    cli: Cli
    git: Git
    folder: Path
    github: Hub
    repo: str
    number: int
    monkeypatch: pytest.MonkeyPatch
    away: Path
    runs: int = 0
    event: dict[str, Any] = field(default_factory=dict)

    def push(self) -> str:
        """Another commit with the same files: nothing has to be measured."""
        self.git("commit", "-q", "--allow-empty", "-m", "Another push")
        return self.git("rev-parse", "HEAD")

    def environment(self, *, run: int | None = None, fork: bool = False, token: str | None = "") -> None:
        """The variables and the event of the next run of the workflow."""
        self.runs += 1
        head, base = self.git("rev-parse", "HEAD"), self.git("rev-parse", "main")
        whose = "bob/fork" if fork else self.repo
        self.event = {
            "number": self.number,
            "pull_request": {
                "number": self.number,
                "title": '"; touch hacked; echo "$(touch hacked)',
                "base": {"sha": base, "ref": "main", "repo": {"full_name": self.repo}},
                "head": {"sha": head, "ref": "a`touch hacked`", "repo": {"full_name": whose}},
            },
        }
        (self.away / "event.json").write_text(json.dumps(self.event))
        for name in ("summary", "output"):
            (self.away / name).write_text("")
        for name, value in {
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": self.repo,
            "GITHUB_SERVER_URL": self.github.web,
            "GITHUB_API_URL": self.github.api,
            "GITHUB_RUN_ID": str(run or 1000 + self.runs),
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(self.away / "event.json"),
            "GITHUB_STEP_SUMMARY": str(self.away / "summary"),
            "GITHUB_OUTPUT": str(self.away / "output"),
            "GITHUB_TOKEN": self.github.token if token == "" else token or "",
        }.items():
            self.monkeypatch.setenv(name, value)

    def run(self, *args: str, run: int | None = None, fork: bool = False, token: str | None = "") -> Answer:
        """`logbook ci` in a run of the workflow; `token` None: the job has none."""
        self.environment(run=run, fork=fork, token=token)
        words = args or ("--", "python3", "bench.py")
        return self.cli("ci", "--root", str(self.away / "record"), "--max-wait", "2m", *words)

    @property
    def comments(self) -> list[dict[str, Any]]:
        return self.github.comments(self.repo, self.number)

    @property
    def summary(self) -> str:
        return (self.away / "summary").read_text()

    @property
    def output(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in (self.away / "output").read_text().splitlines())


def pull_request(github: Hub, repo: str) -> int:
    """The number of a new one, from a branch with one commit."""
    head = github.head(repo)
    tree = github.ask("GET", f"/repos/{repo}/git/commits/{head}")["tree"]["sha"]
    made = github.ask("POST", f"/repos/{repo}/git/commits", {"message": "Faster", "tree": tree, "parents": [head]})
    github.ask("POST", f"/repos/{repo}/git/refs", {"ref": "refs/heads/pr", "sha": made["sha"]})
    data = {"title": "Faster", "head": "pr", "base": "main", "body": ""}
    return int(github.ask("POST", f"/repos/{repo}/pulls", data)["number"])
