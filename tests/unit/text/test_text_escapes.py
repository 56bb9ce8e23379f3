"""Text and bytes hold the same things to be what a terminal obeys."""

from __future__ import annotations

import pytest

from logbook_agent.text.phrases import CONTROLS, obeyed, visible


@pytest.mark.parametrize("code", CONTROLS)
def test_what_is_shown_in_text_is_replaced_in_bytes(code: int) -> None:
    text = f"a{chr(code)}b"
    assert visible(text).isprintable()
    if chr(code) != "\r":
        assert obeyed().sub(b"?", text.encode()) == b"a?b"


def test_tabs_lines_and_colours_stay() -> None:
    text = "a\tb\n\x1b[31mred\x1b[0m\x1b[2Jé ✓"
    assert obeyed().sub(b"?", text.encode()).decode() == "a\tb\n\x1b[31mred\x1b[0m?[2Jé ✓"
    assert visible("a\tb\nc") == "a\tb\nc"
    assert visible("a\n\u2028\u200b\x1b", in_line=True) == r"a\x0a\u2028\u200b\x1b"
