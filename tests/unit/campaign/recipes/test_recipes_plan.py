"""Recipes to plans: every form of an axis, controls, order, and every way in which a recipe can be wrong."""

from __future__ import annotations

from typing import Any

import pytest

from logbook_agent.campaign.recipes.expand import SweepPlan, describe, estimate, expand
from logbook_agent.campaign.recipes.habits import violations
from logbook_agent.campaign.recipes.placed import RecipeProblem
from logbook_agent.campaign.recipes.recipe_data import parse_recipe
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
        ([1, 2], ["1", "2"]),
        ({"from": 1, "to": 7, "step": 2}, ["1", "3", "5", "7"]),
        ({"from": 0.1, "to": 0.9, "step": 0.1}, [f"0.{i}" for i in range(1, 10)]),
        ({"from": 8, "to": 2, "step": -3}, ["8", "5", "2"]),
        ({"from": 0, "to": 1, "count": 5}, ["0", "0.25", "0.5", "0.75", "1"]),
        ({"from": 3, "to": 9, "count": 1}, ["3"]),
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


def test_nothing_varies() -> None:
    plan = plan_of()
    assert keys(plan) == ["one case"]
    assert words(plan) == ["--topk 2 --quant-mode none"]


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
    assert interleaved == ["1 a 1", "1 b 1", "1 b 2", "1 a 2", "2 b 1", "2 a 1", "2 a 2", "2 b 2"]
    control = {"axes": {"quant_mode": ["b"]}, "controls": [{"quant_mode": "a"}], "repeats": 3, "order": "interleaved"}
    assert order(plan_of(**control, seed=3)) == ["a 1", "b 1", "b 2", "a 2", "b 3", "a 3"]
    shuffled = order(plan_of(axes=axes, repeats=2, order="shuffled", seed=3))
    assert shuffled != listed
    assert sorted(shuffled) == sorted(listed)
    assert shuffled == order(plan_of(axes=axes, repeats=2, order="shuffled", seed=3))
    assert shuffled != order(plan_of(axes=axes, repeats=2, order="shuffled", seed=4))


def test_what_the_compared_key_implies_keeps_no_cases_apart() -> None:
    """One device, or four with a form: the keys of the form go with the compared one."""
    axes = {"how": [{"name": "A", "quant_mode": "none", "topk": 1}, {"name": "B", "quant_mode": "int8", "topk": 4}]}
    compare = {"axis": "quant_mode", "base": "none"}
    plan = plan_of(axes=axes, compare=compare, repeats=2, order="interleaved", implied=["topk"])
    assert sorted(run.repeat for run in list(plan)[:2]) == [1, 1], "one of each in the first round"


def test_rounds_are_drawn_one_by_one_and_the_seed_draws_others() -> None:
    axes, compare = {"quant_mode": ["a", "b", "c"]}, {"axis": "quant_mode", "base": "a"}
    orders = {}
    for seed in range(20):
        made = order(plan_of(axes=axes, repeats=4, order="interleaved", compare=compare, seed=seed))
        rounds = [made[at : at + 3] for at in range(0, 12, 3)]
        assert [sorted(run) for run in rounds] == [[f"a {n}", f"b {n}", f"c {n}"] for n in range(1, 5)]
        orders[seed] = tuple("".join(run[0] for run in one) for one in rounds)
    assert len(set(orders.values())) == 20
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


def test_first_and_last_runs() -> None:
    plan = plan_of(axes={"topk": {"from": 1, "to": 9, "step": 1}})
    first, last = plan.ends(2)
    assert [run.place for run in first + last] == [1, 2, 8, 9]
    assert [run.argv for run in first + last] == [list(plan)[i].argv for i in (0, 1, 7, 8)]
    assert [len(part) for part in plan.ends(5)] == [9, 0]


# -- scales and values -------------------------------------------------------------------------------


def test_values_are_set() -> None:
    shapes = [{"name": "S", "hidden": 8}, {"name": "L", "hidden": 16}]
    command = ["bench", "{hidden}", "{topk}", "{frac}"]
    data: dict[str, Any] = {
        "command": command,
        "fixed": {"frac": 0.5},
        "axes": {"shape": shapes, "topk": {"from": 1, "to": 3, "step": 1}},
    }
    assert words(plan_of(sets=("shape=L", "topk=4,2", "frac=1"), **data)) == ["16 4 1.0", "16 2 1.0"]
    one = {**data, "axes": {"shape": shapes[:1], "topk": [1]}}
    assert words(plan_of(sets=("hidden=9",), **one)) == ["9 1 0.5"]
    assert len(plan_of(sets=("repeats=2",), **one)) == 2
    tiles: dict[str, Any] = {"command": ["bench", {"flags": ["tile"]}], "fixed": {}, "axes": {"tile": ["8,128,128"]}}
    assert words(plan_of(sets=('tile="8,128,128","64,128,128"',), **tiles)) == [
        "--tile 8,128,128",
        "--tile 64,128,128",
    ]


