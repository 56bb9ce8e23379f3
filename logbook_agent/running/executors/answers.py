"""What another machine answers, without what cannot be meant: it may be anybody who answers there."""

from __future__ import annotations

import textwrap
from typing import Any

from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.contract import Stage

# Of what an engine says, so much is kept; a worker that is silent for longer never spoke.
_SAID_CHARS, _SILENCE_S = 500, 1e10
_STAGES: tuple[Stage, ...] = ("sent", "running", "ended", "orphaned", "lost", "never-started", "elsewhere")


def sound(told: object) -> dict[str, Any]:
    """What is told of a run. Raises ToolError where that is nothing."""
    if not isinstance(told, dict):
        raise ToolError("what is told of the run cannot be read", cause="something else answers there")
    said, complaint, silent_s = (told.get(name) for name in ("said", "complaint", "silent_s"))
    return {
        **told,
        "said": brief(said) if isinstance(said, str) else None,
        "complaint": complaint if isinstance(complaint, str) else None,
        "silent_s": silent_s if isinstance(silent_s, int | float) and abs(silent_s) < _SILENCE_S else None,
    }


def brief(said: str) -> str:
    """What an engine says, on one line and no longer than is kept. No word is cut: half a secret is not known as
    one."""
    return textwrap.shorten(said, _SAID_CHARS, placeholder=" …")


def stage_named(text: object) -> Stage:
    """A stage as another machine calls it."""
    return next((stage for stage in _STAGES if stage == text), "elsewhere")


def record_of(kind: type[Any], plain: object) -> Any:
    """A record of the far spool; None where there is none, or another version wrote it."""
    try:
        return None if plain is None else decode(kind, plain)
    except CodecError:
        return None
