"""Numbers that a text cites, against records in memory: what is altered is caught, and nothing else."""

from __future__ import annotations

import time

import pytest

from logbook_agent.agents.citations import places


@pytest.mark.parametrize(
    "text", ["<!--", "[[", "[[A-001 ", "`", "``` ", '<abbr title="[[A-001 x]]">', "[[A" + "A-" * 9, "`" * 3 + "\n`x "]
)
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    list(places(text * (400_000 // len(text))))
    list(places("".join("`" * n + "x" for n in range(1, 800))))
    assert time.process_time() - started < 3.0
