"""Commands that look on and change nothing: `watch` and `report --serve`."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

from msgspec import structs

from logbook_agent.cli.common import Common
from logbook_agent.store.workspace import Workspace


def looking(common: Common) -> Workspace:
    """A new workspace in the root of the command that changes nothing there: it collects no run."""
    space = common.space()
    return structs.replace(space, root_option=str(space.root), arrive=None, warnings=[])


@contextlib.contextmanager
def ends_well(code: int, *numbers: signal.Signals) -> Iterator[None]:
    """These signals end the block, and the command with this exit code."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(code)

    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
