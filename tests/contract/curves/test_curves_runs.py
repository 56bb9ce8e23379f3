"""Curves of real runs: what a run leaves, also one whose tool and command are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.running.executors.conftest import is_gone, wait_for
from tests.seams import Store, groups_in

TRAIN = """
import sys, time
for step in range(int(sys.argv[1])):
    print(f"RESULT step={step} loss={1 / (step + 1)} lr=0.1", flush=True)
time.sleep(float(sys.argv[2]))
"""


def points_of(cli: Cli) -> int:
    """How many points of all curves are there."""
    return len(json.loads(cli("export", "--curves", "--as", "json", "--out", "-").out)["points"]["step"])


def test_a_run_with_curves_is_shown_and_compared_by_its_reduction(cli: Cli, folder: Path) -> None:
    (folder / "train.py").write_text(TRAIN)
    cli("start", "moe", "--prefix", "MOE", "--metric", "loss:min:nat:mean=2")
    cli("run", "--", sys.executable, "train.py", "10", "0")
    [run] = cli("show", "MOE-000", "--json").data["runs"]
    assert run["problems"] == []
    assert run["rows"][0]["metrics"]["loss"] == {"median": (1 / 9 + 1 / 10) / 2, "n": 1, "unit": "nat"}
    assert [(c["name"], c["count"], c.get("value")) for c in run["curves"]] == [
        ("loss", 10, (1 / 9 + 1 / 10) / 2),
        ("lr", 10, 0.1),
    ]
    assert points_of(cli) == 20
    page = folder / "page"
    cli("report", "--out", str(page))
    text = (page / "moe.html").read_text()
    charts = [json.loads(part.partition("</script>")[0]) for part in text.split('<script type="application/json">')[1:]]
    assert [(chart["title"], len(chart["series"][0]["x"])) for chart in charts] == [
        ("loss over step", 10),
        ("lr over step", 10),
    ]
    assert charts[0]["y"] == {"label": "loss", "unit": "nat", "log": True}
    assert text.count("<svg class=plot ") == 2, "each curve has a still picture"


def test_a_run_whose_tool_and_command_were_killed_keeps_its_curve(cli: Cli, folder: Path) -> None:
    (folder / "train.py").write_text(TRAIN)
    cli("start", "moe", "--prefix", "MOE", "--metric", "loss")
    argv = [sys.executable, "-m", "logbook_agent", "run", "--", sys.executable, "train.py", "50", "60"]
    tool = subprocess.Popen(argv, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    store = Store(folder)
    wait_for(lambda: (log := store.log_path("MOE-000", 1)).exists() and "step=49 " in log.read_text())
    [child] = groups_in(folder)
    os.kill(tool.pid, signal.SIGKILL)
    tool.wait()
    os.kill(child, signal.SIGKILL)
    wait_for(lambda: is_gone(child))
    cli("doctor", "--fix")
    run = store.run("MOE-000", 1)
    assert run.exit == {"interrupted": True}
    assert [(curve.name, curve.count) for curve in run.curves] == [("loss", 50), ("lr", 50)]
    assert points_of(cli) == 100


def test_a_detached_run_brings_its_points(cli: Cli, folder: Path) -> None:
    (folder / "train.py").write_text(TRAIN)
    cli("start", "moe", "--prefix", "MOE", "--metric", "loss")
    cli("run", "--detach", "--", sys.executable, "train.py", "10", "0")
    assert cli("wait", "MOE-000").code == 0
    [run] = cli("show", "MOE-000", "--json").data["runs"]
    assert [(c["name"], c["count"]) for c in run["curves"]] == [("loss", 10), ("lr", 10)]
    printed = cli("export", "--curves", "--as", "csv", "--out", "-").out.splitlines()
    assert printed[:2] == ["entry,run,series,over,step,value,config", "MOE-000,1,loss,step,0.0,1.0,{}"]
    assert len(printed) == 21
    values = {(line.split(",")[2], line.split(",")[4]): float(line.split(",")[5]) for line in printed[1:]}
    assert (values["loss", "4.0"], values["lr", "9.0"]) == (0.2, 0.1)
    refused = cli("export", "--curves", "--as", "mlflow")
    assert (refused.code, "mlflow" in refused.err) == (2, True)


def test_a_config_that_the_lines_state_too(cli: Cli, folder: Path) -> None:
    (folder / "train.sh").write_text("for i in 1 2; do echo RESULT seed=1 step=$i loss=$i; done")
    cli("start", "moe", "--prefix", "MOE", "--metric", "loss", "--matrix", "seed=1,2")
    assert cli("run", "--config", "seed=1", "--config", "other=2", "--", "sh", "train.sh").code == 0
    printed = cli("export", "--curves", "--as", "json", "--out", "-").out
    points = json.loads(printed)["points"]
    assert (points["step"], points["value"]) == ([1, 2], [1, 2])
    assert points["config"] == ['{"other": 2, "seed": 1}'] * 2


@pytest.mark.parametrize(
    ("words", "is_case"),
    [
        (("--config", "step=3", "--", "sh", "b.sh"), True),
        (("--", "sh", "b.sh", "--step=3"), True),
        (("--", "sh", "-c", "for i in 3; do echo RESULT step=$i loss=1; done"), False),
    ],
)
def test_a_step_that_is_config_is_no_point(cli: Cli, folder: Path, words: tuple[str, ...], is_case: bool) -> None:
    (folder / "b.sh").write_text("echo RESULT step=3 loss=1\n")
    cli("start", "moe", "--prefix", "MOE", "--metric", "loss:min")
    cli("run", *words)
    [run] = cli("show", "MOE-000", "--json").data["runs"]
    assert (run["rows"][0]["config"] == {"step": 3}, bool(run.get("curves"))) == (is_case, not is_case)
