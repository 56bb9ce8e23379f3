"""What `logbook next` proposes, in which order, and what it carries out."""

from __future__ import annotations

import pytest

from logbook_agent.agents.next_steps import is_complete
from logbook_agent.agents.refuted import CodeNow, changes
from logbook_agent.findings.carried_out import commands_in
from logbook_agent.model.header import Baseline, BaselineMove, Header
from logbook_agent.model.run import Code, Run


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


def test_what_has_changed_since_a_run() -> None:
    run = Run(
        entry="MOE-000", run=1, argv=("x",), started="2026-01-01T00:00:00+00:00",
        code=Code(commit="c", identity="a" * 40), software={"jax": "0.4", "numpy": "2", "logbook-agent": "0.1"},
    )  # fmt: skip
    moved = BaselineMove(at="2026-02-01T00:00:00+00:00", reason="r", before=Baseline(config={"topk": 2, "size": 1}))
    header = Header(
        topic="moe", title="t", prefix="MOE", opened="2026-01-01T00:00:00+00:00",
        baseline=Baseline(config={"topk": 4, "size": 1}), baseline_moves=(moved,),
    )  # fmt: skip
    now = CodeNow(identity="b" * 40, software={"jax": "0.5", "numpy": "2", "logbook-agent": "0.2"})
    assert [*changes(run, now, header)] == [f"code {'a' * 9} -> {'b' * 9}", "jax 0.4 -> 0.5", "baseline topk 2 -> 4"]
    # What is not known has not changed.
    assert [*changes(run, CodeNow(), Header(topic="moe", title="t", prefix="MOE", opened=""))] == []
