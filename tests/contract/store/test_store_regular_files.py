"""Records, settings, recipes and logs are regular files of a size to read; anything else is reported at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.stored import at

pytestmark = pytest.mark.slow

MOE = "logbooks/moe"
ENTRY, RUN = f"{MOE}/entries/MOE-000.yaml", f"{MOE}/runs/MOE-000/01/run.json"
SETTINGS = "logbook.toml"


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _folder(path: Path) -> None:
    path.mkdir()


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(300 * 2**20)


KINDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "pipe": (_fifo, "is a named pipe"),
    "zero": (_zero, "is a symbolic link"),
    "folder": (_folder, "is a folder"),
    "huge": (_huge, "bytes"),
}


def put(path: Path, kind: str) -> str:
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    make, says = KINDS[kind]
    make(path)
    return says


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("file", [ENTRY, RUN])
@pytest.mark.sample(4)
def test_a_record(two: Cli, folder: Path, file: str, kind: str) -> None:
    """It is reported, and the rest works."""
    path = at(folder / file)
    says = put(path, kind)
    for words in (["list"], ["status"], ["list", "two"], ["render"], ["note", "--title", "n"]):
        answer = two(*words)
        assert answer.code == 0, (words, answer.err)
        if words[0] == "status":
            assert "cannot be read: " in answer.err, "and as much of the rest as a short answer has room for"
        elif words[0] != "note":
            assert says in answer.err, words
    assert "two" in two("list").out
    for words in (["show", "MOE-000"], ["table", "MOE-000"], ["edit", "MOE-000", "--next", "q"]):
        answer = two(*words)
        assert answer.code == 3, (words, answer.err)
        assert says in answer.err
    assert two("show", "MOE-001").code == 0
    answer = two("doctor")
    assert answer.code == 1
    assert path.name in answer.out
    assert says in answer.out


@pytest.mark.parametrize("kind", KINDS)
def test_settings(two: Cli, folder: Path, kind: str) -> None:
    says = put(folder / SETTINGS, kind)
    for words in (["list"], ["status"], ["run", "--", "true"], ["doctor"]):
        answer = two(*words)
        assert answer.code == 2, words
        assert answer.err.startswith("error: logbook.toml: ")
        assert (says if kind != "zero" else "/dev/zero is a device") in answer.err.splitlines()[0]


def test_settings_behind_a_link(two: Cli, folder: Path, tmp_path: Path, git: object) -> None:
    for name in ("logbook.toml", "pyproject.toml"):
        text = "[tool.logbook]\nroot = 'a'\n" if name == "pyproject.toml" else "root = 'a'\n"
        (tmp_path / "elsewhere").write_text(text)
        (folder / name).symlink_to(tmp_path / "elsewhere")
        answer = two("list")
        assert answer.code == 2
        assert "points outside" in answer.err
        (folder / "inside").write_text(text.replace("'a'", "'logbooks'"))
        (folder / name).unlink()
        (folder / name).symlink_to("inside")
        assert two("list").code == 0
        (folder / name).unlink()


def test_what_a_command_leaves_as_its_result_file(two: Cli) -> None:
    answer = two("run", "--shell", "--", 'mkfifo "$LOGBOOK_RESULT_FILE"')
    assert answer.code == 0
    assert "is a named pipe" in two("show", "MOE-002", "--json").out
