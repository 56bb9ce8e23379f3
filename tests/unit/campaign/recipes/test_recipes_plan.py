"""Recipes to plans: every form of an axis, controls, order, and every way in which a recipe can be wrong."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from logbook_agent.campaign.recipes.expand import SweepPlan, describe, expand
from logbook_agent.campaign.recipes.reading import parse_recipe
from logbook_agent.campaign.sweep_request import check_controls
from logbook_agent.model.codec import CodecError
from logbook_agent.model.comparison import Part
from logbook_agent.model.errors import UsageError

BASE: dict[str, Any] = {
    "name": "demo",
    "question": "?",
    "command": ["bench", {"flags": ["topk", "quant_mode"]}],
    "fixed": {"topk": 2, "quant_mode": "none"},
}


def plan_of(*, at: str | None = None, sets: tuple[str, ...] = (), **changes: Any) -> SweepPlan:
    return expand(parse_recipe({**BASE, **changes}, scale=at, sets=sets))


def keys(plan: SweepPlan) -> list[str]:
    return [case.key for case in plan.cases]


def words(plan: SweepPlan) -> list[str]:
    return [" ".join(run.argv[1:]) for run in plan]


# -- axes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "values"),
    [
        ({"from": 1, "to": 7, "step": 2}, ["1", "3", "5", "7"]),
        ({"from": 0.1, "to": 0.9, "step": 0.1}, [f"0.{i}" for i in range(1, 10)]),
        ({"from": 8, "to": 2, "step": -3}, ["8", "5", "2"]),
        ({"from": 0, "to": 1, "count": 5}, ["0", "0.25", "0.5", "0.75", "1"]),
    ],
)
def test_lists_and_ranges(axis: Any, values: list[str]) -> None:
    assert keys(plan_of(axes={"topk": axis})) == [f"topk={v}" for v in values]


def test_shapes_and_cases() -> None:
    command = ["bench", "{hidden}", "{mlp_dim}", "{topk}"]
    shapes = [{"name": "S", "hidden": 8, "mlp_dim": 4}, {"name": "L", "hidden": 16}]
    plan = plan_of(command=command, fixed={"mlp_dim": 6}, axes={"shape": shapes, "topk": [1, 2]})
    assert words(plan) == ["8 4 1", "8 4 2", "16 6 1", "16 6 2"]
    assert [describe(plan, case) for case in plan.cases] == ["S topk=1", "S topk=2", "L topk=1", "L topk=2"]
    assert [case.label for case in plan.cases] == ["S", "S", "L", "L"]
    cases = [{"hidden": 8, "topk": 2}, {"hidden": 16}]
    explicit = plan_of(command=command, fixed={"topk": 1}, cases=cases, axes={"mlp_dim": [4, 6]})
    assert words(explicit) == ["8 4 2", "8 6 2", "16 4 1", "16 6 1"]


def test_words_flags_env_and_shell() -> None:
    command = ["bench", "--k={topk}", "{{literal}}", {"flags": ["shared_fused", "stage_timing", "seed"]}]
    fixed = {"topk": 2, "shared_fused": True, "stage_timing": False, "seed": None, "mode": "a b"}
    plan = plan_of(command=command, fixed=fixed, env={"MODE": "x{mode}"})
    [run] = plan
    assert run.argv == ("bench", "--k=2", "{literal}", "--shared-fused")
    assert run.env == {"MODE": "xa b"}
    shell = plan_of(command="bench {mode} | tail", fixed={"mode": "a; b"}, shell=True)  # noqa: S604
    assert next(iter(shell)).argv == ("bench 'a; b' | tail",)


# -- controls and order ------------------------------------------------------------------------------


def test_controls_stand_before_their_cases_and_are_shared() -> None:
    plan = plan_of(axes={"quant_mode": ["int8", "int8_real"], "topk": [1, 2]}, controls=[{"quant_mode": "none"}])
    assert keys(plan) == [
        "quant_mode=none topk=1",
        "quant_mode=int8 topk=1",
        "quant_mode=none topk=2",
        "quant_mode=int8 topk=2",
        "quant_mode=int8_real topk=1",
        "quant_mode=int8_real topk=2",
    ]
    assert [case.is_control for case in plan.cases] == [True, False, True, False, False, False]
    assert plan.by_key["quant_mode=int8_real topk=1"].controls == ("quant_mode=none topk=1",)


def order(plan: SweepPlan) -> list[str]:
    return [f"{run.case.key.replace('quant_mode=', '').replace('topk=', '')} {run.repeat}" for run in plan]


def test_orders() -> None:
    axes = {"topk": [1, 2], "quant_mode": ["a", "b"]}
    listed = order(plan_of(axes=axes, repeats=2))
    assert listed[:4] == ["1 a 1", "1 a 2", "1 b 1", "1 b 2"]
    compare = {"axis": "quant_mode", "base": "a"}
    interleaved = order(plan_of(axes=axes, repeats=2, order="interleaved", compare=compare))
    # One pair of each case has the base first, the other one the side.
    assert interleaved == ["1 a 1", "1 b 1", "1 b 2", "1 a 2", "2 a 1", "2 b 1", "2 b 2", "2 a 2"]
    control = {"axes": {"quant_mode": ["b"]}, "controls": [{"quant_mode": "a"}], "repeats": 3, "order": "interleaved"}
    assert order(plan_of(**control, seed=3)) == ["a 1", "b 1", "b 2", "a 2", "a 3", "b 3"]
    shuffled = order(plan_of(axes=axes, repeats=2, order="shuffled", seed=3))
    assert shuffled != listed
    assert sorted(shuffled) == sorted(listed)
    assert shuffled == order(plan_of(axes=axes, repeats=2, order="shuffled", seed=3))
    assert shuffled != order(plan_of(axes=axes, repeats=2, order="shuffled", seed=4))


def test_rounds_are_drawn_one_by_one_and_the_seed_draws_others() -> None:
    axes, compare = {"quant_mode": ["a", "b", "c"]}, {"axis": "quant_mode", "base": "a"}
    orders = {}
    for seed in range(20):
        made = order(plan_of(axes=axes, repeats=4, order="interleaved", compare=compare, seed=seed))
        rounds = [made[at : at + 3] for at in range(0, 12, 3)]
        assert [sorted(run) for run in rounds] == [[f"a {n}", f"b {n}", f"c {n}"] for n in range(1, 5)]
        orders[seed] = tuple("".join(run[0] for run in one) for one in rounds)
        assert all(sum(one.index("a") < one.index(side) for one in orders[seed]) == 2 for side in "bc")
    assert len(set(orders.values())) > 15
    assert len({one for rounds in orders.values() for one in rounds}) == 6, "every order of three comes up"


def test_a_plan_with_eight_drawn_pairs_is_a_comparison() -> None:
    axes, compare = {"quant_mode": ["a", "b", "c"], "topk": [1, 2]}, {"axis": "quant_mode", "base": "b"}

    def made(**changes: Any) -> SweepPlan:
        return plan_of(**{"axes": axes, "compare": compare, "repeats": 8, "order": "interleaved"} | changes)

    plan = made()
    assert (plan.is_comparison, plan.values) == (True, ("b", "a", "c"))
    parts = [plan.part(run.case, run.repeat) for run in plan]
    assert {(p.pair, p.side, p.case) for p in parts if p is not None} == {
        (pair, side, f"topk={topk}") for pair in range(1, 9) for side in "abc" for topk in (1, 2)
    }
    assert made(order="shuffled").is_comparison
    for explores in (made(repeats=7), made(order="as-listed"), made(compare=None)):
        assert not explores.is_comparison
        assert {explores.part(run.case, run.repeat) for run in explores} == {None}
    alone = made(axes={"quant_mode": ["a", "b"]})
    assert alone.part(alone.cases[0], 3) == Part(pair=3, side="a", case="")


# -- what is wrong -----------------------------------------------------------------------------------

AXES = {"topk": [1, 2]}
WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"axes": {"topkk": [1, 2]}}, "axes.topkk: the command does not use topkk", "topk"),
    ({"axes": {"topk": [{"name": [1], "topk": 2}]}}, "axes.topk[0].name: expected str, got list", ""),
    ({"axes": {"topk": [1, [2]]}}, "axes.topk[1]: expected str, int, float, bool, got list", ""),
    ({"axes": {"topk": {"from": 1, "to": 4}}}, "axes.topk: expected a list of values, {from, to, step} or {", ""),
    ({"axes": {"topk": {"from": 0, "to": 1, "step": 1e-9}}}, "axes.topk: from 0 to 1 there are 1000000001 values", ""),
    ({"axes": {"topk": []}}, "axes.topk: no values, so there is no case to run", ""),
    ({"axes": {"topk": [0.1, "0.10"]}}, "axes: cases 1 and 2 are the same: topk=0.1", ""),
    ({"axes": {"a": [{"topk": 1}], "topk": [2]}}, "axes.topk: topk is set by another axis, too", ""),
    (
        {"axes": {"topk": {"from": 1, "to": 9999, "step": 1}, "quant_mode": ["a", "b"]}},
        "axes: topk 9,999 x quant_m",
        "",
    ),
    ({"fixed": {"topk": 1}, "cases": [{"quant_mode": "a"}, {"topk": 2}]}, "cases[1]: no value for quant_mode: ", ""),
    ({"controls": [{}]}, "controls[0]: changes nothing; ", ""),
    ({"controls": [{"quantmode": "none"}]}, "controls[0].quantmode: unknown key", "quant_mode"),
    ({"axes": {"topk": [1, 2]}, "compare": {"axis": "topk", "base": 3}}, "compare.base: topk=3 has nothing to be", "1"),
    ({"compare": {"axis": "topkk", "base": 3}}, "compare.axis: unknown key", "topk"),
    ({"compare": {"axis": "topk"}}, "compare.base: missing", ""),
    (
        {"criteria": ["x", {"text": "y", "predicate": {"mesured": 1}}]},
        "criteria[1].predicate: the predicate is not",
        "",
    ),
    ({"command": ["bench", "{topk"]}, "command[1]: '{topk': expected '}' before end of string; write {{ and }}", ""),
    ({"command": ["bench", "{top-k}"]}, "command[1]: {top-k} is not the name of a key", ""),
    ({"command": "bench --topk 2"}, "command: expected a list of words", ""),
    ({"command": ["x", "{topk}"], "fixed": {"topk": None}}, "command[1]: topk is null, and only {flags: [topk]} ", ""),
    ({"command": ["a", "b"], "shell": True}, "command: with shell: true it is one text", ""),
    ({"setup": [["x"], [], {"shell": "y"}]}, "setup[1]: expected a list of words", ""),
    ({"timeout_s": "30m"}, "timeout_s: expected float, got str", ""),
    ({"timeout_s": 0}, "timeout_s: expected a number above 0", ""),
    ({"repeats": 0}, "repeats: expected a number of at least 1", ""),
    ({"order": "shufled"}, "order: expected one of as-listed, interleaved, shuffled, got 'shufled'", "shuffled"),
    ({"axes": {"top.k": [1]}}, "axes.top.k: 'top.k' is not a valid config key: write mlp_dim for --mlp-dim", ""),
    ({"comand": ["x"]}, "comand: unknown key", "command"),
    ({"fixed": {"quant_mode": "x"}}, "command[1]: no value for topk: set it under fixed or axes", ""),
    ({"scale": {"tiny": {"repeat": 2}}}, "scale.tiny.repeat: unknown key", "repeats"),
    ({"scale": {"tiny": {"extends": "x"}}}, "scale.tiny.extends: unknown key", "fixed"),
    ({"gates": ["ok"]}, "", ""),
    ({"plots": ["x"]}, "", ""),
]


@pytest.mark.parametrize(("changes", "message", "choice"), WRONG, ids=[w[1][:30] for w in WRONG])
def test_what_is_wrong_is_said(changes: dict[str, Any], message: str, choice: str) -> None:
    with pytest.raises(CodecError) as caught:
        plan_of(**changes)
    assert str(caught.value).startswith(message)
    assert choice in caught.value.choices if choice else True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("topk=4,8", ["--topk 4 --quant-mode none", "--topk 8 --quant-mode none"]),
        ("topk=1e1", ["--topk 1e1 --quant-mode none"]),
        ("quant_mode=08", ["--topk 2 --quant-mode 08"]),
    ],
)
def test_a_fixed_key_that_is_set(text: str, words: list[str]) -> None:
    """Several values make an axis of it."""
    assert [" ".join(run.argv[1:]) for run in plan_of(sets=(text,))] == words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topk=many", "--set topk=many: expected a number"),
        ("topk=true", "--set topk=true: expected a number"),
        ("shape=XL", "--set shape=XL: unknown point 'XL'"),
        ('topk="1', '--set topk="1: a value that begins with a quotation mark'),
        ("topkk=1", "--set topkk=1: unknown key"),
    ],
)
def test_a_value_that_cannot_be_set(text: str, message: str) -> None:
    with pytest.raises(CodecError) as caught:
        plan_of(axes={"shape": [{"name": "S", "quant_mode": "a"}]}, sets=(text,))
    assert str(caught.value).startswith(message)


# -- cost and rules ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "is_controlled"),
    [
        ({}, True),
        ({"fixed": {"topk": 2, "quant_mode": "int8"}}, False),
        ({"fixed": {"topk": 2, "quant_mode": "int8"}, "controls": [{"quant_mode": "none"}]}, True),
        # The control must be identical: one at another top-k is none.
        ({"cases": [{"quant_mode": "none", "topk": 1}, {"quant_mode": "int8", "topk": 2}]}, False),
    ],
)
def test_what_is_quantised_needs_an_identical_control(changes: dict[str, Any], is_controlled: bool) -> None:
    refused = (
        nullcontext() if is_controlled else pytest.raises(UsageError, match="the rule identical-controls: the case ")
    )
    with refused:
        check_controls(plan_of(**changes))
