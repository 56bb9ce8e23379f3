"""`logbook table --pivot`: which value is the base, and what is compared with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli

MODES = {"none": 100, "int8": 110, "fp8": 90}


def measure(cli: Cli, key: str, values: dict[str, float]) -> None:
    for value, tflops in values.items():
        assert cli("run", "--config", f"{key}={value}", "--", "echo", f"RESULT tflops={tflops}").code == 0


def table(cli: Cli, *words: str) -> tuple[list[str], list[Any]]:
    found = cli("table", *words, "--json")
    assert found.code == 0, found
    return [column["name"] for column in found.data["columns"]], found.data["values"][0]


@pytest.mark.parametrize("order", [("none", "int8", "fp8"), ("fp8", "int8", "none")])
def test_the_base_does_not_depend_on_which_side_ran_first(started: Cli, order: tuple[str, ...]) -> None:
    measure(started, "mode", {mode: MODES[mode] for mode in order})
    columns, values = table(started, "--pivot", "mode", "--delta", "--ratio")
    found = dict(zip(columns, values, strict=True))
    assert columns[0] == "tflops @ none"
    assert found["delta tflops @ int8"] == pytest.approx(0.1)
    assert found["delta tflops @ fp8"] == pytest.approx(-0.1)
    assert found["tflops int8/none"] == pytest.approx(1.1)
    assert "delta tflops @ none" not in found
    columns, values = table(started, "--pivot", "mode", "--base", "int8", "--ratio")
    assert dict(zip(columns, values, strict=True))["tflops none/int8"] == pytest.approx(100 / 110)


def test_numbers_stand_by_size(started: Cli) -> None:
    measure(started, "topk", {"8": 4.0, "16": 5.0, "2": 2.0, "0": 1.0})
    columns, _ = table(started, "--pivot", "topk")
    assert columns == ["tflops @ 0", "tflops @ 2", "tflops @ 8", "tflops @ 16"]
    columns, values = table(started, "--pivot", "topk", "--first-last", "--delta")
    assert (columns, values) == (["tflops @ 0", "tflops @ 16", "delta tflops"], [1.0, 5.0, 4.0])
    assert "2 other values of topk not shown" in started("table", "--pivot", "topk", "--first-last").out


def test_what_the_logbook_states_comes_before_the_names(cli: Cli, folder: Path) -> None:
    start = ("start", "moe", "--prefix", "MOE", "--metric", "tflops:max")
    assert cli(*start, "--matrix", "mode=int8,none", "--baseline", "path=dp").code == 0
    measure(cli, "mode", {"none": 100, "int8": 110})
    assert table(cli, "MOE-000", "MOE-001", "--pivot", "mode", "--delta")[0][0] == "tflops @ int8"
    measure(cli, "path", {"baseline_dp": 1, "dp": 2})
    assert table(cli, "MOE-002", "MOE-003", "--pivot", "path", "--delta")[0][0] == "tflops @ dp"


def test_digits_in_the_name_of_a_metric_are_part_of_the_name(cli: Cli) -> None:
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "p99_ms:min:ms").code == 0
    for mode, value in (("a", 4), ("b", 3)):
        words = ("--", "echo", f"RESULT p99_ms={value} p50_ms=1")
        assert cli("run", "--config", f"mode={mode}", *words).code == 0
    columns, values = table(cli, "--pivot", "mode", "--delta")
    assert (columns, values) == (["p99_ms (ms) @ a", "p99_ms (ms) @ b", "delta p99_ms"], [4, 3, -0.25])
    assert cli("status", "--json").data["best"][0]["value"] == 3


def test_a_config_key_may_be_called_command(started: Cli) -> None:
    for name in ("status", "list"):
        words = ("--", "echo", "RESULT tflops=1", name)
        assert started("run", "--config", f"command={name}", *words).code == 0
    columns, values = table(started, "MOE-000", "MOE-001")
    assert (columns, values) == (["entry", "command", "tflops"], ["MOE-000", "status", 1.0])


def test_a_pivot_by_code_puts_the_sides_of_a_comparison_in_one_row(
    cli: Cli, folder: Path, git: Callable[..., str]
) -> None:
    assert cli("start", "t", "--prefix", "T", "--metric", "time_ms:min:ms").code == 0
    for name, value in (("one", 1), ("two", 2), ("three", 3)):
        (folder / "bench.sh").write_text(f"echo METRIC time_ms={value}\n")
        git("add", ".")
        git("commit", "-q", "-m", name)
        git("tag", name)
    for other in ("two", "three"):
        ab = ("ab", "--code", "one", other, "--evaluator", "none", "--pairs", "1")
        assert cli(*ab, "--", "sh", "bench.sh").code == 0
    table = cli("table", "T-000", "--pivot", "code", "--json").data
    sides = {column["name"].partition(" @ ")[2].partition("@")[0]: at for at, column in enumerate(table["columns"])}
    assert {*sides} == {"one", "two"}
    assert [[row[sides[name]] for name in ("one", "two")] for row in table["values"]] == [[1, 2]]
    # A base that two comparisons share is measured in each.
    table = cli("table", "--pivot", "code", "--json").data
    assert table["columns"][0]["name"] == "entry"
    assert [[value for value in row[1:] if value is not None] for row in table["values"]] in (
        [[1, 2], [1, 3]],
        [[2, 1], [3, 1]],
    )
