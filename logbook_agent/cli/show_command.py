"""`logbook show`."""

from __future__ import annotations

import os
import sys
from typing import Annotated

from typer import Argument, Option

from logbook_agent.campaign.run_logs import FollowedLog, chosen_run, last_lines, log_data
from logbook_agent.cli.options import Common, Text
from logbook_agent.cli.output import clean, emit, write_bytes
from logbook_agent.findings.brief_entry import entry_data
from logbook_agent.findings.read import read
from logbook_agent.model.errors import UsageError
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.pages.cited import with_numbers
from logbook_agent.pages.plotted import plots_of
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


def show_command(
    *,
    entry_id: Annotated[str, Argument(metavar="ID", help="The entry.")],
    full: Annotated[bool, Option("--full", help="With --json: every sample and all provenance.")] = False,
    log: Annotated[bool, Option("--log", help="Print the output of its last run instead, even while it runs.")] = False,
    tail: Annotated[
        int | None, Option("--tail", metavar="N", help="Print only the last N lines of that output.")
    ] = None,
    run: Annotated[Text, Option("--run", metavar="N", help="Print the output of run N.")] = None,
    common: Common,
) -> None:
    """One entry with its runs.

    Example: logbook show MOE-I8-002
    """
    if full and not common.as_json:
        raise UsageError(
            "--full needs --json",
            cause="the text output shows only medians",
            hint=f"logbook show {entry_id} --full --json",
        )
    space = common.space()
    book = space.book(entry_id).outgoing()
    entry_id = book.resolve(entry_id)
    record = book.record(entry_id)
    if log or tail is not None or run is not None:
        _show_log(space, book, entry_id, tail, run, as_json=common.as_json)
        return
    found, data, text = read(space, book), None, ""
    later = found.later(record.entry)
    if common.as_json:
        data = entry_data(found, record, book.log_path, full=full)
    else:
        compared = found.compared(record.entry)
        block = blocks_of(space, book).entry(
            record, later=later, compared=compared, plots=plots_of(found, record.entry)
        )
        text = with_numbers(found, block, plain=True).strip("\n")
    if text and sys.stdout.isatty():
        _pretty(text)
        text = ""
    emit("show", data, text, as_json=common.as_json, warnings=space.warnings)


def _show_log(space: Workspace, book: Book, entry_id: str, tail: int | None, run: str | None, *, as_json: bool) -> None:
    """Print the output of a run of an entry, or its last lines; as JSON the lines."""
    if as_json:
        emit("log", log_data(space, book, entry_id, tail, run), "", as_json=True, warnings=space.warnings)
        return
    number = chosen_run(book, entry_id, run)
    log = FollowedLog(space, book, entry_id, number)
    write_bytes(log.all() if tail is None else last_lines(log.all(), tail))
    path = book.log_path(entry_id, number)
    if not log.offset and not os.path.lexists(path):
        space.warnings.append(f"{path} is not here: it is on the machine that ran this, or was pruned")
    emit("log", None, "", as_json=False, warnings=space.warnings)


def _pretty(markdown: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(clean(markdown)))
