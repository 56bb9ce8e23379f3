"""`logbook wait` and `logbook cancel`: runs in the background."""

from __future__ import annotations

import time
from collections.abc import Sequence

from logbook_agent.campaign.detached_runs import (
    FollowedLog,
    Waited,
    WaitedFor,
    cancel,
    cancelled,
    chosen_run,
    collect_ended,
    last_lines,
    log_data,
    wait,
)
from logbook_agent.cli.options import Common, argument, arguments, duration, flag
from logbook_agent.cli.output import say, write_bytes
from logbook_agent.findings.comparison import answer_lines
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.read import read
from logbook_agent.findings.summaries import LOST
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.model.record import run_state
from logbook_agent.model.run import Run
from logbook_agent.store.book import Book
from logbook_agent.store.book_runs import is_open
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import counted


def wait_command(
    *,
    ids: Sequence[str] = arguments("[ID...]", "Entries to wait for. [all that are running]"),
    any_: bool = flag("--any", "Return as soon as one of them has ended."),
    timeout_s: float | None = duration("--timeout TIME", "Stop waiting after 90s, 30m, 2h; the runs continue."),
    follow: bool = flag("-f --follow", "Print the output of one entry while it runs, from its last 10 lines on."),
    common: Common,
) -> int:
    """Wait for runs.

    The runs were started with --detach, or in another terminal. When nothing is running, say how the last run ended.
    Of a comparison that has ended, print the answer.

    With --json, also the last lines of what still runs.

    Exit code: that of the first entry that failed, as `logbook run` would have returned it; 0 when none failed; 124
    when --timeout came first.

    Example: logbook wait MOE-I8-004 --follow
    """
    space = common.space()
    space.arrive = None  # what ended since the last command is part of the answer
    book = space.book(*ids[:1])
    if follow:
        exclusive(
            {"--follow": follow, "--json": common.as_json},
            cause="--follow prints output while it is written; a JSON answer is printed once, at the end",
        )
        if len(ids) != 1:
            raise UsageError(
                "--follow needs the ID of one entry",
                cause=f"{len(ids)} IDs were given, and the output of several entries would be mixed",
                hint=f"logbook wait {ids[0] if ids else 'ID'} --follow",
            )
        follow_log(space, book, book.resolve(ids[0]), timeout_s)
    done = wait(space, book, ids, is_any=any_, timeout_s=timeout_s, tell=say)
    answers = _answers(space, book, done)
    pairs = {answer.entry: answer.pairs for answer in answers}
    lines = [_ended_text(one, pairs.get(one.id)) for one in done.ended]
    if done.is_timeout:
        lines += [f"still running: {', '.join(done.going)}", *done.said]
    if done.is_past:
        lines = ["nothing is running" + "".join(f"; the last to end was {line}" for line in lines)]
    lines += [line for answer in answers for line in answer_lines.end_lines(answer)]
    data = {**done.data(book), **_found(space, book, done, answers)} if common.as_json else None
    common.emit("wait", data, "\n".join(lines))
    return done.exit_status


def _answers(space: Workspace, book: Book, done: Waited) -> list[Answer]:
    """The answers of the comparisons that have ended."""
    ended = [one.id for one in done.ended if book.entry(one.id).comparison is not None]
    comparisons = read(space, book).comparisons if ended else None
    return [answer for i in ended if comparisons is not None and (answer := comparisons.answer_of(i)) is not None]


def _found(space: Workspace, book: Book, done: Waited, answers: Sequence[Answer]) -> dict[str, object]:
    """The answers of the comparisons that have ended, and the last lines of what still runs."""
    outputs = [log_data(space, book, i, _FIRST_LINES) for i in done.going if book.run_numbers(i)]
    return {"answers": [answer_lines.data(answer) for answer in answers], "output": outputs}


def _ended_text(one: WaitedFor, pairs: int | None) -> str:
    """How an entry ended; `pairs` of a comparison."""
    rows = sum(len(run.rows) for run in one.runs if not run.discarded)
    made = counted(rows, "row") if pairs is None else counted(pairs, "pair")
    cut = "; its series of runs was cut off, and `logbook doctor` says how to run the rest" if one.is_cut_off else ""
    if one.state == "lost" and any(run.exit is None for run in one.runs):
        return f"{one.id}: {LOST}"
    return f"{one.id}: {one.state}, {made}{cut}{f'; {one.why}' if one.why else ''}"


def cancel_command(*, entry_id: str = argument("ID", "The entry.", ...), common: Common) -> None:
    """Stop what is running in an entry.

    Each command gets INT, then TERM, then KILL, as with Ctrl-C. What it printed is kept.
    Example: logbook cancel MOE-I8-004
    """
    book = common.space().book(entry_id)
    runs = cancel(common.space(), book, entry_id)
    text = "\n".join(_run_text(book, run) for run in runs) or f"{entry_id}: stopped"
    common.emit("cancel", cancelled(book, runs), text)


def _run_text(book: Book, run: Run) -> str:
    rows = counted(len(run.rows), "row")
    return f"{run.entry} run {run.run}: {run_state(run, book.stage)}, {rows}"


_PAUSE_S = 0.2
# How many lines a log that is followed starts with.
_FIRST_LINES = 10


def follow_log(space: Workspace, book: Book, entry_id: str, timeout_s: float | None) -> None:
    """Print the last lines of an entry's newest run and what follows, until the entry has ended or time is over."""
    until = time.monotonic() + timeout_s if timeout_s is not None else None
    number = chosen_run(book, entry_id)
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
