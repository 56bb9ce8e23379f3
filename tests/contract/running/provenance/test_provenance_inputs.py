"""The digests of inputs that a user names."""

from __future__ import annotations

import os
from pathlib import Path

from tests.conftest import Cli
from tests.seams import Store


def test_what_is_no_file_is_not_read(started: Cli, folder: Path) -> None:
    """Reading a pipe would wait for ever, or take from the command what it reads."""
    (folder / "data").mkdir()
    (folder / "data/a.txt").write_text("a")
    os.mkfifo(folder / "data/pipe")
    (folder / "linked").symlink_to("data/a.txt")
    for name in ("data/pipe", "/dev/zero", "gone"):
        refused = started("run", "--json", "--input", name, "--", "true")
        assert (refused.code, name in refused.error["message"]) == (2, True)
    assert started("run", "--input", "linked", "--", "true").code == 0
    assert [(one.path, one.bytes) for one in Store(folder).run("MOE-000", 1).inputs] == [("linked", 1)]
