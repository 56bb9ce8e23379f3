"""`logbook wait` and `logbook cancel`: runs that go on by themselves."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Argument, Option

from logbook_agent.cli.log import follow_log
from logbook_agent.cli.options import Common, Text, Texts
from logbook_agent.cli.output import emit, say
from logbook_agent.entries.attend import WaitedFor, cancel, wait
from logbook_agent.findings.queries import brief_run
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import RunStatus, run_state
from logbook_agent.model.run import Run
from logbook_agent.running.prepare import parse_duration
from logbook_agent.store.book import Book


def wait_command(
    *,
    ids: Annotated[Texts, Argument(metavar="[ID...]", help="Entries to wait for. [all that are running]")] = None,
    any_: Annotated[bool, Option("--any", help="Return as soon as one of them has ended.")] = False,
    timeout: Annotated[
        Text, Option("--timeout", metavar="TIME", help="Stop waiting after 90s, 30m, 2h; the runs continue.")
    ] = None,
    follow: Annotated[
        bool, Option("-f", "--follow", help="Of one entry: print its output as it comes, from the last lines on.")
    ] = False,
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
    if follow:
        if common.as_json or ids is None or len(ids) != 1:
            raise UsageError(
                "--follow prints the output of one entry",
                cause="it takes one ID, and a JSON document cannot grow",
                hint=f"logbook wait {ids[0] if ids else 'ID'} --follow",
            )
        follow_log(space, book, book.resolve(ids[0]), limit_s)
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


def _brief(book: Book, run: Run) -> dict[str, Any]:
    return {"id": run.entry, **brief_run(RunStatus(run=run, state=run_state(run, book.life)), book.log_path)}


def _run_text(book: Book, run: Run) -> str:
    rows = f"{len(run.rows)} row{'' if len(run.rows) == 1 else 's'}"
    return f"{run.entry} run {run.run}: {run_state(run, book.life)}, {rows}"
