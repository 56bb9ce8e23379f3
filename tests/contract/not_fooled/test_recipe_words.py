"""Values of a recipe, and of records that people write, are what stands in the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import Store
from tests.stored import at

# As a campaign wrote it.
WORDS = """\
# a recipe whose values are words to the program: it gets no, 08, 1_000 and 12:30 as they stand here
name: words
command: [sh, b.sh, --mode, "{mode}", --k, "{k}"]
axes:
  mode: [no, yes]
  k: [08, 1_000, 12:30]
"""


def test_a_recipe_hands_on_words_as_written(started: Cli, folder: Path) -> None:
    (folder / "words.yaml").write_text(WORDS)
    answer = started("sweep", "words.yaml", "--dry-run", "--json")
    assert answer.code == 0
    commands = [" ".join(run["argv"]) for run in [*answer.data["first"], *answer.data["last"]]]
    for mode in ("no", "yes"):
        for k in ("08", "1_000", "12:30"):
            assert f"sh b.sh --mode {mode} --k {k}" in commands


@pytest.mark.parametrize(
    "word",
    ["on", "Off", "0x1F", "0o17", "017", "+1", "-0", "2026-02-09", "1:30:00", "1e-4", "1.50", "3.10", "0b1", "="],
)
@pytest.mark.parametrize(
    "place", ["axes: {k: [WORD, other]}", "fixed: {k: WORD}\naxes: {j: [1]}", "cases: [{k: WORD}]"]
)
def test_a_word_reaches_the_command_wherever_it_stands(started: Cli, folder: Path, word: str, place: str) -> None:
    words = '[echo, "RESULT tflops=1", "got:{k}"' + (', "{j}"]' if "{j:" in place else "]")
    (folder / "one.yaml").write_text(
        f"name: one\nquestion: q\ncommand: {words}\n{place.replace('WORD', word)}\nconfirm: 0\n"
    )
    assert started("sweep", "one.yaml").code == 0
    assert f"got:{word}" in Store(folder).runs("MOE-000")[0].argv


def test_setup_variables_and_words_of_the_command(started: Cli, folder: Path) -> None:
    (folder / "one.yaml").write_text(
        "name: one\nquestion: q\nsetup: [[echo, no, 1.50]]\ncommand: [echo, RESULT, tflops=1, 12:30, 2.0]\n"
        "env: {A: off, B: 1.10}\naxes: {}\nconfirm: 0\n"
    )
    assert started("sweep", "one.yaml").code == 0
    setup, run = Store(folder).runs("MOE-000")
    assert setup.argv == ["echo", "no", "1.50"]
    assert run.argv == ["echo", "RESULT", "tflops=1", "12:30", "2.0"]
    assert run.env.declared == {"A": "off", "B": "1.10"}


def test_numbers_and_switches_are_still_some(started: Cli, folder: Path) -> None:
    (folder / "one.yaml").write_text(
        'name: one\nquestion: q\ncommand: [echo, "RESULT tflops={x}", {flags: [fast, x]}]\n'
        "axes: {x: [2, 2.50], fast: [true, false]}\nrepeats: 2\nconfirm: 0\n"
    )
    assert started("sweep", "one.yaml").code == 0
    runs = Store(folder).runs("MOE-000")
    assert ["echo", "RESULT tflops=2.50", "--fast", "--x", "2.50"] in [run.argv for run in runs]
    assert {run.config["x"] for run in runs} == {2, 2.5}
    assert {run.config["fast"] for run in runs} == {True, False}


def test_a_value_that_is_set_goes_to_the_command_as_typed(started: Cli, folder: Path) -> None:
    (folder / "one.yaml").write_text(
        'name: one\nquestion: q\ncommand: [echo, "RESULT tflops=1", "got:{lr}"]\naxes: {lr: [0.1, 0.2]}\nconfirm: 0\n'
    )
    answer = started("sweep", "one.yaml", "--set", "lr=1.50,1e-4", "--dry-run", "--json")
    assert [run["argv"][-1] for run in [*answer.data["first"], *answer.data["last"]]] == ["got:1.50", "got:1e-4"]


def test_an_entry_that_somebody_wrote(started: Cli, folder: Path) -> None:
    entry = at(folder / "logbooks/moe/entries/MOE-000.yaml")
    entry.parent.mkdir()
    entry.write_text(
        "format: 1\nid: MOE-000\ntitle: by hand\nopened: 2026-02-10T10:43:00+00:00\nnoise: no\nstate: planned\n"
        "commands:\n- argv: [echo, no, 08, 12, RESULT, tflops=3]\n- [echo, listed, 1.50]\n- {shell: echo 'as text'}\n"
    )
    answer = started("show", "MOE-000")
    assert answer.code == 0
    for command in ("echo no 08 12", "echo listed 1.50", "echo 'as text'"):
        assert command in answer.out


def test_what_looks_like_a_number_stays_text_in_a_record(started: Cli) -> None:
    words = [
        "1e5",
        "no",
        "1_000",
        "12:30",
        "0x1F",
        "2026-02-09",
        "~",
        "1.0e5",
        "-.5",
        "+1",
        "=",
        "<<",
        "08",
        "true",
        ".inf",
    ]
    for word in words:
        assert started("note", "--title", word, "--field", f"Seen= {word}").code == 0
    for number, word in enumerate(words):
        entry = started("show", f"MOE-{number:03}", "--json").data
        assert (entry["title"], entry["fields"][0]["text"].strip()) == (word, word)


def test_a_metric_is_written_as_in_a_header(started: Cli, folder: Path) -> None:
    recipe = {"name": "r", "question": "q", "command": ["echo", "METRIC step_ms={k}"], "axes": {"k": [2, 1]}}
    (folder / "r.yaml").write_text(json.dumps({**recipe, "metrics": ["step_ms:min:ms"], "confirm": 0}))
    assert "k=1: step_ms 1 ms" in started("sweep", "r.yaml").err
    (folder / "r.yaml").write_text(json.dumps({**recipe, "metrics": ["step_ms:smaller"]}))
    wrong = started("sweep", "r.yaml")
    assert (wrong.code, "unknown direction 'smaller'" in wrong.err) == (2, True)
