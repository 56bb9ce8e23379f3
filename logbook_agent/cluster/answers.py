"""What another machine tells of a run, read as the answer of anybody who may answer there."""

from __future__ import annotations

import base64
from typing import Any

from logbook_agent.cluster.shell import brief
from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.contract import STAGES, Stage

# A worker that is silent for longer never spoke.
_MOST_SILENT_S = 1e10


def sound(told: object) -> dict[str, Any]:
    """The reported state of a run, without impossible values. Raises ToolError if it is not a mapping."""
    if not isinstance(told, dict):
        raise ToolError("cannot read the state of the run", cause="the answer does not come from logbook")
    said, complaint, silent_s = (told.get(name) for name in ("said", "complaint", "silent_s"))
    return {
        **told,
        "said": brief(said) if isinstance(said, str) else None,
        "complaint": complaint if isinstance(complaint, str) else None,
        "silent_s": silent_s if isinstance(silent_s, int | float) and abs(silent_s) < _MOST_SILENT_S else None,
    }


def files_of(told: object) -> bytes:
    """The archive that came with the news of an end; empty where there is none."""
    files = told.get("files") if isinstance(told, dict) else None
    try:
        return base64.b64decode(files) if isinstance(files, str) else b""
    except ValueError:
        return b""


def stage_named(text: object) -> Stage:
    """A stage as another machine calls it."""
    return next((stage for stage in STAGES if stage == text), "elsewhere")


def record_of(kind: type[Any], plain: object) -> Any:
    """A record of the far spool; None where there is none, or another version wrote it."""
    try:
        return None if plain is None else decode(kind, plain)
    except CodecError:
        return None
