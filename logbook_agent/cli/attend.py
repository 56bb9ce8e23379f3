"""`logbook wait`, `tail`, `cancel` and `collect`: runs that go on by themselves."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Annotated, Any

from typer import Argument, Option

from logbook_agent.cli.options import Common, Text, Texts
from logbook_agent.cli.output import emit, say
from logbook_agent.entries.attend import WaitedFor, cancel, collect_ended, wait
from logbook_agent.findings.going import is_going
from logbook_agent.findings.said import brief_run
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import RunStatus, run_state
from logbook_agent.model.run import Run
from logbook_agent.running.executors.client import log_piece
from logbook_agent.running.prepare import parse_duration
from logbook_agent.store.book import Book

_PAUSE_S = 0.2
# Of a line without end, no more than this is shown first.
_LINE_BYTES = 1 << 20


def wait_command(
    *,
    ids: Annotated[Texts, Argument(metavar="[ID...]", help="Entries to wait for. [all that are running]")] = None,
    any_: Annotated[bool, Option("--any", help="Return as soon as one of them has ended.")] = False,
    timeout: Annotated[
        Text, Option("--timeout", metavar="TIME", help="Stop waiting after 90s, 30m, 2h; the runs continue.")
    ] = None,
    common: Common,
) -> int:
    """Wait for runs that were started with --detach, or in another terminal.

    When nothing is running, the answer is what ended last.

    Exit code: what `logbook run` would have returned, for the first entry that failed; 124 after --timeout.
    Example: logbook wait MOE-I8-004
    """
    space = common.space()
    space.arrive = None  # what ended since the last command is part of the answer
    book = space.book(ids[0] if ids else None)
    limit_s = parse_duration(timeout) if timeout is not None else None
    done = wait(space, book, ids or (), is_any=any_, timeout_s=limit_s, tell=say)
    data = {
        "ended": [one.data(book) for one in done.ended],
        "going": list(done.going),
        "said": list(done.said),
        "timeout": done.is_timeout,
    }
    lines = [_ended_text(one) for one in done.ended]
    if done.is_timeout:
        lines += [f"still running: {', '.join(done.going)}", *done.said]
    if done.is_past:
        lines = ["nothing is running" + "".join(f"; the last to end was {line}" for line in lines)]
    text = "\n".join(lines)
    emit("wait", data, text, as_json=common.as_json, warnings=space.warnings)
    return done.exit_status


def _ended_text(one: WaitedFor) -> str:
    rows = sum(len(run.rows) for run in one.runs if not run.discarded)
    cut = "; its series of runs was cut off, and `logbook doctor` says how to make the rest" if one.is_cut_off else ""
    return f"{one.id}: {one.state}, {rows} row{'' if rows == 1 else 's'}{cut}"


def tail_command(
    *,
    entry_id: Annotated[str, Argument(metavar="ID", help="The entry.")],
    follow: Annotated[bool, Option("-f", "--follow", help="Keep printing until the entry has ended.")] = False,
    lines: Annotated[int, Option("-n", "--lines", metavar="N", help="How many of the last lines to print first.")] = 10,
    common: Common,
) -> None:
    """Print the last lines of an entry's newest run, with secrets redacted.

    Example: logbook tail MOE-I8-004 -f
    """
    if common.as_json and follow:
        raise UsageError(
            "--follow and --json cannot be used together",
            cause="a JSON document cannot grow",
            hint=f"logbook tail {entry_id} --json",
        )
    if lines < 0:
        raise UsageError(
            "--lines must be at least 0", cause=f"it is {lines}", hint=f"logbook tail {entry_id} --lines {-lines}"
        )
    space = common.space()
    book = space.book(entry_id)
    entry_id = book.resolve(entry_id)
    number = _last_run(book, entry_id)
    kept: deque[bytes] = deque(maxlen=lines)
    offset, rest = 0, b""
    while piece := log_piece(space, book, entry_id, number, offset):
        offset += len(piece)
        *whole, rest = (rest + piece).split(b"\n")
        rest = rest[-_LINE_BYTES:]
        kept.extend(line + b"\n" for line in whole)
    kept.extend([rest] if rest else [])
    if common.as_json:
        texts = [line.decode("utf-8", "replace").removesuffix("\n") for line in kept]
        emit("tail", {"id": entry_id, "run": number, "lines": texts}, "", as_json=True, warnings=space.warnings)
        return
    sys.stdout.flush()
    _print(b"".join(kept))
    while follow:
        collect_ended(space, book)
        is_over = not is_going(book, entry_id)
        while piece := log_piece(space, book, entry_id, number, offset):
            offset += len(piece)
            _print(piece)
        if (later := _last_run(book, entry_id)) != number:
            number, offset = later, 0
        elif is_over:
            break
        else:
            time.sleep(_PAUSE_S)
    emit("tail", None, "", as_json=False, warnings=space.warnings)


def _last_run(book: Book, entry_id: str) -> int:
    numbers = book.run_numbers(entry_id)
    if not numbers:
        raise UsageError(
            f"{entry_id} has no run", cause="nothing has been printed yet", hint=f"logbook run --id {entry_id} --detach"
        )
    return numbers[-1]


def _print(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


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
    data = {"ended": [_brief(book, run) for run in runs]}
    text = "\n".join(_run_text(book, run) for run in runs) or f"{entry_id}: stopped"
    emit("cancel", data, text, as_json=common.as_json, warnings=space.warnings)


def collect_command(*, common: Common) -> None:
    """Record detached runs that have ended. Every command that reads the logbook does this first.

    Example: logbook collect
    """
    space = common.space()
    space.arrive = None  # what it would take in is what is told
    book = space.book()
    runs = collect_ended(space, book)
    data = {"collected": [_brief(book, run) for run in runs]}
    text = "\n".join(_run_text(book, run) for run in runs) or "nothing to collect"
    emit("collect", data, text, as_json=common.as_json, warnings=space.warnings)


def _brief(book: Book, run: Run) -> dict[str, Any]:
    return {"id": run.entry, **brief_run(RunStatus(run=run, state=run_state(run, book.life)), book)}


def _run_text(book: Book, run: Run) -> str:
    rows = f"{len(run.rows)} row{'' if len(run.rows) == 1 else 's'}"
    return f"{run.entry} run {run.run}: {run_state(run, book.life)}, {rows}"
