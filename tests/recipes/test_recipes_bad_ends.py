"""Runs of a sweep that ended badly, what was made in their place, and runs that somebody added by hand."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest
import yaml

from logbook_agent.findings.measured import row_counts
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Exit, Measurement, Row, Run
from logbook_agent.store.book import Book
from logbook_agent.sweeps.recipes.expand import expand
from logbook_agent.sweeps.recipes.parse import parse_recipe
from logbook_agent.sweeps.state import EarlierSweep, made_runs
from logbook_agent.sweeps.tally import Tally
from tests.conftest import Cli
from tests.recipes.sweep_support import runs_of, write_recipe

MODES = """\
name: modes
question: Which one is the best?
command: [bash, bench.sh, "{mode}"]
axes:
  mode: [a, b]
compare: {axis: mode, base: a}
metrics: [tflops]
"""
# After five runs the machine is 5% faster; the n-th run is a bit above the one before.
DRIFT = """\
echo x >> count
n=$(wc -l < count)
[ $n -gt 5 ] && drift=50 || drift=0
echo "RESULT tflops=$((1000 + drift + n % 3)).0"
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
    write_recipe(folder, MODES + "timeout_s: 2\n", bench=bench, name="modes")
    answer = started("sweep", "modes", "--json")
    assert (answer.code, answer.data["rows"], answer.data["failed"]) == (1, 2, 1)
    assert (answer.data["best"]["label"], answer.data["best"]["in_sweep"]) == ("mode=a", 100.0)
    assert f"mode=b: failed: {reason}: RESULT tflops=200; best so far 100 (mode=a)" in answer.err
    assert row_counts(Book(folder / "logbooks", "moe").record("MOE-000")) == (2, 1)
    (folder / "mended").touch()
    again = started("sweep", "--resume", "MOE-000", "--retry-failed", "--json")
    assert (again.code, again.data["rows"], again.data["failed"], again.data["ran"]) == (0, 2, 0, 2)
    assert (again.data["best"]["label"], again.data["best"]["confirmed"]) == ("mode=b", 200.0)
    with (folder / "logbooks/moe/runs/MOE-000/sweep.csv").open(newline="") as stream:
        assert [(row["mode"], row["tflops"]) for row in csv.DictReader(stream)] == [("a", "100.0"), ("b", "200.0")]


@pytest.mark.slow
def test_a_drift_makes_no_winner_of_a_run_that_was_made_again(started: Cli, folder: Path) -> None:
    write_recipe(folder, MODES, bench='[ "$1" = a ] && [ ! -e tried ] && touch tried && exit 4\n' + DRIFT, name="modes")
    words = ["--set", "order=as-listed", "--set", "repeats=5", "--json"]
    assert started("sweep", "modes", *words).data["failed"] == 1
    (folder / "count").write_text("x\n" * 9)
    best = started("sweep", "modes", "--retry-failed", *words).data["best"]
    assert (best["label"], best["is_winner"], best["rival"]) == ("mode=b", False, "mode=a")
    assert best["reasons"][0].startswith("all runs of one side were made before those of the other: a drift")


@pytest.mark.slow
def test_a_case_of_which_all_runs_were_made_again_is_no_winner(started: Cli, folder: Path) -> None:
    bench = '[ "$1" = b ] && [ ! -e mended ] && exit 4\n' + DRIFT
    write_recipe(folder, MODES, bench=bench, name="modes")
    words = ["--set", "order=shuffled", "--set", "repeats=5", "--json"]
    assert started("sweep", "modes", *words).data["failed"] == 5
    (folder / "mended").touch()
    best = started("sweep", "modes", "--retry-failed", *words).data["best"]
    assert (best["label"], best["in_sweep"] > 1040, best["is_winner"], best["rival"]) == ("mode=b", True, False, None)
    assert best["reasons"] == [
        "all runs of mode=b were retried later: a drift of the machine would look like an effect"
    ]


