"""Faults of the tool within a block of Python, and which functions another process can import."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent import Logbook
from logbook_agent.exports.api import experiment
from logbook_agent.exports.scripting.functions import place_of
from logbook_agent.model.errors import LogbookError


@pytest.fixture
def book(folder: Path) -> Logbook:
    return Logbook.start("moe", prefix="MOE", metrics=["loss:min", "time_s:min:s"], stop_criteria=["loss below 1"])


def test_a_record_that_cannot_be_written_is_told(book: Logbook, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the block is carried out, so that nothing is lost."""
    monkeypatch.setattr("logbook_agent.exports.scripting.blocks.run_here", _refused)
    with pytest.raises(LogbookError, match="disk full"), experiment(book):
        raise AssertionError("not to be reached")


def _refused(*_: object) -> None:
    raise LogbookError("disk full")


def test_what_can_be_imported() -> None:
    assert place_of(place_of) == "logbook_agent.exports.scripting.functions:place_of"
    assert place_of(Logbook.start) is None
    assert place_of(lambda: None) is None
