"""Two clones gave out one ID, and each told its entry: after a merge nothing is told again, and both are shown by their
whole names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.contract.issue.sync_support import Bench, other_machine
from tests.stored import at

pytestmark = pytest.mark.slow


def test_entries_with_one_number_are_each_told_once(bench: Bench, tmp_path: Path) -> None:
    bench.entries(2)
    bench.sync("--create")
    theirs = other_machine(bench, tmp_path / "other")
    bench.note("ours")
    bench.sync()
    mine = at(bench.book.entries_folder / "MOE-002.yaml")
    other = theirs.book.entries_folder / "MOE-002.7hq2m.yaml"
    other.write_text(mine.read_text().replace("ours", "theirs"))
    theirs.sync()
    shutil.copy(other, bench.book.entries_folder)
    before = len(bench.github.writes)
    bench.sync()
    assert {write.method for write in bench.github.writes[before:]} <= {"PATCH"}
    assert bench.sync()["steps"] == []
    bodies = [comment["body"] for comment in bench.comments]
    for name, title in ((mine.stem, "ours"), (other.stem, "theirs")):
        assert sum(name in body.partition("\n")[0] for body in bodies) == 1
        assert sum(f"### {name} {title}" in body for body in bodies) == 1
