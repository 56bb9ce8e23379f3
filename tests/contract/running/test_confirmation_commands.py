"""A command of a record runs when this user typed it here, or confirmed it by its digest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import Cli


@pytest.fixture
def pulled(started: Cli, folder: Path) -> Cli:
    """A planned entry as a branch would bring it: the record, and nothing that this user typed."""
    assert started("note", "--plan", "--title", "x", "--command", "A: true", "--command", "true one").code == 0
    path = folder / "logbooks/moe/entries/MOE-000.yaml"
    text = path.read_text()
    assert "one" in text
    path.write_text(text.replace("one", "two"))
    return started


def digest_in(text: str) -> str:
    found = re.search(r"--confirm (sha256:\w+)", text)
    assert found is not None, text
    return found[1]


def test_what_was_typed_here_runs(started: Cli) -> None:
    assert started("note", "--plan", "--title", "x", "--command", "A: true").code == 0
    assert started("run", "--id", "MOE-000").code == 0
    assert started("run", "--", "true", "two").code == 0


def test_what_was_not_is_shown_and_confirmed_by_its_digest(pulled: Cli) -> None:
    refused = pulled("run", "--id", "MOE-000")
    assert (refused.code, "MOE-000" in refused.err, "true two" in refused.err) == (2, True, True)
    assert pulled("run", "--id", "MOE-000", "--confirm", f"sha256:{'0' * 64}").code == 2
    assert pulled("run", "--id", "MOE-000", "--confirm", digest_in(refused.err)).code == 0
    assert pulled("show", "MOE-000", "--json").data["planned"] == []


def test_a_confirmation_goes_with_an_entry(pulled: Cli) -> None:
    for words in (["--", "true"], ["--id", "MOE-000", "--", "true"]):
        refused = pulled("run", "--json", "--confirm", "sha256:x", *words)
        assert (refused.code, "--id" in refused.error["message"]) == (2, True)


def test_a_command_that_was_run_here_needs_no_confirmation(pulled: Cli) -> None:
    assert pulled("run", "--", "true", "two").code == 0
    assert pulled("run", "--id", "MOE-000").code == 0


def test_another_folder_is_another_command(pulled: Cli, folder: Path) -> None:
    (folder / "below").mkdir()
    assert pulled("run", "--cwd", "below", "--", "true", "two").code == 0
    assert pulled("run", "--id", "MOE-000").code == 2


def test_the_confirmation_of_one_does_not_hold_for_a_change(pulled: Cli, folder: Path) -> None:
    digest = digest_in(pulled("run", "--id", "MOE-000").err)
    path = folder / "logbooks/moe/entries/MOE-000.yaml"
    path.write_text(path.read_text().replace("two", "three"))
    assert pulled("run", "--id", "MOE-000", "--confirm", digest).code == 2
