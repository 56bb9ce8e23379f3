"""Which runs of a sweep are made, and values that are no numbers."""

from __future__ import annotations

import math

import pytest
import yaml
from msgspec import structs

from logbook_agent.campaign.recipes.expand import expand
from logbook_agent.campaign.recipes.reading import parse_recipe
from logbook_agent.campaign.sweep_progress import Tally
from logbook_agent.model.entry import Entry, RecipeUse
from logbook_agent.model.header import Metric
from logbook_agent.model.record import made_of_plan, record_of
from logbook_agent.model.run import Measurement, Row, Run, Scalar
from logbook_agent.model.worker_report import Exit

MODES = """\
name: modes
question: Which one is the best?
command: [bash, bench.sh, "{mode}"]
axes:
  mode: [a, b]
compare: {axis: mode, base: a}
metrics: [tflops]
"""


@pytest.mark.parametrize(
    ("config", "label"), [({"mode": 1.0}, "first"), ({"mode": "1"}, "first"), ({"mode": 1}, "again")]
)
def test_the_state_of_an_entry_and_its_sweep_agree_on_which_runs_are_made(
    config: dict[str, Scalar], label: str
) -> None:
    """However a value is spelt and a case is labelled."""
    use = RecipeUse(name="modes", digest="0", runs=2)
    entry = Entry(id="E-000", opened="", title="Modes", recipe=use)
    first = Run(entry="E-000", run=1, argv=("x",), started="", exit=Exit(code=0), config={"mode": 1}, label="first")
    runs = (first, structs.replace(first, run=2, config=config, label=label))
    assert len(made_of_plan(runs)) == 1
    assert record_of(entry, runs, lambda run: "gone").state == "interrupted"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_is_not_taken(value: float) -> None:
    plan = expand(parse_recipe(yaml.safe_load(MODES)))
    tally = Tally(plan, Metric(name="tflops", direction="max"))
    for number, (key, found) in enumerate((("mode=a", 3.0), ("mode=b", value)), start=1):
        row = Row(metrics={"tflops": Measurement(samples=(found,))})
        run = Run(entry="E", run=number, argv=("x",), started="", exit=Exit(code=0), rows=(row,))
        tally.add(plan.by_key[key], run)
        assert bool(tally.measured(run)) == math.isfinite(found)
    best = tally.best()
    assert best is not None
    assert (best.case, best.value) == ("mode=a", 3.0)
