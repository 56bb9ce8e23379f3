"""Zeros for crashes, and what somebody discarded: neither is a result for any reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.not_fooled.two_sides import AB, AXIS, COMMAND, answer_of, best, outcomes, printed, readers


def test_a_zero_has_no_ratio_and_the_answer_says_so(sides: Callable[..., Cli]) -> None:
    cli = sides("errors=3", "errors=0", metrics=("errors:min",))
    cli(*AB)
    [finding] = answer_of(cli)["findings"]
    assert finding["outcome"] == "open"
    assert "no ratio: 2 has 0" in finding["left_out"][0]


# -- zeros that are none, and what a person accepts ---------------------------------------------------------


@pytest.mark.parametrize(("metric", "value"), [("x:min", "3818"), ("time_s:min:s", "0.5"), ("val_bpb:min", "0.9979"),
                                               ("rate:max:tokens/s", "120")])  # fmt: skip
def test_a_zero_for_a_crash_is_withheld_until_it_is_accepted(cli: Cli, metric: str, value: str) -> None:
    name = metric.partition(":")[0]
    cli("start", "t", "--prefix", "T", "--metric", metric)
    printed(cli, f"METRIC {name}=0")
    printed(cli, f"METRIC {name}={value}")
    assert best(cli, name) == [float(value)], "no best, and no repeat of it"
    assert cli("edit", "T-000", "--accept", "it really is 0").code == 0
    assert best(cli, name) != [float(value)]
    assert "it really is 0" in cli("show", "T-000").out


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        ("ok:max", ("0", "1")),
        ("errors:min", ("0", "3")),
        ("accuracy:max", ("0", "0.7")),
        ("max_error:min", ("0", "1e-7")),
    ],
)
def test_a_plain_zero_counts(cli: Cli, metric: str, values: tuple[str, str]) -> None:
    name = metric.partition(":")[0]
    cli("start", "t", "--prefix", "T", "--metric", metric)
    for value in values:
        printed(cli, f"METRIC {name}={value}")
    shown = [one["low"] if "low" in one else one["value"] for one in cli("status", "--json").data["best"]]
    assert shown == [0.0]


def test_nothing_withheld_is_nothing_to_accept(cli: Cli) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:min")
    printed(cli, "METRIC x=2")
    assert cli("edit", "T-000", "--accept", "why").code == 2


# -- discarded ----------------------------------------------------------------------------------------------


def test_discarded_is_discarded_everywhere(sides: Callable[..., Cli], folder: Path) -> None:
    cli = sides("ok=1", "ok=1")
    cli(*AXIS, "--metric", "time_s", *COMMAND)
    assert outcomes(cli)["time_s"] == "better"
    assert cli("discard", "T-000", "--why", "its output is wrong").code == 0
    assert "better" not in outcomes(cli).values()
    data = cli("status", "--json").data
    assert not data.get("answers")
    assert all(one["value"] > 0.5 for one in data.get("best", []) if one["metric"] == "time_s")
    for name, text in readers(cli, folder).items():
        assert "T-001" in text or "discarded" in text.lower(), name


def test_what_was_discarded_was_measured(cli: Cli) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:min")
    assert "Nothing was measured yet." in cli("status").out
    printed(cli, "METRIC x=2")
    cli("discard", "T-000", "--why", "wrong")
    assert "No result counts: all were discarded" in cli("status").out


@pytest.mark.parametrize("pairs", ["10", "3"])
def test_a_discarded_question_is_asked_and_answered_nowhere(
    sides: Callable[..., Cli], folder: Path, pairs: str
) -> None:
    cli = sides("ok=1", "ok=1")
    cli("criteria", "--predicate", "1=compared: {axis: 'env:Q', values: ['1', '2'], settled: true, metric: time_s}")
    cli(*AXIS, "--metric", "time_s", "--max-pairs", pairs, *COMMAND)
    assert cli("criteria").code == (0 if pairs == "10" else 1)
    assert len(cli("status", "--json").data["answers"]) == 1
    cli("discard", "T-000", "--why", "its output is wrong")
    assert not cli("status", "--json").data.get("answers")
    assert not any("T-000" in step.get("command", "") for step in cli("next", "--json").data["steps"])
    [computed] = [one["computed"] for one in cli("criteria", "--json").data["criteria"]]
    assert (computed["state"], computed.get("evidence")) == ("unmet", None)
    assert cli("sync", "--offline", "out").code == 0
    [row] = [line for line in (folder / "out/issue.md").read_text().splitlines() if line.startswith("| T-000")]
    assert "discarded by T-001" in row
    assert cli("compare", "T-000").out.splitlines()[1] == "discarded by T-001"


@pytest.mark.parametrize(("output", "gate"), [("checksum", "same checksum"), ("checksum", ""), ("loss", "")])
def test_nobody_is_asked_to_settle_what_was_discarded(
    sides: Callable[..., Cli], folder: Path, output: str, gate: str
) -> None:
    cli = sides(f"{output}=a", f"{output}=b", *(["--gate", gate] if gate else []), metrics=("time_s:min:s",))
    cli(*AXIS, "--max-pairs", "3", *COMMAND)
    asked = ("To settle it", "logbook ab", "more pairs", "logbook edit")
    own = [("show", "T-000"), ("compare", "T-000"), ("compare", "T-000", "--json"), ("list",)]
    assert any(text in cli(*words).out for words in own for text in asked)
    cli("discard", "T-000", "--why", "its output is wrong")
    assert not [text for words in own for text in asked if text in cli(*words).out]
    said = readers(cli, folder)
    assert not [name for name, text in said.items() for ask in ("To settle it", "more pairs") if ask in text]


def test_a_comparison_that_failed_and_was_discarded_is_listed_so(cli: Cli) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "time_s:min:s")
    cli("ab", "--axis", "k=1,2", "--max-pairs", "1", "--", "sh", "-c", "exit 1", "{axis}")
    cli("discard", "T-000", "--why", "it fails")
    assert "discarded by T-001" in cli("list").out


def test_the_entry_says_that_it_was_kept_without_an_answer(sides: Callable[..., Cli], folder: Path) -> None:
    cli = sides("", "")
    cli(*AXIS, "--max-pairs", "1", *COMMAND)
    assert cli("keep", "T-000", "--why", "simpler").code == 0
    said = "- Decided by: T-001 (kept, though the answer is open)"
    assert said in cli("show", "T-000").out
    assert cli("show", "T-000", "--json").data["kept_by"] == ["T-001"]
    cli("ab", "--id", "T-000", "--max-pairs", "9")
    assert "- Decided by: T-001 (kept)\n" in cli("show", "T-000").out
    assert "- Decided by: T-001 (kept)\n" in (folder / "logbooks/t.md").read_text()


def test_every_page_of_a_discarded_run_says_so(cli: Cli, folder: Path) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:max")
    cli("run", "--config", "a=1", "--", "echo", "METRIC x=3")
    cli("run", "--config", "a=2", "--next", "try a=3", "--", "echo", "METRIC x=9")
    cli("discard", "T-001", "--why", "wrong")
    assert "discarded by T-002; " in cli("list").out
    assert "- Decided by: T-002 (discarded)" in cli("show", "T-001").out
    assert "- Decided by: T-002 (discarded)" in (folder / "logbooks/t.md").read_text()
    assert cli("show", "T-001", "--json").data["discarded_by"] == ["T-002"]
    assert "T-001 does not count: it is discarded by T-002" in cli("compare", "T-000", "T-001").err
    assert "T-001" not in cli("table").out
    assert [one["entry"] for one in cli("status", "--json").data["best"]] == ["T-000"]
    assert "T-001" not in cli("next").out


@pytest.mark.parametrize("lost", ["zero", "discarded"])
def test_what_does_not_count_meets_no_criterion_and_is_no_baseline(cli: Cli, lost: str) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:min", "--stop", "fast")
    cli("criteria", "--predicate", "1=target: {metric: x, at_most: 5}")
    cli("run", "--config", "a=1", "--", "echo", "METRIC x=3818")
    cli("run", "--config", "a=2", "--repeat", "7", "--", "echo", f"METRIC x={0 if lost == 'zero' else 3}")
    if lost == "discarded":
        assert cli("criteria").code == 0
        cli("discard", "T-001", "--why", "wrong")
    assert cli("criteria").code == 1
    assert cli("baseline", "--entry", "T-001", "--reason", "r").code == 2


def test_a_judgement_that_rests_on_what_was_discarded_is_in_doubt(cli: Cli) -> None:
    cli("start", "t", "--prefix", "T", "--metric", "x:min", "--stop", "fast")
    printed(cli, "METRIC x=2")
    cli("criteria", "--met", "1", "--evidence", "T-000")
    cli("discard", "T-000", "--why", "wrong")
    assert "T-001" in cli("criteria", "--json").data["criteria"][0]["doubt"]
