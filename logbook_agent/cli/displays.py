"""Which display shows a run or a series while it is made: plain, or on a terminal one that draws."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TextIO

from logbook_agent.cli.output import LineDisplay, LiveDisplay, is_drawn_on
from logbook_agent.features import hook_module


def run_display(*, all_to_stderr: bool) -> AbstractContextManager[LiveDisplay]:
    """Where the output of a run is shown while it is made: on a terminal with a progress line."""
    if (live := _live_on(sys.stderr, sys.stdout)) is None:
        return nullcontext(LiveDisplay(all_to_stderr=all_to_stderr))
    shown: AbstractContextManager[LiveDisplay] = live.RunDisplay(all_to_stderr=all_to_stderr).shown()
    return shown


def series_display() -> AbstractContextManager[LineDisplay]:
    """Where a series of runs says how far it is: on a terminal in live lines."""
    live = _live_on(sys.stderr)
    return nullcontext(LineDisplay()) if live is None else live.SeriesDisplay().shown()


def _live_on(*streams: TextIO) -> Any:
    """What draws live lines, where one of the streams takes them."""
    return hook_module("live") if any(map(is_drawn_on, streams)) else None
