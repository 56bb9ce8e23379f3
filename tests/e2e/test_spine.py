"""The one line through everything: start, run a command of two rows, read the view. Every later change
extends it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock

TWO_ROWS = """\
for q in none int8; do
  echo "RESULT quant_mode=$q tokens=128 tflops=$([ $q = none ] && echo 2.5 || echo 2.25) null_realized=0.101"
done"""


@pytest.mark.slow
def test_start_run_view(cli: Cli, clock: FixedClock, folder: Path) -> None:
    begun = cli(
        "start", "moe_ep_int8", "--prefix", "MOE-I8", "--title", "MoE EP Int8",
        "--goal", "Is int8 faster?", "--metric", "tflops:max:TF/s", "--stop", "One A/B at a fixed shape.",
    )  # fmt: skip
    assert (begun.code, begun.err) == (0, "")
    assert "moe_ep_int8.md" in begun.out

    clock.tick()
    ran = cli(
        "run", "--title", "none against int8", "--hypothesis", "int8 is faster", "--config", "tokens=128",
        "--", "bash", "-lc", TWO_ROWS + " # --quant-mode --tokens",
    )  # fmt: skip
    assert ran.code == 0
    assert ran.out.count("RESULT") == 2, "the output is passed on"
    assert "MOE-I8-000 run 1: finished" in ran.err
    assert "2 rows" in ran.err

    view = (folder / "logbooks" / "moe_ep_int8.md").read_text()
    for expected in (
        "# MoE EP Int8: Research Logbook",
        "## Stop Criteria\n- One A/B at a fixed shape.",
        "### 2026-02-10 10:44 - MOE-I8-000 none against int8 (confidence: exploratory)",
        "- Hypothesis: int8 is faster",
        "- Command:\n  ```bash\n  bash -lc 'for q in none int8; do\n",
        "| none | 2.500 |",
        "| int8 | 2.250 |",
        "`tokens=128",
    ):
        assert expected in view
    assert view.index("- Hypothesis:") < view.index("- Command:") < view.index("- Config:") < view.index("- Result:")

    table = cli("table", "MOE-I8-000", "--pivot", "quant_mode", "--delta")
    assert "-10.00%" in table.out
    status = cli("status", "--json").data
    assert status["best"][0]["value"] == 2.5
    assert status["best"][0]["entry"] == "MOE-I8-000"


def test_a_command_alone_is_a_complete_entry(started: Cli, folder: Path) -> None:
    ran = started("run", "--json", "--", sys.executable, "-c", "print('METRIC answer=42 apples')")
    assert ran.code == 0
    [run] = ran.data["runs"]
    assert run["rows"] == [{"config": {}, "metrics": {"answer": {"median": 42, "n": 1, "unit": "apples"}}}]
    assert ran.data["id"] == "MOE-000"
    entry = (folder / "logbooks/moe/entries/MOE-000.yaml").read_text()
    assert "Hypothesis" not in entry, "what was not stated is not invented"
    assert "answer: 42 apples" in (folder / "logbooks/moe.md").read_text()


def test_a_failed_command_is_an_entry_with_its_error_and_its_rows(started: Cli, folder: Path) -> None:
    script = "import sys; print('RESULT topk=2 tflops=1.5', flush=True); sys.exit('TypeError: pad operand')"
    ran = started("run", "--label", "Negative control", "--", sys.executable, "-c", script)
    assert ran.code == 1
    view = (folder / "logbooks/moe.md").read_text()
    assert "Negative control: exit 1" in view
    assert "TypeError: pad operand" in view
    assert "tflops: 1.500" in view
    assert started("list", "--json").data[0]["state"] == "failed"


@pytest.mark.slow
def test_a_second_run_of_an_entry_and_its_pair_in_one_table(started: Cli, folder: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "import sys; print('RESULT', 'quant_mode=' + sys.argv[2], 'tflops=' + sys.argv[3])",
    ]
    started("run", "--label", "Baseline", "--", *command, "--quant-mode", "none", "2")
    started("run", "--id", "MOE-000", "--label", "Int8", "--", *command, "--quant-mode", "int8", "1")
    table = started("table", "MOE-000", "--pivot", "quant_mode", "--delta", "--ratio")
    assert "-50.00%" in table.out
    assert "0.50x" in table.out
    view = (folder / "logbooks/moe.md").read_text()
    assert "  - Baseline:\n" in view
    assert "  - Int8:\n" in view
    assert "| Baseline | none |" in view


def test_a_plan_is_executed_by_its_id(started: Cli, folder: Path) -> None:
    planned = started("plan", "--title", "A/B", "--command", "Baseline: echo RESULT tflops=2", "--command", "echo b")
    assert planned.code == 0
    assert (
        "- Command (planned):\n  - Baseline:\n    - `echo RESULT tflops=2`\n  - `echo b`"
        in (folder / "logbooks/moe.md").read_text()
    )
    assert started("list", "--json").data[0]["state"] == "planned"
    first = started("run", "--id", "MOE-000", "--label", "Baseline", "--json")
    assert [r["label"] for r in first.data["runs"]] == ["Baseline"]
    second = started("run", "--id", "MOE-000", "--json")
    assert [r["command"] for r in second.data["runs"]] == ["echo b"]
    third = started("run", "--id", "MOE-000")
    assert third.code == 2
    assert "no planned command left" in third.err
