"""What is written for git in a root of logbooks."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Cli


def test_a_file_that_is_not_ours_stays(cli: Cli, folder: Path) -> None:
    (folder / "logbooks").mkdir()
    (folder / "logbooks/.gitignore").write_text("mine\n")
    assert cli("start", "one", "--prefix", "ONE").code == 0
    assert (folder / "logbooks/.gitignore").read_text() == "mine\n"
