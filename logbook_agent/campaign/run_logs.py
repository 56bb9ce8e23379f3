"""The logs of runs, wherever they lie: as they grow, and their last lines."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator

from logbook_agent.campaign.detached_runs import no_run
from logbook_agent.model.codec import encode
from logbook_agent.running.executors.dispatch import log_piece
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.redaction.stream import StreamRedactor

# Of a line without end, no more than this is shown first.
_LINE_BYTES = 1 << 20


class FollowedLog:
    """The log of a run, wherever it lies; `offset` says how far it was read."""

    def __init__(self, space: Workspace, book: Book, entry_id: str, run: int) -> None:
        self._of = space, book, entry_id, run
        self._stream = StreamRedactor(space.redactor)
        self.offset = 0

    def pieces(self) -> Iterator[bytes]:
        """What there is now and was not read yet, without secrets; what may become one is held back."""
        while piece := log_piece(*self._of, self.offset):
            self.offset += len(piece)
            yield self._stream.feed(piece)
        yield self._stream.flush_idle()

    def all(self) -> Iterator[bytes]:
        """What there is now, to its end."""
        yield from self.pieces()
        yield self._stream.finish()


def last_lines(pieces: Iterable[bytes], count: int) -> list[bytes]:
    """The last lines of these pieces."""
    kept: deque[bytes] = deque(maxlen=min(count, sys.maxsize))
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        rest = rest[-_LINE_BYTES:]
        kept.extend(line + b"\n" for line in whole)
    kept.extend([rest] if rest else [])
    return [*kept]


def chosen_run(book: Book, entry_id: str, named: str | None = None) -> int:
    """The number of a run of an entry, by default of its newest. Raises UsageError where it has none, NotFound where it
    does not have this one."""
    numbers = book.run_numbers(entry_id)
    if not numbers:
        raise no_run(book.record(entry_id))
    return numbers[-1] if named is None else book.run_named(entry_id, named)


def log_data(
    space: Workspace, book: Book, entry_id: str, tail: int | None, named: str | None = None
) -> dict[str, object]:
    """The output of a run of an entry (the newest), or its last lines. Raises what `chosen_run` raises."""
    number = chosen_run(book, entry_id, named)
    whole = FollowedLog(space, book, entry_id, number).all()
    pieces = whole if tail is None else last_lines(whole, tail)
    return {"id": entry_id, "run": encode(number), "lines": b"".join(pieces).decode("utf-8", "replace").splitlines()}
