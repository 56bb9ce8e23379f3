"""False alarms: ordinary output of benchmarks and the texts of this repository pass unchanged, and fast."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from logbook_agent.redaction import Redactor, StreamRedactor
from logbook_agent.redaction.lines import LineRedactor
from tests.redaction.ordinary_support import KINDS, lines

PLAIN = Redactor()
REPOSITORY = Path(__file__).resolve().parents[2]
SEEDS = Path(__file__).parent / "ordinary"


def changed(text: str) -> list[tuple[str, str | None]]:
    """Lines that the stream would change, as it sees them: with what the line before tells."""
    redactor, found = LineRedactor(PLAIN.line), []
    for line in text.split("\n"):
        done = redactor.line(line)
        if done != line:
            found.append((line, done))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_lines_of_each_kind(kind: str) -> None:
    text = "\n".join(lines(kind, 300))
    assert changed(text)[:3] == []
    assert PLAIN.text(text) == text


@pytest.mark.slow
def test_a_hundred_thousand_lines() -> None:
    """At most one line in ten thousand, over all kinds and within each."""
    each = 100_000 // len(KINDS) + 1
    alarms = {kind: changed("\n".join(lines(kind, each))) for kind in KINDS}
    assert {kind: found[:3] for kind, found in alarms.items() if len(found) > each / 10_000} == {}
    assert sum(map(len, alarms.values())) <= each * len(KINDS) / 10_000


@pytest.mark.slow
def test_ordinary_output_of_every_kind_is_fast() -> None:
    block = "\n".join(line for kind in KINDS for line in lines(kind, 60)).encode() + b"\n"
    stream = StreamRedactor(PLAIN)
    stream.feed(block)
    best = 0.0
    for _ in range(5):
        began = time.process_time()
        done = b"".join(stream.feed(block) for _ in range(4))
        best = max(best, 4 * len(block) / (time.process_time() - began))
        assert done == 4 * block
    assert best > 5_000_000
