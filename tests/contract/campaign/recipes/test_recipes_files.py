"""The recipes of this repository: as many cases as the published threads had, and commands that bench-core takes.

The counts are written down from the command lines of the threads, for one device: 5 values of top-k are
`--topk-list 1,2,4,6,8`, 9 fractions `--null-route-sweep`, 3 shapes S, M and L, and so on.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Mapping

import pytest

from bench_core.cli.rows import Request
from logbook_agent.campaign.recipe_files import choose_recipe
from logbook_agent.campaign.recipes.expand import SweepPlan
from logbook_agent.store.workspace import Workspace
from tests.conftest import REPOSITORY
from tests.seams import bench_core as main

# name: cases at full scale, of them controls; cases at the tiny one, of them controls.
COUNTS = {
    "int8-ab": (2, 0, 2, 0),
    "int8-topk": (5 + 5, 5, 5 + 5, 5),
    "routing-pack-ab": ((2 * 2 + 2) * 2, 0, 2 * 2, 0),
    "locality-prequeue": (2 * 2 * 2, 0, 2 * 2, 0),
    "stage-timing": (2, 0, 2, 0),
    "remat": ((2 + 2) * 3, 0, 2 * 3, 0),
    "topk-scaling": ((2 + 2) * 5, 0, 4, 0),
    "shared-fused-ab": (2 * 2, 0, 2 * 2, 0),
    "mlp-width-qwen-a": (4, 0, 2, 0),
    "mlp-width-qwen-b": (4, 0, 2, 0),
    "backend-ab": (2 * 2, 0, 2, 0),
    "tile-ab": (5, 0, 2, 0),
    "null-routing": (3 * 3 * 9 + 3 * 3, 3 * 3, 2 * 2 + 2, 2),
    "null-modes": (3 * 3 * 9 * 2, 0, 2, 0),
    "ep-none": (2 * 2 * 2, 0, 2, 0),
    "ep-forms": (2 * 3, 0, 3, 0),
    "overlap-topk": (2 * 5 * 3, 0, 3, 0),
    "dp-ep": (2 * 2 * 4, 0, 4, 0),
    "null-routing-ep": (2 * 5 + 2, 2, 1 + 1, 1),
}


ON_FOUR = [name for name in COUNTS if name not in ("ep-none", "ep-forms", "dp-ep", "null-routing-ep", "overlap-topk")]


"""Those for one device, which have scales for four."""


def chosen(name: str, scale: str | None) -> SweepPlan:
    workspace = Workspace(cwd=REPOSITORY, environ=os.environ)
    return choose_recipe(workspace, str(REPOSITORY / "recipes" / f"{name}.yaml"), scale=scale, sets=()).plan


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("name", "scale"),
    [*itertools.product(COUNTS, [None, "tiny"]), *itertools.product(ON_FOUR, ["ep", "tiny-ep"])],
)
@pytest.mark.slow
def test_bench_core_takes_every_command(
    name: str, scale: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configs: list[Mapping[str, object]] = []

    def take(request: Request) -> bool:
        keys = request.keys or ({},) * len(request.cases)
        configs.extend({**own, **case.config()} for own, case in zip(keys, request.cases, strict=True))
        return True

    # By its module: `bench_core.cli.hillclimb` as an attribute is the command.
    monkeypatch.setattr(sys.modules["bench_core.cli.hillclimb"], "run_cases", take)
    monkeypatch.setattr("bench_core.cli.paths.run_cases", take)
    plan = chosen(name, scale)
    runs = list(plan) if scale in ("tiny", "tiny-ep") else [run for part in plan.ends(6) for run in part]
    for run in runs:
        assert run.argv[0] == "bench-core"
        with pytest.raises(SystemExit) as exit_:
            main(run.argv[1:])
        assert not exit_.value.code, capsys.readouterr().err
        # One case each, with the very config that the plan states.
        assert len(configs) == 1
        config = configs.pop()
        # A key that is null is left out. Two flags are no config of a case.
        asked = ("stage_timing", "staged_parallel")
        stated = {k: value for k, value in run.config.items() if k not in asked and value is not None}
        assert {key: config[key] for key in stated} == stated


def test_no_word_of_another_project() -> None:
    """Recipes run anywhere: they name no host, user or launcher."""
    for path in (REPOSITORY / "recipes").iterdir():
        text = path.read_text(encoding="utf-8")
        assert not any(word in text for word in ("RAY_AUTH", "dlwh", "dev_tpu", "uv run"))
