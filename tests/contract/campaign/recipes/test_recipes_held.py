"""A command of setup that stays until the teardown, against a stand-in for `dev_tpu.py allocate`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, runs_of, write_recipe
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.running.executors.conftest import FAKES, exit_of, wait_for
from tests.seams import Store

pytestmark = pytest.mark.slow

TPU = f"{sys.executable} {FAKES}/dev_tpu.py --config c.yaml --tpu-name mine"
TEXT = (
    RECIPE.replace("[1, 2, 3, 4]", "[1, 2]").replace(
        "[bash, bench.sh,", f"[{TPU.replace(' ', ', ')}, execute, --, sh, bench.sh,"
    )
    + f"setup: [{{label: Allocate, argv: [{TPU.replace(' ', ', ')}, allocate], until: '^Allocation is active'}}]\n"
)


@pytest.fixture
def tpu(started: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the stand-in, in a logbook with a recipe that allocates."""
    monkeypatch.setenv("FAKE_DEV_TPU", str(tmp_path / "tpu"))
    write_recipe(folder, TEXT)
    return tmp_path / "tpu"


def is_held(tpu: Path) -> bool:
    return (tpu / "mine.json").exists()


def test_it_holds_for_all_cases_and_ends_with_them(tpu: Path, started: Cli, folder: Path) -> None:
    done = started("sweep", "demo")
    assert done.code == 0, done.err
    assert done.out.startswith("MOE-000: 4 of 4 rows, none failed\n")
    setup, *cases = runs_of(folder)
    assert (setup.label, setup.until) == ("setup: Allocate", "^Allocation is active")
    assert "Releasing" in Store(folder).log_path("MOE-000", setup.run).read_text()
    assert not is_held(tpu)
    assert [run.problems for run in cases] == [None] * 4, "it is no other run that disturbs them"
    shown = started("list", "--json").data[0]
    assert shown["state"] == "finished"
    assert started("doctor").code == 0


def test_one_that_ends_before_it_is_ready_measures_nothing(
    tpu: Path, started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_DEV_TPU_FAULTS", "stockout")
    done = started("sweep", "demo")
    assert (done.code, "setup failed" in done.out) == (1, True)
    assert [(run.label, exit_of(run)) for run in runs_of(folder)] == [("setup: Allocate", {"code": 1})]


def test_an_interrupted_sweep_releases(tpu: Path, started: Cli, folder: Path) -> None:
    write_recipe(folder, TEXT, bench="until [ -e go ]; do sleep 0.1; done\n")
    client = subprocess.Popen([*LOGBOOK, "sweep", "demo"], cwd=folder, stdout=subprocess.DEVNULL)
    wait_for(lambda: len(runs_of(folder)) == 2 and is_held(tpu))
    client.terminate()
    assert client.wait(60) == 130
    assert not is_held(tpu)


def test_what_a_killed_sweep_held_is_released_by_the_next(tpu: Path, started: Cli, folder: Path) -> None:
    slow = '[ -e again ] || { touch again; sleep 6; }\necho "RESULT size=$1 mode=$2 tflops=$1"\n'
    write_recipe(folder, TEXT, bench=slow)
    client = subprocess.Popen([*LOGBOOK, "sweep", "demo"], cwd=folder, stderr=subprocess.DEVNULL)
    wait_for(lambda: (tpu / "mine.far").exists() and len(runs_of(folder)) == 2)
    os.kill(client.pid, 9)
    client.wait()
    assert is_held(tpu)
    subprocess.run([*LOGBOOK, "cancel", "MOE-000"], cwd=folder, check=True, capture_output=True)
    assert not is_held(tpu)
    done = started("sweep", "--id", "MOE-000")
    assert done.code == 0, done.err
    assert not is_held(tpu)
    assert (tpu / "allocations").read_text() == "mine\nmine\n"


@pytest.mark.parametrize("wrong", ["setup: [{argv: ['true'], until: '('}]", "teardown: [{argv: ['true'], until: x}]"])
def test_an_until_that_cannot_work(started: Cli, folder: Path, wrong: str) -> None:
    write_recipe(folder, f"{RECIPE}{wrong}\n")
    refused = started("sweep", "demo", "--dry-run")
    assert (refused.code, "until" in refused.err) == (2, True)