# -- what is wrong -----------------------------------------------------------------------------------

AXES = {"topk": [1, 2]}
WRONG: list[tuple[dict[str, Any], str, str, str]] = [
    ({"comand": ["x"]}, "comand", "unknown key 'comand'", "command?"),
    ({"axes": {"topkk": [1, 2]}}, "axes.topkk", "the command does not use topkk", "did you mean topk?"),
    ({"fixed": {"quant_mode": "x"}}, "command[1]", "the command asks for topk, which has no value", "under fixed"),
    ({"axes": {"topk": []}}, "axes.topk", "no values, so there is no case", "give topk a value"),
    ({"axes": {"topk": 4}}, "axes.topk", "neither a list nor a range", "topk: [1, 2, 4]"),
    ({"axes": {"topk": {"from": 1, "to": 4, "setp": 1}}}, "axes.topk.setp", "unknown key of a range", "step?"),
    ({"axes": {"topk": {"from": 1, "to": 4}}}, "axes.topk", "is not a range", "step: 0.1"),
    ({"axes": {"topk": {"from": 1, "to": 4, "step": -1}}}, "axes.topk", "has no values", "leads from"),
    ({"axes": {"topk": [0.1, "0.10"]}}, "axes", "cases 1 and 2 are the same: topk=0.1", "repeats"),
    ({"axes": {"topk": [1, [2]]}}, "axes.topk[1]", "is not a config value", "quote it"),
    ({"axes": {"topk": [1, {"topk": 2}]}}, "axes.topk[0]", "is not a mapping of keys to values", "name: S"),
    ({"axes": {"topk": [1], "s": [{"topk": 2}]}}, "axes.s", "topk and s both set topk", "leave topk out"),
    ({"cases": []}, "cases", "no values", "give cases a value"),
    ({"fixed": {"topk": 1}, "cases": [{"quant_mode": "a"}, {"topk": 2}]}, "cases[1]", "no value for quant_mode", "add"),
    ({"controls": [{"quant_mod": "none"}]}, "controls[0].quant_mod", "unknown key", "did you mean quant_mode?"),
    ({"controls": [{}]}, "controls[0]", "changes nothing", "none"),
    ({"compare": {"axis": "topc", "base": 1}}, "compare.axis", "unknown key 'topc'", "topk?"),
    (
        {"axes": AXES, "compare": {"axis": "topk", "base": 3}},
        "compare.base",
        "has nothing to be compared with",
        "one of several",
    ),
    ({"command": "bench {topk}"}, "command", "must be a list of words", "command: ["),
    ({"command": ["bench", "{topk"]}, "command[1]", "cannot be filled in", "{{"),
    ({"command": ["bench", "{topk:3}"]}, "command[1]", "not the name of a key", "{{"),
    (
        {"command": ["b", "{topk}", "{quant_mode}"], "fixed": {"topk": None, "quant_mode": 1}},
        "command",
        "null",
        "value",
    ),
    ({"order": "random"}, "order", "unknown order", "replace or remove 'random'"),
    ({"repeats": 0}, "repeats", "a whole number, 1 or more", "repeats: 1"),
    ({"timeout_s": "30m"}, "timeout_s", "a number above zero", "60"),
    ({"metrics": [{"name": "x", "direction": "up"}]}, "metrics[0].direction", "unknown direction", ""),
    ({"metrics": [{"direction": "max"}]}, "metrics[0].name", "metrics[0].name is missing", "name:"),
    ({"criteria": [{"predicate": {}}]}, "criteria[0].text", "criteria[0].text is missing", "text:"),
    ({"compare": {"base": 1}}, "compare.axis", "compare.axis is missing", "axis:"),
    ({"cost": {"seconds_per_run": 1, "source": 2}}, "cost.source", "cost.source must be text", "source:"),
    ({"axes": {"top.k": [1]}}, "axes.top.k", "'top.k' is not a valid config key", "mlp_dim"),
    ({"question": None}, "question", "question is missing", "question:"),
    ({"setup": [{"label": "x"}]}, "setup[0]", "is not a command", "argv"),
    ({"axes": {"topk": {"from": 1, "to": 10001, "step": 1}}}, "axes", "10,001 cases, over the limit", "--set"),
    ({"scale": {"tiny": {"axis": {}}}}, "scale.tiny.axis", "unknown key 'axis'", "axes?"),
]


@pytest.mark.parametrize(("changes", "place", "message", "hint"), WRONG, ids=[w[2] for w in WRONG])
def test_what_is_wrong_is_said(changes: dict[str, Any], place: str, message: str, hint: str) -> None:
    with pytest.raises(RecipeProblem) as caught:
        list(plan_of(**changes))
    assert message in caught.value.message
    assert caught.value.place == place
    assert hint in caught.value.hint
    assert caught.value.cause


