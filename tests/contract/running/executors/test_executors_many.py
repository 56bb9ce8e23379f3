"""Sweeps whose runs are made at once, by an executor that has several machines."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.table import EXECUTORS
from logbook_agent.store.spool import Spool
from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import runs_of, write_recipe
from tests.contract.running.executors.conftest import wait_for
from tests.contract.running.executors.double import Threads

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


class Pool(Threads):
    """As many machines as one asks for; runs of one pin one after another."""

    place = "pool"

    def start_all(self, submissions, at_most):  # type: ignore[no-untyped-def]
        free = threading.Semaphore(at_most)
        pins: dict[str | None, list] = {}
        for place, one in enumerate(submissions):
            pins.setdefault(one.pin or str(place), []).append((one, os.dup(one.claim)))

        def machine(mine: list) -> None:
            for one, claim in mine:
                with free:
                    self.start(one.spool, claim, one.work, one.secrets)
                    os.close(claim)
                    while self.follow(one.spool).stage in ("sent", "running"):
                        time.sleep(0.01)

        for mine in pins.values():
            threading.Thread(target=machine, args=(mine,), daemon=True).start()


class Deaf(Pool):
    """The machine of the run that is asked to stop first does not answer."""

    asked: list[Path] = []

    def stop(self, spool: Spool) -> None:
        self.asked.append(spool.folder)
        if len(self.asked) == 1:
            raise ToolError("box does not answer")
        super().stop(spool)
        if len(self.asked) == 4:
            Path("go").touch()


@pytest.fixture
def pool(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[executors.pool]\nkind = "ssh"\nhost = "nowhere.invalid"\n')
    EXECUTORS["pool"] = lambda workspace: Pool(workspace.environ)
    yield started
    del EXECUTORS["pool"]


def at_once(folder: Path) -> int:
    """How many runs went on at the same time, at most."""
    going, most = 0, 0
    for line in (folder / "order").read_text().splitlines():
        going += 1 if line.startswith("start") else -1
        most = max(most, going)
    return most


@pytest.mark.slow
def test_rounds_are_made_at_once_and_each_on_one_machine(pool: Cli, folder: Path) -> None:
    write_recipe(folder, RECIPE, bench=BENCH, name="spread")
    answer = pool("sweep", "spread", "--on", "pool", "--parallel", "2")
    assert answer.code == 0, answer.err
    runs = runs_of(folder)
    assert sorted((run.config["x"], run.repeat) for run in runs) == [(x, r) for x in (1, 2, 3, 4) for r in (1, 2)]
    assert at_once(folder) == 2


@pytest.mark.slow
def test_a_sweep_that_lacks_nothing_but_a_run_of_its_comparison(pool: Cli, folder: Path) -> None:
    """Its process was killed in between."""
    text = RECIPE.replace("repeats: 2\norder: shuffled\n", "").replace("confirm: 0", "confirm: 1")
    write_recipe(folder, text, bench=BENCH, name="spread")
    assert pool("sweep", "spread", "--on", "pool", "--parallel", "4").code == 0
    [*_, last] = made = [run for run in runs_of(folder) if run.label == "comparison"]
    assert len(made) == 2
    shutil.rmtree(folder / f"logbooks/moe/runs/MOE-000/{last.run:02d}")
    answer = pool("sweep", "--resume", "MOE-000", "--on", "pool", "--parallel", "4")
    assert answer.code == 0, answer.err
    made = [run for run in runs_of(folder) if run.label == "comparison"]
    assert len({(run.part.pair, run.part.side) for run in made if run.part is not None}) == 2


def test_a_machine_that_does_not_answer_keeps_no_other_from_being_asked_to_stop(pool: Cli, folder: Path) -> None:
    EXECUTORS["pool"] = lambda workspace: Deaf(workspace.environ)
    text = RECIPE.replace("[1, 2, 3, 4]", "[1]").replace("repeats: 2", "repeats: 4")
    write_recipe(folder, text, bench="echo start >> order; until [ -e go ]; do sleep 0.02; done\n", name="spread")

    def interrupt() -> None:
        wait_for(lambda: (folder / "order").exists() and at_once(folder) == 4)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    answer = pool("sweep", "spread", "--on", "pool", "--parallel", "4")
    (folder / "go").touch()
    assert answer.code == 130, answer.err
    assert len(set(Deaf.asked)) == 4
    assert "not stopped: box does not answer" in answer.err


def test_what_cannot_be_made_at_once(started: Cli, folder: Path) -> None:
    write_recipe(folder, RECIPE, bench=BENCH, name="spread")
    alone = started("sweep", "spread", "--parallel", "2")
    assert alone.code == 2
    assert "runs at the same time on this machine" in alone.err
