"""The cache: what it keeps, and what it does not."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from logbook_agent.model.entry import Entry
from logbook_agent.model.header import Header
from logbook_agent.store.book import Book, Cache
from logbook_agent.store.places import UserPlaces
from logbook_agent.store.records import RACY_NS


def test_a_summary_of_what_changed_a_moment_ago_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second change within one tick of the clock could not be told from the first."""
    book = Book(tmp_path, "moe", places=UserPlaces(cache=tmp_path / "cache"))
    book.write_header(Header(topic="moe", title="t", prefix="MOE", opened="2026-02-10T10:43:00+00:00"))
    for number in range(2):
        book.write_entry(Entry(id=f"MOE-00{number}", title="t", opened="2026-02-10T10:43:00+00:00"))
    old, now = time.time_ns() + 2 * RACY_NS, time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: old)
    real = os.lstat
    new = str(book.entry_path("MOE-001"))

    def lstat(path: Any) -> Any:
        state = real(path)
        return Changed(state, now() + 2 * RACY_NS) if str(path) == new else state

    monkeypatch.setattr("logbook_agent.store.book.os.lstat", lstat)
    made: list[str] = []

    def summarise(record: Any) -> Any:
        made.append(record.id)
        return {"id": record.id}

    for _ in range(2):
        assert [s["id"] for s in book.summaries(summarise).entries] == ["MOE-000", "MOE-001"]
    assert made == ["MOE-000", "MOE-001", "MOE-001"]
    book.files.remove(book.entry_path("MOE-000"))
    book.summaries(summarise)
    assert book.cache.values("summaries") == {}, "an entry that is gone is forgotten"


class Changed:
    """The state of a file that changed at another time."""

    def __init__(self, state: os.stat_result, changed_ns: int) -> None:
        self._state, self.st_ctime_ns = state, changed_ns

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)


def test_a_value_with_a_secret_that_became_known_is_stale(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", "moe")
    cache.keep("summaries", {"A-0": ("1", "plain"), "A-1": ("1", 'x"y-z')})
    assert list(cache.values("summaries", ['x"y-z'])) == ["A-0"]
    assert cache.values("blocks") == {}
