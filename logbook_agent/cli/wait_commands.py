"""`logbook wait` and `logbook cancel`: runs in the background."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Annotated

from typer import Argument, Option

from logbook_agent.campaign.detached_runs import WaitedFor, cancel, cancelled, collect_ended, no_run, wait
from logbook_agent.cli.options import Common, Text, Texts
from logbook_agent.cli.output import emit, say, write_bytes
from logbook_agent.findings.summaries import LOST
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import run_state
from logbook_agent.model.run import Run
from logbook_agent.running.executors.dispatch import log_piece
from logbook_agent.running.prepare import parse_duration
from logbook_agent.store.book import Book
from logbook_agent.store.open_runs import is_open
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import counted
from logbook_agent.text.redaction.stream import StreamRedactor


def wait_command(
    *,
    ids: Annotated[Texts, Argument(metavar="[ID...]", help="Entries to wait for. [all that are running]")] = None,
    any_: Annotated[bool, Option("--any", help="Return as soon as one of them has ended.")] = False,
    timeout: Annotated[
        Text, Option("--timeout", metavar="TIME", help="Stop waiting after 90s, 30m, 2h; the runs continue.")
    ] = None,
    follow: Annotated[
        bool, Option("-f", "--follow", help="Print the output of one entry while it runs, from its last 10 lines on.")
    ] = False,
    common: Common,
) -> int:
    """Wait for runs.

    The runs were started with --detach, or in another terminal. When nothing is running, say how the last run ended.

    Exit code: that of the first entry that failed, as `logbook run` would have returned it; 0 when none failed; 124
    when --timeout came first.

    Example: logbook wait MOE-I8-004 --follow
    """
    space = common.space()
    space.arrive = None  # what ended since the last command is part of the answer
    book = space.book(ids[0] if ids else None)
    limit_s = parse_duration(timeout) if timeout is not None else None
    if follow:
        if common.as_json:
            raise UsageError(
                "--follow and --json cannot be used together",
                cause="--follow prints output while it is written; a JSON answer is printed once, at the end",
                hint="leave one of them out",
            )
        if ids is None or len(ids) != 1:
            raise UsageError(
                "--follow needs the ID of one entry",
                cause=f"{len(ids or ())} IDs were given, and the output of several entries would be mixed",
                hint=f"logbook wait {ids[0] if ids else 'ID'} --follow",
            )
        follow_log(space, book, book.resolve(ids[0]), limit_s)
    done = wait(space, book, ids or (), is_any=any_, timeout_s=limit_s, tell=say)
    lines = [_ended_text(one) for one in done.ended]
    if done.is_timeout:
        lines += [f"still running: {', '.join(done.going)}", *done.said]
    if done.is_past:
        lines = ["nothing is running" + "".join(f"; the last to end was {line}" for line in lines)]
    text = "\n".join(lines)
    emit("wait", done.data(book), text, as_json=common.as_json, warnings=space.warnings)
    return done.exit_status


def _ended_text(one: WaitedFor) -> str:
    rows = sum(len(run.rows) for run in one.runs if not run.discarded)
    cut = "; its series of runs was cut off, and `logbook doctor` says how to run the rest" if one.is_cut_off else ""
    if one.state == "lost" and any(run.exit is None for run in one.runs):
        return f"{one.id}: {LOST}"
    return f"{one.id}: {one.state}, {counted(rows, 'row')}{cut}"


def cancel_command(
    *,
    entry_id: Annotated[str, Argument(metavar="ID", help="The entry.")],
    common: Common,
) -> None:
    """Stop what is running in an entry.

    Each command gets INT, then TERM, then KILL, as with Ctrl-C. What it printed is kept.
    Example: logbook cancel MOE-I8-004
    """
    space = common.space()
    book = space.book(entry_id)
    runs = cancel(space, book, entry_id)
    text = "\n".join(_run_text(book, run) for run in runs) or f"{entry_id}: stopped"
    emit("cancel", cancelled(book, runs), text, as_json=common.as_json, warnings=space.warnings)


def _run_text(book: Book, run: Run) -> str:
    rows = counted(len(run.rows), "row")
    return f"{run.entry} run {run.run}: {run_state(run, book.life)}, {rows}"


_PAUSE_S = 0.2
# How many lines a log that is followed starts with.
_FIRST_LINES = 10
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


def follow_log(space: Workspace, book: Book, entry_id: str, timeout_s: float | None) -> None:
    """Print the last lines of an entry's newest run and what follows, until the entry has ended or time is over."""
    until = time.monotonic() + timeout_s if timeout_s is not None else None
    number = last_run(book, entry_id)
    log = FollowedLog(space, book, entry_id, number)
    write_bytes(last_lines(log.pieces(), _FIRST_LINES))
    while until is None or time.monotonic() < until:
        collect_ended(space, book)
        is_over = not is_open(book, entry_id)
        write_bytes(log.pieces())
        later = [other for other in book.run_numbers(entry_id) if other > number]
        if later:
            write_bytes(log.all())
            number = later[0]
            log = FollowedLog(space, book, entry_id, number)
        elif is_over:
            write_bytes(log.all())
            return
        else:
            time.sleep(_PAUSE_S)


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


def last_run(book: Book, entry_id: str) -> int:
    """The number of the newest run of an entry. Raises UsageError where it has none."""
    numbers = book.run_numbers(entry_id)
    if not numbers:
        raise no_run(book.record(entry_id))
    return numbers[-1]
