"""The recipes of this repository: as many cases as the published threads had, and commands that bench-core takes.

The counts are written down from the command lines of the threads, for one device: 5 values of top-k are
`--topk-list 1,2,4,6,8`, 9 fractions `--null-route-sweep`, 3 shapes S, M and L, and so on.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest
import yaml

from tests.conftest import REPOSITORY, Cli
from tests.seams import bench_core_cases

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
# Those for one device, which have scales for four.
ON_FOUR = [name for name in COUNTS if name not in ("ep-none", "ep-forms", "dp-ep", "null-routing-ep", "overlap-topk")]
# What a scale has more or fewer of; a method that counts them says something else than what a small sweep does.
COUNTED = re.compile(
    r"\b(two|three|four|five|six|nine|ten|\d+) [\w-]*\s?(batches|shapes|values|fractions|widths)\b", re.IGNORECASE
)


def plan(cli: Cli, name: str, scale: str | None) -> tuple[dict[str, Any], list[str]]:
    """What a dry run of a recipe says: its plan and its warnings."""
    answer = cli("sweep", name, *(["--scale", scale] if scale else []), "--dry-run", "--json")
    assert answer.code == 0, answer
    return answer.data, json.loads(answer.out)["warnings"]


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("name", "scale"),
    [*itertools.product(COUNTS, [None, "tiny"]), *itertools.product(ON_FOUR, ["ep", "tiny,ep"])],
)
@pytest.mark.slow
def test_bench_core_takes_its_commands(cli: Cli, name: str, scale: str | None) -> None:
    found, _ = plan(cli, name, scale)
    for run in (*found["first"], *found["last"]):
        assert run["argv"][0] == "bench-core"
        # One case each, with the very config that the plan states.
        [config] = bench_core_cases(run["argv"][1:])
        # A key that is null is left out. Two flags are no config of a case.
        asked = ("stage_timing", "staged_parallel")
        stated = {k: value for k, value in run["config"].items() if k not in asked and value is not None}
        assert {key: config[key] for key in stated} == stated


def test_every_recipe_is_counted_and_explained_and_breaks_no_rule(cli: Cli) -> None:
    assert {recipe["name"] for recipe in cli("sweep", "--json").data["recipes"]} == {*COUNTS}
    readme = (REPOSITORY / "recipes/README.md").read_text(encoding="utf-8")
    for name, counts in COUNTS.items():
        assert f"`{name}`" in readme
        for scale, (cases, controls) in ((None, counts[:2]), ("tiny", counts[2:])):
            found, warnings = plan(cli, name, scale)
            assert (found["cases"], found["controls"]) == (cases, controls), name
            assert found["cost"]["basis"].startswith("the recipe: ")
            # Whatever a recipe compares it can answer; the tiny scale shows that its commands run.
            assert all(warning.startswith("can-answer: ") for warning in warnings), (name, warnings)
            assert scale or not warnings, (name, warnings)


def test_the_variables_are_those_of_the_published_runs(cli: Cli) -> None:
    """The case without null slots ran under LIBTPU_INIT_ARGS in the thread, its sweep did not: here all do."""
    found, _ = plan(cli, "null-routing", None)
    flags = {"LIBTPU_INIT_ARGS": "--xla_tpu_scoped_vmem_limit_kib=50000"}
    assert all(run["env"] == flags for run in (*found["first"], *found["last"]))


def test_recipes_run_anywhere_and_at_every_scale() -> None:
    """They name no host, user or launcher of another project, and their methods count nothing that a scale changes."""
    for path in (REPOSITORY / "recipes").glob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        assert not any(word in text for word in ("RAY_AUTH", "dlwh", "dev_tpu", "uv run"))
        assert COUNTED.search(yaml.safe_load(text).get("method", "")) is None
