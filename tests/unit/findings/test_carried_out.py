"""The commands that a next action names."""

from __future__ import annotations

import pytest

from logbook_agent.findings.carried_out import commands_in


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("run `python b.py --n 2`, and `x`", [("python", "b.py", "--n", "2")]),
        ("logbook ab --axis a=1,2 -- python b.py", [("logbook", "ab", "--axis", "a=1,2", "--", "python", "b.py")]),
        ("``a `b` c``", [("a", "`b`", "c")]),
        ("`unclosed 'quote`", []),
        ("no command", []),
    ],
)
def test_commands_in_a_text(text: str, words: list[tuple[str, ...]]) -> None:
    assert commands_in(text) == words
