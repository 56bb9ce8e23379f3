"""The values of an axis, and their place in a command."""

from __future__ import annotations

import pytest

from logbook_agent.campaign.ab_axis import parse_axis, placed
from logbook_agent.model.errors import UsageError


def test_values_with_commas_and_a_command_without_the_flag() -> None:
    axis = parse_axis('row_tiles=null,"16,4", 8')
    assert axis.values == ("null", "16,4", "8")
    assert axis.option == """--axis 'row_tiles=null,"16,4",8'"""
    assert [axis.config(value) for value in axis.values] == [
        {"row_tiles": None},
        {"row_tiles": "16,4"},
        {"row_tiles": 8},
    ]
    command = ["bench", "--backend", "tiled", "--row-tiles", "{axis}", "--tokens", "8"]
    assert axis.words(command, "16,4") == ["bench", "--backend", "tiled", "--row-tiles", "16,4", "--tokens", "8"]
    assert axis.words(command, "null") == ["bench", "--backend", "tiled", "--tokens", "8"]
    assert axis.words(["bench", "--row-tiles={row_tiles}"], "null") == ["bench"]
    # A variable has text alone: the word null is one.
    assert parse_axis("env:MODE=null,x").words(["bench"], "null") == ["bench"]


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        (["bench", "{axis}"], "'{axis}'"),
        (["bench", "--row-tiles", "x{axis}"], "'x{axis}'"),
        (["bench --row-tiles {axis}"], "'bench --row-tiles {axis}'"),
    ],
)
def test_null_needs_a_flag_that_can_be_left_out(command: list[str], wrong: str) -> None:
    with pytest.raises(UsageError) as refused:
        placed(parse_axis("row_tiles=null,8"), command, {})
    error = refused.value
    assert error.message == f"row_tiles=null leaves a flag out, and {wrong} is not the value of one"
    assert error.hint == "write the flag and its value as two words: --row-tiles '{axis}'"


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("bench --quant-mode none --n 2", "bench --quant-mode {axis} --n 2"),
        ("bench --quant_mode=none", "bench --quant_mode={axis}"),
        ("bench quant_mode=none x=1", "bench quant_mode={axis} x=1"),
        ("X=1 bench --quant-mode -1", "X=1 bench --quant-mode {axis}"),
        ("bench --quant-mode none --tag {quant_mode}", "bench --quant-mode none --tag {quant_mode}"),
    ],
)
def test_the_flag_of_the_axis_takes_its_values(command: str, found: str) -> None:
    axis = parse_axis("quant_mode=none,int8")
    words = placed(axis, command.split(), {})
    assert " ".join(words) == found
    assert "int8" in " ".join(axis.words(words, "int8"))
