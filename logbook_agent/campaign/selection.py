"""Which cases of a plan are left, where a feature chooses before the first run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from logbook_agent.text.markdown import escape

_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """How many `runs` are left to be made, and the keys of the cases `without` which; `left_out` says each, with why.

    `entry` is the ID of the entry that it rests on, None where nothing was recorded, and `exit_status` how that went.
    `lines` are for people, `data` for machines.
    """

    runs: int
    without: tuple[str, ...]
    left_out: tuple[str, ...]
    entry: str | None
    exit_status: int
    lines: tuple[str, ...]
    data: dict[str, Any]

    @property
    def why(self) -> str:
        """The cases that are left out, as a list in Markdown; empty where none is."""
        more = len(self.left_out) - _SHOWN
        lines = [*map(escape, self.left_out[:_SHOWN]), *([f"and {more} more"] if more > 0 else [])]
        named = f" ({self.entry})" if self.entry is not None else ""
        return "\n".join(f"- {line}{named}" for line in lines)
