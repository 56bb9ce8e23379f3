"""`cancel`: commands that outlived their tool. Real processes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import Cli
from tests.contract.doctor.conftest import Found, edit_json
from tests.contract.e2e.e2e_support import LOGBOOK
from tests.seams import Store

SCRIPT = "{trap} echo RESULT topk=1 tflops=1.5; echo $$ > pid; (sleep 61; true) & while :; do sleep 0.05; done"


def printed(store: Store) -> bytes:
    path = store.log_path("MOE-000", 1)
    return path.read_bytes() if path.exists() else b""


@pytest.fixture
def orphan(started: Cli, folder: Path) -> Iterator[Callable[[str], psutil.Process]]:
    """Starts a run and kills its tool; the command, which goes on."""
    found: list[psutil.Process] = []

    def make(trap: str) -> psutil.Process:
        command = ["bash", "-c", SCRIPT.format(trap=trap)]
        tool = subprocess.Popen([*LOGBOOK, "run", "--", *command], cwd=folder, stdout=subprocess.DEVNULL)
        store = Store(folder)
        until = time.monotonic() + 20
        while not ((folder / "pid").exists() and b"RESULT" in printed(store)):
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
@pytest.mark.parametrize("trap", ["", "trap '' INT;"])
@pytest.mark.sample(1)
def test_an_orphan_is_ended(
    started: Cli, orphan: Callable[[str], psutil.Process], findings: Callable[..., Found], trap: str
) -> None:
    child = orphan(trap)
    started("render")
    [found] = findings("--fix")
    assert found["check"] == "orphaned"
    assert f"pid {child.pid}" in found["message"]
    assert "logbook cancel MOE-000" in found["mend"]
    group = [child, *child.children(recursive=True)]
    [ended] = started("cancel", "MOE-000", "--json").data["ended"]
    assert (ended["id"], ended["run"], ended["state"]) == ("MOE-000", 1, "interrupted")
    _, alive = psutil.wait_procs(group, timeout=5)
    assert alive == []
    shown = started("show", "MOE-000", "--json").data
    assert shown["state"] == "interrupted"
    assert len(shown["runs"][0]["rows"]) == 1
    assert shown["runs"][0]["problems"]
    assert findings() == []
    again = started("cancel", "MOE-000")
    assert (again.code, "MOE-000" in again.err) == (2, True)


def test_a_run_of_another_host_is_ended_there(three: Cli, book: Path) -> None:
    edit_json(book / "runs/MOE-002/01/run.json", exit=None, host={"name": "far"})
    answer = three("cancel", "MOE-002", "--json")
    assert (answer.code, "logbook cancel MOE-002" in answer.error["hint"]) == (2, True)
    for words in (["MOE-000"], ["MOE-009"]):
        assert three("cancel", *words).code == 2
