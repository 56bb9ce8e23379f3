"""One definition of a case: best, results, table, criteria, confidence and the baseline agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli

TARGET = json.dumps({"target": {"metric": "tflops", "at_least": 1}})


def prints(cli: Cli, folder: Path, lines: str, *words: str, again: bool = False) -> None:
    """A run of one script, which prints these lines whatever flags it gets."""
    (folder / "b.sh").write_text("cat lines\n")
    (folder / "lines").write_text(lines.replace("; ", "\n") + "\n")
    assert cli("run", *(["--id", "MOE-000"] if again else []), "--", "sh", "b.sh", *words).code == 0


def value_told(cli: Cli, folder: Path) -> dict[str, Any]:
    """By reader, what it says of the best case."""
    best = cli("status", "--json").data["best"][0]
    assert cli("sync", "--offline", "out").code == 0
    [criterion] = cli("criteria", "--json").data["criteria"]
    return {"best": best, "issue": (folder / "out/issue.md").read_text(), "reason": criterion["computed"]["reason"]}


def test_what_the_command_says_beyond_config_is_another_case(started: Cli, folder: Path) -> None:
    assert started("criteria", "--add", "Fast", "--predicate", TARGET).code == 0
    prints(started, folder, "RESULT tflops=100 q=none", "--q", "none")
    prints(started, folder, "RESULT tflops=110 q=none", "--q", "none", "--fast", again=True)
    table = started("table", "--json").data
    assert [c["name"] for c in table["columns"]] == ["command", "tflops"]
    assert table["values"] == [[None, 100.0], ["--fast", 110.0]]
    found = value_told(started, folder)
    assert (found["best"]["value"], found["best"]["runs"], found["best"]["apart"]) == (110, 1, "command=--fast")
    assert "| 2 rows, tflops 100.000 .. 110.000 TF/s |  |" in found["issue"]
    assert "110.000 TF/s (1 run) in MOE-000, command=--fast: " in found["issue"]
    refused = started("baseline", "--entry", "MOE-000", "--reason", "why")
    assert refused.code == 2
    assert "MOE-000" in refused.err
    assert "command" in refused.err


@pytest.mark.slow
def test_a_label_splits_no_repeats(started: Cli, folder: Path) -> None:
    assert started("criteria", "--add", "Fast", "--predicate", TARGET).code == 0
    for label, values in (("A", (100, 101)), ("B", (110, 111))):
        for value in values:
            words = ["--id", "MOE-000"] if value > 100 else []
            told = ["--label", label, "--config", "q=none"]
            assert started("run", *words, *told, "--", "echo", f"RESULT tflops={value}").code == 0
    found = value_told(started, folder)
    assert (found["best"]["value"], found["best"]["runs"], found["best"].get("label")) == (105.5, 4, None)
    assert "105.500 TF/s (4 runs, 100.000 to 111.000)" in found["issue"]
    assert "median 105.5;" in found["reason"]
    assert started("baseline", "--entry", "MOE-000", "--reason", "why").code == 0
    assert "tflops 105.500 TF/s" in started("baseline").out


def test_rows_of_a_run_are_told_apart_by_what_they_say_and_not_by_their_order(started: Cli, folder: Path) -> None:
    assert started("criteria", "--add", "Fast", "--predicate", TARGET).code == 0
    prints(started, folder, "RESULT tflops=98 part=1; RESULT tflops=50 part=2")
    prints(started, folder, "RESULT tflops=52 part=2; RESULT tflops=100 part=1", again=True)
    assert [row[-1] for row in started("table", "--json").data["values"]] == [99.0, 51.0]
    found = value_told(started, folder)
    assert (found["best"]["value"], found["best"]["runs"], found["best"]["problem"]) == (99, 2, "part=1")
    assert "| 4 rows, tflops 50.000 .. 100.000 TF/s |  |" in found["issue"]
    assert "median 99;" in found["reason"]


def test_what_the_runs_of_an_entry_share_is_shown_once(started: Cli, folder: Path) -> None:
    """Medians stay with their rows, also equal ones, and what differs is left where it differs."""
    prints(started, folder, "RESULT tflops=100 host_load=1", "--q", "none")
    prints(started, folder, "RESULT tflops=100 host_load=2", "--q", "none", again=True)
    shown = started("show", "MOE-000", "--json").data
    assert shown["shared"]["command"] == "sh b.sh --q none"
    assert shown["shared"]["metrics"] == {"tflops": {"n": 1, "unit": "TF/s"}}
    assert [run["rows"][0]["metrics"] for run in shown["runs"]] == [{"tflops": {"median": 100.0}}] * 2
    assert [run["rows"][0]["observations"] for run in shown["runs"]] == [{"host_load": 1.0}, {"host_load": 2.0}]
    assert not any("command" in run or "tail" in run or "log" in run for run in shown["runs"])


def test_config_that_a_failed_run_did_not_report_is_no_column(started: Cli, folder: Path) -> None:
    """It may not have reported all its config, so that what is missing tells it from no other row."""
    prints(started, folder, 'RESULT_JSON {"config": {"q": 1}, "metrics": {"tflops": 5}}')
    failed = 'RESULT_JSON {"config": {}, "failed": {"reason": "oom"}}'
    prints(started, folder, failed, again=True)
    table = started("table", "MOE-000", "--json").data
    assert [column["name"] for column in table["columns"]] == ["state", "tflops"]
