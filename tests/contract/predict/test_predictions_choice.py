"""Which cases of a plan are kept, by what is predicted of them: a table."""

from __future__ import annotations

from typing import Any

import pytest

from bench_core.accounting.prediction import Prediction
from logbook_agent.campaign.recipes.expand import SweepPlan, expand
from logbook_agent.campaign.recipes.recipe_data import parse_recipe
from logbook_agent.model.header import Metric
from logbook_agent.predict.choice import choices

TIME = Metric(name="time_s", direction="min", unit="s")
RATE = Metric(name="tflops", direction="max", unit="TF/s")


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


@pytest.mark.parametrize(
    ("more", "metric", "why"),
    [
        ({"confirm": 0}, TIME, "the recipe compares nothing and chooses no best case"),
        ({}, None, "neither the recipe nor the logbook names a metric to win by"),
        ({}, Metric(name="hbm_bytes", direction="min"), "a predicted time says nothing of hbm_bytes"),
        (
            {"axes": {"topk": [2, 4, 8]}},
            RATE,
            "cases that differ in topk do different work, so a time does not rank them by tflops",
        ),
    ],
)
def test_what_a_time_does_not_rank(more: dict[str, Any], metric: Metric | None, why: str) -> None:
    made = plan(**more)
    said = dict(zip((c.key for c in made.cases), (predicted(1.0), predicted(5.0), predicted(9.0)), strict=True))
    found = choices(made, said, metric)
    assert [(c.word, c.why) for c in found] == [("can win", why)] * 3
