"""`logbook plot`: what it prints and writes, what it refuses, which files it keeps, and when they are drawn again."""

from __future__ import annotations

import pytest

from logbook_agent.model.entry import PLOT_KINDS
from logbook_agent.report.figures.figure import FigureKind

pytestmark = pytest.mark.slow


def test_the_kinds_that_an_entry_may_name_are_those_of_figures() -> None:
    assert tuple(FigureKind) == PLOT_KINDS
