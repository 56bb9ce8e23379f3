"""What readers and writers say that is small, and was wrong or missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from logbook_agent.model.ids import typed_id
from tests.conftest import Cli, FixedClock


def test_a_hypothesis_that_is_changed_after_the_result_leaves_a_trace(
    started: Cli, folder: Path, clock: FixedClock
) -> None:
    assert started("run", "--hypothesis", "it gets slower", "--", "echo", "RESULT tflops=1").code == 0
    assert started("edit", "MOE-000", "--hypothesis", "it gets faster").code == 0
    fields = {f["label"]: f["text"] for f in started("show", "MOE-000", "--json").data["fields"]}
    assert fields["Hypothesis"] == "it gets faster"
    assert fields["Earlier hypothesis"] == "Changed after the result, 2026-02-10. Before: it gets slower"
    view = folder / "logbooks/moe.md"
    assert "Changed after the result, 2026-02-10. Before: it gets slower" in view.read_text()
    # A hand edit of the view leaves one, too, and the first stays.
    view.write_text(view.read_text().replace("it gets faster", "it stays as it is"))
    assert started("absorb").code == 0
    fields = {f["label"]: f["text"] for f in started("show", "MOE-000", "--json").data["fields"]}
    assert fields["Hypothesis"] == "it stays as it is"
    assert fields["Earlier hypothesis"].count("Changed after the result") == 2
    assert "Before: it gets faster" in fields["Earlier hypothesis"]


def test_a_hypothesis_before_the_result_is_edited_freely(started: Cli) -> None:
    assert started("plan", "--title", "t", "--hypothesis", "a", "--command", "echo 1").code == 0
    assert started("edit", "MOE-000", "--hypothesis", "b").code == 0
    assert started("run", "--", "echo", "RESULT tflops=1").code == 0
    assert started("edit", "MOE-001", "--hypothesis", "first told afterwards").code == 0
    for entry in ("MOE-000", "MOE-001"):
        labels = [f["label"] for f in started("show", entry, "--json").data["fields"]]
        assert "Earlier hypothesis" not in labels


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("s-2", "S-002"),
        ("S-2", "S-002"),
        ("moe-i8-3", "MOE-I8-003"),
        ("MOE-1234", "MOE-1234"),
        ("x", "x"),
        ("-1", "-1"),
    ],
)
def test_ids_as_people_type_them(typed: str, meant: str) -> None:
    assert typed_id(typed) == meant


def test_commands_take_ids_as_people_type_them(started: Cli) -> None:
    assert started("note", "--title", "one").code == 0
    for typed in ("moe-0", "MOE-0", "moe-000"):
        assert started("show", typed, "--json").data["id"] == "MOE-000"
    assert started("edit", "moe-0", "--next", "more").code == 0
    assert started("show", "moe-7").code == 2


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


def test_one_predicate_at_a_time(started: Cli) -> None:
    assert started("criteria", "--add", "a").code == 0
    answer = started("criteria", "--predicate", "1=measured: {runs: 1}", "--predicate", "1=measured: {runs: 2}")
    assert (answer.code, answer.err.splitlines()[0]) == (2, "error: 2 predicates at once")


def test_a_run_in_a_closed_thread_says_that_it_is_closed(started: Cli) -> None:
    assert started("note", "--title", "one").code == 0
    assert started("close", "--local", "--conclusion", "done").code == 0
    answer = started("run", "--", "true")
    assert answer.code == 0
    assert "logbook close --reopen" in answer.err
