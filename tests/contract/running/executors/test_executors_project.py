"""No file of a project says which program starts, or where commands go: only the user's own settings do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

SCRIPT = '["sh", "-c", "touch ran; echo 7"]'


@pytest.mark.parametrize(
    "table",
    [
        "[launchers]\nbox = \"sh -c 'touch ran' {command}\"",
        f'[executors.box]\nkind = "command"\nsubmit = {SCRIPT}\nstate = {SCRIPT}\nlogs = {SCRIPT}',
    ],
)
def test_a_project_cannot_choose_where_commands_go(started: Cli, folder: Path, table: str) -> None:
    (folder / "logbook.toml").write_text(f"{table}\n")
    for words in (("run", "--on", "box", "--", "true"), ("status",)):
        refused = started(words[0], "--json", *words[1:])
        assert (refused.code, refused.error["code"]) == (2, "usage"), words
        assert "config.toml" in refused.error["hint"]
    (folder / "logbook.toml").unlink()
    assert started("run", "--on", "box", "--", "true").code == 2
    assert started("list", "--json").data == []
    assert not (folder / "ran").exists()
