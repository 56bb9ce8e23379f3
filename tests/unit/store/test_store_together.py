"""Files are on disk before their names are, one or many together: all or an error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from logbook_agent.model.errors import StoreError
from logbook_agent.store.folder import Folder

Wanted = list[tuple[Path, bytes]]


def umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def synced(monkeypatch: pytest.MonkeyPatch, wanted: Wanted) -> list[tuple[bool, int]]:
    """Of each fsync from now on, whether it is of a folder, and how many files have their names by then."""
    seen: list[tuple[bool, int]] = []

    def watched(descriptor: int) -> None:
        is_folder = Path(f"/proc/self/fd/{descriptor}").is_dir()
        seen.append((is_folder, sum(path.exists() and path.read_bytes() == data for path, data in wanted)))

    monkeypatch.setattr(os, "fsync", watched)
    return seen


def test_what_is_named_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is synced before any gets its name, and every folder after that."""
    (tmp_path / "b").mkdir()
    wanted = [(tmp_path / "one", b"1"), (tmp_path / "b/two", b"2"), (tmp_path / "b/three", b"3")]
    (tmp_path / "one").write_text("old")
    seen = synced(monkeypatch, wanted)
    Folder(tmp_path).write_together(wanted)
    assert sorted(seen) == [(False, 0)] * 3 + [(True, 3)] * 2
    assert [path.read_bytes() for path, _ in wanted] == [b"1", b"2", b"3"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["b", "one", "three", "two"]
    assert {path.stat().st_mode & 0o777 for path, _ in wanted} == {0o666 & ~umask()}


def test_a_disk_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [(tmp_path / name, b"new") for name in ("one", "two", "three")]
    for path, _ in wanted:
        path.write_text("old")

    def fails(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(StoreError, match=r"cannot write .*/one: Input/output error"):
        Folder(tmp_path).write_together(wanted)
    with pytest.raises(StoreError, match=r"cannot write .*/one: Input/output error"):
        Folder(tmp_path).write(*wanted[0])
    assert [path.read_text() for path, _ in wanted] == ["old"] * 3
    assert len(list(tmp_path.iterdir())) == 3
