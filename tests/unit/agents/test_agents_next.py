"""What `logbook next` proposes, in which order, and what it carries out."""

from __future__ import annotations

import pytest

from logbook_agent.agents.next_steps import is_complete
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


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("logbook run --id MOE-001", True),
        ("logbook ab --axis a=1,2 -- python b.py", True),
        ("logbook ab --axis NAME=A,B -- python b.py", False),
        ("logbook ab --code BASE 3f2a9c01d -- python b.py", False),
        ("rm -rf x", False),
        ("logbook run -- 'unclosed", False),
    ],
)
def test_which_commands_are_complete(command: str, expected: bool) -> None:
    assert is_complete(command) is expected
