"""-L, --root and --json stand anywhere before `--`, and the values of other options are never taken for them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from tests.conftest import Cli


def test_the_place_of_the_options_makes_no_difference(started: Cli, folder: Path) -> None:
    assert started("start", "other").code == 0
    assert started("note", "one", "-L", "moe", "--hypothesis", "two").code == 0
    root = str(folder / "logbooks")
    pieces = (["show", "MOE-000"], ["--json"], ["-L", "moe"], ["--root", root])
    answers = {started(*itertools.chain(*order)).out for order in itertools.permutations(pieces)}
    answers |= {started(*words.split(), f"--root={root}").out for words in ("show -Lmoe --json MOE-000",)}
    assert len(answers) == 1
    assert '"schema": "logbook/show/1"' in answers.pop()
    split = started("show", "--logbook=moe", "MOE-000", "--json", f"--root={root}")
    assert [field["text"] for field in split.data["fields"]] == ["two"]


def test_values_and_commands_are_left_alone(started: Cli) -> None:
    words = [
        "note",
        "--title",
        "--json",
        "--hypothesis",
        "-L",
        "--field",
        "a=--root",
        "--next=--json",
        "--result",
        "--",
    ]
    assert started(*words, "--json").data["id"] == "MOE-000"
    entry = started("show", "MOE-000", "--json").data
    assert entry["title"] == "--json"
    assert sorted(field["text"] for field in entry["fields"]) == ["--", "--json", "--root", "-L"]
    ran = started("run", "--title", "x", "--", "echo", "--json", "-L", "nope", "--root", "no")
    assert (ran.code, ran.out) == (0, "--json -L nope --root no\n")


def test_the_command_of_a_hint_names_the_logbook_that_was_typed(started: Cli) -> None:
    """Without -L it would be about another one, or refused."""
    assert started("start", "other").code == 0
    assert started("note", "one", "-L", "moe").code == 0
    for words in (["-L", "moe", "close"], ["close", "--logbook=moe"]):
        refused = started(*words)
        assert refused.code == 2
        assert "next:  logbook -L moe close --conclusion" in refused.err
    assert started("start", "empty", "--prefix", "EMP").code == 0
    assert "next:  record one with: logbook -L empty run -- COMMAND" in started("-L", "empty", "show", "EMP-009").err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["status", "-L"], "Option '-L' requires an argument"),
        (["run", "--root", "--", "true"], "no logbook in "),
        (["status", "--json=1"], "Option '--json' does not take a value"),
        (["start", "new", "-L", "moe"], "logbook start takes no -L"),
        (["ci", "-L", "moe", "--", "true"], "logbook ci takes no -L"),
    ],
)
def test_misuse_is_named(started: Cli, words: list[str], names: str) -> None:
    answer = started(*words)
    assert answer.code == 2
    assert answer.err.startswith(f"error: {names}"), answer.err
    assert len(answer.err.splitlines()) == 3


def test_errors_are_json_wherever_json_stands(started: Cli) -> None:
    for words in ("--json show MOE-404", "show --json MOE-404", "--json frobnicate", "status --json -L"):
        assert started(*words.split()).error["code"] in ("usage", "not_found"), words


def test_the_help_of_each_command_names_them(cli: Cli) -> None:
    names = re.findall(r"^  ([a-z]+)  +[A-Z]", cli("--help").out.partition("Daily:")[2], re.MULTILINE)
    assert len(names) > 30
    for name in names:
        shown = cli(name, "--help").out
        assert shown.count("Everywhere: -L TOPIC, --root DIR, --json; see `logbook --help`.") == 1, name
        assert not re.search(r"^  (-L|--root|--json)\b", shown, re.MULTILINE), name
