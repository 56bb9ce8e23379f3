"""The recipes of this repository: as many cases as the published threads had, and commands that bench-core takes.

The counts are written down from the command lines of the threads, for one device: 5 values of top-k are
`--topk-list 1,2,4,6,8`, 9 fractions `--null-route-sweep`, 3 shapes S, M and L, and so on.
"""

from __future__ import annotations

import os
import re

import pytest

from logbook_agent.campaign.recipe_files import choose_recipe, list_recipes
from logbook_agent.campaign.recipes.expand import SweepPlan
from logbook_agent.campaign.recipes.habits import CAN_ANSWER, violations
from logbook_agent.store.workspace import Workspace
from tests.conftest import REPOSITORY

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


# What a scale has more or fewer of; a method that counts them says something else than what a small sweep does.
COUNTED = re.compile(
    r"\b(two|three|four|five|six|nine|ten|\d+) [\w-]*\s?(batches|shapes|values|fractions|widths)\b", re.IGNORECASE
)


"""Those for one device, which have scales for four."""


@pytest.mark.parametrize("name", COUNTS)
def test_a_method_holds_at_every_scale(name: str) -> None:
    assert COUNTED.search(chosen(name, None).recipe.method) is None


def chosen(name: str, scale: str | None) -> SweepPlan:
    workspace = Workspace(cwd=REPOSITORY, environ=os.environ)
    return choose_recipe(workspace, str(REPOSITORY / "recipes" / f"{name}.yaml"), scale=scale, sets=()).plan


def test_every_recipe_is_counted_and_explained() -> None:
    workspace = Workspace(cwd=REPOSITORY, environ=os.environ)
    assert {chosen.file.name for chosen in list_recipes(workspace)} == {*COUNTS}
    assert workspace.warnings == []
    text = (REPOSITORY / "recipes/README.md").read_text(encoding="utf-8")
    assert [name for name in COUNTS if f"`{name}`" not in text] == []


@pytest.mark.parametrize("name", COUNTS)
def test_counts_rules_and_costs(name: str) -> None:
    full, tiny = chosen(name, None), chosen(name, "tiny")
    controls = [sum(case.is_control for case in plan.cases) for plan in (full, tiny)]
    assert (len(full.cases), controls[0], len(tiny.cases), controls[1]) == COUNTS[name]
    for plan in (full, tiny):
        known = set(COUNTS)
        # Whatever a recipe compares it can answer; the tiny scale shows that its commands run.
        broken = {found.rule for found in violations(plan, done=known)}
        assert broken == set() if plan is full else broken <= {CAN_ANSWER}
        assert set(plan.recipe.after) <= known
        assert plan.recipe.cost is not None
        assert plan.recipe.cost.source
        assert len({run.argv for run in plan}) == len(plan.cases)


def test_variables_are_those_of_the_published_runs() -> None:
    """The case without null slots ran under LIBTPU_INIT_ARGS in the thread, its sweep did not: here all do."""
    plan = chosen("null-routing", None)
    assert {tuple(run.env.items()) for run in plan} == {
        (("LIBTPU_INIT_ARGS", "--xla_tpu_scoped_vmem_limit_kib=50000"),)
    }
