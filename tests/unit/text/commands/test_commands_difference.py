"""In what two commands differ, beyond what config explains."""

from __future__ import annotations

import pytest

from logbook_agent.text.commands.flags import parts


def of(command: str, keys: str = "", switches: str = "") -> object:
    return parts(tuple(command.split()), frozenset(keys.split()), frozenset(switches.split()))


@pytest.mark.parametrize(
    ("one", "other", "keys"),
    [
        ("b --x 1 --y 2", "b --y=2 --x=1", ""),
        ("b --x -1", "b --x -2", "x"),
        ("b --no-fast", "b --fast", "fast"),
        ("b --topk-list 1,2", "b --topk 4", "topk"),
        ("b --null-route-sweep", "b --null-route-frac 0", "null_route_frac"),
    ],
)
def test_commands_that_say_the_same(one: str, other: str, keys: str) -> None:
    assert of(one, keys) == of(other, keys)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("b --x 1", "b"),
        ("b --fast", "b"),
        ("b K=1 in", "b K=2 in"),
        ("b old.py", "b new.py"),
        ("b --x 1 --x 2", "b --x 2 --x 1"),
    ],
)
def test_commands_that_do_not(one: str, other: str) -> None:
    assert of(one) != of(other)
