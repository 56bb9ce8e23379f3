"""When a machine counts as busy during a run, and the text that says so.

Busy: others wanted every core (`BUSY`), the hypervisor took some of the time (`STOLEN`), a processor was slowed down
for its heat, or another run of a logbook went on. The load of the last minute is also that of the runs just made here;
so what others took while the run went on has the last word, where it is known (`IDLE`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from logbook_agent.model.run import Contention, Run

# Threads of others for each core, or the load for each core before the run, from which on a machine is busy.
BUSY = 1.0
# The part of the processors' time that the hypervisor may take, and the part that others may use, unmentioned.
STOLEN = 0.02
IDLE = 0.1
_SHOWN_RUNS = 3


def contention_of(run: Run) -> Contention | None:
    """The contention of a run with the cores of its machine, which earlier records state elsewhere; None if unknown."""
    found = run.contention
    return found if found is None or found.cores is not None else structs.replace(found, cores=run.host.cores)


def is_busy(found: Contention | None) -> bool | None:
    """Whether the machine was busy; None where nothing is told of it."""
    if found is None or (found.runnable, found.load_1m, found.stolen, found.throttled) == (None,) * 4:
        return True if found is not None and found.runs else None
    return _is_wanted(found) or bool(found.runs or found.throttled) or _is_stolen(found)


def busy_text(found: Iterable[Contention]) -> str:
    """`load 35 on 2 cores, 4% stolen`: why it was busy while one or several runs were made; empty where it was not."""
    busy = [one for one in found if is_busy(one)]
    wanted = [one for one in busy if _is_wanted(one)]
    loads = [one.load_1m for one in wanted if one.load_1m is not None and _is_loaded(one)]
    parts = []
    if wanted:
        what = f"load {_span(loads)}" if loads else f"{_span([_waiting(one) for one in wanted])} threads of others"
        parts.append(f"{what} on {_span([float(one.cores or 0) for one in wanted])} cores")
    runs = list(dict.fromkeys(run for one in busy for run in one.runs))
    if runs:
        more = f" and {len(runs) - _SHOWN_RUNS} more" if len(runs) > _SHOWN_RUNS else ""
        parts.append(f"beside {', '.join(runs[:_SHOWN_RUNS])}{more}")
    stolen = [100 * one.stolen for one in busy if one.stolen is not None and _is_stolen(one)]
    if stolen:
        parts.append(f"{_span(stolen, decimals=0)}% stolen")
    if any(one.throttled for one in busy):
        parts.append("throttled")
    return ", ".join(parts)


def machine_text(runs: Sequence[Run]) -> str:
    """`busy (load 35 on 2 cores)`, `busy in 2 of 5 runs (...)`; empty where the machine was quiet, or nobody knows."""
    found = [one for run in runs if (one := contention_of(run)) is not None]
    busy = [one for one in found if is_busy(one)]
    if not busy:
        return ""
    return f"busy{f' in {len(busy)} of {len(runs)} runs' if len(busy) < len(runs) else ''} ({busy_text(busy)})"


def _waiting(found: Contention) -> float:
    return max(found.runnable or 0, found.runnable_after or 0)


def _is_loaded(found: Contention) -> bool:
    return bool(found.cores) and (found.load_1m or 0.0) > BUSY * (found.cores or 1)


def _is_wanted(found: Contention) -> bool:
    """Whether others wanted every core."""
    if not found.cores or (found.others is not None and found.others < IDLE):
        return False
    return _is_loaded(found) or _waiting(found) >= BUSY * found.cores


def _is_stolen(found: Contention) -> bool:
    return found.stolen is not None and found.stolen >= STOLEN


def _span(values: Sequence[float], *, decimals: int = 1) -> str:
    low, high = (f"{value:.{decimals}f}".removesuffix(".0") for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
