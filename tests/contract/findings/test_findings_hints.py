"""A hint offers what was probably meant, and never a guess that means something else."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.main import get_command

from bench_core.cli import app
from logbook_agent.running.prepare import BENCHMARKS
from tests.conftest import Cli

_STATES = ("planned", "blocked", "abandoned", "void", "computed")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ["start", "x", "--prefix", "X", "--metric", "seconds:smaller:s"],
            "write: --metric seconds:min:s or --metric seconds:max:s",
        ),
        (["note", "--title", "x", "--kind", "decsion"], "--kind decision"),
        (
            ["note", "--title", "x", "--kind", "idea"],
            "one of: --kind experiment, --kind note, --kind decision, --kind incident",
        ),
        (["edit", "MOE-000", "--state", "done"], f"one of: {', '.join(f'--state {s}' for s in _STATES)}"),
        (["edit", "MOE-000", "--state", "abandon"], "--state abandoned"),
        (["list", "--state", "orphan"], "--state orphaned"),
        (["criteria", "--met", "2"], "list them with: logbook criteria"),
        (["criteria", "--met", "2", "--evidence", "nothing"], "list them with: logbook criteria"),
        (["criteria", "--met", "1"], "add: --evidence ID (logbook list shows the IDs)"),
    ],
)
@pytest.mark.sample(4)
def test_a_word_that_is_near_none_is_not_guessed(started: Cli, words: list[str], hint: str) -> None:
    assert started("criteria", "--add", "Fast").code == 0
    assert started("run", "--", "echo", "RESULT tflops=1").code == 0
    answer = started(*words, "--json")
    assert (answer.code, answer.error["hint"]) == (2, hint)


def test_the_evidence_is_that_of_the_predicate(started: Cli) -> None:
    predicate = "target: {metric: tflops, at_least: 2}"
    assert started("criteria", "--add", "Fast", "--predicate", predicate).code == 0
    for value in (3, 1):
        assert started("run", "--config", f"topk={value}", "--", "echo", f"RESULT tflops={value}").code == 0
    assert started("criteria", "--met", "1", "--json").error["hint"] == "add: --evidence MOE-000"


@pytest.mark.parametrize(
    ("words", "cause", "hint"),
    [
        (
            ["run", "--titel", "x", "--", "echo"],
            "logbook run has an option of nearly that name",
            "did you mean --title?",
        ),
        (["status", "--jsn"], "logbook status has an option of nearly that name", "did you mean --json?"),
        (
            ["run", "python", "--tokens", "4"],
            "options of the command itself go after --",
            "logbook run [OPTIONS] -- CMD",
        ),
        (["run", "--tokens", "4", "--", "python"], "logbook run has no such option", "logbook run --help"),
        (["list", "--tokens", "4"], "logbook list has no such option", "logbook list --help"),
    ],
)
def test_a_misspelt_option(cli: Cli, words: list[str], cause: str, hint: str) -> None:
    answer = cli(*words)
    option = next(w for w in words if w.startswith("--"))
    assert answer.err == f"error: No such option: {option}\n  cause: {cause}\n  next:  {hint}\n"


def test_an_id_leads_to_its_logbook(started: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert started("start", "two", "--prefix", "TWO").code == 0
    assert started("-L", "two", "note", "--title", "Other").code == 0
    monkeypatch.setenv("LOGBOOK", "moe")
    assert started("show", "TWO-000", "--json").data["title"] == "Other"
    assert started("status", "--json").data["logbook"]["topic"] == "moe"
    error = started("-L", "moe", "show", "TWO-000").err
    assert error == "error: no entry TWO-000 in moe\n  cause: the prefix of this ID belongs to two\n  next:  -L two\n"


def test_another_folder_may_hold_the_logbooks(cli: Cli) -> None:
    hint = cli("status", "--json").error["hint"]
    assert hint.startswith("start one with: logbook start TOPIC")
    assert hint.endswith("; or name the folder that holds some: logbook --root DIR ..., LOGBOOK_ROOT=DIR, or cd")


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (["--label", "B", "--env", "K=1", "--", "echo", "a b"], "--label B -- K=1 echo 'a b'"),
        (["--shell", "--", "echo a; echo b"], "--shell -- 'echo a; echo b'"),
    ],
)
def test_an_entry_without_a_plan_names_the_command_it_ran(started: Cli, words: list[str], again: str) -> None:
    assert started("run", *words).code == 0
    error = started("run", "--id", "MOE-000", "--repeat", "2", "--json").error
    assert error["message"] == "MOE-000 has no planned command left"
    assert error["hint"] == f"repeat its last command: logbook run --id MOE-000 --repeat 2 {again}"


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("reopen", "logbook close --reopen"),
        ("repeat", "logbook run --id ID --repeat N -- COMMAND"),
        ("rerun", "logbook run --id ID --repeat N -- COMMAND"),
        ("statsu", "logbook status --help"),
    ],
)
def test_words_for_what_other_commands_do(cli: Cli, word: str, hint: str) -> None:
    assert cli(word, "--json").error["hint"] == hint


def test_a_list_that_ends_with_1_says_why(started: Cli) -> None:
    for text in ("Fast", "Small"):
        assert started("criteria", "--add", text).code == 0
    answer = started("criteria")
    assert (answer.code, answer.err) == (1, "2 of 2 not met (exit code 1)\n")
    assert started("criteria", "--json").err == ""


@pytest.mark.parametrize(("key", "hint"), [("metric", "write: metrics"), ("xyz", "remove 'xyz' from two.yaml")])
def test_an_unknown_key_of_a_header(cli: Cli, folder: Path, key: str, hint: str) -> None:
    (folder / "two.yaml").write_text(f"topic: two\nprefix: TWO\n{key}: x\n")
    assert cli("start", "--from", "two.yaml", "--json").error["hint"] == hint


def test_words_for_a_result_that_was_measured(started: Cli) -> None:
    assert started("run", "--", "echo", "RESULT tflops=1").code == 0
    said = "the numbers of MOE-000 still come from its runs; what was given stands beside them as words"
    assert started("edit", "MOE-000", "--result", "about 2").err == f"warning: {said}\n"
    assert started("note", "--title", "x").code == 0
    assert started("edit", "MOE-001", "--result", "about 2").err == ""


def test_a_misspelt_benchmark_takes_no_id(started: Cli) -> None:
    # A prediction is no benchmark: `logbook predict` records it apart.
    assert {*get_command(app).commands} == {*BENCHMARKS, "predict"}  # type: ignore[attr-defined]
    answer = started("bench", "--", "hilclimb", "--tokens", "4")
    known = "hillclimb, overlap, compare, check, roofline"
    said = f"error: no benchmark 'hilclimb'\n  cause: the benchmarks are {known}\n"
    assert (answer.code, answer.err) == (2, f"{said}  next:  bench-core hillclimb ...\n")
    assert started("list", "--json").data == []
