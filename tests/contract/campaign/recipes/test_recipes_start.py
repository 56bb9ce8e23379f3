"""`logbook start --recipe`: a header that says what the recipe asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, write_recipe
from tests.seams import Store

QUESTION = """\
criteria:
- {text: Both modes are measured., predicate: {compared: {axis: mode, values: [old, new]}}}
- Somebody is convinced.
constraints:
- Both sides have the same size.
"""


def test_a_recipe_makes_a_header(cli: Cli, folder: Path) -> None:
    write_recipe(folder, RECIPE + QUESTION)
    answer = cli("start", "--recipe", "demo")
    assert answer.out.endswith("next: logbook sweep demo\n")
    header = Store(folder, "demo").header
    assert header.prefix == "DEMO"
    assert [(m.name, m.direction, m.unit) for m in header.metrics] == [("tflops", "max", "TF/s")]
    assert header.constraints == ["Both sides have the same size."]
    assert [(c.text, c.predicate) for c in header.stop_criteria] == [
        ("Both modes are measured.", {"compared": {"axis": "mode", "values": ["old", "new"]}}),
        ("Somebody is convinced.", None),
    ]
    assert header.matrix == [
        {"axis": "size", "values": ["1", "2", "3", "4"]},
        {"axis": "mode", "values": ["old", "new"]},
    ]
    assert [(t.label, t.command) for t in header.command_templates] == [("demo", "logbook sweep demo")]


def test_options_win_and_add(cli: Cli, folder: Path) -> None:
    write_recipe(folder, RECIPE + "criteria: [One pair.]\nconstraints: [Same size.]\n")
    options = ["--goal", "Is it?", "--metric", "time_s", "--stop", "Two.", "--constraint", "Same day."]
    answer = cli("start", "moe", "--prefix", "MOE", "--recipe", "demo", *options, "--matrix", "seed=0,1")
    assert answer.code == 0
    header = Store(folder).header
    assert (header.prefix, header.goal) == ("MOE", "Is it?")
    assert [m.name for m in header.metrics] == ["tflops", "time_s"]
    assert [c.text for c in header.stop_criteria] == ["One pair.", "Two."]
    assert header.constraints == ["Same size.", "Same day."]
    assert [a.axis for a in header.matrix] == ["size", "mode", "seed"]
    assert header.matrix[2]["values"] == ["0", "1"]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("demoo", ("", ""), "no recipe 'demoo'"),
        ("demo", ("metrics:", "metric:"), "demo.yaml, line 10: metric: unknown key"),
        (
            "demo",
            ("metrics:", "criteria: [{text: x, predicate: {mesured: 1}}]\nmetrics:"),
            "mesured",
        ),
    ],
)
@pytest.mark.sample(3)
def test_a_recipe_that_does_not_fit_starts_nothing(
    cli: Cli, folder: Path, name: str, change: tuple[str, str], message: str
) -> None:
    write_recipe(folder, RECIPE.replace(*change) if change[0] else RECIPE)
    answer = cli("start", "moe", "--recipe", name)
    assert answer.code == 2
    assert message in answer.err
    assert not (folder / "logbooks").exists()


@pytest.mark.slow
def test_every_recipe_that_comes_with_the_tool_starts_a_logbook(cli: Cli, folder: Path) -> None:
    for recipe in cli("sweep", "--json").data["recipes"]:
        answer = cli("start", "--recipe", recipe["name"])
        assert answer.code == 0, answer.err
        header = Store(folder, recipe["name"]).header
        assert header.metrics
        assert header.matrix
        assert header.stop_criteria
