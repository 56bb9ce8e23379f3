"""The stores that are kept for good can be read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from logbook_agent.model.record import Record
from logbook_agent.store.book import Book
from tests.conftest import REPOSITORY, Cli

STORES = REPOSITORY / "tests/stores"


@pytest.fixture
def store(folder: Path) -> Path:
    """A copy of the store of format 1: its topic folder."""
    shutil.copytree(STORES / "format-1", folder / "logbooks")
    return folder / "logbooks/moe"


def line(record: Record) -> tuple[Any, ...]:
    values = [m.samples for s in record.runs for row in s.run.rows for m in row.metrics.values()]
    return (record.id, record.entry.kind, record.state, record.entry.title, values)


def test_format_1_can_be_read(store: Path, cli: Cli) -> None:
    book = Book(store.parent, "moe")
    contents = book.contents()
    assert contents.damaged == ()
    assert [line(r) for r in contents.records] == [
        ("MOE-000", "note", "noted", "Kickoff", []),
        ("MOE-001", "experiment", "planned", "topk=8", []),
        ("MOE-002", "experiment", "finished", "none against int8", [(120.5,), (126.5,), (126.5,)]),
        ("MOE-003", "experiment", "failed", "too large", []),
        ("MOE-004", "decision", "noted", "Go on with int8", []),
    ]
    entries = {r.id: r.entry for r in contents.records}
    assert entries["MOE-000"].text("scope") == 'one shape, "two" modes: none & int8\nand a second line'
    assert [c.label for c in entries["MOE-001"].commands] == ["Baseline", "Int8"]
    assert (entries["MOE-001"].continues, entries["MOE-004"].supersedes) == ("MOE-000", "MOE-000")
    run = contents.records[2].runs[0].run
    assert (run.label, run.config, run.rows[0].config) == (
        "Baseline",
        {"hidden": 2048},
        {"quant_mode": "none", "hidden": 2048},
    )
    assert contents.records[3].runs[0].run.exit is not None
    assert (contents.header.goal, contents.header.axes) == ("Is int8 faster?", ("quant_mode",))
    found = cli("doctor", "--json").data["findings"]
    assert [f["check"] for f in found if f["check"] != "view-block"] == ["missing-logs"]
