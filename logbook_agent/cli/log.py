"""The output of a run on stdout, also while it grows."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator

from logbook_agent.entries.attend import collect_ended
from logbook_agent.entries.open_runs import is_open
from logbook_agent.model.errors import UsageError
from logbook_agent.running.executors.dispatch import log_piece
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace

_PAUSE_S = 0.2
# How many lines a log that is followed starts with.
_FIRST_LINES = 10
# Of a line without end, no more than this is shown first.
_LINE_BYTES = 1 << 20


class FollowedLog:
    """The log of a run, wherever it lies; `offset` says how far it was read."""

    def __init__(self, space: Workspace, book: Book, entry_id: str, run: int) -> None:
        self._of = space, book, entry_id, run
        self.offset = 0

    def pieces(self) -> Iterator[bytes]:
        """What there is now and was not read yet."""
        while piece := log_piece(*self._of, self.offset):
            self.offset += len(piece)
            yield piece

    def last_lines(self, count: int) -> list[bytes]:
        """The last lines of what there is now."""
        kept: deque[bytes] = deque(maxlen=count)
        rest = b""
        for piece in self.pieces():
            *whole, rest = (rest + piece).split(b"\n")
            rest = rest[-_LINE_BYTES:]
            kept.extend(line + b"\n" for line in whole)
        kept.extend([rest] if rest else [])
        return [*kept]


def follow_log(space: Workspace, book: Book, entry_id: str, timeout_s: float | None) -> None:
    """Print the last lines of an entry's newest run and what follows, until the entry has ended or time is over."""
    until = time.monotonic() + timeout_s if timeout_s is not None else None
    number = last_run(book, entry_id)
    log = FollowedLog(space, book, entry_id, number)
    write_bytes(log.last_lines(_FIRST_LINES))
    while until is None or time.monotonic() < until:
        collect_ended(space, book)
        is_over = not is_open(book, entry_id)
        write_bytes(log.pieces())
        if (later := last_run(book, entry_id)) != number:
            number = later
            log = FollowedLog(space, book, entry_id, number)
        elif is_over:
            return
        else:
            time.sleep(_PAUSE_S)


def last_run(book: Book, entry_id: str) -> int:
    """The number of the newest run of an entry. Raises UsageError where it has none."""
    numbers = book.run_numbers(entry_id)
    if not numbers:
        raise UsageError(
            f"{entry_id} has no run", cause="nothing has been printed yet", hint=f"logbook run --id {entry_id} --detach"
        )
    return numbers[-1]


def write_bytes(pieces: Iterable[bytes]) -> None:
    """Print pieces of output as they are, each at once."""
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
