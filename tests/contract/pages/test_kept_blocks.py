"""Blocks that come from the cache are those that would be rendered."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from tests.conftest import Cli

pytestmark = pytest.mark.slow
RACY_S = 1.1


def aged(folder: Path) -> None:
    """Wait until what was written is kept."""

    time.sleep(RACY_S)


def test_a_view_with_and_without_a_cache_is_the_same(started: Cli, folder: Path) -> None:
    view = folder / "logbooks/moe.md"
    assert started("run", "--title", "A", "--hypothesis", "h", "--", "echo", "RESULT tflops=2").code == 0
    assert started("note", "--title", "B", "--result", "It was [[MOE-000 tflops]]").code == 0
    aged(folder)
    assert started("render").code == 0
    assert started("note", "--title", "C", "--supersedes", "MOE-000").code == 0
    assert started("edit", "MOE-001", "--title", "New words").code == 0
    text = view.read_text()
    assert "Superseded by: MOE-002" in text
    assert "New words" in text
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "logbook"
    shutil.rmtree(cache, ignore_errors=True)
    assert started("render").code == 0
    assert view.read_text() == text


def test_a_secret_that_became_known_leaves_the_view(
    started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = folder / "logbooks/moe.md"
    assert started("note", "--title", "T", "--result", "it said plum-orchard-77").code == 0
    aged(folder)
    assert started("render").code == 0
    assert "plum-orchard-77" in view.read_text()
    monkeypatch.setenv("MY_API_TOKEN", "plum-orchard-77")
    assert started("render").code == 0
    assert "plum-orchard-77" not in view.read_text()
