"""A level that changed is said beside the result, by every reader, and changes no number."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

STEPPED = """
n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n
all="100.1 100.3 100.2 100.4 100.5 100.3 92.1 92.3 92.0 92.2 92.1 92.4 92.1 92.0"
echo "RESULT tflops=$(echo $all | cut -d' ' -f$n)"
"""
SAID = "run 6 (100.3 → 92.1)"


@pytest.fixture
def stepped(started: Cli, folder: Path) -> Cli:
    (folder / "bench.sh").write_text(STEPPED)
    assert started("run", "--repeat", "11", "--", "sh", "bench.sh").code == 0
    return started


@pytest.mark.slow
def test_view_show_and_table(stepped: Cli, folder: Path) -> None:
    for text in (
        stepped("show", "MOE-000").out,
        stepped("table", "MOE-000").out,
        (folder / "logbooks/moe.md").read_text(),
    ):
        assert SAID in text
    assert stepped("show", "MOE-000", "--json").data["level_changes"] == [
        {"config": {}, "metric": "tflops", "entry": "MOE-000", "run": 6, "before": 100.3, "after": 92.1}
    ]
    # The number is that of all runs.
    assert stepped("list", "--json").data[0]["result"].startswith("11 rows, tflops 92.000 .. 100.500")


@pytest.mark.slow
def test_warm_ups_are_no_level(started: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text(STEPPED)
    started("run", "--repeat", "5", "--discard", "6", "--", "sh", "bench.sh")
    assert "level" not in started("show", "MOE-000").out
    assert started("show", "MOE-000", "--json").data["level_changes"] == []
