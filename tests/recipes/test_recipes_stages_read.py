"""Recipes of stages as data: what is read, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from logbook_agent.campaign.recipes.problem import RecipeProblem
from logbook_agent.campaign.recipes.stages import Settable, Stage, parse_staged, shared_out, stage_sets

BASE: dict[str, Any] = {"name": "story", "question": "?", "stages": ["pair"]}


def test_stages_are_read() -> None:
    second = {"recipe": "demo", "set": {"size": [1, 2], "frac": 0.5, "on": True, "x": None}, "baseline": {"mode": "a"}}
    recipe = parse_staged({**BASE, "stages": ["pair", second]})
    assert recipe.stages == (
        Stage(recipe="pair"),
        Stage(recipe="demo", sets=("size=1,2", "frac=0.5", "on=true", "x=null"), baseline={"mode": "a"}),
    )
    scaled = {**BASE, "scale": {"tiny": {"stages": ["demo"]}}}
    assert parse_staged(scaled, scale="tiny").stages == (Stage(recipe="demo"),)
    assert parse_staged(scaled, scale="other").stages == (Stage(recipe="pair"),), "that of the stages alone"


def test_typed_values_go_to_those_that_have_them_and_win() -> None:
    stage = Stage(recipe="demo", sets=("size=1,2", "repeats=2"))
    known = [Settable(keys=("size", "mode"), axes=("mode",)), Settable(keys=("size", "iters"), axes=("size",))]
    assert shared_out(("size=4", "iters=3"), known) == [("size=4",), ("size=4", "iters=3")]
    # Several values are for an axis; where it is none anywhere, whoever has the key says so.
    assert shared_out(("size=1,2",), known) == [(), ("size=1,2",)]
    assert shared_out(("iters=1,2",), known) == [(), ("iters=1,2",)]
    with pytest.raises(RecipeProblem, match="unknown key 'sise'"):
        shared_out(("sise=1",), known)
    assert stage_sets(stage, ("size=4",)) == ("repeats=2", "size=4")


@pytest.mark.parametrize(
    ("changes", "place", "message", "hint"),
    [
        ({"axes": {}}, "axes", "unknown key 'axes'", ""),
        ({"stage": []}, "stage", "unknown key 'stage'", "stages?"),
        ({"stages": []}, "stages", "at least one stage is needed", "recipe: int8-ab"),
        ({"stages": "pair"}, "stages", "must be a list", "stages: ["),
        ({"stages": [{"recip": "x"}]}, "stages[0].recip", "unknown key 'recip'", "recipe?"),
        ({"stages": [{"set": {}}]}, "stages[0]", "names no recipe", "recipe: int8-ab"),
        (
            {"stages": [{"recipe": "x", "set": ["a"]}]},
            "stages[0].set",
            "must be a mapping of keys to values",
            "repeats: 6",
        ),
        ({"stages": [{"recipe": "x", "set": {"a": {}}}]}, "stages[0].set.a", "is not a value", "a: 2"),
        ({"stages": [{"recipe": "x", "baseline": 3}]}, "stages[0].baseline", "must be a mapping", "topk: 2"),
        ({"question": None}, "question", "question is missing", "question:"),
        ({"scale": {"tiny": {"axes": {}}}}, "scale.tiny.axes", "unknown key 'axes'", ""),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, Any], place: str, message: str, hint: str) -> None:
    with pytest.raises(RecipeProblem) as caught:
        parse_staged({**BASE, **changes})
    assert message in caught.value.message
    assert caught.value.place == place
    assert hint in caught.value.hint
    assert caught.value.cause
