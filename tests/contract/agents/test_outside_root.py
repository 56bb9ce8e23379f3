"""Logbooks outside of the tree of the code, in another repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.agents.generated_trees import snapshot

pytestmark = pytest.mark.slow

Git = Callable[..., str]


@pytest.fixture
def root(cli: Cli, git: Git, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a logbook `moe`, with a remote that has nothing yet."""
    git("init", "-q", "--bare", str(folder.parent / "hub.git"))
    other = folder.parent / "records"
    other.mkdir()
    git("init", "-q", "-b", "logbooks", cwd=other)
    git("remote", "add", "origin", "../hub.git", cwd=other)
    monkeypatch.setenv("LOGBOOK_ROOT", str(other))
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max").code == 0
    return other


def test_the_code_is_known_and_its_commands_never_meet_a_record(
    root: Path, cli: Cli, git: Git, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = git("rev-parse", "HEAD")
    assert cli("run", "--", "python", "bench.py").code == 0
    ran = cli("show", "MOE-000", "--json", "--full").data["runs"][0]["code"]
    assert (ran["commit"], ran["branch"], ran["dirty"]) == (commit, "main", False)
    assert git("status", "--porcelain") == ""
    assert cli("run", "--", "python", "bench.py").code == 0
    again = cli("show", "MOE-001", "--json", "--full").data["runs"][0]["code"]
    assert again["identity"] == ran["identity"]

    (folder / "bench.py").write_text("print('RESULT tflops=2')\n")
    assert cli("run", "--", "python", "bench.py").code == 0
    git("commit", "-q", "-a", "-m", "idea")
    assert cli("discard", "MOE-002", "--why", "no").code == 0
    records = snapshot(root)
    git("revert", "--no-edit", "HEAD")
    (folder / "bench.py").write_text("work\n")
    git("stash", "push", "-u", "-q")
    git("checkout", "-q", "-b", "other", commit)
    git("clean", "-fdxq")
    git("stash", "drop", "-q")
    assert snapshot(root) == records
    assert [line["id"] for line in cli("list", "--json").data] == [f"MOE-00{n}" for n in range(4)]

    inner = folder / "pkg"
    inner.mkdir()
    monkeypatch.chdir(inner)
    assert cli("note", "from a folder of the code", "--json").data["id"] == "MOE-004"
    git("worktree", "add", "-q", str(folder.parent / "second"))
    monkeypatch.chdir(folder.parent / "second")
    assert cli("run", "--json", "--", "python", "bench.py").data["id"] == "MOE-005"
    second = cli("show", "MOE-005", "--json", "--full").data["runs"][0]["code"]
    assert (second["identity"], second["branch"]) == (ran["identity"], "second")


def test_the_view_the_report_the_doctor_and_a_sweep(root: Path, cli: Cli, git: Git, folder: Path) -> None:
    assert cli("run", "--", "python", "bench.py").code == 0
    view = (root / "moe.md").read_text()
    assert cli("render").code == 0
    assert (root / "moe.md").read_text() == view
    assert cli("doctor").code == 0
    assert cli("report", "--json").code == 0
    assert (root / ".report/moe.html").is_file()
    planned = cli("sync", "--create", "--repo", "acme/moe", "--dry-run", "--json")
    assert planned.code == 0, planned.err


def test_committed_records_are_linked_where_they_are(root: Path, cli: Cli, git: Git, folder: Path) -> None:
    (root / "stray.txt").write_text("not of a logbook\n")
    git("config", "remote.origin.url", "https://github.com/acme/moe.git", cwd=root)
    git("config", "remote.origin.pushurl", str(folder.parent / "hub.git"), cwd=root)
    assert cli("run", "--", "python", "bench.py").code == 0
    head = git("rev-parse", "HEAD")
    git("add", ".", ":!stray.txt", cwd=root)
    git("commit", "-q", "-m", "records", cwd=root)
    sha = git("rev-parse", "HEAD", cwd=root)
    assert git("status", "--porcelain", cwd=root) == "?? stray.txt"
    assert git("rev-parse", "HEAD") == head
    git("push", "-q", "origin", "HEAD:refs/heads/logbooks", cwd=root)
    planned = cli("sync", "--create", "--repo", "acme/moe", "--dry-run", "--json")
    assert f"https://github.com/acme/moe/blob/{sha}/moe.md" in planned.out
