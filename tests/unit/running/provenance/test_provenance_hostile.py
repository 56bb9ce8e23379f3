"""A repository whose configuration names programs: none of them is started by a command that reads."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from logbook_agent.issue.permalinks import dirty_outside, published, remote_of
from logbook_agent.model.errors import StoreError
from logbook_agent.running.provenance.git_calls import read_git
from logbook_agent.text.address import RepositoryAddress
from tests.contract.running.provenance.test_provenance_hostile import Hostile, hostile

__all__ = ["hostile"]

Git = Callable[..., str]


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
