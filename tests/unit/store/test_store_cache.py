"""The cache: what it keeps, and what it does not."""

from __future__ import annotations

import time
from pathlib import Path

from logbook_agent.store.cache import RACY_NS, Cache, KeptSummaries, Stamp


def test_a_summary_of_what_changed_a_moment_ago_is_not_kept(tmp_path: Path) -> None:
    """A second change within one tick of the clock could not be told from the first."""
    now = time.time_ns()
    old = now - 2 * RACY_NS
    stamps = {
        "MOE-000": Stamp("old", old),
        "MOE-001": Stamp("new", now),
    }
    index = KeptSummaries(Cache(tmp_path / "index"), "1")
    index.save({entry_id: (stamp, {"id": entry_id}) for entry_id, stamp in stamps.items()}, stamps)
    index.load([])
    assert {i: index.get(i, stamp) for i, stamp in stamps.items()} == {
        **dict.fromkeys(stamps),
        "MOE-000": {"id": "MOE-000"},
    }
    assert index.get("MOE-000", Stamp("another", old)) is None
    index.save({}, ["MOE-001"])
    index.load([])
    assert index.known == {}, "an entry that is gone is forgotten"


def test_a_summary_with_a_secret_that_became_known_is_stale(tmp_path: Path) -> None:
    old = time.time_ns() - 2 * RACY_NS
    stamp = Stamp("old", old)
    index = KeptSummaries(Cache(tmp_path / "index"), "1")
    index.save({i: (stamp, {"id": i, "title": title}) for i, title in (("A-0", "plain"), ("A-1", 'x"y-z'))}, [])
    index.load([b'x\\"y-z'])
    assert list(index.known) == ["A-0"]
