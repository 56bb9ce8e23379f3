"""A file is on disk before its name is: all of it, or an error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from logbook_agent.model.errors import StoreError
from logbook_agent.store.folder import Folder


def umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def test_what_is_named_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is synced before it gets its name, and the folder after that."""
    path = tmp_path / "one"
    path.write_text("old")
    seen: list[tuple[bool, bytes]] = []

    def watched(descriptor: int) -> None:
        seen.append((Path(f"/proc/self/fd/{descriptor}").is_dir(), path.read_bytes()))

    monkeypatch.setattr(os, "fsync", watched)
    Folder(tmp_path).write(path, b"1")
    assert seen == [(False, b"old"), (True, b"1")]
    assert path.read_bytes() == b"1"
    assert os.listdir(tmp_path) == ["one"]  # noqa: PTH208
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask()


def test_a_disk_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "one"
    path.write_text("old")

    def fails(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(StoreError, match=r"cannot write .*/one: Input/output error"):
        Folder(tmp_path).write(path, b"new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["one"]  # noqa: PTH208
