"""The index lies in the user's cache, by the real path of the root: no branch brings one, and none is missed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from logbook_agent.store.index import RACY_NS, Index, Stamp, TriedIndex
from tests.conftest import REPOSITORY, Cli, index_of

KEYS = {"MOE-000": [("k", 1)]}
READING = (["list"], ["status"], ["show", "MOE-000"], ["list", "--tried"])


def found(index: Path) -> list[str]:
    return [hint.id for hint in TriedIndex(index).found("k")]


@pytest.mark.parametrize(
    "statement", ["DROP TABLE tried", "CREATE VIEW more AS SELECT * FROM tried", "ALTER TABLE tried ADD COLUMN x"]
)
def test_an_index_of_another_version_is_made_anew(tmp_path: Path, statement: str) -> None:
    index = tmp_path / "cache/moe.sqlite"
    TriedIndex(index).keep(KEYS)
    assert found(index) == ["MOE-000"]
    with closing(sqlite3.connect(index)) as database, database:
        database.execute(statement)
    assert found(index) == []
    TriedIndex(index).keep(KEYS)
    assert found(index) == ["MOE-000"]


def test_an_index_that_other_code_made_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / "cache/moe.sqlite"
    TriedIndex(index).keep(KEYS)
    with monkeypatch.context() as patch:
        patch.setattr("logbook_agent.store.index.code_key", lambda: "other")
        assert found(index) == []
    assert found(index) == []


@pytest.mark.slow
def test_other_code_has_another_key(tmp_path: Path) -> None:
    package = REPOSITORY / "logbook_agent"
    keys = []
    for change in ("", "# more\n"):
        shutil.copytree(package, tmp_path / "logbook_agent", dirs_exist_ok=True)
        with (tmp_path / "logbook_agent/findings/best.py").open("a") as file:
            file.write(change)
        keys += [key_in(tmp_path), key_in(tmp_path)]
    # Of a wheel, its own list of what it holds says it.
    for listed in ("a", "b"):
        (tmp_path / "logbook_agent-1.dist-info").mkdir(exist_ok=True)
        (tmp_path / "logbook_agent-1.dist-info/RECORD").write_text(listed)
        keys += [key_in(tmp_path), key_in(tmp_path)]
    assert [keys.index(key) for key in keys] == [0, 0, 2, 2, 4, 4, 6, 6]


def key_in(folder: Path) -> str:
    """The key that the code below a folder gives, in a process of its own."""
    asked = [sys.executable, "-P", "-c", "from logbook_agent.store.index import code_key; print(code_key())"]
    environ = {"PYTHONPATH": str(folder), "PATH": os.environ["PATH"]}
    return subprocess.run(asked, env=environ, check=True, capture_output=True, text=True).stdout


def test_commands_say_the_same_whatever_became_of_the_index(started: Cli, folder: Path) -> None:
    started("run", "--", "sh", "-c", "echo RESULT tflops=2")
    index = index_of(folder)
    wanted = [started(*words).out for words in READING]
    assert index.is_file()
    for damage in (index.unlink, lambda: index.write_bytes(b"no database" * 100), lambda: index.write_bytes(b"")):
        damage()
        assert [started(*words).out for words in READING] == wanted
    index.unlink()
    index.mkdir()
    assert [started(*words).out for words in READING] == wanted


def test_without_a_place_for_a_cache_there_is_no_index(
    started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started("run", "--", "sh", "-c", "echo RESULT tflops=2")
    wanted = [started(*words).out for words in READING]
    for name, value in (("XDG_CACHE_HOME", "relative"), ("HOME", "")):
        monkeypatch.setenv(name, value)
    assert [started(*words).out for words in READING] == wanted
    assert not (folder / "relative").exists()


def test_an_index_in_the_logbook_is_not_read_and_can_be_deleted(started: Cli, folder: Path) -> None:
    """Earlier versions kept it there, and a branch may bring one."""
    started("run", "--", "sh", "-c", "echo RESULT tflops=2")
    wanted = [started(*words).out for words in READING]
    old = folder / "logbooks/moe/.index.sqlite"
    old.write_bytes(index_of(folder).read_bytes())
    with closing(sqlite3.connect(old)) as database, database:
        database.execute("UPDATE entries SET summary = replace(summary, 'tflops', 'forged')")
    index_of(folder).unlink()
    assert [started(*words).out for words in READING] == wanted
    assert "left by an earlier version" in started("doctor").out
    started("doctor", "--fix")
    assert not old.exists()


def test_two_roots_share_no_index_and_one_by_two_paths_does(started: Cli, folder: Path, tmp_path: Path) -> None:
    started("note", "--title", "here")
    started("list")
    (tmp_path / "link").symlink_to(folder)
    assert index_of(tmp_path / "link") == index_of(folder)
    assert index_of(tmp_path / "elsewhere") != index_of(folder)
    assert list(folder.rglob("*.sqlite*")) == []


def test_a_summary_of_what_changed_a_moment_ago_is_not_kept(tmp_path: Path) -> None:
    """A second change within one tick of the clock could not be told from the first."""
    now = time.time_ns()
    old = now - 2 * RACY_NS
    stamps = {
        "MOE-000": Stamp((old, 1), old, ((1, old, 1),)),
        "MOE-001": Stamp((now, 1), old, ()),
        "MOE-002": Stamp((old, 1), now, ()),
        "MOE-003": Stamp((old, 1), old, ((1, old, 1), (2, now, 1))),
    }
    index = Index(tmp_path / "index", "1")
    index.save({entry_id: (stamp, {"id": entry_id}) for entry_id, stamp in stamps.items()}, stamps)
    index.load([])
    assert {i: index.get(i, stamp) for i, stamp in stamps.items()} == {
        **dict.fromkeys(stamps),
        "MOE-000": {"id": "MOE-000"},
    }
    assert index.get("MOE-000", Stamp((old, 2), old, ((1, old, 1),))) is None
    index.save({}, ["MOE-001"])
    index.load([])
    assert index.known == {}, "an entry that is gone is forgotten"


def test_a_summary_with_a_secret_that_became_known_is_stale(tmp_path: Path) -> None:
    old = time.time_ns() - 2 * RACY_NS
    stamp = Stamp((old, 1), old, ())
    index = Index(tmp_path / "index", "1")
    index.save({i: (stamp, {"id": i, "title": title}) for i, title in (("A-0", "plain"), ("A-1", 'x"y-z'))}, [])
    index.load([b'x\\"y-z'])
    assert list(index.known) == ["A-0"]
