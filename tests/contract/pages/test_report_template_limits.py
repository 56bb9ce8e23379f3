"""Which templates are those of a project, and what commands do where one never ends or takes all memory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.breadth import wide
from tests.conftest import Cli

pytestmark = pytest.mark.slow


def test_the_project_is_the_repository_or_the_folder_of_the_settings(started: Cli, folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine/entry.md.j2").write_text("### mine {{ entry.id }}")
    (folder / "sub").mkdir()
    (folder / "logbooks").rename(folder / "sub/logbooks")
    (folder / "sub/logbook.toml").write_text('templates = "../mine"\n')
    os.chdir(folder / "sub")
    answer = started("note", "--title", "x")
    assert answer.code == 2
    assert f"templates points outside {folder / 'sub'}" in answer.err
    (folder / ".git").mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    assert started("note", "--title", "x").code == 0
    assert "### mine MOE-000" in (folder / "sub/logbooks/moe.md").read_text()


LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
HOSTILE = {
    "loop": "{% if entry.state == 'failed' %}" + LOOP + "{% endif %}",
    "memory": "{% if entry.state == 'failed' %}{{ 'a' * 10**10 }}{% endif %}",
    "marker": "{% if entry.state == 'failed' %}<!-- logbook:end MOE-000 -->\n<!-- logbook:block x 0 -->{% endif %}",
}


@pytest.mark.parametrize("kind", [wide("loop"), "memory", wide("marker")])
@pytest.mark.slow
def test_no_run_is_lost(started: Cli, folder: Path, kind: str) -> None:
    """A template that fits the new entry, and not the one that was run."""
    (folder / "templates").mkdir()
    (folder / "templates/entry.md.j2").write_text(HOSTILE[kind])
    (folder / "logbook.toml").write_text('templates = "templates"\n')
    before = (folder / "logbooks/moe.md").read_bytes()
    answer = started("run", "--title", "T", "--", "sh", "-c", "echo RESULT tflops=2; exit 3")
    assert answer.code == 3
    run = json.loads(next(folder.glob("logbooks/moe/runs/MOE-000.*/*/run.json")).read_text())
    assert run["exit"]["code"] == 3
    assert run["rows"][0]["metrics"]["tflops"]["samples"] == [2.0]
    if kind == "marker":
        assert started("doctor").code == 0
        assert started("render").code == 0
    else:
        assert "template entry.md.j2 takes" in answer.err
        assert (folder / "logbooks/moe.md").read_bytes() == before
        for words, code in (("list", 0), ("status", 0), ("table MOE-000", 0), ("show MOE-000", 3), ("render", 3)):
            answer = started(*words.split())
            assert answer.code == code, (words, answer)
            assert code == 0 or "template entry.md.j2 takes" in answer.err
        answer = started("doctor")
        assert answer.code == 1
        assert "moe.md: " in answer.out
        assert "template entry.md.j2" in answer.out
    (folder / "logbook.toml").unlink()
    assert started("render").code == 0
    assert "MOE-000" in (folder / "logbooks/moe.md").read_text()
