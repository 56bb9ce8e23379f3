"""Where a logbook keeps its entries and runs, for tests that name them by their numbers alone."""

from __future__ import annotations

import os
import re
from pathlib import Path

_NUMBERED = re.compile(r"(?:[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*-)?\d{2,}(?:\.yaml)?")


def number_of(path: Path) -> int:
    """The number of the run whose folder is `path`."""
    return int(path.name.partition(".")[0])


def at(path: Path) -> Path:
    """What `path` means: `entries/MOE-003.k3x9q.yaml` for `entries/MOE-003.yaml`, and alike for runs.
    `path` itself where there is none, or several."""
    found = Path()
    for part in path.parts:
        step = found / part
        if _NUMBERED.fullmatch(part) and not os.path.lexists(step):
            stem, dot, ending = part.partition(".")
            named = list(found.glob(f"{stem}.?????{dot}{ending}"))
            step = named[0] if len(named) == 1 else step
        found = step
    return found
