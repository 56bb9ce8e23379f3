"""Runs of a sweep that ended badly, what was made in their place, and runs that somebody added by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from logbook_agent.campaign.state import EarlierSweep
from logbook_agent.findings.measurements import row_counts
from logbook_agent.model.record import made_of_plan
from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import runs_of, write_recipe
from tests.seams import Store

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
    ("end", "reason"),
    [("exit 3", "exit code 3"), ("kill -KILL $$", "SIGKILL"), ("sleep 9", "ended by its time limit of 2 s")],
)
@pytest.mark.slow
def test_a_run_that_ended_badly_has_failed_whatever_it_printed(
    started: Cli, folder: Path, end: str, reason: str
) -> None:
    bench = f'[ "$1" = a ] && echo "RESULT tflops=100" && exit\necho "RESULT tflops=200"\n[ -e mended ] || {end}\n'
    write_recipe(folder, MODES + "timeout_s: 2\nconfirm: 0\n", bench=bench, name="modes")
    answer = started("sweep", "modes", "--json")
    assert (answer.code, answer.data["rows"], answer.data["failed"]) == (1, 2, 1)
    assert f"mode=b: failed: {reason}: RESULT tflops=200" in answer.err
    assert row_counts(Store(folder).record("MOE-000")) == (2, 1)
    (folder / "mended").touch()
    again = started("sweep", "--resume", "MOE-000", "--retry-failed", "--json")
    assert (again.code, again.data["rows"], again.data["failed"], again.data["ran"]) == (0, 2, 0, 1)
    with (folder / "logbooks/moe/runs/MOE-000/sweep.csv").open(newline="") as stream:
        assert [(row["mode"], row["tflops"]) for row in csv.DictReader(stream)] == [("a", "100.0"), ("b", "200.0")]


@pytest.mark.slow
def test_runs_that_were_added_by_hand_all_count(started: Cli, folder: Path) -> None:
    bench = '[ "$1" = b ] && [ ! -e mended ] && exit 4\necho "RESULT tflops=10"\n'
    write_recipe(folder, MODES, bench=bench, name="modes")
    assert started("sweep", "modes", "--set", "repeats=3", "--set", "confirm=0", "--json").data["failed"] == 3
    for code in (0, 3, 0):
        started("run", "--id", "MOE-000", "--", "sh", "-c", f"echo RESULT tflops=5; exit {code}")
    (folder / "mended").touch()
    again = started("sweep", "--resume", "MOE-000", "--retry-failed", "--json").data
    assert (again["rows"], again["failed"], again["problems"]) == (6, 0, [])
    book = Store(folder)
    assert row_counts(book.record("MOE-000")) == (9, 0)
    assert sum(len(runs) for runs in made_of_plan(runs_of(folder)).values()) == 6
    log = (folder / "logbooks/moe/runs/MOE-000/sweep.log").read_text()
    assert "===== run 4: mode=b repeat 1: bash bench.sh b: exit code 4\n" in log


def test_what_is_made_of_an_earlier_sweep_is_worked_out_once(started: Cli, folder: Path) -> None:
    write_recipe(folder, MODES + "confirm: 0\n", bench="echo RESULT tflops=1\n", name="modes")
    assert started("sweep", "modes").code == 0
    entry = Store(folder).entry("MOE-000")
    assert entry.recipe is not None
    found = EarlierSweep(entry=entry, use=entry.recipe, runs=runs_of(folder))
    assert found.made is found.made
    assert (found.is_complete, found.failed) == (True, 0)
