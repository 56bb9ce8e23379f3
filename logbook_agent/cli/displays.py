"""Which display shows a run or a series while it is made: plain, or on a terminal one that draws."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from logbook_agent.cli.output import LineDisplay, LiveDisplay, is_drawn_on


@contextlib.contextmanager
def run_display(*, all_to_stderr: bool, has_curves: Callable[[], bool] = lambda: True) -> Iterator[LiveDisplay]:
    """Where the output of a run is shown while it is made: on a terminal folded, with a progress line. `has_curves`
    says, when runs begin, whether a line with a step is a point of a curve; else it is a row of its own."""
    if not (is_drawn_on(sys.stderr) or is_drawn_on(sys.stdout)):
        yield LiveDisplay(all_to_stderr=all_to_stderr)
        return
    from logbook_agent.cli.terminal.terminal_displays import RunDisplay

    with RunDisplay(all_to_stderr=all_to_stderr, has_curves=has_curves).shown() as display:
        yield display


@contextlib.contextmanager
def series_display() -> Iterator[LineDisplay]:
    """Where a series of runs says how far it is: on a terminal in live lines."""
    if not is_drawn_on(sys.stderr):
        yield LineDisplay()
        return
    from logbook_agent.cli.terminal.terminal_displays import SeriesDisplay

    with SeriesDisplay().shown() as display:
        yield display
