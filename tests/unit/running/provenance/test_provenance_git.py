from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.model.run import Code
from logbook_agent.running.provenance import git as git_module
from logbook_agent.running.provenance.git import CodeFacts, code_facts
from logbook_agent.running.provenance.head import CatFile
from logbook_agent.store.repository import repository_of

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


def test_a_clean_tree(repo: Path) -> None:
    code = facts(repo).code
    assert code.commit == git(repo, "rev-parse", "HEAD")
    assert code.branch == "main"
    assert code.dirty is False
    assert code.diff_bytes == 0
    assert code.diff_sha256 is None
    assert facts(repo / "docs").code == code


@pytest.mark.parametrize("root", ["logbooks", "docs/logbooks", "docs/sub dir/it's [x]*", "new/deep/logbooks"])
def test_entries_do_not_change_the_identity_committed_or_not(repo: Path, root: str) -> None:
    before = identity(repo, root=root)
    (repo / root).mkdir(parents=True)
    (repo / root / "e.yaml").write_text("1\n")
    assert identity(repo, root=root) == before
    first = commit(repo)
    assert identity(repo, root=root) == before
    (repo / root / "e.yaml").write_text("2\n")
    found = facts(repo, root=root).code
    assert (found.identity, found.dirty, found.commit) == (before, False, first)


@pytest.mark.parametrize("root", ["logbooks", "docs/logbooks", "docs/sub dir/logbooks"])
@pytest.mark.parametrize("changed", ["x.py", "docs/a.md", "docs/sub dir/b.md"])
@pytest.mark.sample(3)
def test_code_beside_the_root_changes_the_identity(repo: Path, root: str, changed: str) -> None:
    before = identity(repo, root=root)
    (repo / changed).write_text("other\n")
    edited = facts(repo, root=root)
    assert edited.code.dirty is True
    assert edited.code.diff_bytes is not None
    assert edited.diff is not None
    assert edited.code.diff_bytes == len(edited.diff)
    assert b"+other" in edited.diff
    committed = commit(repo)
    after = facts(repo, root=root).code
    assert after.commit == committed
    assert len({before, edited.code.identity, after.identity}) == 3


def test_the_kept_diff_applies_and_a_large_one_is_only_hashed(repo: Path) -> None:
    (repo / "x.py").write_bytes(b"\0\xff binary" + os.urandom(3000))
    small, large = facts(repo, keep=10_000), facts(repo, keep=100)
    assert large.diff is None
    assert large.code == small.code
    assert small.diff is not None
    git(repo, "checkout", "x.py")
    subprocess.run(["git", "apply"], cwd=repo, input=small.diff, env=ENV, check=True)
    assert identity(repo) == small.code.identity


def test_what_a_user_configured_changes_nothing(repo: Path) -> None:
    (repo / "x.py").write_text("other\n")
    git(repo, "mv", "docs/a.md", "docs/é.md")
    before = facts(repo)
    for setting in ("diff.noprefix true", "diff.context 9", "diff.renames copies", "color.ui always"):
        git(repo, "config", *setting.split())
    git(repo, "config", "diff.external", "false")
    git(repo, "config", "core.quotePath", "false")
    assert facts(repo) == before


def test_an_untracked_file_that_the_command_names_is_code(repo: Path) -> None:
    plain = identity(repo)
    (repo / "ignored").mkdir()
    (repo / "ignored/new.py").write_text("1\n")
    (repo / "unnamed.py").write_text("1\n")
    assert identity(repo) == plain
    found = facts(repo, "python", "ignored/new.py", "--lr", "3", "x.py")
    assert [u.path for u in found.code.untracked] == ["ignored/new.py"]
    assert found.untracked == {"ignored/new.py": b"1\n"}
    assert found.code.dirty is True
    assert found.code.identity != plain
    (repo / "ignored/new.py").write_text("2\n")
    assert identity(repo, "python", "ignored/new.py") != found.code.identity


@pytest.mark.parametrize(
    "argv", [["bash", "-c", "python new.py"], ["python", "-m", "new"], ["x", "--script=new.py"], ["./new.py"]]
)
@pytest.mark.sample(3)
def test_wherever_the_file_is_named(repo: Path, argv: list[str]) -> None:
    (repo / "new.py").write_text("1\n")
    assert [u.path for u in facts(repo, *argv).code.untracked] == ["new.py"]


