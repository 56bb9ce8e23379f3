"""Ratios and crossovers that a command states stand with the results of its entry."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Cli

BASE = {"config": {"path": "ref_dp", "topk": 2}, "metrics": {"tflops": [3.0]}}


def row(topk: int, low: float | None, **more: object) -> dict[str, object]:
    ratio = {"ratio_to_ref_dp": 0.6414, "ratio_to_ref_dp_low": low, "ratio_to_ref_dp_high": low and 0.8246}
    return {"config": {"path": "fused_ep", "topk": topk}, "metrics": {"tflops": [2.0]}, "observations": ratio, **more}


def test_ratios_and_crossovers_are_results(started: Cli, folder: Path) -> None:
    rows = [BASE, row(2, 0.4615), row(4, None, labels={"crossover": "*undecided* at topk 4"})]
    script = folder / "rows.sh"
    script.write_text("".join(f"echo 'RESULT_JSON {json.dumps(one)}'\n" for one in rows))
    assert started("run", "--title", "t", "--", "sh", "rows.sh").code == 0
    page = (folder / "logbooks/moe.md").read_text()
    assert (
        "  - fused_ep topk=2: 0.641 times as fast as ref_dp (95% in one process: 0.462 to 0.825)\n"
        "  - fused_ep topk=4: 0.641 times as fast as ref_dp, without an interval\n"
        "  - crossover: fused_ep: \\*undecided\\* at topk 4\n"
    ) in page
    assert started("run", "--id", "MOE-000", "--", "sh", "rows.sh").code == 0
    page = (folder / "logbooks/moe.md").read_text()
    assert "  - run 2, fused_ep topk=2: 0.641 times" in page
    assert "  - run 1, crossover: fused_ep: " in page
