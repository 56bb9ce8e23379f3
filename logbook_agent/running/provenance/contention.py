"""How much of the machine others take: now, and from the start of a run to its end. What cannot be found out is None.

It is read before and after each run, so it costs less than a millisecond: a few lines of /proc and /sys, no program.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, structs

from logbook_agent.model.errors import StoreError
from logbook_agent.model.worker_report import Contention
from logbook_agent.store.folder import Folder
from logbook_agent.store.processes import ENTRY_ID, MARK, RESULT_FILE, RUN, marked_variables
from logbook_agent.store.run_files import FINAL, LOCK

# Where the /proc and /sys of the machine lie, in a container that is shown others.
HOST_ROOT = "LOGBOOK_HOST_ROOT"
# The first line is enough.
_STAT_BYTES = 512
# A part of fewer ticks of the clock is too coarse to say.
_LEAST_TICKS = 100
# Of a large machine so many processors are asked whether they were slowed down.
_ASKED = 32


def host_root(environ: Mapping[str, str]) -> Path:
    """The folder with the /proc and /sys of the machine; `/` outside of containers."""
    return Path(environ.get(HOST_ROOT) or "/")


def load_now(root: Path) -> tuple[int | None, float | None]:
    """Threads of others that want a processor now, and the load of the last minute."""
    try:
        load_1m, _, _, threads = _start_of(root / "proc/loadavg", _STAT_BYTES).split()[:4]
        # This thread is one of those that run.
        return max(0, int(threads.partition("/")[0]) - 1), float(load_1m)
    except (OSError, ValueError):
        pass
    if root != Path("/"):
        return None, None
    try:
        return None, round(os.getloadavg()[0], 2)
    except OSError:
        return None, None


_RUN = re.compile(r"[A-Za-z0-9.-]{1,100} run [0-9]{1,9}")


def other_runs(folder: Path, own: str = "") -> tuple[str, ...]:
    """The runs below a folder whose commands go on here, as `MOE-003 run 1`; not that of the mark `own`. A process that
    outlived its run is none."""
    found: dict[str, str] = {}
    for known in marked_variables():
        name = f"{known.get(ENTRY_ID)} run {known.get(RUN)}"
        place = Path(known.get(RESULT_FILE, "")).parent
        if known[MARK] not in (own, *found) and place.is_relative_to(folder) and _RUN.fullmatch(name):
            with contextlib.suppress(StoreError):
                found |= {known[MARK]: name} if Folder(place).has(LOCK) and not Folder(place).has(FINAL) else {}
    return tuple(found.values())


class Counters(Struct, frozen=True, kw_only=True):
    """What the system counts: ticks of all processors, those of them in use and stolen by the hypervisor, how often a
    processor was slowed down, and the seconds that this process and its commands used."""

    ticks: int | None = None
    used: int = 0
    stolen: int | None = None
    throttled: int | None = None
    own_s: float = 0.0


def counters(root: Path) -> Counters:
    """What is counted up to now."""
    own = os.times()
    own_s = own.user + own.system + own.children_user + own.children_system
    throttled = _throttled(root)
    try:
        words = _start_of(root / "proc/stat", _STAT_BYTES).partition("\n")[0].split()
        if words[:1] != ["cpu"]:
            raise ValueError("no first line")
        # What guests of this machine used stands in the first two as well.
        user, nice, system, idle, waiting, irq, softirq, *more = map(int, words[1:9])
    except (OSError, ValueError):
        return Counters(throttled=throttled, own_s=own_s)
    used, stolen = user + nice + system + irq + softirq, more[0] if more else None
    return Counters(
        ticks=used + idle + waiting + (stolen or 0), used=used, stolen=stolen, throttled=throttled, own_s=own_s
    )


def until_now(found: Contention, before: Counters, root: Path) -> Contention:
    """The contention with what is known when the run has ended; `before` was counted before it started."""
    after = counters(root)
    runnable, load_1m = load_now(root)
    found = structs.replace(found, runnable_after=runnable, load_1m_after=load_1m)
    if before.throttled is not None and after.throttled is not None:
        found = structs.replace(found, throttled=after.throttled > before.throttled)
    if before.ticks is None or after.ticks is None or after.ticks - before.ticks < _LEAST_TICKS:
        return found
    ticks = after.ticks - before.ticks
    own = (after.own_s - before.own_s) * os.sysconf("SC_CLK_TCK")
    others = min(1.0, max(0.0, after.used - before.used - own) / ticks)
    if before.stolen is not None and after.stolen is not None:
        found = structs.replace(found, stolen=round(max(0, after.stolen - before.stolen) / ticks, 4))
    return structs.replace(found, others=round(others, 4))


def _throttled(root: Path) -> int | None:
    """How often processors were slowed down for their heat, of those that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    if affinity is None:
        return None
    allowed = sorted(affinity(0))
    count = None
    for processor in allowed[:: -(-len(allowed) // _ASKED)]:
        folder = f"{root}/sys/devices/system/cpu/cpu{processor}/thermal_throttle"
        for name in ("core", "package"):
            try:
                count = (count or 0) + int(_start_of(f"{folder}/{name}_throttle_count", 32))
            except (OSError, ValueError):
                continue
        if count is None:
            return None  # where one does not tell, none does
    return count


def _start_of(path: Path | str, size: int) -> str:
    """The first bytes of a file of /proc or /sys; the kernel produces no more than is read."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123  a Path costs more than the look
        return file.read(size).decode("ascii", "replace")
