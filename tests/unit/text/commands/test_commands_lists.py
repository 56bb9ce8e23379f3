"""Lists of values as they are typed: quotes, commas, and a shell around them."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.text.commands.flags import axis_option, list_text, parse_list
from tests.breadth import examples

VALUES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=5)


@given(values=VALUES)
@examples(200)
def test_a_list_is_read_as_it_was_written(values: list[str]) -> None:
    assert parse_list(list_text(values)) == tuple(values)


@given(values=VALUES)
@examples(100)
def test_an_axis_survives_a_shell(values: list[str]) -> None:
    option, word = shlex.split(axis_option("tile", values))
    assert option == "--axis"
    assert parse_list(word.removeprefix("tile=")) == tuple(values)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('"16,4","8"', ("16,4", "8")),
        ("--xla_a=1,--xla_b=2", ("--xla_a=1", "--xla_b=2")),
        ('say "a",b', ('say "a"', "b")),
        ('" a ""b"" "', (' a "b" ',)),
        ("a,", ("a", "")),
    ],
)
def test_lists(text: str, values: tuple[str, ...]) -> None:
    assert parse_list(text) == values


@pytest.mark.parametrize("text", ['"a', 'b,"a', '"a"b', '"a" b,c', '""a"'])
def test_quotation_marks_that_enclose_no_value(text: str) -> None:
    with pytest.raises(ValueError, match="a value that begins with a quotation mark ends with one"):
        parse_list(text)
