"""Sweeps whose runs are made at once, by an executor that has several machines."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import runs_of, write_recipe
from tests.contract.running.executors.conftest import Place, at_once, far_place
from tests.stored import at

pytestmark = pytest.mark.slow

RECIPE = """
name: spread
question: Does it matter?
command: [bash, bench.sh, "{x}"]
axes: {x: [1, 2, 3, 4]}
repeats: 2
order: shuffled
metrics: [tflops]
confirm: 0
"""
BENCH = 'echo start $1 >> order; sleep 0.3; echo "RESULT x=$1 tflops=$1"; echo end $1 >> order\n'


@pytest.fixture
def pool(started: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """As many machines as one asks for."""
    return far_place(started, folder, tmp_path / "far", monkeypatch, "equivalent = true")


def test_rounds_are_made_at_once_and_each_on_one_machine(pool: Place, folder: Path) -> None:
    write_recipe(folder, RECIPE, bench=BENCH, name="spread")
    answer = pool.cli("sweep", "spread", "--on", "far", "--parallel", "2")
    assert answer.code == 0, answer.err
    runs = runs_of(folder)
    assert sorted((run.config["x"], run.repeat) for run in runs) == [(x, r) for x in (1, 2, 3, 4) for r in (1, 2)]
    assert at_once(folder) == 2


def test_a_sweep_that_lacks_nothing_but_a_run_of_its_comparison(pool: Place, folder: Path) -> None:
    """Its process was killed in between."""
    text = RECIPE.replace("repeats: 2\norder: shuffled\n", "").replace("confirm: 0", "confirm: 1")
    write_recipe(folder, text, bench=BENCH, name="spread")
    assert pool.cli("sweep", "spread", "--on", "far", "--parallel", "4").code == 0
    [*_, last] = made = [run for run in runs_of(folder) if run.label == "comparison"]
    assert len(made) == 2
    shutil.rmtree(at(folder / f"logbooks/moe/runs/MOE-000/{last.run:02d}"))
    answer = pool.cli("sweep", "--id", "MOE-000", "--on", "far", "--parallel", "4")
    assert answer.code == 0, answer.err
    made = [run for run in runs_of(folder) if run.label == "comparison"]
    assert len({(run.part.pair, run.part.side) for run in made}) == 2


def test_what_cannot_be_made_at_once(started: Cli, folder: Path) -> None:
    write_recipe(folder, RECIPE, bench=BENCH, name="spread")
    assert started("sweep", "spread", "--parallel", "2").code == 2
    assert started("list", "--json").data == []


def test_the_sides_of_a_pair_are_sent_together_and_made_in_turn(pool: Place, folder: Path) -> None:
    (folder / "bench.sh").write_text(BENCH)
    ask = ("ab", "--on", "far", "--axis", "mode=1,2", "--max-pairs", "2", "--seed", "3", "--json")
    answer = pool.cli(*ask, "--", "bash", "bench.sh", "{axis}")
    assert (answer.code, answer.data["pairs"], answer.data["ran"]) == (0, 2, 4), answer.err
    assert at_once(folder) == 1
    assert [run.part.pair for run in runs_of(folder)] == [1, 1, 2, 2]
    # The one that failed is made again, and nothing else.
    (folder / "bench.sh").write_text(f"[ $LOGBOOK_RUN != 2 ] || exit 3\n{BENCH}")
    failed = pool.cli(*ask, "--", "bash", "bench.sh", "{axis}")
    assert (failed.code, failed.data["pairs"], failed.data["stopped"]["by"]) == (3, 0, "failed"), failed.err
    more = pool.cli("ab", "--id", failed.data["id"], "--max-pairs", "1", "--json")
    assert (more.code, more.data["pairs"], more.data["ran"]) == (0, 1, 1), more.err


def test_what_a_setup_builds_here_is_not_there(pool: Place, folder: Path) -> None:
    (folder / "bench.sh").write_text(BENCH)
    ask = ("ab", "--on", "far", "--axis", "mode=1,2", "--setup", "make", "--json")
    refused = pool.cli(*ask, "--", "bash", "bench.sh", "{axis}")
    assert (refused.code, refused.error["message"]) == (2, "--setup and --on far cannot be used together")
    assert pool.cli("list", "--json").data == []
