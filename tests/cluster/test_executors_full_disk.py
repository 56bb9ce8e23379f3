"""The disk of the other machine fills up while a run goes on there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from logbook_agent.cli.output import LineDisplay
from logbook_agent.cluster.remote import Places
from logbook_agent.cluster.shell import Here
from logbook_agent.cluster.ssh import Detached
from logbook_agent.model.run import Exit
from logbook_agent.running.execution import make_runs
from logbook_agent.running.executors.table import EXECUTORS
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.store.workspace import Workspace
from tests.conftest import Cli
from tests.running.executors.conftest import Place, sh, wait_for

pytestmark = pytest.mark.slow
DISK_BYTES = 8 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "logbook-test", str(place)]
    if subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def far(started: Cli, folder: Path, disk: Path) -> Iterator[Place]:
    places = Places(folder=str(disk), python=sys.executable, sync=False)
    EXECUTORS["far"] = lambda workspace: Detached(
        shell=Here(environ=workspace.environ), places=places, environ=workspace.environ, secrets={}
    )
    yield Place("far", folder)
    del EXECUTORS["far"]


def fill(disk: Path) -> str:
    return f"dd if=/dev/zero of={disk}/fill bs=4k 2> /dev/null; cp /dev/null {disk}/none 2> /dev/null; "


@pytest.mark.wide
def test_it_is_told_and_the_end_is_kept(far: Place, disk: Path) -> None:
    run = far.send(*sh("echo RESULT tflops=2; " + fill(disk) + "until [ -e go ]; do sleep 0.1; done; exit 3"))
    said = wait_for(lambda: far.follow(run).said)
    assert "No space left on device" in said
    (far.folder / "go").touch()
    done = far.ended(run)
    assert done.exit == Exit(code=3)
    assert [row.metrics["tflops"].samples for row in done.rows] == [(2.0,)]
    (disk / "fill").unlink()
    assert far.send("true").exit is None, "what it left there is removed"


def test_a_command_that_has_printed_is_not_started_again(local: Place, capfd: pytest.CaptureFixture[str]) -> None:
    workspace = Workspace(cwd=local.folder, environ=dict(os.environ), executor="local")
    for output, times in (("echo RESULT tflops=2; ", 1), ("", 3)):
        script = f"echo >> made{times}; {output}sleep 0.2; kill -9 $PPID; kill -9 $$"
        with StopRequests() as stops:
            plan = local.plan(workspace, *sh(script))
            runs = [made for _, made in make_runs(workspace, workspace.book(), [plan], LineDisplay(), stops)]
        assert [run.exit for run in runs] == [Exit(lost=True)] * times
        assert (local.folder / f"made{times}").read_text() == "\n" * times
    assert (
        "MOE-000 run 1 was lost; not retried, because its command had already printed something"
        in capfd.readouterr().err
    )
