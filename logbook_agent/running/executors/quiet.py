"""Executors that gave no useful answer after a long wait: commands that only read skip them for up to a minute."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

from logbook_agent.model.errors import LogbookError
from logbook_agent.store.files import make_folder, write_atomic
from logbook_agent.store.reading import read_text
from logbook_agent.store.user_config import places_of
from logbook_agent.store.workspace import Workspace

# A question that failed is not asked again for so many times as long as it took, but for no longer than this (s). What
# failed within a moment may be asked again at once.
_FACTOR, _MOST_S, _MOMENT_S = 5.0, 60.0, 1.0
_FILE_BYTES, _SAID_CHARS = 4096, 500


def why_not(workspace: Workspace, executor: str) -> str | None:
    """Why an executor is not asked now; None if it may be asked."""
    path = _path(workspace, executor)
    try:
        found = json.loads(read_text(path, within=path.parent, limit=_FILE_BYTES)) if path and path.exists() else {}
        left_s = float(found["until"]) - time.time()
        return f"{found['why']}; it is asked again within a minute" if 0 < left_s <= _MOST_S else None
    except (LogbookError, ValueError, KeyError, TypeError):
        return None  # it was cut off, or is from another version


def note(workspace: Workspace, executor: str, took_s: float, why: str) -> None:
    """Record that an executor gave no useful answer, and how long that took."""
    path = _path(workspace, executor)
    if took_s < _MOMENT_S or path is None:
        return
    told = {"until": time.time() + min(_MOST_S, _FACTOR * took_s), "why": why[:_SAID_CHARS]}
    make_folder(path.parent, within=path.parent, private=True)
    write_atomic(path, json.dumps(told).encode(), within=path.parent, derived=True, private=True)


def _path(workspace: Workspace, executor: str) -> Path | None:
    name = hashlib.sha256(executor.encode()).hexdigest()[:32]
    folder = places_of(workspace.root, workspace.environ).cache
    return None if folder is None else folder / "quiet" / f"{name}.json"
