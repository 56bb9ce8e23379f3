"""The cache lies in the user's cache, by the real path of the root: no branch brings one, and none is missed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import Store

READING = (["list"], ["status"], ["show", "MOE-000"], ["list", "--tried"])


def test_commands_say_the_same_whatever_became_of_the_cache(started: Cli, folder: Path) -> None:
    started("run", "--", "sh", "-c", "echo RESULT tflops=2")
    time.sleep(1.1)  # what changed a moment ago is not kept
    cache = Store(folder).cache_path
    wanted = [started(*words).out for words in READING]
    assert cache.is_file()
    for damage in (cache.unlink, lambda: cache.write_bytes(b"no database" * 100), lambda: cache.write_bytes(b"")):
        damage()
        assert [started(*words).out for words in READING] == wanted
    cache.unlink()
    cache.mkdir()
    assert [started(*words).out for words in READING] == wanted


def test_without_a_place_for_a_cache_there_is_none(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started("run", "--", "sh", "-c", "echo RESULT tflops=2")
    wanted = [started(*words).out for words in READING]
    for name, value in (("XDG_CACHE_HOME", "relative"), ("HOME", "")):
        monkeypatch.setenv(name, value)
    assert [started(*words).out for words in READING] == wanted
    assert not (folder / "relative").exists()


def test_two_roots_share_none_and_one_by_two_paths_does(started: Cli, folder: Path, tmp_path: Path) -> None:
    started("note", "--title", "here")
    started("list")
    (tmp_path / "link").symlink_to(folder)
    assert Store(tmp_path / "link").cache_path == Store(folder).cache_path
    assert Store(tmp_path / "elsewhere").cache_path != Store(folder).cache_path
    assert list(folder.rglob("*.summaries.json")) == []
