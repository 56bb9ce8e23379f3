"""Records, settings, recipes and logs are regular files of a size to read; anything else is reported at once."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli

pytestmark = pytest.mark.slow

MOE = "logbooks/moe"
VIEW, HEADER = "logbooks/moe.md", f"{MOE}/logbook.yaml"
ENTRY, RUN, LOG = f"{MOE}/entries/MOE-000.yaml", f"{MOE}/runs/MOE-000/01/run.json", f"{MOE}/runs/MOE-000/01/output.log"
SETTINGS, RECIPE = "logbook.toml", "recipes/mine.yaml"


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _folder(path: Path) -> None:
    path.mkdir()


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(path.parent)  # its name has at most 100 characters
        made.bind(path.name)
        os.chdir(here)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(300 * 2**20)


KINDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "pipe": (_fifo, "is a named pipe"),
    "zero": (_zero, "is a symbolic link"),
    "loop": (_loop, "is a symbolic link"),
    "folder": (_folder, "is a folder"),
    "socket": (_socket, "is a socket"),
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
    says = put(folder / file, kind)
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
    assert Path(file).name in answer.out
    assert says in answer.out


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "huge"])
@pytest.mark.sample(2)
def test_a_view(two: Cli, folder: Path, kind: str) -> None:
    says = put(folder / VIEW, kind)
    for words in (["list"], ["show", "MOE-000"], ["table", "MOE-000"], ["list", "two"]):
        assert two(*words).code == 0, words
    for words in (["status"], ["note", "--title", "n"]):
        answer = two(*words)
        assert answer.code == 0, (words, answer.err)
        assert says in answer.err
    for words in (["render"], ["render", "--absorb"]):
        assert two(*words).code == 3, words
    answer = two("doctor")
    assert answer.code == 1
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


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "huge"])
@pytest.mark.sample(2)
def test_a_log(two: Cli, folder: Path, kind: str) -> None:
    says = put(folder / LOG, kind)
    answer = two("show", "MOE-000", "--log")
    assert answer.code == 3
    assert says in answer.err
    assert two("doctor").code in (0, 1)
    assert two("doctor", "--prune", "--keep-days", "0", "--dry-run").code == 0


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "huge"])
@pytest.mark.parametrize("name", [".lock", ".index.sqlite", "open/MOE-000.01", "open/.sync.lock", "backups"])
@pytest.mark.sample(4)
def test_the_tool_s_own_files(two: Cli, folder: Path, name: str, kind: str) -> None:
    put(folder / MOE / name, kind)
    for words in (["list"], ["status"], ["show", "MOE-000"], ["note", "--title", "n"], ["doctor"]):
        assert two(*words).code in (0, 1), words
    assert two("render").code == (3 if name == ".lock" else 0)


def test_what_a_command_leaves_as_its_result_file(two: Cli) -> None:
    answer = two("run", "--shell", "--", 'mkfifo "$LOGBOOK_RESULT_FILE"')
    assert answer.code == 0
    assert "is a named pipe" in two("show", "MOE-002", "--json").out
