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
