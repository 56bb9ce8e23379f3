"""A logbook with every kind of row, made once and copied."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.exports.full_store import full


@pytest.fixture(scope="session")
def full_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("full") / "logbooks"


@pytest.fixture
def filled(cli: Cli, folder: Path, full_cache: Path) -> Cli:
    """The command line in a folder with that logbook."""
    if full_cache.exists():
        shutil.copytree(full_cache, folder / "logbooks")
        return cli

    def typed(*words: str) -> None:
        answer = cli(*words)
        assert answer.code == 0, answer

    full(typed)
    shutil.copytree(folder / "logbooks", full_cache)
    return cli
