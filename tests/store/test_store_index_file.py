"""The index lies where a pulled branch can put a file of its name: nothing but what was made in its place is read."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from logbook_agent.store.index import Index, Stamp
from logbook_agent.store.index_file import RACY_NS, opened, problem_of
from logbook_agent.store.tried import TriedIndex
from tests.conftest import Cli

KEYS = {"MOE-000": [("k", 1)]}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / ".index.sqlite"
    TriedIndex(path, within=path.parent).keep(KEYS)
    return path


def found(index: Path) -> list[str]:
    return [hint.id for hint in TriedIndex(index, within=index.parent).found("k")]


def test_an_index_is_read_in_the_place_where_it_was_made(index: Path, tmp_path: Path) -> None:
    assert (found(index), problem_of(index, index.parent)) == (["MOE-000"], None)
    # As git, or a copy of the folder, would put it there: the same bytes in another file.
    whole = index.read_bytes()
    index.rename(tmp_path / "elsewhere")
    index.write_bytes(whole)
    assert problem_of(index, index.parent) == "it was not made in this place, or by another version"
    assert found(index) == []
    TriedIndex(index, within=index.parent).keep(KEYS)
    assert found(index) == ["MOE-000"]


def test_a_view_that_never_ends_is_not_asked(index: Path) -> None:
    with closing(sqlite3.connect(index)) as database, database:
        database.execute("DROP TABLE tried")
        database.execute(
            "CREATE VIEW tried AS WITH RECURSIVE n(key, id, failed) AS"
            " (SELECT 'k', 'MOE-000', 1 UNION ALL SELECT key || 'k', id, failed FROM n) SELECT * FROM n"
        )
    began = time.monotonic()
    assert problem_of(index, index.parent) is not None
    assert found(index) == []
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("end", ["", "-journal", "-wal"])
def test_a_link_is_not_followed(tmp_path: Path, end: str) -> None:
    index, outside = tmp_path / ".index.sqlite", tmp_path / "outside"
    (tmp_path / f".index.sqlite{end}").symlink_to(outside)
    TriedIndex(index, within=index.parent).keep(KEYS)
    assert not os.path.lexists(outside)
    assert found(index) == ["MOE-000"]
    assert not (tmp_path / f".index.sqlite{end}").is_symlink()


@pytest.mark.parametrize("content", ["CREATE TABLE mine (x)", ""])
def test_a_hard_link_is_not_written(tmp_path: Path, content: str) -> None:
    precious = tmp_path / "precious.sqlite"
    precious.touch()
    with closing(sqlite3.connect(precious)) as database, database:
        database.execute(content)
    before = precious.read_bytes()
    os.link(precious, tmp_path / ".index.sqlite")
    TriedIndex(tmp_path / ".index.sqlite", within=tmp_path).keep(KEYS)
    assert precious.read_bytes() == before


def _left_journal(index: Path, names: Path) -> bytes:
    """The journal of a transaction over two databases that was cut off, as SQLite itself leaves it; it names a file."""
    page = index.read_bytes()[:4096]
    header = bytes.fromhex("d9d505f920a163d7") + (1).to_bytes(4, "big") + bytes(4)
    header += (
        (len(index.read_bytes()) // 4096).to_bytes(4, "big") + (512).to_bytes(4, "big") + (4096).to_bytes(4, "big")
    )
    total = sum(page[at] for at in range(4096 - 200, 0, -200)) & 0xFFFFFFFF
    record = (1).to_bytes(4, "big") + page + total.to_bytes(4, "big")
    name = os.fsencode(names)
    end = (2**30 // 4096 + 1).to_bytes(4, "big") + name + len(name).to_bytes(4, "big")
    end += sum(name).to_bytes(4, "big") + bytes.fromhex("d9d505f920a163d7")
    return header.ljust(512, b"\0") + record + end


@pytest.mark.parametrize("age_s", [0, 3600, -3600])
def test_a_journal_that_was_left_is_not_played_back(index: Path, tmp_path: Path, age_s: int) -> None:
    """SQLite deletes the file that the journal of a transaction over several databases names."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    journal = tmp_path / ".index.sqlite-journal"
    journal.write_bytes(_left_journal(index, precious))
    os.utime(journal, (time.time() - age_s,) * 2)
    # It is a real one: without a look at it first, the file is gone.
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in (index, journal):
        shutil.copy2(name, copy)
    victim = copy / "victim"
    victim.write_text("mine")
    (copy / journal.name).write_bytes(_left_journal(index, victim))
    with closing(sqlite3.connect(copy / index.name)) as database:
        database.execute("SELECT count(*) FROM about").fetchone()
    assert not victim.exists()
    assert found(index) == []
    TriedIndex(index, within=index.parent).keep(KEYS)
    assert precious.read_text() == "mine"


def test_a_command_line_with_a_foreign_index_says_the_same(started: Cli, folder: Path) -> None:
    started("run", "--", "sh", "-c", "echo RESULT tflops=2")
    index = folder / "logbooks/moe/.index.sqlite"
    wanted = [started(*words).out for words in (["list"], ["status"])]
    index.unlink(missing_ok=True)
    index.mkdir()
    assert [started(*words).out for words in (["list"], ["status"])] == wanted
    index.rmdir()
    with opened(index, index.parent) as database:
        database.execute("INSERT INTO about VALUES ('version', 'x')")
    assert [started(*words).out for words in (["list"], ["status"])] == wanted


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
    index = Index(tmp_path / "index", tmp_path, "1")
    index.save({entry_id: (stamp, {"id": entry_id}) for entry_id, stamp in stamps.items()}, stamps)
    index.load()
    assert {i: index.get(i, stamp) for i, stamp in stamps.items()} == {
        **dict.fromkeys(stamps),
        "MOE-000": {"id": "MOE-000"},
    }
    assert index.get("MOE-000", Stamp((old, 2), old, ((1, old, 1),))) is None
    index.save({}, ["MOE-001"])
    index.load()
    assert index.known == {}, "an entry that is gone is forgotten"
