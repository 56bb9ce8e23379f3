"""Nothing in an issue is live but what the logbook declares; held against a reader of Markdown of its own."""

from __future__ import annotations

import time

import pytest

from logbook_agent.issue import neutral

HERE = "https://github.com/o/r/issues/1"


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "word @user #12 https://github.com/a/b/issues/3 `x`\n\n",
        "](",
        "[",
        "`a",
        "\\`",
        "&a",
        "https:",
        "<!--",
        "@",
        "GH-1",
    ],
)
@pytest.mark.sample(2)
def test_a_megabyte_takes_no_time_to_speak_of(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    started = time.process_time()
    neutral.document(text, [HERE])
    assert time.process_time() - started < 10


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["```\n", "- a\n", "> ", "a|b\n-|-\n", "- ```\n", "<a", ">\n- ~~~\n", "2. ~~~\n"])
@pytest.mark.sample(1)
def test_the_cost_of_hostile_blocks_grows_with_their_length(unit: str) -> None:
    def cost(length: int) -> float:
        text = f"<a ```\n{unit * (length // len(unit))}"
        started = time.process_time()
        neutral.document(text, [HERE])
        return time.process_time() - started

    small = max(min(cost(10_000) for _ in range(3)), 0.005)
    assert min(cost(60_000) for _ in range(2)) < small * 6 * 4