@pytest.mark.parametrize(
    ("sets", "message", "hint"),
    [
        ("topk", "--set 'topk' is not KEY=VALUE", "--set topk=2"),
        ("tokp=4", "unknown key 'tokp'", "did you mean --set topk=4?"),
        ("topk=many", "topk takes a whole number", "--set topk=2"),
        ("topk=1,2", "topk takes one value", "--set topk=1"),
        ('shape="S', """--set shape="S cannot be read""", "quote each value that has a comma"),
        ("shape=M", "unknown point of axis shape 'M'", "replace or remove 'M'"),
    ],
)
def test_values_that_cannot_be_set(sets: str, message: str, hint: str) -> None:
    axes = {"shape": [{"name": "S", "hidden": 8}]}
    command = ["bench", {"flags": ["topk", "quant_mode", "hidden"]}]
    with pytest.raises(UsageError) as caught:
        plan_of(sets=(sets,), command=command, axes=axes)
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("parts", "place"),
    [
        ({"axes": {"s": [{"a": 1}, 5]}}, "axes.s[1]"),
        ({"cases": [{"a": 1}, 5]}, "cases[1]"),
    ],
)
def test_a_value_inside_what_is_no_axis(parts: dict[str, Any], place: str) -> None:
    with pytest.raises(RecipeProblem) as caught:
        plan_of(sets=("a=2",), command=["bench", "{a}"], **parts)
    assert caught.value.place == place


# -- cost and rules ----------------------------------------------------------------------------------


def test_what_a_plan_costs() -> None:
    plan = plan_of(axes=AXES, repeats=3, cost={"seconds_per_run": 10, "source": "a guess"}, confirm=1)
    # Six runs of the plan, and a pair of the best case.
    assert (estimate(plan).seconds, estimate(plan).basis) == (80.0, "the recipe: a guess")
    assert estimate(plan, [1.0, 3.0, 2.0]).seconds == 16.0
    assert estimate(plan_of()).seconds is None


KEYS = ["quant_mode", "queue_mode", "bench_pass", "routing_pack_strategy", "stage_timing", "topk"]
FIXED = {"quant_mode": "none", "queue_mode": "full", "bench_pass": "forward_backward", "topk": 2}
FIXED |= {"routing_pack_strategy": "argsort", "stage_timing": False}


def broken(fixed: dict[str, Any] | None = None, done: set[str] | None = None, **changes: Any) -> list[tuple[str, str]]:
    fixed = FIXED | (fixed or {})
    plan = plan_of(command=["bench", {"flags": KEYS}], fixed=fixed, **changes)
    return [(v.rule, v.severity.value) for v in violations(plan, done=done)]


def test_rules() -> None:
    forward = {"bench_pass": "forward"}
    assert broken() == []
    assert broken({"routing_pack_strategy": "tuple_sort"}) == [("argsort-unless-compared", "warning")]
    assert broken(axes={"routing_pack_strategy": ["argsort", "tuple_sort"]}) == []
    assert broken({"quant_mode": "int8"}) == [("identical-controls", "error")]
    assert broken({"quant_mode": "int8"}, controls=[{"quant_mode": "none"}]) == []
    # The control must be identical: one at another top-k is none.
    pairs = [{"quant_mode": "none", "topk": 1}, {"quant_mode": "int8", "topk": 2}]
    assert broken(cases=pairs) == [("identical-controls", "error")]
    assert broken({"queue_mode": "prequeue"}) == [("prequeue-needs-forward", "error"), ("both-queues", "warning")]
    assert broken({"queue_mode": "both"}) == [("prequeue-needs-forward", "error")]
    assert broken(forward, axes={"queue_mode": ["full", "prequeue"]}) == []
    assert broken({**forward, "queue_mode": "prequeue"}) == [("both-queues", "warning")]
    assert broken(forward) == [("train-like-pass", "warning")]
    assert broken({**forward, "stage_timing": True}) == []


def test_an_ab_comes_before_a_sweep() -> None:
    sweep: dict[str, Any] = {"axes": {"topk": [1, 2], "quant_mode": ["none", "int8"]}}
    assert broken(**sweep) == [("ab-before-sweep", "warning")]
    assert broken(**sweep, after=["int8-ab"]) == []
    assert broken(**sweep, after=["int8-ab"], done=set()) == [("ab-before-sweep", "warning")]
    assert broken(**sweep, after=["int8-ab"], done={"int8-ab"}) == []


def test_controls_run_in_the_same_environment() -> None:
    control: dict[str, Any] = {"controls": [{"quant_mode": "none"}], "env": {"FLAGS": "-{quant_mode}"}}
    assert broken({"quant_mode": "int8"}, **control) == [("same-env", "error")]
    assert broken({"quant_mode": "int8"}, **control, implied=["env:FLAGS"]) == []
    assert broken({"quant_mode": "int8"}, **{**control, "env": {"FLAGS": "-x"}}) == []
