"""What is written for git in a root of logbooks."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Cli


def test_a_root_of_an_earlier_version_gets_the_lines_it_lacks(cli: Cli, folder: Path) -> None:
    assert cli("start", "one", "--prefix", "ONE").code == 0
    ignored = folder / "logbooks/.gitignore"
    whole = ignored.read_text()
    ignored.write_text(whole.replace("/*/.index.sqlite*\n", "") + "mine\n")
    assert cli("start", "two", "--prefix", "TWO").code == 0
    assert sorted(ignored.read_text().splitlines()) == sorted([*whole.splitlines(), "mine"])
    before = ignored.read_text()
    assert cli("start", "three", "--prefix", "THREE").code == 0
    assert ignored.read_text() == before


def test_a_run_that_keeps_files_completes_the_lines(started: Cli, folder: Path) -> None:
    ignored = folder / "logbooks/.gitignore"
    whole = ignored.read_text()
    ignored.write_text(before := whole.replace("/*/runs/*/*/artifacts/\n", ""))
    assert started("run", "--", "sh", "-c", "echo RESULT tflops=1").code == 0
    assert ignored.read_text() == before
    assert started("run", "--keep", "a.txt", "--", "sh", "-c", "echo x > a.txt; echo RESULT tflops=1").code == 0
    assert sorted(ignored.read_text().splitlines()) == sorted(whole.splitlines())


def test_a_file_that_is_not_ours_stays(cli: Cli, folder: Path) -> None:
    (folder / "logbooks").mkdir()
    (folder / "logbooks/.gitignore").write_text("mine\n")
    assert cli("start", "one", "--prefix", "ONE").code == 0
    assert (folder / "logbooks/.gitignore").read_text() == "mine\n"
