"""What measured nothing says so, once."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.conftest import Cli


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("done", ["no result", "RESULT tflops="]),
        ("RESULT tflop=3 mode=a", ["no metric", "tflops", "tflop, mode"]),
        ("RESULT tflops=3", None),
    ],
)
def test_a_command_that_measures_nothing(started: Cli, line: str, named: list[str] | None) -> None:
    first = started("run", "--json", "--", "echo", line)
    # The output of the command goes to stderr then.
    warnings = json.loads(first.out)["warnings"]
    assert len(warnings) == (named is not None)
    assert all(word in warning for warning in warnings for word in named or ())
    again = started("run", "--id", "MOE-000", "--", "echo", line)
    assert "warning" not in again.err


def test_the_footnote_of_jax_does_not_say_how_it_failed(started: Cli) -> None:
    footnote = "For simplicity, JAX has removed its internal frames from the traceback of the following exception."
    said = f"ValueError: no such mode\n--------------------\n{footnote}\n"
    assert started("run", "--shell", "--", f"printf '{said}' >&2; exit 1").code == 1
    [failed] = started("status", "--json").data["failed"]
    assert failed["text"] == "exit code 1: ValueError: no such mode"


def test_a_failure_among_repeats_is_shown(started: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text("[ $LOGBOOK_RUN = 2 ] && exit 3; echo RESULT tflops=3\n")
    assert started("run", "--repeat", "3", "--", "sh", "bench.sh").code == 3
    assert [one["text"] for one in started("status", "--json").data["failed"]] == ["exit code 3"]


def test_what_failed_or_declares_nothing_is_left_alone(started: Cli) -> None:
    assert "no result" not in started("run", "--", "false").err
    assert started("start", "two", "--prefix", "TWO").code == 0
    assert "warning" not in started("run", "-L", "two", "--", "true").err


def test_a_metric_without_a_direction(cli: Cli, folder: Path) -> None:
    words = ["start", "two", "--prefix", "TWO", "--metric", "sec", "--metric", "tflops", "--metric", "size:max"]
    [warning] = json.loads(cli(*words, "--json").out)["warnings"]
    assert "sec," in warning
    assert "tflops" not in warning
    # What it says helps.
    command = warning[warning.index("logbook edit ") :]
    assert cli(*shlex.split(command)[1:]).code == 0
    assert cli("run", "--", "echo", "RESULT sec=3").code == 0
    assert cli("status", "--json").data["best"][0]["value"] == 3
