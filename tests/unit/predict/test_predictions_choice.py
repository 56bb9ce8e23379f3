"""Which cases of a plan are kept, by what is predicted of them: a table."""

from __future__ import annotations

from typing import Any

from bench_core.accounting.prediction import Prediction
from logbook_agent.campaign.recipes.expand import SweepPlan, expand, reduced
from logbook_agent.campaign.recipes.recipe_data import parse_recipe
from logbook_agent.model.header import Metric
from logbook_agent.predict.choice import choices

TIME = Metric(name="time_s", direction="min", unit="s")


def plan(**more: Any) -> SweepPlan:
    axes = more.pop("axes", {"impl": ["a", "b", "c"]})
    recipe = {
        "name": "x",
        "question": "q?",
        "command": ["bench-core", "hillclimb", {"flags": ["topk", "impl"]}],
        "fixed": {key: value for key, value in {"topk": 2, "impl": "b"}.items() if key not in axes},
        "axes": axes,
        **more,
    }
    return expand(parse_recipe(recipe, scale=None, sets=()))


def predicted(estimate: float | None, **more: Any) -> Prediction:
    said = {"program": f"p{estimate}", "refused": None if estimate is not None else "why", **more}
    return Prediction(
        target="v5p-8", device_kind="TPU v5", devices=4, libtpu="1", model=1, **{"estimate": estimate, **said}
    )


def words(made: SweepPlan, *found: Prediction | None, metric: Metric | None = TIME) -> list[str]:
    said = {case.key: one for case, one in zip(made.cases, found, strict=True)}
    return [choice.word for choice in choices(made, said, metric)]


def test_what_is_never_left_out() -> None:
    base = plan(compare={"axis": "impl", "base": "b"}, confirm=0)
    assert words(base, predicted(1.0), predicted(2.0), predicted(3.0)) == ["can win", "control", "cannot win"]
    assert words(plan(), None, predicted(None), predicted(3.0)) == ["no prediction", "no prediction", "can win"]
    # Predictions of two versions of the compiler say nothing together.
    assert words(plan(), predicted(1.0), predicted(9.0, vmem="fits"), predicted(9.1)) == [
        "can win",
        "cannot win",
        "cannot win",
    ]
    other = Prediction(target="v5p-8", device_kind="TPU v5", devices=4, libtpu="2", model=1, estimate=9.0)
    assert words(plan(), predicted(1.0), other, predicted(1.0, program="q")) == ["can win"] * 3


def test_what_does_not_fit_and_what_is_one_program() -> None:
    found = (predicted(1.0), predicted(0.5, fits=False), predicted(1.0))
    assert words(plan(), *found) == ["can win", "does not fit", "same program"]
    assert words(plan(), predicted(1.0), predicted(0.5, vmem="does not fit"), predicted(2.0)) == (
        ["can win", "does not fit", "cannot win"]
    )
    # What does not fit is no rival, although it would be faster.
    assert words(plan(), predicted(1.0), predicted(None, fits=False), predicted(1.1)) == (
        ["can win", "does not fit", "can win"]
    )


def test_a_base_is_kept_for_its_program_whatever_comes_first() -> None:
    base = plan(compare={"axis": "impl", "base": "c"}, confirm=0)
    assert words(base, predicted(1.0), predicted(1.1), predicted(1.0)) == ["same program", "can win", "control"]
    assert words(base, predicted(2.0), predicted(2.1), predicted(1.0)) == ["cannot win", "cannot win", "not needed"]


def test_controls_stay_with_what_they_control() -> None:
    made = plan(axes={"topk": [2, 4]}, controls=[{"impl": "a"}])
    assert [case.is_control for case in made.cases] == [True, False, True, False]
    found = (predicted(1.0), predicted(1.5), predicted(5.0), predicted(5.0, program="p1.0"))
    # The control is not what a case loses against; a case of the control's program is left out, and then the control.
    assert words(made, *found) == ["control", "can win", "control", "can win"]
    same = (predicted(1.0), predicted(1.0), predicted(5.0), predicted(5.1))
    assert words(made, *same) == ["not needed", "same program", "control", "can win"]


def test_a_plan_without_cases_keeps_its_order() -> None:
    made = plan(compare={"axis": "impl", "base": "a"}, confirm=0, repeats=6, order="interleaved")
    left = reduced(made, ["impl=b"])
    assert [case.key for case in left.cases] == ["impl=a", "impl=c"]
    whole = [(run.repeat, run.case.key) for run in made if run.case.key != "impl=b"]
    assert [(run.repeat, run.case.key) for run in left] == whole
    assert left.digest != made.digest
    assert reduced(made, []) is made
