"""A row of numbers as a row of blocks: `▁▃█ ▅`."""

from __future__ import annotations

import math
from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
_GAP = " "


def spark(values: Sequence[float | None], width: int) -> str:
    """The last `width` values as blocks from the lowest to the highest of them; a gap where there is none. Empty where
    fewer than two are left: one number has no course."""
    shown = [v if v is not None and math.isfinite(v) else None for v in values[-width:]] if width > 0 else []
    there = [v for v in shown if v is not None]
    if len(there) < 2:
        return ""
    low, high = min(there), max(there)
    # Halves, so that the widest span of floats does not overflow.
    span = high / 2 - low / 2
    top = len(BLOCKS) - 1
    return "".join(
        _GAP if v is None else BLOCKS[round((v / 2 - low / 2) / span * top) if span > 0 else top // 2] for v in shown
    )
