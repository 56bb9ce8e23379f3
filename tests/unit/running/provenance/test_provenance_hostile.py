"""A repository whose configuration names programs: none of them is started by a command that reads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.issue.permalinks import dirty_outside, published, remote_of
from logbook_agent.model.errors import StoreError
from logbook_agent.running.provenance import git_calls
from logbook_agent.running.provenance.git import CodeLook
from logbook_agent.running.provenance.git_calls import read_git
from logbook_agent.text.address import RepositoryAddress
from tests.contract.running.provenance.test_provenance_hostile import Hostile, hostile

__all__ = ["hostile"]

Git = Callable[..., str]


# -- limits and PATH ---------------------------------------------------------------------------------


def _fake_git(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "git").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "git").chmod(0o755)


@pytest.mark.parametrize("path", ["", ".", "bin", ":/usr/bin:/bin", "bin:/usr/bin:/bin", "./bin:/usr/bin:/bin"])
def test_programs_of_the_current_folder_are_not_found(folder: Path, git: Git, path: str) -> None:
    for place in (folder, folder / "bin"):
        _fake_git(place, f"touch {folder}/started")
    environ = {**os.environ, "PATH": path}
    if "/usr/bin" in path:
        assert read_git(folder, ["rev-parse", "HEAD"], environ).lines() == [git("rev-parse", "HEAD")]
    else:
        with pytest.raises(StoreError, match="git could not be started"):
            read_git(folder, ["rev-parse", "HEAD"], environ)
    assert not (folder / "started").exists()


def test_a_filter_is_not_found_there_either(folder: Path, git: Git) -> None:
    (folder / ".gitattributes").write_text("*.py filter=f\n")
    git("config", "filter.f.clean", "helper")
    (folder / "helper").write_text(f"#!/bin/sh\ntouch {folder}/started; cat\n")
    (folder / "helper").chmod(0o755)
    (folder / "bench.py").write_text("other\n")
    environ = {**os.environ, "PATH": f".::{os.environ['PATH']}"}
    CodeLook(folder, folder / "logbooks", ["true"], environ).facts()
    assert not (folder / "started").exists()


def test_what_git_prints_is_bounded(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_git(tmp_path / "bin", "exec cat /dev/zero")
    monkeypatch.setattr(git_calls, "MOST_BYTES", 2**20)
    with pytest.raises(StoreError, match=r"git status printed more than 1 MiB and was stopped"):
        read_git(folder, ["status"], {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"})


@pytest.mark.slow
def test_what_it_started_is_stopped_with_it(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_git(tmp_path / "bin", f"(echo $$ >{tmp_path}/pid; sleep 60) & wait")
    monkeypatch.setattr(git_calls, "TIMEOUT_S", 0.5)
    began = time.monotonic()
    with pytest.raises(StoreError, match="took longer"):
        read_git(folder, ["status"], {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"})
    assert time.monotonic() - began < 5
    group = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    pytest.fail("what git started is still running")


@pytest.mark.slow
def test_nor_does_what_a_snapshot_asks(hostile: Hostile, folder: Path) -> None:
    root = folder / "logbooks"
    assert remote_of(root, os.environ) is not None
    assert {"bench.py", "sub mod"} <= set(dirty_outside(root, os.environ))
    links = published(
        view=root / "moe.md",
        folder=root / "moe",
        entry_ids=["MOE-000"],
        repository=RepositoryAddress(host="github.com", owner="a", name="b"),
        remote="origin",
        environ=os.environ,
    )
    assert links.commit is not None
    assert hostile.started() == []
