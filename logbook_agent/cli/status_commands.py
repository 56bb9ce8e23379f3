"""`logbook show` and `logbook status`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from typer import Argument, Option

from logbook_agent.cli.options import Common, Text, prose
from logbook_agent.cli.output import clean, emit, write_bytes
from logbook_agent.cli.wait_commands import FollowedLog, last_lines, last_run
from logbook_agent.entries.overview import overview
from logbook_agent.entries.start import summarise
from logbook_agent.findings.opening import SHOWN_FAILED
from logbook_agent.findings.queries import shown
from logbook_agent.findings.read import read
from logbook_agent.findings.status import StatusAnswer
from logbook_agent.model.errors import UsageError
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.pages.plotted import plots_of
from logbook_agent.store.book import Book
from logbook_agent.store.records import dump_yaml
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import counted


def show_command(
    *,
    entry_id: Annotated[str, Argument(metavar="ID", help="The entry.")],
    full: Annotated[bool, Option("--full", help="With --json: every sample and all provenance.")] = False,
    log: Annotated[bool, Option("--log", help="Print the output of its last run instead, even while it runs.")] = False,
    tail: Annotated[int | None, Option("--tail", metavar="N", help="The same, only the last N lines.")] = None,
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
    if tail is not None and tail < 0:
        raise UsageError(
            f"--tail {tail}: expected 0 or more",
            cause="it is the number of lines to print",
            hint=f"logbook show {entry_id} --tail 10",
        )
    space = common.space()
    book = space.book(entry_id).outgoing()
    entry_id = book.resolve(entry_id)
    record = book.record(entry_id)
    if log or tail is not None:
        _show_log(space, book, entry_id, tail, as_json=common.as_json)
        return
    found, data, text = read(space, book), None, ""
    later = found.later(record.entry)
    if common.as_json:
        data = shown(found, record, book.log_path, full=full)
    else:
        compared = found.compared(record.entry)
        text = (
            blocks_of(space, book)
            .entry(record, later=later, compared=compared, plots=plots_of(found, record.entry))
            .strip("\n")
        )
    if text and sys.stdout.isatty():
        _pretty(text)
        text = ""
    emit("show", data, text, as_json=common.as_json, warnings=space.warnings)


def _show_log(space: Workspace, book: Book, entry_id: str, tail: int | None, *, as_json: bool) -> None:
    """Print the output of the newest run of an entry, or its last lines; as JSON the lines."""
    number = last_run(book, entry_id)
    log = FollowedLog(space, book, entry_id, number)
    pieces = log.all() if tail is None else last_lines(log.all(), tail)
    if as_json:
        lines = b"".join(pieces).decode("utf-8", "replace").splitlines()
        emit("log", {"id": entry_id, "run": number, "lines": lines}, "", as_json=True, warnings=space.warnings)
        return
    write_bytes(pieces)
    path = book.log_path(entry_id, number)
    if not log.offset and not os.path.lexists(path):
        space.warnings.append(f"{path} is not here: it is on the machine that ran this, or was pruned")
    emit("log", None, "", as_json=False, warnings=space.warnings)


def _pretty(markdown: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(clean(markdown)))


def status_command(
    *,
    summary: Annotated[
        Text,
        Option(
            "--summary",
            metavar="TEXT",
            help="Set the summary, which status shows from now on: text, @FILE or -; '' removes it.",
        ),
    ] = None,
    common: Common,
) -> None:
    """Show where the thread stands.

    That is: what was asked, what is settled, what is open, what to type next. Type it first when you have lost all
    context.

    Example: logbook status --json
    """
    space = common.space()
    book = space.book()
    if summary is not None:
        summarise(space, book, prose(summary) or "")
    found = read(space, book)
    data = overview(space, book, found)
    text = "" if common.as_json else _status_text(data)

    def draw(d: Any) -> None:
        d.draw_status(_opening_lines(data), _rest(data), data, book.header.zone)

    emit("status", data, text, as_json=common.as_json, warnings=space.warnings, draw=draw)


_OPENING = (
    *("logbook", "asked", "not_settled", "command", "answers", "settled", "open_questions", "in_words", "best_so_far"),
    "code",
    *("negative_results", "failed", "next_step", "next_actions", "summary", "summary_before"),
)


def _status_text(data: StatusAnswer) -> str:
    """The first lines as text; then the rest as YAML, the shortest text that still shows its structure."""
    return "\n".join([*_opening_lines(data), dump_yaml(_rest(data)).rstrip()])


def _rest(data: StatusAnswer) -> dict[str, object]:
    """What the first lines do not say."""
    return _said({name: value for name, value in data.items() if name not in _OPENING})


def _opening_lines(data: StatusAnswer) -> Iterator[str]:
    """What was asked and found, what would settle the rest, what failed, the next actions."""
    book = data["logbook"]
    yield f"{book['title'] or book['topic']} ({book['topic']}, {book['prefix']})"
    yield f"asked: {data['asked']}"
    yield from _answer_lines(data, is_settled=True)
    if data["not_settled"]:
        yield data["not_settled"]
    if data["command"]:
        yield f"  to compare: {data['command']}"
    yield from _answer_lines(data, is_settled=False)
    yield from (f"{one['kind']} of {one['id']}: {one['text']}" for one in data["in_words"])
    if "code" in data:
        yield from _code_lines(data["code"])
    if data["best_so_far"]:
        yield data["best_so_far"]
    if data["summary"]:
        before = f" (written before the result of {', '.join(data['summary_before'])})" * bool(data["summary_before"])
        yield f"summary{before}: {data['summary']}"
    failed = {one["id"] for one in data["failed"]}
    negative = [one for one in data["negative_results"] if one["id"] not in failed and "text" in one]
    yield from (f"negative result: {one['id']} {one['title']}: {one['text']}" for one in negative[-SHOWN_FAILED:])
    yield from (f"failed: {one['id']} {one['title']}: {one['text']}" for one in data["failed"])
    yield from (f"next, from {one['id']}: {one['next']}" for one in data["next_actions"])
    if data["next_step"] is not None and not data["next_actions"]:
        yield f"next: {data['next_step']['next']}"
    yield ""


def _code_lines(code: Mapping[str, object]) -> Iterator[str]:
    """Whether the working tree is the code that was kept, and what to type."""
    yield f"code: {code['said']}"
    if "to_return" in code:
        yield f"  to return to it: {code['to_return']}"
    if "repeat" in code:
        yield f"  to compare again: {code['repeat']}"


def _answer_lines(data: StatusAnswer, *, is_settled: bool) -> Iterator[str]:
    """A line for each comparison, with why it is open and what to type to go on."""
    commands = {line["id"]: line["command"] for line in reversed(data["open_questions"]) if "command" in line}
    for one in data["answers"]:
        if one["settled"] is is_settled:
            notes = filter(None, (f"{one['id']} {one['title']}", one.get("confidence")))
            yield f"- {one['answer']} [{'; '.join(notes)}]"
            if "why" in one:
                yield f"  why it is open: {one['why']}"
            if one["id"] in commands:
                yield f"  to add up to {counted(one['pairs_to_add'], 'pair')}: {commands[one['id']]}"


def _said(data: Mapping[str, object]) -> dict[str, object]:
    """Without what says nothing."""
    found = {k: _said(v) if isinstance(v, dict) else v for k, v in data.items()}
    return {k: v for k, v in found.items() if v not in (None, [], {})}
