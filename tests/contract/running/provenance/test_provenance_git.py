from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.running.provenance.git import CodeFacts, code_facts

pytestmark = pytest.mark.slow

ENV = {
    **{k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "protocol.file.allow",
    "GIT_CONFIG_VALUE_0": "always",
}


def git(where: Path, *words: str) -> str:
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *words], cwd=where, env=ENV, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(where: Path, message: str = "c") -> str:
    git(where, "add", "-A")
    git(where, "commit", "-q", "-m", message)
    return git(where, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    top = tmp_path / "my repo's"
    (top / "docs/sub dir").mkdir(parents=True)
    git(top, "init", "-q", "-b", "main")
    (top / "x.py").write_text("print(1)\n")
    (top / "docs/a.md").write_text("a\n")
    (top / "docs/sub dir/b.md").write_text("b\n")
    (top / ".gitignore").write_text("ignored/\n")
    commit(top)
    return top


def facts(top: Path, *argv: str, root: str = "logbooks", keep: int = 1000) -> CodeFacts:
    return code_facts(top, top / root, argv or ("true",), keep=keep, environ=ENV)


def identity(top: Path, *argv: str, root: str = "logbooks") -> str:
    found = facts(top, *argv, root=root)
    assert found.problems == ()
    assert found.code.identity is not None
    return found.code.identity


def test_at_most_three_processes(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    popen: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen

    def counting(*args: object, **kwargs: object) -> subprocess.Popen[bytes]:
        started.append(args)
        return popen(*args, **kwargs)

    monkeypatch.setattr(subprocess, "Popen", counting)
    facts(repo)
    assert len(started) == 2
    facts(repo, "python", "x.py")
    assert len(started) == 5
