"""Text within its room, cut where nothing breaks; what is kept is held against a reader of Markdown of its own."""

from __future__ import annotations

import time

import pytest

from logbook_agent.text import fit

FAMILY = "👨‍👩‍👧‍👦"
FLAG = "🇩🇪"


HUGE = {
    "words": "word " * 200_000,
    "emoji": f"{FAMILY} " * 40_000,
    "lines": "words on a line\n" * 60_000,
    "one word": "x" * 1_000_000,
    "one word of emoji": FAMILY * 40_000,
    "flags": FLAG * 120_000,
    "marks": "e" + "\u0301" * 500_000,
    "list": "- an item\n" * 100_000,
    "quote": "> a quote\n" * 100_000,
    "table": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 100_000,
    "fence": "```\n" + "a line\n" * 140_000 + "```\n",
    "fence of one line": "```\n" + "x " * 500_000 + "\n```\n",
    "nested": "- a\n  - b\n    ```sh\n" + "    x y z\n" * 100_000 + "    ```\n",
    "code": f"see `{'a ' * 500_000}`",
    "link": f"see [{'a ' * 500_000}](x)",
    "brackets": "[(" * 500_000,
    "ticks": "`a " * 330_000,
    "line ends": "a" + "\n" * 1_000_000,
    "details": "<details>\n\n" * 90_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("room", [100, 60_000])
@pytest.mark.parametrize("name", HUGE)
@pytest.mark.sample(4)
def test_a_megabyte_is_cut_at_once(name: str, room: int) -> None:
    started = time.process_time()
    short = fit.shorten(HUGE[name], room)
    assert time.process_time() - started < 3  # about 0.4 s at most when nothing else runs
    assert fit.size(short.text) <= room
    if name not in ("marks", "fence of one line", "code", "link", "line ends", "details"):
        assert fit.size(short.text) > room * 0.7
    if name in ("code", "link"):
        assert short.text == "see"
