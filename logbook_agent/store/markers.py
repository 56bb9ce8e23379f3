"""Names in open/, where each run that has not ended has a marker: a file, or its spool if a worker makes the run.

The name is random and recorded in run.json, so a run that is renumbered keeps its marker. The marker also holds a hint:
the entry and run that it was made for, which is wrong once the run is renumbered.
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

from logbook_agent.model.entry import parse_id, run_number

if TYPE_CHECKING:
    from logbook_agent.model.run import Run

# The file with the hint, in a spool.
HINT = "run"
_NAME = re.compile(r"[0-9a-f]{16}")


def new_spool_name() -> str:
    return secrets.token_hex(8)


def is_spool_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def marker_name(run: Run) -> str:
    """The name of a run's marker. Records of earlier versions have none; there it is the entry and the number."""
    return run.spool or hint_of(run)


def hint_of(run: Run) -> str:
    return f"{run.entry}.{run.run:02d}"


def place_of_hint(text: str) -> tuple[str, int] | None:
    """Entry and run of a hint such as `MOE-I8-003.02`; None for other text."""
    entry_id, _, digits = text.strip().rpartition(".")
    number = run_number(digits)
    return None if number is None or parse_id(entry_id) is None else (entry_id, number)


def is_marker_name(name: str) -> bool:
    return not name.startswith(".") and (is_spool_name(name) or place_of_hint(name) is not None)
