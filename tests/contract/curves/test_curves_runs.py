"""Curves of real runs: what a run leaves, also one whose tool and command are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from logbook_agent.curves.point_file import PointReader
from logbook_agent.exports.curve_rows import points_of
from logbook_agent.exports.measured_rows import exported
from logbook_agent.exports.tracker_run import series, tracked
from logbook_agent.findings.read import Findings
from logbook_agent.store.workspace import utc_now
from tests.conftest import Cli
from tests.seams import Store

TRAIN = """
import sys, time
for step in range(int(sys.argv[1])):
    print(f"RESULT step={step} loss={1 / (step + 1)} lr=0.1", flush=True)
time.sleep(float(sys.argv[2]))
"""


def points_in(path: Path) -> int:
    reader = PointReader()
    assert reader.feed(path.read_bytes())
    return sum(len(series.steps) for series in reader.series)


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
    shown = cli("show", "MOE-000").out
    assert "loss over step: 10 points, 0 to 9; last 0.1000 nat, best 0.1000 at 9; mean=2 counts: 0.1056 nat" in shown
    kept = folder / "logbooks/moe/runs/MOE-000/01"
    assert points_in(kept / "curves.points") == 20
    assert not (kept / "curves.part").exists()
    page = folder / "page"
    cli("report", "--out", str(page))
    text = (page / "moe.html").read_text()
    charts = [json.loads(part.partition("</script>")[0]) for part in text.split('class="chart-data">')[1:]]
    assert [(chart["title"], len(chart["series"][0]["x"])) for chart in charts] == [
        ("loss over step", 10),
        ("lr over step", 10),
    ]
    assert charts[0]["y"] == {"label": "loss", "unit": "nat", "log": True}
    assert "<polyline" in text


def test_a_run_whose_tool_and_command_were_killed_keeps_its_curve(cli: Cli, folder: Path) -> None:
    (folder / "train.py").write_text(TRAIN)
    cli("start", "moe", "--prefix", "MOE", "--metric", "loss")
    argv = [sys.executable, "-m", "logbook_agent", "run", "--", sys.executable, "train.py", "50", "60"]
    tool = subprocess.Popen(argv, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    part = folder / "logbooks/moe/runs/MOE-000/01/curves.part"
    deadline = time.monotonic() + 60
    while not part.exists() or points_in(part) < 100:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    child = json.loads((part.parent / "run.json").read_text())["child"]["pid"]
    os.kill(tool.pid, signal.SIGKILL)
    tool.wait()
    os.kill(child, signal.SIGKILL)
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().split(")")[-1]:
        time.sleep(0.05)
    cli("doctor", "--fix")
    run = json.loads((part.parent / "run.json").read_text())
    assert run["exit"] == {"interrupted": True}
    assert [(c["name"], c["count"]) for c in run["curves"]] == [("loss", 50), ("lr", 50)]
    assert points_in(part.with_name("curves.points")) == 100
    assert not part.exists()


def test_a_detached_run_brings_its_points(cli: Cli, folder: Path) -> None:
    (folder / "train.py").write_text(TRAIN)
    cli("start", "moe", "--prefix", "MOE", "--metric", "loss")
    cli("run", "--detach", "--", sys.executable, "train.py", "10", "0")
    assert cli("wait", "MOE-000").code == 0
    [run] = cli("show", "MOE-000", "--json").data["runs"]
    assert [(c["name"], c["count"]) for c in run["curves"]] == [("loss", 10), ("lr", 10)]
    assert points_in(folder / "logbooks/moe/runs/MOE-000/01/curves.points") == 20
    printed = cli("export", "--curves", "--as", "csv", "--out", "-").out.splitlines()
    assert printed[:2] == ["entry,run,series,over,step,value,config", "MOE-000,1,loss,step,0.0,1.0,{}"]
    assert len(printed) == 21
    book = Store(folder)
    found = Findings(book, utc_now)
    [one] = tracked(exported(found), points_of(book))
    logged = series(one)
    assert [step for step, _ in logged] == [*range(10)]
    assert logged[4] == (4, {"loss": 0.2, "lr": 0.1})
    assert one.summary == {"loss": 0.1, "lr": 0.1}
    refused = cli("export", "--curves", "--as", "mlflow")
    assert refused.code == 2
    assert "--curves cannot be used with --as mlflow" in refused.err


def test_a_config_that_the_lines_state_too(cli: Cli, folder: Path) -> None:
    (folder / "train.sh").write_text("for i in 1 2; do echo RESULT seed=1 step=$i loss=$i; done")
    cli("start", "moe", "--prefix", "MOE", "--metric", "loss", "--matrix", "seed=1,2")
    assert cli("run", "--config", "seed=1", "--config", "other=2", "--", "sh", "train.sh").code == 0
    printed = cli("export", "--curves", "--as", "json", "--out", "-").out
    points = json.loads(printed)["points"]
    assert (points["step"], points["value"]) == ([1, 2], [1, 2])
    assert points["config"] == ['{"other": 2, "seed": 1}'] * 2


def test_a_run_without_a_step_loads_nothing_of_curves(folder: Path, cli: Cli) -> None:
    cli("start", "moe", "--prefix", "MOE", "--metric", "loss")
    code = (
        "import sys; from logbook_agent.cli import main; code = main(sys.argv[1:]);"
        "print([m for m in sys.modules if m.startswith('logbook_agent.curves')], code)"
    )
    for words, loaded in (("RESULT loss=1", "[] 0"), ("RESULT loss=1 step=1", "logbook_agent.curves.point_sink")):
        argv = [sys.executable, "-c", code, "run", "--", "echo", words]
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True)
        assert loaded in done.stdout
