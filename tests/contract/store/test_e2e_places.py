"""Where logbooks live: in a repository or not, behind odd paths, in worktrees, several in one root."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.e2e.e2e_support import picture
from tests.contract.views import blocks

pytestmark = pytest.mark.slow


Git = Callable[..., str]


def test_outside_a_repository(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(folder / "a" / "b")
    assert started("run", "--", "true").code == 0
    assert [*blocks((folder / "logbooks/moe.md").read_text())] == ["header", "MOE-000"]
    assert "code: not in a git repository" in (folder / "logbooks/moe.md").read_text()


def test_inside_a_repository_from_a_subfolder(
    cli: Cli, git: Git, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    assert cli("start", "moe", "--prefix", "MOE").code == 0
    assert cli("run", "--", "python", "../bench.py").code == 0
    view = (folder / "logbooks/moe.md").read_text()
    head = git("rev-parse", "HEAD")[:9]
    assert f"code: `{head}` on main\n" in view, "the logbook itself makes nothing dirty"
    assert cli("run", "--", "python", "../bench.py").code == 0
    assert "uncommitted" not in (folder / "logbooks/moe.md").read_text()
    (folder / "bench.py").write_text("print('RESULT tflops=2')\n")
    assert cli("run", "--", "python", "../bench.py").code == 0
    assert f"`{head}` on main, with uncommitted changes" in (folder / "logbooks/moe.md").read_text()
    status = git("status", "--porcelain", "--ignored")
    assert "logbooks/" in status
    assert git("diff", "--cached", "--name-only") == "", "nothing is staged"


def test_what_lies_above_the_repository_is_another_projects(
    cli: Cli, git: Git, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    assert cli("start", "theirs", "--prefix", "THEIRS").code == 0
    (folder / "a/b").mkdir(parents=True)
    monkeypatch.chdir(folder / "a/b")
    assert cli("list").code != 0
    assert cli("start", "ours", "--prefix", "OURS").code == 0
    assert (folder / "logbooks/ours.md").exists()
    assert cli("list").code == 0


def test_a_logbook_of_a_later_format_says_what_to_do(started: Cli, folder: Path) -> None:
    header = folder / "logbooks/moe/logbook.yaml"
    text = header.read_text()
    for number, hint in ((3, "upgrade"), (0, "correct the number")):
        header.write_text(re.sub("^format: .*", f"format: {number}", text))
        answer = started("note", "--title", "x", "--json")
        assert (answer.code, hint in answer.error["hint"]) == (3, True), answer


def test_a_working_folder_with_an_odd_name(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / 'a b\'c "d" `e` $F ü\nnewline'
    place.mkdir()
    monkeypatch.chdir(place)
    assert cli("start", "moe", "--prefix", "MOE").code == 0
    (place / "my bench.py").write_text("print('RESULT tflops=1')")
    assert cli("run", "--", "python", "my bench.py").code == 0
    assert cli("status").code == 0
    assert [*blocks((place / "logbooks/moe.md").read_text())] == ["header", "MOE-000"]


def test_several_logbooks_and_none_named(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert started("start", "ep", "--prefix", "MOE-EP").code == 0
    before = picture(folder)
    for words in (["run", "--", "true"], ["status"], ["note", "--title", "x"]):
        answer = started(*words)
        assert answer.code == 2
        assert "ep (MOE-EP), moe (MOE)" in answer.err.splitlines()[0]
        assert "-L ep" in answer.err
    assert picture(folder) == before
    assert started("-L", "MOE-EP", "note", "--title", "x", "--json").data["id"] == "MOE-EP-000"
    monkeypatch.setenv("LOGBOOK", "moe")
    assert started("note", "--title", "x", "--json").data["id"] == "MOE-000"
    assert started("note", "-L", "ep", "--title", "x", "--json").data["id"] == "MOE-EP-001"
    monkeypatch.delenv("LOGBOOK")
    assert started("show", "MOE-EP-001", "--json").data["id"] == "MOE-EP-001", "an ID names its logbook"
    assert started("run", "--id", "MOE-000", "--", "true").code == 0
