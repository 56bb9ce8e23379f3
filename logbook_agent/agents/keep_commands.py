"""`logbook keep` and `discard`."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from logbook_agent.agents.keeping import Decided, DecisionRequest, decide
from logbook_agent.cli.options import Common, Text, prose
from logbook_agent.cli.output import emit
from logbook_agent.model.entry import DECISION
from logbook_agent.store.book import Book

AboutArgument = Annotated[str, Argument(metavar="ID", help="The entry with the code.")]


def keep_command(
    *,
    about: AboutArgument,
    why: Annotated[Text, Option("--why", metavar="TEXT", help="Why it is kept. Text, @FILE, or -.")] = None,
    common: Common,
) -> None:
    """Record that the code of an entry is kept.

    `logbook status` then says whether the working tree is that code. No file of the code is changed.

    Example: logbook keep MOE-I8-003 --why "9% more tokens/s at the same loss"
    """
    _decide("keep", DecisionRequest(about=about, kept=True, why=prose(why)), common)


def discard_command(
    *,
    about: AboutArgument,
    why: Annotated[
        Text, Option("--why", metavar="TEXT", help="Why it is given up; required. Text, @FILE, or -.")
    ] = None,
    common: Common,
) -> None:
    """Record that the code of an entry is discarded.

    The record of the idea stays. Prints the command that returns to the code before it, and changes no file of the
    code.

    Example: logbook discard MOE-I8-004 --why "2% slower at topk=8"
    """
    _decide("discard", DecisionRequest(about=about, kept=False, why=prose(why)), common)


def _decide(command: str, request: DecisionRequest, common: Common) -> None:
    space = common.space()
    book, decided = decide(space, request)
    emit(command, _data(book, decided), _text(decided), as_json=common.as_json, warnings=space.warnings)


def _data(book: Book, decided: Decided) -> dict[str, object]:
    entry = decided.entry
    return {
        "id": entry.id,
        "decides": entry.decides,
        "kept": entry.kept,
        "why": entry.text(DECISION),
        "commit": entry.commit,
        "needs_diff": decided.needs_diff,
        "is_committed": decided.is_committed,
        "closes": decided.closes,
        "to_return": decided.to_return or None,
        "entry": str(book.entry_path(entry.id)),
        "view": str(book.view_path),
    }


def _text(decided: Decided) -> str:
    entry = decided.entry
    lines = [f"{'kept' if entry.kept else 'discarded'} {entry.decides} (decision {entry.id})"]
    if decided.closes:
        lines.append(f"closes its next action: {decided.closes}")
    if entry.commit:
        with_diff = f" with the recorded diff of {entry.decides}" if entry.kept and decided.needs_diff else ""
        lines.append(f"code to work on: {entry.commit[:9]}{with_diff}")
    if entry.kept and not decided.is_committed:
        lines.append(f"once its changes are committed, type again: logbook keep {entry.decides}")
    if decided.to_return:
        lines.append(f"to return to it: {decided.to_return}")
    return "\n".join(lines)
