"""Which display shows a run or a series while it is made: plain, or on a terminal one that draws."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from logbook_agent.cli.output import LineDisplay, LiveDisplay, is_drawn_on
from logbook_agent.features import hook_module


@contextlib.contextmanager
def run_display(*, all_to_stderr: bool, folds_steps: bool = True) -> Iterator[LiveDisplay]:
    """Where the output of a run is shown while it is made: on a terminal folded, with a progress line. `folds_steps`: a
    line with a step is a point, and no case."""
    live = hook_module("live") if is_drawn_on(sys.stderr) or is_drawn_on(sys.stdout) else None
    if live is None:
        yield LiveDisplay(all_to_stderr=all_to_stderr)
        return
    with live.RunDisplay(all_to_stderr=all_to_stderr, folds_steps=folds_steps).shown() as display:
        yield display


@contextlib.contextmanager
def series_display() -> Iterator[LineDisplay]:
    """Where a series of runs says how far it is: on a terminal in live lines."""
    live = hook_module("live") if is_drawn_on(sys.stderr) else None
    if live is None:
        yield LineDisplay()
        return
    with live.SeriesDisplay().shown() as display:
        yield display
