"""What a sweep tells to type next, and what it blames when something does not fit."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, write_recipe

PAIR = """\
name: pair
question: Is new any faster than old?
command: [bash, bench.sh, "{size}", "{mode}"]
fixed: {size: 2}
axes:
  mode: [old, new]
compare: {axis: mode, base: old}
metrics: [tflops]
confirm: 0
cost: {seconds_per_run: 2}
scale:
  tiny:
    fixed: {size: 1}
"""


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("timeout_s=x", "recipes are explained in "),
        ("order=shufled", "did you mean shuffled?"),
        ("size=1,1", "recipes are explained in "),
    ],
)
def test_what_was_typed_is_not_blamed_on_the_file(cli: Cli, folder: Path, text: str, hint: str) -> None:
    write_recipe(folder)
    error = cli("sweep", "demo", "--set", text, "--dry-run", "--json").error
    assert error["message"].startswith(f"--set {text}: ")
    assert error["hint"].startswith(hint)


def test_what_stands_in_the_file_is_blamed_on_it(cli: Cli, folder: Path) -> None:
    write_recipe(folder, RECIPE + "repeats: x\n")
    error = cli("sweep", "demo", "--set", "size=1", "--dry-run", "--json").error
    assert error["message"].startswith("demo.yaml, line 12: repeats: ")


def test_files_that_are_no_recipes(cli: Cli, folder: Path) -> None:
    write_recipe(folder, "", name="empty")
    error = cli("sweep", "empty", "--dry-run", "--json").error
    assert ("empty.yaml" in error["message"], error["hint"].endswith("name: empty")) == (True, True)


@pytest.mark.slow
def test_beginning_anew_is_about_the_same_plan(started: Cli, folder: Path) -> None:
    write_recipe(folder, PAIR, name="pair")
    assert started("sweep", "pair", "--scale", "tiny", "--set", "repeats=2").code == 0
    write_recipe(folder, PAIR.replace("size: 1", "size: 3"), name="pair")
    hint = started("sweep", "--id", "MOE-000", "--json").error["hint"]
    command = "logbook sweep pair --scale tiny --set repeats=2 --new"
    assert hint.endswith(f": {command}")
    assert started(*shlex.split(command)[1:], "--json").data["id"] == "MOE-001"
    error = started("sweep", "--id", "MOE-001", "--on", "pod", "--json").error
    assert error["hint"].endswith("logbook sweep pair --scale tiny --set repeats=2 --on pod --new")
