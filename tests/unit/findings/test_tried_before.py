"""The index of commands that were tried before, and what makes two commands one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.findings.attempts import command_key
from logbook_agent.store.index import TriedIndex
from tests.breadth import examples

pytestmark = pytest.mark.slow


def test_hints_that_other_code_made_are_not_used(tmp_path: Path) -> None:
    hints = TriedIndex(tmp_path / "index.sqlite")
    hints.keep({"MOE-000": [("k", 1)]}, entries=1, folder_ns=7)
    assert [h.id for h in hints.found("k")] == ["MOE-000"]
    assert hints.is_complete(7)
    assert not hints.is_complete(8)
    with sqlite3.connect(tmp_path / "index.sqlite") as database:
        database.execute("UPDATE about SET value = 'other' WHERE key = 'code'")
    assert (hints.found("k"), hints.is_complete(7), hints.unseen(["MOE-000"])) == ([], False, ({"MOE-000"}, set()))
    hints.keep({"MOE-001": [("k", 0)]})
    assert [(h.id, h.failed) for h in hints.found("k")] == [("MOE-001", False)]


FLAGS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 9)), unique_by=lambda f: f[0], max_size=4)


@examples(50)
@given(FLAGS.flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))))
def test_the_order_of_flags_makes_no_other_command(both: tuple[list[tuple[str, int]], list[tuple[str, int]]]) -> None:
    mine, other = (["bench", *(word for name, value in found for word in (f"--{name}", str(value)))] for found in both)
    assert command_key(mine) == command_key(other)
    assert command_key([*mine, "--e"]) != command_key(other)
