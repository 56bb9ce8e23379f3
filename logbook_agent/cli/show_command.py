"""`logbook show`."""

from __future__ import annotations

import os
import sys

from msgspec import structs

from logbook_agent.campaign.detached_runs import FollowedLog, chosen_run, last_lines, log_data
from logbook_agent.cli.options import Common, argument, flag, number
from logbook_agent.cli.output import clean, write_bytes
from logbook_agent.findings.brief_entry import entry_data
from logbook_agent.findings.queries import brief_run
from logbook_agent.findings.read import read
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import Record
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.pages.views import plots_of, with_numbers
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import ENTITY


def show_command(
    *,
    entry_id: str = argument("ID[/RUN]", "The entry, or one of its runs.", ...),
    full: bool = flag("--full", "With --json: every sample and all provenance."),
    log: bool = flag("--log", "Print the output of this run, or of its last one, even while it runs."),
    tail: int | None = number("--tail N", "Print only the last N lines of that output.", min=0),
    common: Common,
) -> None:
    """One entry with its runs.

    Example: logbook show MOE-I8-002

    Example: logbook show MOE-I8-002/1
    """
    if full and not common.as_json:
        raise UsageError(
            "--full needs --json",
            cause="the text output shows only medians",
            hint=f"logbook show {entry_id} --full --json",
        )
    space = common.space()
    named, _, of_run = entry_id.partition("/")
    book = space.book(named).outgoing()
    entry_id = book.resolve(named)
    record = book.record(entry_id)
    if log or tail is not None:
        _show_log(common, book, entry_id, tail, of_run or None)
        return
    if of_run:
        _show_run(common, book, record, book.run_named(entry_id, of_run), full=full)
        return
    if common.as_json:
        common.emit("show", entry_data(read(space, book), record, book.log_path, full=full))
        return
    _emit_markdown(common, entry_text(space, book, record))


def entry_text(space: Workspace, book: Book, record: Record) -> str:
    """An entry as Markdown for a reader here: with numbers in the place of its citations, and without what keeps
    GitHub from looking for names."""
    found, entry = read(space, book), record.entry
    later, answer, plots = found.later(entry.id), found.answer_of(entry), plots_of(found, entry)
    block = blocks_of(space, book).entry(record, later=later, answer=answer, plots=plots)
    return with_numbers(found, block, plain=True).replace(ENTITY, "")


def _show_run(common: Common, book: Book, record: Record, number: int, *, full: bool) -> None:
    """Show one run of an entry: its command, config and rows, and where its output lies."""
    status = next(status for status in record.runs if status.run.run == number)
    path = book.log_path(record.id, number)
    if common.as_json:
        run = encode(status.run) | {"state": status.state} if full else brief_run(status, book.log_path)
        common.emit("show", {"id": record.id, **run, "log": str(path)})
        return
    entry = structs.replace(record.entry, title=f"{record.entry.title}, run {number}", fields=(), comparison=None)
    block = blocks_of(common.space(), book).entry(structs.replace(record, entry=entry, runs=(status,)))
    block = with_numbers(read(common.space(), book), block, plain=True).replace(ENTITY, "")
    _emit_markdown(common, f"{block.rstrip()}\n- Output: `{common.space().shown(path)}`")


def _emit_markdown(common: Common, text: str) -> None:
    text = text.strip("\n")
    if text and sys.stdout.isatty():
        _pretty(text)
        text = ""
    common.emit("show", None, text)


def _show_log(common: Common, book: Book, entry_id: str, tail: int | None, run: str | None) -> None:
    """Print the output of a run of an entry, or its last lines; as JSON the lines."""
    space = common.space()
    if common.as_json:
        common.emit("log", log_data(space, book, entry_id, tail, run))
        return
    number = chosen_run(book, entry_id, run)
    log = FollowedLog(space, book, entry_id, number)
    write_bytes(log.all() if tail is None else last_lines(log.all(), tail))
    path = book.log_path(entry_id, number)
    if not log.offset and not os.path.lexists(path):
        space.warnings.append(f"{path} is not here: it is on the machine that ran this, or was deleted")
    common.emit("log", None)


def _pretty(markdown: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(clean(markdown)))
