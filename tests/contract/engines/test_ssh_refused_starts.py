"""Sweeps behind a real ssh while no run can be started there: for a while, and for good."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.campaign.recipes.sweep_support import RECIPE, runs_of, write_recipe
from tests.contract.cluster import relay
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.contract.engines.ssh_place import SshPlace, program
from tests.contract.running.executors.conftest import exit_of, settings, wait_for

TEXT = RECIPE.replace("size: [1, 2, 3, 4]", "size: [1, 2]")
BENCH = 'echo x >> came; sleep 0.5; echo "RESULT size=$1 mode=$2 tflops=$(($1 * 10))"\n'
CASES = 4


def sweep(box: SshPlace, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*LOGBOOK, "sweep", "demo", "--on", box.name, *words],
        cwd=box.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def take_away(box: SshPlace) -> None:
    """No daemon answers from here on, and those that do end."""
    engine = box.engine
    (engine / "sshd_config").rename(engine / "away")
    box.cut()


def bring_back(box: SshPlace) -> None:
    (box.engine / "away").rename(box.engine / "sshd_config")


def refusing(folder: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Have another `ssh`, outside of the project, which fails so while there is a file `refuse`."""
    (folder.parent / "bin").mkdir()
    wrapper = folder.parent / "bin/ssh"
    said = relay.SAID[how]
    relay.write(wrapper, [program("ssh")], "start", folder / "refuse", said=said, passes=how == "after")
    monkeypatch.setenv("PATH", str(wrapper.parent), prepend=os.pathsep)


AT_ONCE = pytest.mark.parametrize("at_once", [(), ("--parallel", "2")], ids=["one by one", "two at once"])
REFUSED = relay.SAID["refused"]


@AT_ONCE
def test_a_daemon_that_is_away_for_a_while(box: SshPlace, started: Cli, at_once: tuple[str, ...]) -> None:
    write_recipe(box.folder, TEXT, bench=BENCH)
    client = sweep(box, *at_once)
    wait_for(lambda: (box.folder / "came").exists())
    take_away(box)
    time.sleep(4)
    bring_back(box)
    out, err = client.communicate(timeout=120)
    assert client.returncode == 0, err
    assert f"{CASES} of {CASES} rows" in out
    runs = runs_of(box.folder)
    assert len((box.folder / "came").read_text().split()) == len(runs), "each was started once"
    assert all(exit_of(run) == {} for run in runs), "an attempt that was refused is no run"


@AT_ONCE
# In the last two it is open whether a worker was started: none was, and one was.
@pytest.mark.parametrize("how", ["refused", "before", "after"])
def test_starts_that_fail_for_a_while(
    box: SshPlace, started: Cli, monkeypatch: pytest.MonkeyPatch, at_once: tuple[str, ...], how: str
) -> None:
    write_recipe(box.folder, TEXT, bench=BENCH + "[ $(wc -l < came) != 2 ] || touch refuse\n")
    refusing(box.folder, monkeypatch, how)
    client = sweep(box, *at_once)
    wait_for(lambda: (box.folder / "refuse.met").exists())
    (box.folder / "refuse").unlink()
    out, err = client.communicate(timeout=120)
    assert client.returncode == 0, err
    assert f"{CASES} of {CASES} rows" in out
    assert all(word in err for word in ("box", "15 min"))
    runs = runs_of(box.folder)
    assert len((box.folder / "came").read_text().split()) == len(runs) == CASES, "each was started once"
    assert all(exit_of(run) == {} for run in runs), "an attempt that was refused is no run"


@AT_ONCE
def test_a_host_that_stays_away(
    box: SshPlace, started: Cli, monkeypatch: pytest.MonkeyPatch, at_once: tuple[str, ...]
) -> None:
    """What was measured is kept, and no case is called the best."""
    settings().write_text(f"{settings().read_text()}retry_start_s = 2\n")
    write_recipe(box.folder, TEXT, bench=BENCH + "[ $(wc -l < came) -lt 2 ] || touch refuse\n")
    refusing(box.folder, monkeypatch, "refused")
    answer = started("sweep", "demo", "--on", box.name, *at_once)
    runs = runs_of(box.folder)
    [refused] = [run for run in runs if run.exit.never_started]
    made = [run for run in runs if run is not refused]
    assert answer.code == 1
    assert all(exit_of(run) == {} for run in made)
    assert 2 <= len(made) < CASES
    assert all(word in answer.out for word in (f"{len(made)} of {CASES}", REFUSED, "logbook sweep --id MOE-000"))
    assert "best" not in answer.out
    (box.folder / "refuse").unlink()
    write_recipe(box.folder, TEXT, bench=BENCH)
    again = started("sweep", "--id", "MOE-000", *at_once, "--json")
    assert again.code == 0, again.err
    assert (again.data["rows"], again.data["best"]) == (CASES, None)


def test_what_does_not_pass_stops_at_once(box: SshPlace, started: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    write_recipe(box.folder, TEXT, bench=BENCH + "touch refuse\n")
    refusing(box.folder, monkeypatch, "denied")
    began = time.monotonic()
    answer = started("sweep", "demo", "--on", box.name)
    assert answer.code == 1
    assert time.monotonic() - began < 20
    assert relay.SAID["denied"] in answer.out
