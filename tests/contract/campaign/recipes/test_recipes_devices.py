"""The recipes for several devices run, at the tiny scale, on virtual ones: real sweeps of real processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, Cli
from tests.contract.campaign.recipes.sweep_support import runs_of
from tests.contract.campaign.recipes.test_recipes_files import ON_FOUR

RUNS = {"ep-none": 2, "ep-forms": 3, "dp-ep": 4, "null-routing-ep": 2, "overlap-topk": 3}


@pytest.mark.slow
@pytest.mark.wide
@pytest.mark.parametrize("name", RUNS)
def test_it_runs_on_four_virtual_devices(started: Cli, folder: Path, name: str) -> None:
    answer = started("sweep", str(REPOSITORY / "recipes" / f"{name}.yaml"), "--scale", "tiny", "--json")
    assert answer.code == 0, answer.err
    assert (answer.data["ran"], answer.data["failed"]) == (RUNS[name], 0)
    rows = [row for run in runs_of(folder) for row in run.rows]
    assert {row.labels["check"] for row in rows} == {"passed"}
    used = {device.used for row in rows for device in row.devices}
    assert used == ({1, 4} if name == "ep-none" else {4})
    if name == "null-routing-ep":
        asked = [(row.observations["null_realized"], row.config["null_route_frac"]) for row in rows]
        assert all(realized == pytest.approx(wanted) for realized, wanted in asked)


# Of an axis that changes numbers alone one value is enough.
FEWER = {
    "int8-topk": ["topk=2"],
    "topk-scaling": ["topk=2"],
    "shared-fused-ab": ["topk=2"],
    "null-routing": ["topk=2", "null_route_frac=0.5"],
    "remat": ["remat_mode=none,expert_mlp"],
}


@pytest.mark.slow
@pytest.mark.wide
@pytest.mark.parametrize("name", ON_FOUR)
def test_a_recipe_for_one_device_runs_on_four(started: Cli, folder: Path, name: str) -> None:
    sets = [word for value in FEWER.get(name, []) for word in ("--set", value)]
    answer = started("sweep", str(REPOSITORY / "recipes" / f"{name}.yaml"), "--scale", "tiny,ep", *sets, "--json")
    assert answer.code == 0, answer.err
    assert answer.data["failed"] == 0
    assert answer.data["problems"] == []
    rows = [row for run in runs_of(folder) for row in run.rows]
    assert {row.labels["check"] for row in rows} == {"passed"}
    assert {device.used for row in rows for device in row.devices} == {4}
    if name == "stage-timing":
        stages = ("pack", "up", "down", "combine", "return")
        shares = [sum(row.observations[f"stage_{stage}_percent"] for stage in stages) for row in rows]
        assert shares == pytest.approx([100] * len(rows))
