"""A hint offers what was probably meant, and never a guess that means something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

_STATES = ("planned", "blocked", "abandoned", "void", "computed")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["start", "x", "--prefix", "X", "--metric", "seconds:smaller:s"], ["seconds:min:s", "seconds:max:s"]),
        (["note", "--title", "x", "--kind", "decsion"], ["--kind decision"]),
        (["edit", "MOE-000", "--state", "done"], [f"--state {state}" for state in _STATES]),
        (["list", "--state", "orphan"], ["--state orphaned"]),
        (["criteria", "--met", "2", "--evidence", "nothing"], ["logbook criteria"]),
        (["criteria", "--met", "1"], ["--evidence ID", "logbook list"]),
        (["table", "--pivot", "tokp"], ["--pivot topk"]),
        (["table", "--means"], ["--means --delta"]),
        (["reopen"], ["logbook close --reopen"]),
        (["statsu"], ["logbook status --help"]),
        (["run", "--", "bench-core", "hilclimb", "--tokens", "4"], ["bench-core hillclimb ..."]),
        (["run", "--titel", "x", "--", "echo"], ["did you mean --title?"]),
        (["run", "python", "--tokens", "4"], ["logbook run [OPTIONS] -- CMD"]),
        (["list", "--tokens", "4"], ["logbook list --help"]),
    ],
)
@pytest.mark.sample(8)
def test_a_word_that_is_near_none_is_not_guessed(started: Cli, words: list[str], offered: list[str]) -> None:
    assert started("criteria", "--add", "Fast").code == 0
    assert started("run", "--", "echo", "RESULT topk=2 tflops=1").code == 0
    answer = started(*words[:1], "--json", *words[1:])
    assert (answer.code, answer.error["code"]) == (2, "usage")
    assert all(one in answer.error["hint"] for one in offered), answer.error
    # Nothing was started, and no ID taken.
    assert [entry["id"] for entry in started("list", "--json").data] == ["MOE-000"]


def test_the_evidence_is_that_of_the_predicate(started: Cli) -> None:
    predicate = "target: {metric: tflops, at_least: 2}"
    assert started("criteria", "--add", "Fast", "--predicate", predicate).code == 0
    for value in (3, 1):
        assert started("run", "--config", f"topk={value}", "--", "echo", f"RESULT tflops={value}").code == 0
    assert started("criteria", "--met", "1", "--json").error["hint"] == "add: --evidence MOE-000"
    # A list with unmet criteria ends with 1, and says why.
    answer = started("criteria")
    assert answer.code == 1
    assert answer.err.startswith("1 of 1 ")
    assert started("criteria", "--json").err == ""


def test_an_id_leads_to_its_logbook(started: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert started("start", "two", "--prefix", "TWO").code == 0
    assert started("-L", "two", "note", "--title", "Other").code == 0
    monkeypatch.setenv("LOGBOOK", "moe")
    assert started("show", "two-0", "--json").data["title"] == "Other"
    assert started("status", "--json").data["logbook"]["topic"] == "moe"
    error = started("-L", "moe", "show", "TWO-000", "--json").error
    assert "TWO-000" in error["message"]
    assert error["hint"] == "-L two"


def test_another_folder_may_hold_the_logbooks(cli: Cli) -> None:
    hint = cli("status", "--json").error["hint"]
    assert all(word in hint for word in ("logbook start TOPIC", "logbook --root DIR", "LOGBOOK_ROOT=DIR"))


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
    assert "MOE-000" in error["message"]
    assert error["hint"].endswith(f": logbook run --id MOE-000 --repeat 2 {again}")


@pytest.mark.parametrize(("key", "hint"), [("metric", "write: metrics"), ("xyz", "remove 'xyz' from two.yaml")])
def test_an_unknown_key_of_a_header(cli: Cli, folder: Path, key: str, hint: str) -> None:
    (folder / "two.yaml").write_text(f"topic: two\nprefix: TWO\n{key}: x\n")
    assert cli("start", "--from", "two.yaml", "--json").error["hint"] == hint


def test_words_for_a_result_that_was_measured(started: Cli) -> None:
    assert started("run", "--", "echo", "RESULT tflops=1").code == 0
    warned = started("edit", "MOE-000", "--result", "about 2").err
    assert warned.startswith("warning: ")
    assert "MOE-000" in warned
    assert started("note", "--title", "x").code == 0
    assert started("edit", "MOE-001", "--result", "about 2").err == ""
