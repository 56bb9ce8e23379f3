"""A detached sweep under kills at random instants: of the series, a worker, or a worker with its command.
`scripts/stress` has 50 of them, `make test` a few."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from logbook_agent.model.record import plan_runs
from logbook_agent.store.book import Book
from tests.breadth import STRESS
from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, runs_of, write_recipe
from tests.contract.e2e.e2e_support import logbook
from tests.contract.running.executors.conftest import is_gone, wait_for
from tests.seams import Store

KILLS = 50 if STRESS else 3
# So many cases, half of them controls, each of a moment.
CASES = 40 if STRESS else 8
TEXT = RECIPE.replace("size: [1, 2, 3, 4]", f"size: [{', '.join(map(str, range(1, CASES // 2 + 1)))}]")
BENCH = f'sleep {0.4 if STRESS else 0.05}; echo "RESULT size=$1 mode=$2 tflops=$(($1 * 10))"\n'


def commands(folder: Path) -> list[int]:
    """The pids of the sweep's commands that run."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = process.info["cmdline"] or []
        if words[1:2] == ["bench.sh"] and process.info["cwd"] == str(folder):
            found.append(process.pid)
    return found


def kill(chance: random.Random, book: Book) -> str:
    """Kill one party of the sweep, if it is there; which."""
    what = chance.choice(["series", "worker", "worker and command"])
    victims = []
    if what == "series":
        holder = book.series("MOE-000").holder() if book.series("MOE-000").is_held() else None
        victims = [] if holder is None else [holder[0].pid]
    else:
        for spool in book.spools():
            began = spool.began()
            if began is None or began.tool is None or not spool.is_held():
                continue
            victims.append(began.tool.pid)
            if what != "worker" and began.child is not None:
                victims.append(began.child.pid)
    for pid in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return what if victims else ""


@pytest.mark.slow
def test_a_sweep_under_kills(started: Cli, folder: Path) -> None:
    write_recipe(folder, TEXT, bench=BENCH)
    chance, book = random.Random(KILLS), Store(folder)
    killed: list[str] = []
    words = ("sweep", "demo")
    while True:
        if not book.series("MOE-000").is_held():
            done = logbook(*words, "--detach", cwd=folder)
            assert done.returncode == 0, done.stderr.decode()
            words = ("sweep", "--resume", "MOE-000")
        if len(killed) == KILLS:
            if started("wait", "MOE-000").code == 0:
                break
            continue
        time.sleep(chance.uniform(0.05, 1.0))
        if what := kill(chance, book):
            killed.append(what)
            wait_for(functools.partial(is_over, book, what))
    runs = runs_of(folder)
    counted = plan_runs(runs)
    cases = [(run.config["size"], run.config["mode"]) for run in counted]
    assert len(cases) == len(set(cases)) == CASES, "one run for each case, and none twice"
    assert all(len(run.rows) == 1 and run.exit is not None and run.exit.code == 0 for run in counted)
    cut_off = [run for run in runs if run.exit is None or run.exit.is_cut_off]
    assert all(run.exit is not None and (run.exit.lost or run.exit.never_started) for run in cut_off), "each is named"
    assert len(cut_off) <= len(killed)
    assert wait_for(lambda: not [pid for pid in commands(folder) if not is_gone(pid)]), "no orphan is left"
    # Temporary files of writes that were cut off, folders of runs before their start, a spool that was being removed.
    started("doctor", "--fix")
    assert started("doctor").out == "moe: nothing is wrong\n"
    assert book.spools() == []
    assert started("list", "--json").data[0]["state"] == "finished"


def is_over(book: Book, what: str) -> bool:
    return what != "series" or not book.series("MOE-000").is_held()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["logbook_agent.pages.views.refresh", "logbook_agent.store.spool.Spool.drop"])
def test_the_view_follows_when_a_collection_was_killed(started: Cli, folder: Path, place: str) -> None:
    assert started("run", "--detach", "--", "echo", "RESULT tflops=2").code == 0
    book = Store(folder)
    wait_for(lambda: (spool := book.spools()[0]).has("final.json") and not spool.is_held())
    module, _, name = place.rpartition(".")
    script = (
        f"import os, pkgutil; m = pkgutil.resolve_name('{module}'); m.{name} = lambda *_, **__: os.kill(os.getpid(), 9)"
    )
    script += "; from logbook_agent.cli import main; main(['status'])"
    assert subprocess.run([sys.executable, "-c", script], cwd=folder, check=False).returncode == -9
    assert book.run("MOE-000", 1).exit is not None, "it had come to the record"
    started("status")
    assert "tflops: 2.000" in (folder / "logbooks/moe.md").read_text()
    assert started("doctor").out == "moe: nothing is wrong\n"
    assert book.spools() == []
