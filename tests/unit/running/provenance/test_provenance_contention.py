"""How busy the machine is before, during and after a run, and who says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from logbook_agent.model.run import BUSY, IDLE, STOLEN, busy_text, is_busy
from logbook_agent.model.worker_report import Contention
from logbook_agent.running.provenance.contention import counters, until_now


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


def test_what_others_took_meanwhile(tmp_path: Path) -> None:
    root = _root(tmp_path, stat="cpu  100 0 100 700 50 0 0 50 9 9\ncpu0 1 1\n", throttles=3)
    before = counters(root)
    assert (before.ticks, before.used, before.stolen) == (1000, 200, 50)
    _root(root, loadavg="3.00 0 0 5/100 9\n", stat="cpu  1100 0 100 1580 50 0 0 170 9 9\n", throttles=4)
    found = until_now(Contention(cores=2, runnable=1, load_1m=0.5), before, root)
    assert (found.runnable, found.load_1m, found.runnable_after, found.load_1m_after) == (1, 0.5, 4, 3.0)
    # 1000 of 2000 ticks were used, of which next to none by this process; 120 were stolen.
    assert found.others == pytest.approx(0.5, abs=0.05)
    assert (found.stolen, found.throttled) == (0.06, True)


def test_what_the_run_itself_took_is_not_of_others(tmp_path: Path) -> None:
    root = _root(tmp_path, stat="cpu  100 0 100 700 50 0 0 50 0 0\n")
    # Up to now this process took 5 s more than it had then.
    before = counters(root)
    before = replace(before, own_s=before.own_s - 5)
    _root(root, stat="cpu  1100 0 100 1580 50 0 0 50 0 0\n")
    found = until_now(Contention(cores=2), before, root)
    ticks = 5 * os.sysconf("SC_CLK_TCK")
    assert found.others == pytest.approx((1000 - ticks) / 1880, abs=0.02)


def test_from_where_on_a_machine_is_busy() -> None:
    assert (BUSY, STOLEN, IDLE) == (1.0, 0.02, 0.1)
    for busy, found in [
        (None, None),
        (None, Contention(cores=2)),
        (False, Contention(cores=2, runnable=1, load_1m=2.0)),
        (True, Contention(cores=2, runnable=2, load_1m=0.0)),
        (True, Contention(cores=2, runnable=0, load_1m=2.1)),
        (True, Contention(cores=2, runnable=0, load_1m=0.0, runnable_after=2)),
        # That load was its own: others took next to nothing.
        (False, Contention(cores=2, runnable=0, load_1m=2.1, others=0.09)),
        (True, Contention(cores=2, runnable=0, load_1m=2.1, others=0.1)),
        (False, Contention(cores=2, runnable=0, load_1m=0.0, load_1m_after=9.0, stolen=0.019, throttled=False)),
        (True, Contention(cores=2, runnable=0, load_1m=0.0, stolen=0.02)),
        (True, Contention(cores=2, runnable=0, load_1m=0.0, throttled=True)),
        (True, Contention(runs=("MOE-001 run 2",))),
        (False, Contention(runnable=9, load_1m=9.0)),
    ]:
        assert is_busy(found) is busy, found
        assert found is None or bool(busy_text([found])) is bool(busy), found
