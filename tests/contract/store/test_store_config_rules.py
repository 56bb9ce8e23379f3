"""Redaction rules of a project: they add, they are bounded, and a bad one is an error that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli


@pytest.mark.parametrize("pattern", ["*", "??*", "[A-Z]*", "H*"])
def test_a_project_does_not_ask_for_all_variables(cli: Cli, folder: Path, pattern: str) -> None:
    (folder / "logbook.toml").write_text(f'env = ["{pattern}"]\n')
    answer = cli("list")
    assert answer.code == 2
    assert answer.err.splitlines()[0] == f"error: logbook.toml: env: '{pattern}' names too many variables"
