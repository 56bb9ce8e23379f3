"""What a sweep tells to type next, and what it blames when something does not fit."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.campaign.recipes.sweep_support import RECIPE, write_recipe
from tests.conftest import Cli

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
    ("text", "message", "hint"),
    [
        ("repeats=x", "--set repeats=x: repeats must be a whole number, 1 or more", "--set repeats=1"),
        ("timeout_s=0", "--set timeout_s=0: timeout_s must be a number above zero", "--set timeout_s=60"),
        ("order=shufled", "--set order=shufled: unknown order 'shufled'", "did you mean shuffled?"),
        ("size=1,1", "--set size=1,1: cases 1 and 2 are the same", "remove one of them"),
    ],
)
def test_what_was_typed_is_not_blamed_on_the_file(cli: Cli, folder: Path, text: str, message: str, hint: str) -> None:
    write_recipe(folder)
    error = cli("sweep", "demo", "--set", text, "--dry-run", "--json").error
    assert error["message"].startswith(message)
    assert error["hint"].startswith(hint)


def test_what_stands_in_the_file_is_blamed_on_it(cli: Cli, folder: Path) -> None:
    write_recipe(folder, RECIPE + "repeats: x\n")
    error = cli("sweep", "demo", "--set", "size=1", "--dry-run", "--json").error
    assert error["message"].startswith("demo.yaml, line 12: repeats must be")


def test_files_that_are_no_recipes(cli: Cli, folder: Path) -> None:
    write_recipe(folder, "", name="empty")
    error = cli("sweep", "empty", "--dry-run", "--json").error
    assert (error["message"], error["hint"]) == ("empty.yaml holds no keys", "start it with: name: empty")


@pytest.mark.slow
def test_beginning_anew_is_about_the_same_plan(started: Cli, folder: Path) -> None:
    write_recipe(folder, PAIR, name="pair")
    assert started("sweep", "pair", "--scale", "tiny", "--set", "repeats=2").code == 0
    write_recipe(folder, PAIR.replace("size: 1", "size: 3"), name="pair")
    hint = started("sweep", "--resume", "MOE-000", "--json").error["hint"]
    command = "logbook sweep pair --scale tiny --set repeats=2 --new"
    assert hint == f"restore the recipe, or start a new sweep: {command}"
    assert started(*shlex.split(command)[1:], "--json").data["id"] == "MOE-001"
    error = started("sweep", "--resume", "MOE-001", "--on", "pod", "--json").error
    assert error["hint"].endswith("logbook sweep pair --scale tiny --set repeats=2 --on pod --new")


@pytest.mark.slow
def test_commands_name_the_logbook_where_there_are_several(
    started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_recipe(folder, PAIR, name="pair", bench='[ -e broken ] && exit 5\necho "RESULT tflops=$1"\n')
    assert started("start", "--recipe", "pair").out.endswith("next: logbook sweep pair -L pair\n")
    assert started("start", "ep", "--prefix", "EP").out.endswith("next: logbook run -L ep -- COMMAND\n")
    assert started("sweep", "pair", "--json").error["message"].startswith("3 logbooks, none selected")
    assert started("sweep", "pair", "-L", "pair").code == 0


def test_an_interrupted_sweep_is_gone_on_with(started: Cli, folder: Path) -> None:
    write_recipe(folder, PAIR, name="pair", bench="kill -INT $PPID; sleep 5\n")
    answer = started("sweep", "pair")
    assert answer.code == 130
    assert answer.out.splitlines()[-1] == "next: logbook sweep --resume MOE-000"


@pytest.mark.slow
def test_failures_that_were_mended_are_none_of_the_table(started: Cli, folder: Path) -> None:
    write_recipe(folder, bench='[ -e mended ] || exit 3\necho "RESULT tflops=$(($1 * 10))"\n')
    assert started("sweep", "demo", "--set", "size=1,2").code == 1
    assert "- 4 of 4 cases failed" in started("table", "MOE-000").out
    assert [item["since"] for item in started("list", "--tried", "--json").data["tried"]] == [None] * 4
    (folder / "mended").touch()
    dry = started("sweep", "demo", "--set", "size=1,2", "--retry-failed", "--dry-run")
    assert "retries its 4 failed runs" in dry.out
    assert started("sweep", "demo", "--set", "size=1,2", "--retry-failed").code == 0
    view = (folder / "logbooks/moe.md").read_text()
    for text in (started("table", "MOE-000").out, view):
        assert "cases failed" not in text
        assert "failed run" not in text
    assert all(item["since"] for item in started("list", "--tried", "--json").data["tried"]), "and each says so"
    assert "4 failed" not in started("list").out


def test_a_predicate_that_does_not_fit_names_no_criterion_to_overwrite(started: Cli, folder: Path) -> None:
    write_recipe(folder, RECIPE + "criteria: [{text: Done., predicate: {compard: {axis: mode}}}]\n")
    form = "write it in this form: {compared: {axis: quant_mode, values: [none, int8]}}"
    assert started("sweep", "demo", "--dry-run", "--json").error["hint"] == form
    assert started("criteria", "--predicate", "2=compard: {axis: mode}", "--json").error["hint"] == form
