"""In what two commands differ, beyond what config explains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.text.commands.flags import differences, parts


def told(base: str, other: str, keys: str = "", switches: str = "") -> list[tuple[str, str | None, str | None]]:
    sides = [parts(tuple(c.split()), frozenset(keys.split()), frozenset(switches.split())) for c in (base, other)]
    return [(d.name, d.base, d.other) for d in differences(sides[0], sides[1], lambda *_: False)]


@pytest.mark.parametrize(
    ("base", "other", "keys", "expected"),
    [
        ("b --x 1 --y 2", "b --y=2 --x=1", "", []),
        ("b --x 1", "b --x 2", "", [("argv:--x", "1", "2")]),
        ("b --x -1", "b --x -2", "x", []),
        ("b --x 1", "b", "", [("argv:--x", "1", None)]),
        ("b --fast", "b", "", [("argv:--fast", "set", None)]),
        ("b --no-fast", "b --fast", "fast", []),
        ("b --topk-list 1,2", "b --topk 4", "topk", []),
        ("b --null-route-sweep", "b --null-route-frac 0", "null_route_frac", []),
        ("b K=1 in", "b K=2 in", "", [("argv:K", "1", "2")]),
        ("b old.py", "b new.py", "", [("argv", "old.py", "new.py")]),
        ("nice b a", "b a", "", [("argv", "nice", None)]),
        ("b --x 1 --x 2", "b --x 2 --x 1", "", [("argv:--x", "1 2", "2 1")]),
    ],
)
def test_differences(base: str, other: str, keys: str, expected: list[tuple[str, str | None, str | None]]) -> None:
    assert told(base, other, keys) == expected


def test_a_number_that_the_command_reports_is_no_setting() -> None:
    def of(command: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return parts(tuple(command.split()), frozenset(), frozenset(), frozenset({"tflops", "steps"})).flags

    assert of("echo RESULT tflops=1 steps=5") == ()
    assert of("python -c print('METRIC tflops=1") == ()
    # Without such a word in front it is what the command was told.
    assert of("bench steps=10 RESULT tflops=1") == (("steps", ("10",)),)


def test_the_word_behind_a_switch_is_its_own() -> None:
    assert told("b --fused in.txt", "b in.txt", "fused", "fused") == []


@given(st.lists(st.text(max_size=12), max_size=6), st.frozensets(st.sampled_from("abc")))
def test_any_words_can_be_taken_apart_and_equal_ones_do_not_differ(argv: list[str], keys: frozenset[str]) -> None:
    found = parts(tuple(argv), keys)
    assert differences(found, found, lambda *_: False) == []
