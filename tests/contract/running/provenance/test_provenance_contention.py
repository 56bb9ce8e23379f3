"""How busy the machine is before, during and after a run, and who says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.running.executors.conftest import settings


def _root(
    root: Path, *, loadavg: str = "0.00 0.00 0.00 1/100 9\n", stat: str = "", throttles: int | None = None
) -> Path:
    (root / "proc").mkdir(parents=True, exist_ok=True)
    (root / "proc/loadavg").write_text(loadavg)
    (root / "proc/stat").write_text(stat)
    if throttles is not None:
        for cpu in os.sched_getaffinity(0):
            folder = root / f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "core_throttle_count").write_text(f"{throttles}\n")
    return root


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # More threads than any machine has cores.
    root = _root(tmp_path / "busy", loadavg="99.00 9 9 5000/9999 9\n")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setenv("LOGBOOK_HOST_ROOT", str(root))


COMMAND = ("--", "sh", "-c", "echo RESULT size=10 tflops=1.5")


@pytest.mark.usefixtures("busy")
def test_run_says_once_that_the_machine_is_busy_and_records_it(started: Cli) -> None:
    done = started("run", "--repeat", "2", *COMMAND)
    assert done.code == 0
    assert done.err.count("warning") == 1
    assert all(word in done.err for word in ("load 99", "2 cores", "logbook ab"))
    assert "  - machine: busy (load 99 on 2 cores)\n" in started("show", "MOE-000").out
    assert started("show", "MOE-000", "--json").data["shared"]["busy"] == "load 99 on 2 cores"
    full = started("show", "MOE-000", "--json", "--full").data["runs"][0]["contention"]
    assert full == {
        "cores": 2, "runnable": 4999, "load_1m": 99.0, "runnable_after": 4999, "load_1m_after": 99.0
    }  # fmt: skip


@pytest.mark.usefixtures("busy")
def test_a_run_elsewhere_says_nothing_of_this_machine(started: Cli) -> None:
    settings().write_text('[launchers]\npod = "sh -c {command}"\n')
    done = started("run", "--on", "pod", *COMMAND)
    assert "busy" not in done.err
    assert "machine" not in started("show", "MOE-000").out