@pytest.mark.parametrize(
    ("again", "label", "winner", "reason"),
    [
        # One of seven runs of the best case was made again: the other six bear it out.
        (1030, "mode=b", True, "the best of 2 cases against the base"),
        # Four of seven were, and are higher: they make it the best, and no winner.
        (1100, "mode=c", False, "without the retried runs, mode=b is the best"),
    ],
)
@pytest.mark.sample(1)
@pytest.mark.slow
def test_a_winner_is_judged_without_the_runs_that_were_made_again(
    started: Cli, folder: Path, again: int, label: str, winner: bool, reason: str
) -> None:
    case, fails = ("b", 1) if winner else ("c", 4)
    bench = f"""\
echo x >> count
n=$(($(wc -l < count) % 3))
if [ "$1" = {case} ] && [ -e mended ]; then echo "RESULT tflops=$(({again} + n))"; exit; fi
if [ "$1" = {case} ]; then echo x >> tries; [ $(wc -l < tries) -le {fails} ] && exit 4; fi
case "$1" in a) v=1000;; b) v=1030;; c) v=1020;; esac
echo "RESULT tflops=$((v + n))"
"""
    write_recipe(folder, MODES.replace("[a, b]", "[a, b, c]"), bench=bench, name="modes")
    words = ["--set", "order=shuffled", "--set", "repeats=7", "--json"]
    assert started("sweep", "modes", *words).data["failed"] == fails
    (folder / "mended").touch()
    answer = started("sweep", "modes", "--retry-failed", *words)
    best = answer.data["best"]
    assert (answer.code, best["label"], best["is_winner"]) == (0, label, winner)
    assert best["reasons"][0].startswith(reason)


def test_a_confirmation_that_failed_is_made_again(started: Cli, folder: Path) -> None:
    bench = 'echo x >> count\necho "RESULT tflops=$(wc -l < count)"\n[ $(wc -l < count) != 3 ] || exit 3\n'
    write_recipe(folder, MODES, bench=bench, name="modes")
    first = started("sweep", "modes", "--json")
    assert (first.code, first.data["failed"], first.data["best"]["fresh_runs"]) == (1, 0, 0)
    assert first.data["problems"] == ["mode=b was best, but no fresh run confirmed it"]
    again = started("sweep", "--resume", "MOE-000", "--retry-failed", "--json")
    assert (again.code, again.data["ran"], again.data["best"]["confirmed"]) == (0, 1, 4.0)


@pytest.mark.slow
def test_runs_that_were_added_by_hand_all_count(started: Cli, folder: Path) -> None:
    bench = '[ "$1" = b ] && [ ! -e mended ] && exit 4\necho "RESULT tflops=10"\n'
    write_recipe(folder, MODES, bench=bench, name="modes")
    assert started("sweep", "modes", "--set", "repeats=3", "--json").data["failed"] == 3
    for code in (0, 3, 0):
        started("run", "--id", "MOE-000", "--", "sh", "-c", f"echo RESULT tflops=5; exit {code}")
    (folder / "mended").touch()
    again = started("sweep", "--resume", "MOE-000", "--retry-failed", "--json").data
    assert (again["rows"], again["failed"], again["problems"]) == (6, 0, [])
    book = Book(folder / "logbooks", "moe")
    assert row_counts(book.record("MOE-000")) == (9, 0)
    assert sum(len(runs) for runs in made_runs(runs_of(folder)).values()) == 6
    log = (folder / "logbooks/moe/runs/MOE-000/sweep.log").read_text()
    assert "===== run 4: mode=b repeat 1: bash bench.sh b: exit code 4\n" in log


def test_what_is_made_of_an_earlier_sweep_is_worked_out_once(started: Cli, folder: Path) -> None:
    write_recipe(folder, MODES, bench="echo RESULT tflops=1\n", name="modes")
    assert started("sweep", "modes").code == 0
    entry = Book(folder / "logbooks", "moe").entry("MOE-000")
    assert entry.recipe is not None
    found = EarlierSweep(entry=entry, use=entry.recipe, runs=runs_of(folder))
    assert found.made is found.made
    assert (found.is_complete, found.failed) == (True, 0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_is_not_taken(value: float) -> None:
    tally = Tally(expand(parse_recipe(yaml.safe_load(MODES))), Metric(name="tflops", direction="max"))
    for number, (key, found) in enumerate((("mode=a", 3.0), ("mode=b", value)), start=1):
        row = Row(metrics={"tflops": Measurement(samples=(found,))})
        run = Run(entry="E", run=number, argv=("x",), started="", exit=Exit(code=0), rows=(row,))
        tally.add(key, run)
        assert bool(tally.measured(run)) == math.isfinite(found)
    best = tally.best()
    assert best is not None
    assert (best.key, best.value) == ("mode=a", 3.0)
