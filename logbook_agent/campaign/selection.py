"""Which cases of a plan are left, where a feature chooses before the first run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """How many `runs` are left to be made, and the keys of the cases `without` which; `why` says it in Markdown.

    `entry` is the ID of the entry that it rests on, None where nothing was recorded, and `exit_status` how that went.
    `lines` are for people, `data` for machines.
    """

    runs: int
    without: tuple[str, ...]
    why: str
    entry: str | None
    exit_status: int
    lines: tuple[str, ...]
    data: dict[str, Any]
