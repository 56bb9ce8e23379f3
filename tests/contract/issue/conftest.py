"""The sync is tested against a server that behaves as GitHub does, or as badly as a test asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.issue.pushed_support import other, published, pushed, told
from tests.contract.issue.sync_support import Bench, made_bench
from tests.emulator.fixtures import Hub, github, github_server

__all__ = ["bench", "github", "github_server", "other", "published", "pushed", "told"]


@pytest.fixture
def bench(
    cli: Cli, folder: Path, github: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Bench:
    return made_bench(cli, folder, github, monkeypatch, tmp_path_factory.getbasetemp() / "entries")


@pytest.fixture
def thirty(bench: Bench) -> Bench:
    """With 30 entries, of which nobody was told yet."""
    bench.entries(30)
    return bench
