"""`logbook list`, `show`, `status` and `search`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from typer import Argument, Option

from logbook_agent.cli.options import Common, JsonOption, LogbookOption, RootOption, Text, workspace
from logbook_agent.cli.output import clean, columns, draws, emit
from logbook_agent.findings.read import Findings, read
from logbook_agent.findings.reading import listed, search, shown
from logbook_agent.findings.status import status
from logbook_agent.model.errors import UsageError
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.pages.plotted import plots_of
from logbook_agent.store.files import pieces_of
from logbook_agent.text.markdown import one_line
from logbook_agent.text.times import minute

# How many blocks a sparkline has: of an entry's runs, and of a thread's entries.
_SPARK, _SPARK_STATUS = 12, 40


def list_command(
    *,
    state: Annotated[
        Text,
        Option("--state", metavar="STATE", help="Only entries in this state: planned, running, finished, failed ..."),
    ] = None,
    kind: Annotated[
        Text, Option("--kind", metavar="KIND", help="Only entries of this kind: experiment, note, decision ...")
    ] = None,
    last: Annotated[int | None, Option("--last", metavar="N", help="Only the last N.")] = None,
    common: Common,
) -> None:
    """One line per entry.

    Example: logbook list --state failed
    """
    space = common.space()
    book = space.book()
    found = read(space, book)
    space.warnings += found.unreadable
    lines = listed(found.summaries, state=state, kind=kind, last=last)
    drawn = _sparklines(found) if draws() and not common.as_json else {}
    emit("list", lines, _lines(lines, book.header.zone, drawn), as_json=common.as_json, warnings=space.warnings)


def _sparklines(found: Findings) -> dict[str, str]:
    """By entry the course of the first primary metric that its runs measured more than once."""
    from logbook_agent.text.spark import spark

    drawn = {s["id"]: (spark(own["values"], _SPARK) for own in s["history"].values()) for s in found.summaries}
    return {entry_id: text for entry_id, texts in drawn.items() if (text := next(filter(None, texts), ""))}


def _lines(lines: list[dict[str, Any]], zone: str, drawn: Mapping[str, str]) -> str:
    if not lines:
        return "no entries"
    rows = [
        [
            e["id"],
            minute(e["opened"], zone),
            e["state"],
            *([drawn.get(e["id"], "")] if drawn else []),
            one_line(e["title"])[:60],
            one_line(e["result"] or "")[:90],
        ]
        for e in lines
    ]
    return columns(rows)


def show_command(
    *,
    entry_id: Annotated[str, Argument(metavar="ID", help="The entry.")],
    full: Annotated[bool, Option("--full", help="With --json: every sample and all provenance.")] = False,
    log: Annotated[bool, Option("--log", help="Print the whole output of its last run instead.")] = False,
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
    book = space.book(entry_id)
    entry_id = book.resolve(entry_id)
    record = book.record(entry_id)
    if log and not common.as_json:
        for number in [s.run.run for s in record.runs][-1:]:
            path = book.log_path(entry_id, number)
            if os.path.lexists(path):
                sys.stdout.flush()
                for piece in pieces_of(path, within=book.root):
                    sys.stdout.buffer.write(piece)
            else:
                space.warnings.append(f"{path} is not here: it is on the machine that ran this, or was pruned")
        emit("show", None, "", as_json=False, warnings=space.warnings)
        return
    found, data, text = read(space, book), None, ""
    later = found.later(record.entry)
    if common.as_json:
        data = {**shown(book, record, later, found, full=full), **found.predictions.data(entry_id)}
    else:
        compared = found.compared(record.entry)
        beside = found.predictions.beside(entry_id)
        text = (
            blocks_of(space, book)
            .entry(record, later=later, compared=compared, beside=beside, plots=plots_of(found, record.entry))
            .strip("\n")
        )
    if text and sys.stdout.isatty():
        _pretty(text)
        text = ""
    emit("show", data, text, as_json=common.as_json, warnings=space.warnings)


def _pretty(markdown: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(clean(markdown)))


def status_command(logbook: LogbookOption = None, root: RootOption = None, as_json: JsonOption = False) -> None:
    """Where the thread stands.

    The first command to type when you have lost all context. Example: logbook status --json
    """
    space = workspace(logbook, root)
    book = space.book()
    found = read(space, book)
    data = status(space, book, found)
    text = "" if as_json else _status_text(data, _courses(found) if draws() else {})
    emit("status", data, text, as_json=as_json, warnings=space.warnings)


_OPENING = ("logbook", "asked", "not_settled", "command", "settled", "open_questions", "next_actions", "summary")


def _status_text(data: dict[str, Any], drawn: Mapping[str, str]) -> str:
    """The first lines as text; then the rest as YAML, the shortest text that still shows its structure; behind it what
    is drawn."""
    from logbook_agent.store.records import dump_yaml

    rest = {name: value for name, value in data.items() if name not in _OPENING}
    return "\n".join([*_opening_lines(data), dump_yaml(_said({**rest, "course": dict(drawn)})).rstrip()])


def _opening_lines(data: dict[str, Any]) -> Iterator[str]:
    """What was asked and found, what would settle the rest, the next actions, and what a person says."""
    book = data["logbook"]
    yield f"{book['title'] or book['topic']} ({book['topic']}, {book['prefix']})"
    yield f"asked: {data['asked']}"
    for line in data["settled"]:
        notes = filter(None, (f"{line['id']} {line['title']}", line.get("confidence")))
        yield f"- {line['found']} [{'; '.join(notes)}]"
    if data["not_settled"]:
        yield data["not_settled"]
    if data["command"]:
        yield f"  to compare: {data['command']}"
    for line in data["open_questions"]:
        settle = line.get("to_settle", "")
        notes = filter(None, (f"{line['id']} {line['title']}", "" if settle in line["found"] else f"needs {settle}"))
        yield f"- {line['found']} [{'; '.join(notes)}]"
        if "command" in line:
            yield f"  to go on: {line['command']}"
    yield from (f"next, from {one['id']}: {one['next']}" for one in data["next_actions"])
    if data["summary"]:
        yield f"summary: {data['summary']}"
    yield ""


def _courses(found: Findings) -> dict[str, str]:
    """By primary metric how it went over the entries that count: `▁▃█ ▅  1.5 .. 3.2 TF/s, 5 entries`."""
    from logbook_agent.findings.history import of_thread
    from logbook_agent.model.units import format_value, known
    from logbook_agent.text.spark import spark

    drawn = {}
    for metric in (m for m in found.header.metrics if m.primary):
        values, unit = of_thread(found.thread, metric)
        if text := spark(values, _SPARK_STATUS):
            there = [v for v in values[-_SPARK_STATUS:] if v is not None]
            low, high = (format_value(v, decimals=known(metric.name).decimals) for v in (min(there), max(there)))
            drawn[metric.name] = f"{text}  {low} .. {high}{f' {unit}' if unit else ''}, {len(there)} entries"
    return drawn


def _said(data: dict[str, Any]) -> dict[str, Any]:
    """Without what says nothing."""
    found = {k: _said(v) if isinstance(v, dict) else v for k, v in data.items()}
    return {k: v for k, v in found.items() if v not in (None, [], {})}


def search_command(
    *,
    text: Annotated[list[str], Argument(metavar="TEXT...", help="Words that must all occur.")],
    common: Common,
) -> None:
    """Entries that contain all words of a text.

    Titles, fields, commands, config, results and ends of outputs are searched. Example: logbook search int8 gmm
    """
    space = common.space()
    book = space.book()
    found = search(space, book, " ".join(text))
    lines = []
    for entry in found:
        lines.append(f"{entry['id']}  {entry['state']}  {one_line(entry['title'])}")
        lines += [f"    {hit['where']}: {hit['text']}" for hit in entry["found"]]
        if entry["more"]:
            lines.append(f"    and {entry['more']} more places")
    emit("search", found, "\n".join(lines) or "nothing found", as_json=common.as_json, warnings=space.warnings)
