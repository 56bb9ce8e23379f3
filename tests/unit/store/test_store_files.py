"""What the functions that write promise: exclusive, appended, locked, replaced as a whole or not at all."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from logbook_agent.model.errors import Locked, StoreError
from logbook_agent.store.folder import Folder, append_named


def test_a_full_disk_is_an_error_about_the_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot write /dev/full: No space left"):
        append_named(Path("/dev/full"), "one\n")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(StoreError, match=r"cannot write [^ ]*new: File too large"):
            Folder(tmp_path).create("new", b"first")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_lock_names_who_holds_it_and_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "moe" / ".lock"
    path.parent.mkdir()
    path.write_text("pid 1234567890 on a-machine-with-a-long-name.example.org, which held it before")
    with (
        Folder(tmp_path).lock(path),
        pytest.raises(Locked) as caught,
        Folder(tmp_path).lock(path, timeout_s=0),
    ):
        raise AssertionError("two hold one lock")
    assert caught.value.holder == f"pid {os.getpid()} on {os.uname().nodename}"
    with Folder(tmp_path).lock(path, timeout_s=0):
        pass
