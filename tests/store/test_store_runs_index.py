"""Runs in the index: the same as in their files, and read again when those change."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from logbook_agent.model.codec import decode, encode
from logbook_agent.model.header import Header
from logbook_agent.model.run import Code, Env, Output, Row, Run
from logbook_agent.store.book import Book
from logbook_agent.store.root import create
from logbook_agent.store.runs_index import RunsIndex
from logbook_agent.store.user_folders import UserPlaces
from tests.breadth import examples

# Records hold no other numbers.
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
ID = "MOE-001"
OLD = (1, 1)
ROWS = st.builds(Row, config=..., metrics=..., observations=..., labels=..., devices=..., software=..., failed=...)
RUNS = st.builds(
    Run,
    label=...,
    planned=...,
    launcher=...,
    env=st.builds(Env, declared=..., relevant=...),
    config=...,
    code=st.none() | st.builds(Code, commit=..., dirty=..., untracked=...),
    devices=...,
    software=...,
    tool=...,
    ended=...,
    exit=...,
    output=st.none() | st.builds(Output, head=..., tail=..., log_bytes=...),
    rows=st.lists(ROWS, max_size=2).map(tuple),
    problems=...,
)


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(RUNS, min_size=1, max_size=4))
@pytest.mark.slow
def test_what_is_kept_comes_back_the_same(tmp_path: Path, runs: list[Run]) -> None:
    kept = {20 + number: decode(Run, encode(run)) for number, run in enumerate(runs)}
    index = RunsIndex(tmp_path / "index")
    index.keep(ID, {number: (OLD, run) for number, run in kept.items()})
    fresh = RunsIndex(tmp_path / "index")
    found = fresh.runs(ID, dict.fromkeys(kept, OLD))
    assert repr(found) == repr(kept)
    assert fresh.runs(ID, dict.fromkeys(kept, (1, 2))) == {}


@pytest.fixture
def book(tmp_path: Path) -> Book:
    header = Header(topic="moe", title="MoE", prefix="MOE", opened="2026-02-10T10:00:00+00:00")
    found = create(tmp_path / "logbooks", header, durable=False, places=UserPlaces(cache=tmp_path / "cache"))
    for number in range(1, 16):
        found.run_folder(ID, number).mkdir(parents=True)
        found.write_run(Run(entry=ID, run=number, argv=("true",), started="2026-02-10T10:43:00+00:00"))
    return found


def test_what_changed_a_moment_ago_is_not_kept(book: Book) -> None:
    """A second change within one tick of the clock could not be told from the first."""
    book.runs(ID)
    assert _rows(book) == 0


def test_runs_are_kept_and_forgotten_with_their_records(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logbook_agent.store.index_file.RACY_NS", -(10**9))
    wanted = book.runs(ID)
    assert book.index_path is not None
    assert _rows(book) == 15
    assert Book(book.root, "moe", places=UserPlaces(cache=book.index_path.parent)).runs(ID) == wanted
    (book.run_folder(ID, 3) / "run.json").unlink()
    assert [run.run for run in book.runs(ID)] == [*range(1, 3), *range(4, 16)]
    assert _rows(book) == 14


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE runs SET body = '[1, {\"argv\": 3}, []]'",
        "UPDATE runs SET body = 'none'",
        "UPDATE runs SET body = x'00ff'",
        "UPDATE runs SET body = '[[], {}, 1]'",
        "UPDATE parts SET text = '[]'",
        'UPDATE parts SET text = \'{"exit": {"code": "0"}}\'',
        "DELETE FROM parts",
    ],
)
def test_what_does_not_fit_is_read_from_its_file(book: Book, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    monkeypatch.setattr("logbook_agent.store.index_file.RACY_NS", -(10**9))
    wanted = book.runs(ID)
    assert book.index_path is not None
    with closing(sqlite3.connect(book.index_path)) as database, database:
        database.execute(damage)
    assert Book(book.root, "moe", places=UserPlaces(cache=book.index_path.parent)).runs(ID) == wanted


def _rows(book: Book) -> int:
    assert book.index_path is not None
    if not book.index_path.exists():
        return 0
    with closing(sqlite3.connect(book.index_path)) as database:
        [(count,)] = database.execute("SELECT count(*) FROM runs")
        return int(count)
