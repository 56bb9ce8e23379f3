"""How far a run is on the machine where its worker works, by its spool."""

from __future__ import annotations

import contextlib

from logbook_agent.model.errors import StoreError
from logbook_agent.running.executors.contract import PIECE_BYTES, Stage
from logbook_agent.store.reading import LOG, open_file
from logbook_agent.store.spool import BEGAN, FINAL, Spool


def stage_of(spool: Spool) -> Stage:
    """How far a run on this machine is, by its spool. An end counts when nobody holds the spool any more: what is there
    while its worker works was written by somebody else."""
    life = spool.life()
    if life == "sent":
        return "sent"
    if life == "tool":
        has_ended = spool.has(FINAL) and not spool.is_held()
        return "ended" if has_ended else "running" if spool.has(BEGAN) else "sent"
    stages: dict[str, Stage] = {"child": "orphaned", "lost": "lost", "unstarted": "never-started"}
    return stages.get(life, "elsewhere")


def said_by(spool: Spool) -> str | None:
    """What a run on this machine waits for before it begins, and later what keeps its worker from writing."""
    with contextlib.suppress(StoreError):
        seen = spool.seen() if spool.waits() else None
        return seen.said if seen is not None else spool.trouble()
    return None


def log_from(spool: Spool, offset: int) -> bytes:
    """A piece of the log of a spool; empty at its end, and before there is one."""
    if not spool.has(LOG):
        return b""
    with open_file(spool.folder / LOG, within=spool.within) as log:
        log.seek(offset)
        return log.read(PIECE_BYTES)
