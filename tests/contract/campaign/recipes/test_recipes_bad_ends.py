"""Runs of a sweep that ended badly, what was made in their place, and runs that somebody added by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import runs_of, write_recipe
from tests.stored import at

MODES = """\
name: modes
question: Which one is the best?
command: [bash, bench.sh, "{mode}"]
axes:
  mode: [a, b]
compare: {axis: mode, base: a}
metrics: [tflops]
"""


@pytest.mark.parametrize(
    ("end", "reason"), [("exit 3", "exit code 3"), ("kill -KILL $$", "SIGKILL"), ("sleep 9", "limit of 2 s")]
)
@pytest.mark.slow
def test_a_run_that_ended_badly_has_failed_whatever_it_printed(
    started: Cli, folder: Path, end: str, reason: str
) -> None:
    bench = f'[ "$1" = a ] && echo "RESULT tflops=100" && exit\necho "RESULT tflops=200"\n[ -e mended ] || {end}\n'
    write_recipe(folder, MODES + "timeout_s: 2\nconfirm: 0\n", bench=bench, name="modes")
    answer = started("sweep", "modes", "--json")
    assert (answer.code, answer.data["rows"], answer.data["failed"]) == (1, 2, 1)
    [line] = [line for line in answer.err.splitlines() if "mode=b: failed: " in line]
    assert reason in line
    assert "RESULT tflops=200" in line
    assert [one["kind"] for one in started("list", "--tried", "--json").data["tried"]] == ["failure"]
    (folder / "mended").touch()
    again = started("sweep", "--id", "MOE-000", "--retry-failed", "--json")
    assert (again.code, again.data["rows"], again.data["failed"], again.data["ran"]) == (0, 2, 0, 1)
    with at(folder / "logbooks/moe/runs/MOE-000/sweep.csv").open(newline="") as stream:
        assert [(row["mode"], row["tflops"]) for row in csv.DictReader(stream)] == [("a", "100.0"), ("b", "200.0")]


@pytest.mark.slow
def test_runs_that_were_added_by_hand_all_count(started: Cli, folder: Path) -> None:
    bench = '[ "$1" = b ] && [ ! -e mended ] && exit 4\necho "RESULT tflops=10"\n'
    write_recipe(folder, MODES, bench=bench, name="modes")
    assert started("sweep", "modes", "--set", "repeats=2", "--set", "confirm=0", "--json").data["failed"] == 2
    for code in (0, 3):
        started("run", "--id", "MOE-000", "--", "sh", "-c", f"echo RESULT tflops=5; exit {code}")
    (folder / "mended").touch()
    again = started("sweep", "--id", "MOE-000", "--retry-failed", "--json").data
    assert (again["rows"], again["failed"], again["problems"]) == (4, 0, [])
    # Two runs of each mode, two that failed first, and the two by hand.
    assert len(runs_of(folder)) == 8
    assert started("list", "--json").data[0]["result"].startswith("6 rows")
    # The output of each run lies beside its record, and nowhere else.
    assert not list(folder.glob("logbooks/moe/runs/*/*.log"))
