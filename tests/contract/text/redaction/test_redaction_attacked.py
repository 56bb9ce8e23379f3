"""What attackers found, each as it was found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.text.redaction.kinds_support import Maker
from tests.stored import at

VALUE = Maker("attacked").word() + "Lm2Tz"
LONG = (VALUE * 6).replace("_", "x").replace("-", "y")


@pytest.mark.parametrize("regex", [".", "e", "[a-z]", "[A-Z]+-", "\\d+", "ote"])
def test_a_project_may_not_hide_everything(cli: Cli, folder: Path, regex: str) -> None:
    (folder / "logbook.toml").write_text(f"[[secret_rules]]\nid = 'x'\nregex = '{regex}'\n")
    answer = cli("list")
    assert (answer.code, "regex" in answer.err) == (2, True)


def test_a_rule_that_hides_what_a_record_needs_is_named(started: Cli, folder: Path) -> None:
    (folder / "logbook.toml").write_text("[[secret_rules]]\nid = 'x'\nregex = '-000'\n")
    answer = started("note", "--title", "one")
    assert answer.code == 3, answer
    assert "MOE[redacted:x]" in answer.err
    assert "logbook.toml" in answer.err


def test_extra_arguments_are_not_repeated(started: Cli) -> None:
    for words in (["show", "password", VALUE], ["edit", "MOE-000", "--field", "password", VALUE]):
        answer = started(*words)
        assert (answer.code, VALUE in answer.err) == (2, False)


def test_nothing_is_written_that_could_not_be_read_again(started: Cli, folder: Path) -> None:
    started("note", "--title", "one")
    file = at(folder / "logbooks/moe/entries/MOE-000.yaml")
    file.write_text(file.read_text() + f"recipe: {{name: ghp_{LONG[:36]}, digest: '{'0' * 32}', runs: 2}}\n")
    before = file.read_bytes()
    answer = started("edit", "MOE-000", "--title", "two")
    assert answer.code == 3
    assert "recipe.name: " in answer.err
    assert "'[redacted:github-token]'" in answer.err
    assert file.read_bytes() == before
