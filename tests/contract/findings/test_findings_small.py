"""What readers and writers say that is small, and was wrong or missing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock

pytestmark = pytest.mark.slow


def test_a_hypothesis_that_is_changed_after_the_result_leaves_a_trace(
    started: Cli, folder: Path, clock: FixedClock
) -> None:
    assert started("run", "--hypothesis", "it gets slower", "--", "echo", "RESULT tflops=1").code == 0
    assert started("edit", "MOE-000", "--hypothesis", "it gets faster").code == 0
    fields = {f["label"]: f["text"] for f in started("show", "MOE-000", "--json").data["fields"]}
    assert fields["Hypothesis"] == "it gets faster"
    earlier = fields["Earlier hypothesis"]
    assert "2026-02-10" in earlier
    assert earlier.endswith("it gets slower")
    view = folder / "logbooks/moe.md"
    assert earlier in view.read_text()
    # The next change leaves one, too, and the first stays.
    assert started("edit", "MOE-000", "--hypothesis", "it is equal").code == 0
    fields = {f["label"]: f["text"] for f in started("show", "MOE-000", "--json").data["fields"]}
    assert fields["Hypothesis"] == "it is equal"
    assert fields["Earlier hypothesis"].startswith(earlier)
    assert fields["Earlier hypothesis"].endswith("it gets faster")


def test_a_hypothesis_before_the_result_is_edited_freely(started: Cli) -> None:
    assert started("note", "--plan", "--title", "t", "--hypothesis", "a", "--command", "echo 1").code == 0
    assert started("edit", "MOE-000", "--hypothesis", "b").code == 0
    assert started("run", "--", "echo", "RESULT tflops=1").code == 0
    assert started("edit", "MOE-001", "--hypothesis", "first told afterwards").code == 0
    for entry in ("MOE-000", "MOE-001"):
        labels = [f["label"] for f in started("show", entry, "--json").data["fields"]]
        assert "Earlier hypothesis" not in labels


def test_a_table_of_the_whole_thread_says_which_entry_measured_what(started: Cli) -> None:
    assert started("table").code == 2
    for value in (1, 2, 3):
        assert started("run", "--config", "topk=2", "--", "echo", f"RESULT tflops={value}").code == 0
    assert started("edit", "MOE-001", "--state", "void").code == 0
    data = started("table", "--json").data
    assert data["columns"][0]["name"] == "entry"
    assert [row[0] for row in data["values"]] == ["MOE-000", "MOE-002"]
    both = started("table", "MOE-000", "MOE-001", "--json").data
    assert [row[0] for row in both["values"]] == ["MOE-000", "MOE-001"]


def test_what_makes_runs_in_a_closed_thread_says_that_it_is_closed(started: Cli, folder: Path) -> None:
    assert started("note", "--title", "one").code == 0
    assert started("close", "--local", "--conclusion", "done").code == 0
    (folder / "recipes").mkdir()
    (folder / "recipes/demo.yaml").write_text(
        "name: demo\nquestion: which?\ncommand: [echo, 'RESULT tflops={size}']\naxes: {size: [1]}\nconfirm: 0\n"
    )
    echo = ("--", "echo", "RESULT tflops=1")
    for words in (
        ("run", *echo),
        ("ab", "--axis", "env:MODE=a,b", "--max-pairs", "1", *echo),
        ("ab", "--id", "MOE-002"),
        ("sweep", "demo"),
    ):
        answer = started(*words)
        assert answer.code in (0, 1), answer
        assert answer.err.count("logbook close --reopen") == 1, words


def test_a_number_that_nothing_declares_tells_rows_apart(started: Cli) -> None:
    """A shell loop that prints its size: rows are told by it, and so are the problems."""
    loop = "for s in 10 100 1000; do echo RESULT size=$s tflops=$s.5; done"
    assert started("run", "--shell", "--", loop).code == 0
    table = started("table").out.split("\n")
    assert table[:3] == ["| size | tflops |", "| ---: | ---: |", "| 10 | 10.500 |"]
    assert table[-2].startswith("- size: ")
    assert "--config size=VALUE" in table[-2]
    best = started("status", "--json").data["best"]
    assert [(one["value"], one["problem"]) for one in best] == [
        (10.5, "size=10"),
        (100.5, "size=100"),
        (1000.5, "size=1000"),
    ]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (("0.0021", "0.0022", "1.8"), "0.0022 [0.0021, 1.8]"),
        (("-0.3", "-0.2", "50"), "-0.2 [-0.3, 50]"),
        (("1e308", "-1e308"), "["),
    ],
)
def test_one_far_run_takes_no_digits_from_a_value(cli: Cli, values: tuple[str, ...], text: str) -> None:
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "delta:max").code == 0
    for n, value in enumerate(values):
        more = ["--id", "MOE-000"] if n else []
        assert cli("run", *more, "--", "echo", f"RESULT delta={value}").code == 0
    assert text in cli("table").out


def test_numbers_have_the_digits_that_their_spread_supports(started: Cli) -> None:
    for n, value in enumerate(("29.31563", "25.12348", "33.70219")):
        more = ["--id", "MOE-000"] if n else []
        assert started("run", *more, "--config", "size=1", "--", "echo", f"RESULT tflops={value}").code == 0
    assert "29.3 [25.1, 33.7]" in started("table").out
    assert started("status", "--json").data["best"][0]["value"] == 29.31563


def test_a_search_shows_lines_and_an_output_only_where_nothing_else_has_the_word(started: Cli) -> None:
    script = "echo RESULT size=1 tflops=2; echo the words before a marmot and those behind it"
    assert started("run", "--title", "Sizes", "--shell", "--", script).code == 0
    assert [h["where"] for h in started("list", "size", "--json").data[0]["found"]] == ["title", "run 1", "run 1 row"]
    assert started("run", "--title", "M", "--", "sh", "-c", "echo $0$1 over there", "mar", "mot").code == 0
    hits = started("list", "marmot", "there", "--json").data[0]["found"]
    assert [h["text"] for h in hits if h["where"] == "run 1 output"] == ["marmot over there"]


@pytest.mark.slow
def test_a_time_limit_is_the_reason_of_a_timeout(started: Cli) -> None:
    script = "import time, sys; print('x', flush=True); time.sleep(9)"
    assert started("run", "--timeout", "0.5", "--", sys.executable, "-c", script).code != 0
    for words in (["list", "--tried"], ["list"]):
        said = started(*words).out
        assert "timeout" in said
        assert "limit of 0.5 s" in said
        assert "KeyboardInterrupt" not in said


def test_a_terminal_shows_no_entity_of_a_page(started: Cli, folder: Path) -> None:
    words = ("ab", "--axis", "mode=a,b#1 @c", "--max-pairs", "1", "--", "sh", "-c", "echo METRIC tflops=1", "{axis}")
    assert started(*words).code == 0
    for shown in (("show", "MOE-000"), ("show", "MOE-000/2"), ("status",), ("next",), ("compare", "MOE-000")):
        assert "&#" not in started(*shown).out
    assert "b#1 @c against a is open" in started("show", "MOE-000").out
    assert "b#&#8203;1 @&#8203;c" in (folder / "logbooks/moe.md").read_text()


def test_a_closing_can_be_looked_at_first(started: Cli, folder: Path) -> None:
    before = (folder / "logbooks/moe.md").read_bytes()
    answer = started("close", "--conclusion", "Nothing gained.", "--dry-run", "--json")
    assert (answer.data["dry_run"], answer.data["closed"] is not None) == (True, True)
    assert (folder / "logbooks/moe.md").read_bytes() == before
    assert "would be closed" in started("close", "--conclusion", "Nothing gained.", "--dry-run").out


@pytest.mark.slow
def test_a_closing_names_what_is_open(started: Cli) -> None:
    for sides in ("a,b", "a,c", "a,d", "a,e"):
        command = ("--", "sh", "-c", "echo METRIC tflops=1", "{axis}")
        assert started("ab", "--axis", f"mode={sides}", "--max-pairs", "1", *command).code == 0
    answer = started("close", "--conclusion", "Nothing gained.", "--dry-run", "--json")
    [warning] = json.loads(answer.out)["warnings"]
    assert warning == "4 comparisons are open: MOE-000, MOE-001, MOE-002 and 1 more"
    assert answer.data["open_comparisons"] == [f"MOE-00{n}" for n in range(4)]
    # What a later entry asks again is left to it, as in `next`.
    assert started("ab", "--new", "--axis", f"mode={sides}", "--max-pairs", "1", *command).code == 0
    steps = [one["id"] for one in started("next", "--json").data["steps"] if one["kind"] == "comparison"]
    answer = started("close", "--conclusion", "Nothing gained.", "--dry-run", "--json")
    assert answer.data["open_comparisons"] == sorted(steps) == ["MOE-000", "MOE-001", "MOE-002", "MOE-004"]


def test_of_a_number_that_a_run_prints_several_times_there_is_the_median(started: Cli) -> None:
    """The same for an observation as for a metric, in a table and in a comparison."""
    for scale in (1, 2):
        loop = f"for n in 1 2 9; do echo RESULT tflops=$((n * {scale})) elapsed_s=$((n * {scale})); done"
        assert started("run", "--config", f"scale={scale}", "--shell", "--", loop).code == 0
    table = started("table", "--metric", "elapsed_s", "--metric", "tflops", "--json").data
    assert [row[-2:] for row in table["values"]] == [[2.0, 2.0], [4.0, 4.0]]
    words = ("--axis", "scale", "--metric", "elapsed_s", "--json")
    [row] = started("compare", "MOE-000", "MOE-001", *words).data["numbers"]["values"]
    assert row[:2] == [2.0, 4.0]


def test_a_traceback_is_told_by_its_last_line(started: Cli) -> None:
    message = "  File x.py, line 3\n    main()\n    ^^^^^^\nValueError: no topk"
    line = json.dumps({"config": {"topk": 2}, "failed": {"reason": "error", "message": message}})
    assert started("run", "--repeat", "7", "--", "echo", f"RESULT_JSON {line}").code == 0
    [item] = started("list", "--tried", "--json").data["tried"]
    assert item["reason"] == "ValueError: no topk"
    assert started("list", "--tried").out.startswith("MOE-000 runs 1, 2, …, 6, 7  ")


@pytest.mark.parametrize("command", ["bench -p {} | tee x", "bench -p {} '", "bench -p {} \x01"])
def test_a_plan_that_is_refused_does_not_repeat_its_command(started: Cli, command: str) -> None:
    """Only a command that was taken apart shows which of its words are secret."""
    answer = started(
        "note", "--plan", "--title", "x", "--command", "true", "--command", command.format("hunter2hunter2")
    )
    assert answer.code == 2
    assert "--command 2" in answer.err
    assert "hunter2" not in answer.err
