"""Recipes that extend others, and scales that are asked for together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import write_recipe

SHARED = """\
question: What do both ask?
command: [bash, bench.sh, {flags: [size, mode, seed]}]
fixed: {size: 1, mode: old, seed: 0, unused: 7}
env: {A: "1"}
repeats: 2
scale:
  tiny:
    fixed: {size: 9}
    repeats: 1
  fast:
    fixed: {seed: 5}
    repeats: 3
  tiny,fast:
    env: {A: both}
"""
OWN = """\
name: demo
extends: _shared
fixed: {size: 2}
axes:
  mode: [old, new]
env: {B: "2"}
scale:
  tiny:
    axes:
      mode: [new]
"""


def plan(cli: Cli, *words: str) -> Any:
    answer = cli("sweep", "demo", "--dry-run", "--json", *words)
    assert answer.code == 0, answer.err
    return answer.data


def commands(found: Any) -> list[str]:
    return [" ".join(run["argv"][2:]) for run in (*found["first"], *found["last"])]


@pytest.fixture
def shared(folder: Path) -> Path:
    write_recipe(folder, OWN)
    return write_recipe(folder, SHARED, name="_shared")


def test_a_recipe_states_what_differs_from_the_file_that_it_extends(cli: Cli, shared: Path) -> None:
    found = plan(cli)
    assert (found["question"], found["runs"]) == ("What do both ask?", 4)
    assert commands(found)[::2] == ["--size 2 --mode old --seed 0", "--size 2 --mode new --seed 0"]
    assert found["first"][0]["env"] == {"A": "1", "B": "2"}
    assert found["first"][0]["config"] == {"size": 2, "mode": "old", "seed": 0}, "what no word uses is left out"
    assert [recipe["name"] for recipe in cli("sweep", "--json").data["recipes"] if recipe["own"]] == ["demo"]


@pytest.mark.parametrize(
    ("scale", "command", "runs", "variable"),
    [
        ("tiny", "--size 9 --mode new --seed 0", 1, "1"),
        ("fast", "--size 2 --mode old --seed 5", 6, "1"),
        ("tiny,fast", "--size 9 --mode new --seed 5", 3, "both"),
        ("fast,tiny", "--size 9 --mode new --seed 5", 1, "both"),
    ],
)
def test_scales_are_put_together(cli: Cli, shared: Path, scale: str, command: str, runs: int, variable: str) -> None:
    found = plan(cli, "--scale", scale)
    assert (commands(found)[0], found["runs"]) == (command, runs)
    assert found["first"][0]["env"]["A"] == variable
    error = cli("sweep", "demo", "--scale", f"{scale},tinny", "--dry-run", "--json").error
    assert (error["message"].endswith("unknown scale 'tinny'"), error["hint"]) == (True, "did you mean tiny?")


def test_a_sweep_at_two_scales_is_resumed(started: Cli, folder: Path, shared: Path) -> None:
    stop = "if [ ! -e again ]; then touch again; kill -INT $PPID; sleep 5; fi\n"
    write_recipe(folder, OWN, bench=stop + 'echo "RESULT tflops=1"\n')
    assert started("sweep", "demo", "--scale", "tiny,fast", "--set", "confirm=0").code == 130
    assert started("sweep", "--id", "MOE-000", "--json").data["rows"] == 3


def test_a_chain_of_files(cli: Cli, folder: Path, shared: Path) -> None:
    write_recipe(folder, "name: other\nextends: demo\nfixed: {size: 3}\naxes: {mode: [c]}\n", name="other")
    answer = cli("sweep", "other", "--dry-run", "--json", "--scale", "tiny")
    assert commands(answer.data)[0] == "--size 9 --mode new --seed 0"
    assert commands(cli("sweep", "other", "--dry-run", "--json").data)[0] == "--size 3 --mode c --seed 0"


def test_a_recipe_of_the_tool_is_extended_by_one_of_its_name(cli: Cli, folder: Path) -> None:
    write_recipe(folder, "name: int8-ab\nextends: int8-ab\nfixed: {tokens: 128}\n", name="int8-ab")
    answer = cli("sweep", "int8-ab", "--dry-run", "--json", "--scale", "ep").data
    run = answer["first"][0]
    assert (run["config"]["tokens"], run["config"]["devices"], answer["runs"]) == (128, 4, 2)


@pytest.mark.parametrize(
    ("name", "change", "message", "hint"),
    [
        (
            "_shared",
            ("flags: [size", "flags: [sise"),
            "_shared.yaml, line 8: fixed.size: the command does not use size",
            "sise?",
        ),
        ("_shared", ("repeats: 1", "repeats: x"), "_shared.yaml, line 9: repeats: expected int", "recipes.md"),
        ("_shared", ("scale:", "extends: demo\nscale:"), "demo.yaml extends itself", "remove `extends: demo`"),
        (
            "demo",
            ("mode: [new]", "mode: [a, {new: 1}]"),
            "demo.yaml, line 10: axes.mode[0]: no value for new",
            "recipes.md",
        ),
        ("demo", ("mode: [new]", "mode: [[new]]"), "demo.yaml, line 10: axes.mode[0]: expected", "recipes.md"),
        (
            "demo",
            ("size: 2", "sise: 2"),
            "demo.yaml, line 3: fixed.sise: the command does not use sise",
            "did you mean size?",
        ),
        ("demo", ("_shared", "_sharde"), "demo.yaml extends '_sharde'", "did you mean _shared?"),
        ("demo", ("_shared", "../recipes/_shared"), "demo.yaml extends '../recipes/_shared'", "extend one of: "),
    ],
)
def test_a_problem_is_told_where_it_stands(
    cli: Cli, folder: Path, shared: Path, name: str, change: tuple[str, str], message: str, hint: str
) -> None:
    text = SHARED if name == "_shared" else OWN
    assert change[0] in text
    write_recipe(folder, text.replace(*change), name=name)
    error = cli("sweep", "demo", "--scale", "tiny", "--dry-run", "--json").error
    assert error["message"].startswith(message)
    assert hint in error["hint"]


def test_what_is_set_must_be_of_use(cli: Cli, shared: Path) -> None:
    assert commands(plan(cli, "--set", "seed=3"))[0] == "--size 2 --mode old --seed 3"
    error = cli("sweep", "demo", "--set", "unused=3", "--dry-run", "--json").error
    assert error["message"].startswith("--set unused=3: fixed.unused: the command does not use unused")


def test_a_shared_file_that_is_a_link(cli: Cli, folder: Path, shared: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text("password: hunter2\n")
    shared.unlink()
    shared.symlink_to(secret)
    answer = cli("sweep", "recipes/demo.yaml", "--dry-run")
    assert (answer.code, "_shared.yaml is a symbolic link" in answer.err) == (2, True)
    assert "hunter2" not in answer.err