def test_what_is_no_code_is_not_taken(repo: Path) -> None:
    for name in ("out.json", "logbooks/e.yaml", ".venv/bin/tool", ".venv/pyvenv.cfg"):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text("1\n")
    argv = ["/bin/sh", ".venv/bin/tool", "--out", "out.json", "--log=out.json", "logbooks/e.yaml", "docs"]
    assert facts(repo, *argv).code.untracked == ()


def test_a_large_named_file_is_hashed_but_not_kept(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo / "big.bin").write_bytes(b"x" * 2000)
    found = facts(repo, "run", "big.bin")
    assert [u.bytes for u in found.code.untracked] == [2000]
    assert found.untracked == {}
    monkeypatch.setattr("logbook_agent.running.provenance.git.MAX_HASHED_BYTES", 1000)
    assert facts(repo, "run", "big.bin").problems == ("big.bin: too large to count as code",)


def test_no_repository(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("1\n")
    found = code_facts(tmp_path, tmp_path / "logbooks", ["python", "x.py"], environ=ENV)
    assert found.problems == ()
    assert [u.path for u in found.code.untracked] == ["x.py"], "from the working folder, as cwd is"
    assert found.code.identity is None
    assert code_facts(tmp_path, tmp_path, ["true"], environ=ENV) == CodeFacts()


def test_the_identity_holds_the_tree_that_git_would_write(repo: Path) -> None:
    before = git(repo, "rev-parse", "HEAD^{tree}")
    (repo / "docs/sub dir/logs").mkdir()
    (repo / "docs/sub dir/logs/e").write_text("1")
    commit(repo)
    ask = subprocess.Popen(
        ["git", "cat-file", "--batch"],
        cwd=repo,
        env=ENV,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with ask:
        assert CatFile(ask, "docs/sub dir/logs").read().tree == before


def test_worktrees_share_their_common_directory_and_identity(repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(repo, "worktree", "add", "-q", "-b", "side", str(other))
    ours, theirs = repository_of(repo / "logbooks"), repository_of(other)
    assert ours is not None
    assert theirs is not None
    assert (ours.top, theirs.top) == (repo, other)
    assert ours.common_dir == theirs.common_dir == repo / ".git"
    assert facts(other).code.branch == "side"
    assert identity(other) == identity(repo)


def test_the_repository_is_not_written_to(repo: Path) -> None:
    os.utime(repo / "x.py", (1, 1))  # a stat that differs from the index: git would refresh it

    def state() -> list[tuple[str, int]]:
        paths = sorted((repo / ".git").rglob("*"))
        return [(str(p), p.stat().st_mtime_ns) for p in (repo / ".git", *paths)]

    before = state()
    assert facts(repo, "python", "x.py").code.dirty is False
    assert state() == before


def test_a_hooks_environment_does_not_mislead(repo: Path, tmp_path: Path) -> None:
    env = {
        **ENV,
        "GIT_DIR": str(tmp_path),
        "GIT_INDEX_FILE": str(tmp_path / "i"),
        "GIT_LITERAL_PATHSPECS": "1",
    }
    assert code_facts(repo, repo / "logbooks", ["true"], environ=env) == facts(repo, keep=git_module.KEEP_BYTES)


def test_without_git_it_is_said(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repo))
    found = code_facts(repo, repo / "logbooks", ["true"], environ={"PATH": str(repo)})
    assert found.code == Code(branch="main")
    assert found.problems == ("code not identified: git could not be started: No such file or directory",)


def test_what_git_refuses_is_said(repo: Path) -> None:
    (repo / ".git/config").write_text("[core\n")
    assert facts(repo).problems[0].startswith("code not identified: fatal: bad config")


def test_a_git_that_hangs_is_stopped(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text("#!/bin/sh\nexec sleep 30\n")
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(git_module, "TIMEOUT_S", 0.2)
    start = time.monotonic()
    found = code_facts(repo, repo / "logbooks", ["true"], environ={"PATH": os.environ["PATH"]})
    assert time.monotonic() - start < 5
    assert found.problems == ("code not identified: git took longer than 0.2 s",)


def test_at_most_three_processes(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    popen: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen

    def counting(*args: object, **kwargs: object) -> subprocess.Popen[bytes]:
        started.append(args)
        return popen(*args, **kwargs)

    monkeypatch.setattr(subprocess, "Popen", counting)
    facts(repo)
    assert len(started) == 2
