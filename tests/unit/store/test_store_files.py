"""What the functions that write promise: exclusive, appended, locked, replaced as a whole or not at all."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from logbook_agent.model.errors import Locked, StoreError
from logbook_agent.store import files


def test_a_file_is_created_once(tmp_path: Path) -> None:
    path = tmp_path / "one"
    assert files.create_exclusive(path, b"first", within=tmp_path)
    assert not files.create_exclusive(path, b"second", within=tmp_path)
    assert path.read_bytes() == b"first"


def test_text_is_appended_and_through_no_link(tmp_path: Path) -> None:
    for text in ("one\n", "two\n"):
        files.append_text(tmp_path / "out", text)
    assert (tmp_path / "out").read_text() == "one\ntwo\n"
    (tmp_path / "link").symlink_to(tmp_path / "out")
    with pytest.raises(StoreError, match="cannot write"):
        files.append_text(tmp_path / "link", "three\n")
    assert (tmp_path / "out").read_text() == "one\ntwo\n"


def test_a_full_disk_is_an_error_about_the_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot write /dev/full: No space left"):
        files.append_text(Path("/dev/full"), "one\n")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(StoreError, match=r"cannot write [^ ]*new: File too large"):
            files.create_exclusive(tmp_path / "new", b"first", within=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_lock_names_who_holds_it_and_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "moe" / ".lock"
    path.parent.mkdir()
    path.write_text("pid 1234567890 on a-machine-with-a-long-name.example.org, which held it before")
    with (
        files.locked(path, within=tmp_path),
        pytest.raises(Locked) as caught,
        files.locked(path, within=tmp_path, timeout_s=0),
    ):
        raise AssertionError("two hold one lock")
    assert caught.value.holder == f"pid {os.getpid()} on {os.uname().nodename}"
    with files.locked(path, within=tmp_path, timeout_s=0):
        pass


def test_a_lock_is_waited_for_as_long_as_was_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(files.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(files.time, "sleep", sleep)
    with (
        files.locked(tmp_path / ".lock", within=tmp_path),
        pytest.raises(Locked),
        files.locked(tmp_path / ".lock", within=tmp_path, timeout_s=3.0),
    ):
        raise AssertionError("two hold one lock")
    assert 3.0 <= now[0] < 3.1


def test_a_folder_that_cannot_take_its_place_leaves_the_one_there_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    path.mkdir()
    (path / "old").touch()
    rename = Path.rename

    def fails(self: Path, target: Path) -> Path:
        if target == path and not self.name.endswith(".old.tmp"):
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(StoreError, match="No space left"), files.new_folder(path, within=tmp_path) as made:
        (made / "new").touch()
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*")) == ["out", "out/old"]


def test_only_a_folder_that_nobody_fills_is_unfinished(tmp_path: Path) -> None:
    path, left = tmp_path / "out", tmp_path / ".out.left.tmp"
    left.mkdir()
    with files.new_folder(path, within=tmp_path):
        assert files.unfinished_folders(path) == [left]
