from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from logbook_agent.running.provenance.git import CodeFacts, CodeLook
from logbook_agent.text.commands.script import command_words

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
    return replace(
        CodeLook(top, top / root, command_words(argv or ("true",)), ENV, keep=keep).facts(), look=None, looked=0.0
    )


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
@pytest.mark.parametrize("changed", ["x.py", "lib/a.md", "lib/sub dir/b.json"])
@pytest.mark.sample(3)
def test_a_file_beside_the_root_changes_the_identity(repo: Path, root: str, changed: str) -> None:
    (repo / "lib/sub dir").mkdir(parents=True)
    (repo / changed).write_text("one\n")
    commit(repo)
    before = facts(repo, root=root).code
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
    # Committed or not, it is the same code.
    assert edited.code.identity == after.identity != before.identity
    assert (after.sources == before.sources) == (changed != "x.py")


@pytest.mark.parametrize("document", ["README.md", "docs/a.md", "docs/conf.py", "LICENSE"])
def test_documents_are_no_code_unless_the_command_names_them(repo: Path, document: str) -> None:
    before, named = identity(repo), identity(repo, "sh", document)
    (repo / document).write_text("other\n")
    assert identity(repo) == before
    commit(repo)
    assert identity(repo) == before
    assert identity(repo, "sh", document) != named


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


def test_the_repository_is_not_written_to(repo: Path) -> None:
    os.utime(repo / "x.py", (1, 1))  # a stat that differs from the index: git would refresh it

    def state() -> list[tuple[str, int]]:
        paths = sorted((repo / ".git").rglob("*"))
        return [(str(p), p.stat().st_mtime_ns) for p in (repo / ".git", *paths)]

    before = state()
    assert facts(repo, "python", "x.py").code.dirty is False
    assert state() == before
