"""`doctor --stop`: commands that outlived their tool. Real processes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import Cli
from tests.contract.doctor.conftest import Found, edit_json
from tests.contract.e2e.e2e_support import LOGBOOK

SCRIPT = "{trap} echo RESULT topk=1 tflops=1.5; echo $$ > pid; (sleep 61; true) & while :; do sleep 0.05; done"


@pytest.fixture
def orphan(started: Cli, folder: Path) -> Iterator[Callable[[str], psutil.Process]]:
    """Starts a run and kills its tool; the command, which goes on."""
    found: list[psutil.Process] = []

    def make(trap: str) -> psutil.Process:
        command = ["bash", "-c", SCRIPT.format(trap=trap)]
        tool = subprocess.Popen([*LOGBOOK, "run", "--", *command], cwd=folder, stdout=subprocess.DEVNULL)
        log = folder / "logbooks/moe/runs/MOE-000/01/output.log"
        until = time.monotonic() + 20
        while not ((folder / "pid").exists() and log.exists() and b"RESULT" in log.read_bytes()):
            assert time.monotonic() < until
            time.sleep(0.01)
        time.sleep(0.05)
        found.append(psutil.Process(int((folder / "pid").read_text())))
        found.extend(found[0].children(recursive=True))
        tool.kill()
        tool.wait()
        return found[0]

    yield make
    for process in found:
        if process.is_running():
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize(("trap", "name"), [("", "SIGINT"), ("trap '' INT;", "SIGTERM")])
@pytest.mark.sample(1)
def test_an_orphan_is_ended(
    started: Cli, orphan: Callable[[str], psutil.Process], findings: Callable[..., Found], trap: str, name: str
) -> None:
    child = orphan(trap)
    started("render")
    [found] = findings("--fix")
    assert found["check"] == "orphaned"
    assert f"its command (pid {child.pid}) still runs" in found["message"]
    assert found["mend"] == "wait for it to end and type logbook doctor --fix, or end it: logbook doctor --stop MOE-000"
    group = [child, *child.children(recursive=True)]
    answer = started("doctor", "--stop", "MOE-000", "--json")
    assert answer.data == {"stopped": [{"id": "MOE-000", "run": 1, "signal": name}]}
    _, alive = psutil.wait_procs(group, timeout=5)
    assert alive == []
    shown = started("show", "MOE-000", "--json").data
    assert shown["state"] == "interrupted"
    assert len(shown["runs"][0]["rows"]) == 1
    assert f"`doctor --stop` ended the command ({name})" in shown["runs"][0]["problems"][0]
    assert findings() == []
    again = started("doctor", "--stop", "MOE-000")
    assert again.code == 2
    assert again.err.splitlines()[0] == "error: MOE-000 has no running command"


def test_what_cannot_be_stopped(three: Cli, book: Path) -> None:
    me = psutil.Process()
    edit_json(book / "runs/MOE-001/01/run.json", exit=None, tool={"pid": me.pid})
    edit_json(book / "runs/MOE-002/01/run.json", exit=None, host={"name": "far"})
    assert three("doctor", "--stop", "MOE-001").err.splitlines() == [
        "error: MOE-001 is not orphaned",
        f"  cause: its tool (pid {me.pid}) manages run 1",
        f"  next:  end it as Ctrl-C does: kill -INT {me.pid}",
    ]
    assert three("doctor", "--stop", "MOE-002").err.splitlines()[2] == "  next:  there: logbook doctor --stop MOE-002"
    assert three("doctor", "--stop", "MOE-000").code == 2
    assert three("doctor", "--stop", "MOE-009").code == 2
    assert three("doctor", "--fix", "--stop", "MOE-000").code == 2
    assert sys.platform in ("linux", "darwin")
