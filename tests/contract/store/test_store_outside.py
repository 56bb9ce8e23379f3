"""Nothing below a folder of logbooks leads a write, or a read, out of it."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.stored import at

SECRET = "SECRET-WORD"

FOLDERS = ["", "entries", "runs", "runs/MOE-000", "runs/MOE-000/01", "runs/MOE-001", "code", "open", "backups"]
# Folders that hold nothing but what is made of the records.
MADE = ["plots", "exports", "../.report"]
FILES = [
    "logbook.yaml", "entries/MOE-000.yaml", "entries/MOE-001.yaml", "runs/MOE-000/01/run.json",
    "runs/MOE-000/01/output.log", "runs/MOE-000/sweep.csv", "open/MOE-000_01", "open/.changed", ".lock",
    "open/.sync.lock", ".index.sqlite", ".index.sqlite-journal", ".index.sqlite-wal", "../moe.md", "../.gitignore",
    "../.gitattributes", "../.report/index.html", "../.report/moe.html", "../.report/.gitignore", "exports/moe.csv",
    "exports/.gitignore", "plots/moe-001-noise-tflops.svg",
    "plots/thread-best-tflops.svg",
]  # fmt: skip
COMMANDS = [
    ["list"], ["status"], ["show", "MOE-000"], ["show", "MOE-000", "--log"], ["list", "one"], ["table", "MOE-000"],
    ["sync", "--offline", "out"], ["note", "--title", "n"], ["edit", "MOE-000", "--next", "q"],
    ["run", "--id", "MOE-000", "--", "true"], ["render"], ["render", "--check"],
    ["doctor", "--fix"], ["report"], ["export", "--as", "csv"],
    ["plot"],
]  # fmt: skip


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a file of every name that the tool has."""
    place = tmp_path / "outside"
    (place / "01").mkdir(parents=True)
    for name in ("MOE-000.yaml", "run.json", "output.log", "logbook.yaml", ".lock", "01/run.json", "01/output.log"):
        (place / name).write_text(f"{SECRET}: 1\n")
    return place


def picture(place: Path) -> dict[str, tuple[bytes | None, int]]:
    return {
        p.relative_to(place).as_posix(): (p.read_bytes() if p.is_file() else None, p.lstat().st_mtime_ns)
        for p in sorted(place.rglob("*"))
    }


def linked(path: Path, to: Path) -> None:
    """A link in the place of what is there, as a branch may bring it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(to)


def attacked(cli: Cli, outside: Path, tmp_path: Path) -> dict[str, int]:
    """The exit codes of all commands; nothing outside is changed, made or shown by any."""
    before = picture(outside)
    codes = {}
    for words in COMMANDS:
        answer = cli(*words)
        codes.setdefault(words[0], answer.code)
        assert answer.code in (0, 1, 2, 3), words
        assert SECRET not in answer.out + answer.err, words
        assert picture(outside) == before, words
    for written in tmp_path.rglob("*"):
        if written.is_file() and not written.is_symlink() and not written.is_relative_to(outside):
            assert SECRET.encode() not in written.read_bytes(), written
    return codes


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.slow
@pytest.mark.sample(3)
def test_a_folder_that_is_a_link(one: Cli, folder: Path, outside: Path, tmp_path: Path, name: str) -> None:
    linked(at(folder / "logbooks/moe" / name), outside)
    codes = attacked(one, outside, tmp_path)
    if name not in ("backups", "runs/MOE-001", "code"):  # the run keeps no code
        assert codes["doctor"] == 1
        assert codes["run"] == (0 if name == "runs/MOE-000/01" else 3)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.slow
def test_a_folder_of_what_is_made_that_is_a_link(one: Cli, folder: Path, outside: Path, name: str) -> None:
    assert one("run", "--repeat", "3", "--", "echo", "RESULT tflops=1").code == 0
    before = picture(outside)
    linked(folder / "logbooks/moe" / name, outside)
    words = {"plots": ["plot"], "exports": ["export", "--as", "csv"], "../.report": ["report"]}[name]
    answer = one(*words)
    assert (answer.code, "is a symbolic link" in answer.err) == (3, True)
    assert picture(outside) == before


@pytest.mark.slow
def test_the_walk_knows_every_place_that_is_written(one: Cli, folder: Path) -> None:
    assert one("run", "--repeat", "3", "--", "echo", "RESULT tflops=1").code == 0
    for words in COMMANDS:
        one(*words)
    top = folder / "logbooks/moe"
    found = {os.path.relpath(path, top) for path in (folder / "logbooks").rglob("*")}
    # One entry and one run stand for all.
    bare = {re.sub(r"\.[0-9a-z]{5}(?=/|\.yaml$|$)", "", name) for name in found}
    alike = {re.sub(r"/0\d", "/01", re.sub(r"MOE-\d+", "MOE-000", name)) for name in bare}
    known = {os.path.normpath(name) for name in (*FOLDERS, *MADE, *FILES)} | {"..", "../moe"}
    left = {name for name in alike - known if name.replace("MOE-000", "MOE-001") not in known}
    # In these all is new, or has tests of its own.
    fresh = ("backups/", "exports/moe-html", "../.report/moe", "../.ids")
    assert {name for name in left if not name.startswith(fresh)} == set()


@pytest.mark.parametrize("to", ["output.log", "new"])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.slow
@pytest.mark.sample(8)
def test_a_file_that_is_a_link(one: Cli, folder: Path, outside: Path, tmp_path: Path, name: str, to: str) -> None:
    linked(at(folder / "logbooks/moe" / name), outside / to)
    attacked(one, outside, tmp_path)


def test_reservations_outside_of_git(one: Cli, folder: Path, outside: Path) -> None:
    linked(folder / "logbooks/.ids", outside)
    before = picture(outside)
    answer = one("note", "--title", "n")
    assert answer.code == 3
    assert ".ids is a symbolic link" in answer.err
    assert one("status").code == 0
    assert picture(outside) == before


def test_a_root_that_is_a_link(started: Cli, folder: Path, outside: Path, git: object) -> None:
    """One that a branch brings is refused, and one that the user names is not."""
    (folder / "logbooks").rename(outside / "logbooks")
    linked(folder / "logbooks", outside / "logbooks")
    before = picture(outside)
    refused = started("note", "--title", "n")
    assert refused.code == 2
    assert picture(outside) == before
    assert started("note", "--title", "n", "--root", "logbooks").code == 0
    assert at(outside / "logbooks/moe/entries/MOE-000.yaml").is_file()


def test_recipes_that_are_links(started: Cli, folder: Path, outside: Path) -> None:
    (folder / "recipes").mkdir()
    (folder / "recipes/mine.yaml").symlink_to(outside / "MOE-000.yaml")
    answer = started("sweep", "mine")
    assert answer.code == 2
    assert "mine.yaml is a symbolic link" in answer.err
    (folder / "recipes/mine.yaml").unlink()
    (folder / "recipes").rmdir()
    (folder / "recipes").symlink_to(outside)
    answer = started("sweep", "MOE-000")
    assert "recipes is a symbolic link" in answer.err
    assert SECRET not in answer.err
