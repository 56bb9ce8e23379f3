"""What a sweep tells to type next, and what it blames when something does not fit."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.recipes.sweep_support import RECIPE, write_recipe
from tests.recipes.test_recipes_stages import PAIR, write_story


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
    error = cli("sweep", "empty", "--json").error
    assert (error["message"], error["hint"]) == ("empty.yaml holds no keys", "start it with: name: empty")
    write_recipe(folder, "name: demo\nquestion: Is it?\nstagse: [pair]\n")
    error = cli("sweep", "demo", "--dry-run", "--json").error
    assert (error["message"], error["hint"]) == ("demo.yaml, line 3: unknown key 'stagse'", "did you mean stages?")


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
    write_story(folder, bench='[ -e broken ] && exit 5\necho "RESULT tflops=$1"\n')
    assert started("start", "--recipe", "story").out.endswith("next: logbook sweep story -L story\n")
    assert started("start", "ep", "--prefix", "EP").out.endswith("next: logbook run -L ep -- COMMAND\n")
    none = started("sweep", "story", "--json").error
    assert none["message"].startswith("3 logbooks, none selected"), "and that is no fault of a stage"
    assert started("sweep", "story", "-L", "story").out.endswith("next: logbook criteria -L story\n")
    (folder / "broken").touch()
    stopped = started("sweep", "story", "-L", "moe", "--set", "size=3", "--json").data["stopped"]
    assert stopped.endswith("then continue: logbook sweep story -L moe --set size=3 --retry-failed")
    monkeypatch.setenv("LOGBOOK", "story")
    (folder / "broken").unlink()
    assert started("sweep", "story").out.endswith("next: logbook criteria\n")


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
