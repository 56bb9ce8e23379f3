"""What `run` leaves when it is killed between its entry and its first run, or between repeats."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

from tests.conftest import Cli

LOGBOOK = f"{sys.executable} -m logbook_agent"
# Types `logbook run --hypothesis x -- echo METRIC tflops=1`, and is killed as it makes the folder of the run.
KILLED = """
import os, runpy, signal, sys
def look(event, args):
    if event == "os.mkdir" and "/moe/runs" in str(args[0]):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(look)
sys.argv = ["logbook", "run", "--hypothesis", "it is faster", "--", "echo", "METRIC tflops=1"]
runpy.run_module("logbook_agent", run_name="__main__")
"""


def test_an_entry_without_its_run_is_known_and_does_no_harm(started: Cli, folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=folder, capture_output=True, check=False, timeout=60)
    assert done.returncode == -9
    assert [line["state"] for line in started("list", "--json").data] == ["never-started"]
    assert started("note", "An idea").code == 0
    assert started("note", "A setup", "--kind", "experiment", "--result", "it builds").code == 0
    assert [line["state"] for line in started("list", "--json").data] == ["never-started", "noted", "noted"]
    data = started("status", "--json").data
    assert ([one["id"] for one in data["open"]["never-started"]], data["best"]) == (["MOE-000"], [])
    assert "MOE-000" not in started("next").out
    # The run that it was made for can be made.
    assert started("run", "--id", "MOE-000", "--", "echo", "METRIC tflops=1").code == 0
    assert started("list", "--json").data[0]["state"] == "finished"


def test_a_run_that_goes_on_has_its_host_and_what_was_found_before_it(started: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text(f"cat logbooks/moe/runs/*/*/run.json > first\n{LOGBOOK} show MOE-000 > shown\n")
    assert started("run", "--", "sh", "bench.sh").code == 0
    # Where nobody can tell whether it goes on, its host does.
    assert json.loads((folder / "first").read_text())["host"]["name"] == socket.gethostname()
    shown = (folder / "shown").read_text()
    assert ("  - running since " in shown, "devices: unknown" in shown) == (True, False)


def test_how_many_repeats_were_made_before_a_kill_is_said(started: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text("[ $LOGBOOK_RUN = 3 ] && kill -9 $PPID\necho METRIC tflops=1$LOGBOOK_RUN\n")
    words = [sys.executable, "-m", "logbook_agent", "run", "--repeat", "5", "--", "sh", "bench.sh"]
    assert subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=60).returncode == -9
    [step] = [one for one in started("next", "--json").data["steps"] if one["kind"] == "run"]
    assert step["why"] == "MOE-000 is interrupted in repeat 3: 2 repeats made so far, and --repeat N makes more"
    assert step["command"] == "logbook run --id MOE-000 -- sh bench.sh"
