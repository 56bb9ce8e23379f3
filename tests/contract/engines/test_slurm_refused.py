"""A real Slurm that cannot take a job: for a while, for good, or because the settings ask for several."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, runs_of, write_recipe
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.engines.slurm_engine import Slurm
from tests.contract.engines.slurm_place import SlurmPlace, slurm_place
from tests.contract.running.executors.conftest import exit_of, wait_for

TEXT = RECIPE.replace("size: [1, 2, 3, 4]", "size: [1, 2]")
BENCH = 'echo x >> came; echo "RESULT size=$1 mode=$2 tflops=$(($1 * 10))"\n'
CASES = 4


def sweep(queue: SlurmPlace) -> subprocess.Popen[str]:
    words = [*LOGBOOK, "sweep", "demo", "--on", queue.name]
    return subprocess.Popen(words, cwd=queue.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def whole(queue: SlurmPlace, client: subprocess.Popen[str]) -> str:
    """What a sweep says on stderr that made each of its runs once."""
    out, err = client.communicate(timeout=200)
    assert client.returncode == 0, err
    assert f"{CASES} of {CASES} rows" in out
    runs = runs_of(queue.folder)
    assert len((queue.folder / "came").read_text().split()) == len(runs) == CASES
    assert all(exit_of(run) == {} for run in runs)
    return err


def test_a_head_that_is_away_for_a_while(slurm: Slurm, queue: SlurmPlace) -> None:
    write_recipe(queue.folder, TEXT, bench=BENCH)
    client = sweep(queue)
    wait_for(lambda: (queue.folder / "came").exists())
    slurm.order("stop", "slurmctld")
    checked = subprocess.run([*LOGBOOK, "executors", queue.name], cwd=queue.folder, capture_output=True, text=True)
    assert checked.returncode == 1, "it cannot be used"
    assert "sbatch" in checked.stdout
    slurm.order("start", "slurmctld")
    assert "sbatch" in whole(queue, client)


def test_options_that_no_run_can_have(slurm: Slurm, started: Cli, folder: Path, tmp_path: Path) -> None:
    place = slurm_place(slurm, started, folder, tmp_path / "shared", "--partition=low")
    assert " ok " in started("executors", place.name).out
    slurm_place(slurm, started, folder, tmp_path / "shared", "--partition=nowhere")
    checked = started("executors", place.name)
    assert checked.code == 1
    assert "partition" in checked.out
    for word in ("--array=0-3", "-a0-3"):
        slurm_place(slurm, started, folder, tmp_path / "shared", word)
        refused = started("run", "--on", place.name, "--", "true")
        assert (refused.code, repr(word) in refused.err) == (2, True)
    assert not (folder / "logbooks/moe/entries").exists()
