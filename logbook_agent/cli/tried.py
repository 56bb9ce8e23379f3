"""`logbook tried`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from typer import Argument, Option

from logbook_agent.cli.options import Common, Text, Texts
from logbook_agent.cli.output import emit
from logbook_agent.findings.read import read
from logbook_agent.findings.tried.keys import MARKED, Item
from logbook_agent.findings.tried.listed import chosen, outcome_text, where_text
from logbook_agent.model.errors import UsageError
from logbook_agent.model.values import parse_pair
from logbook_agent.text.commands.flags import normal_name
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.times import minute
from logbook_agent.text.words import assignments

_SHOWN, _LIMIT_BYTES = 20, 8000
_LINE_CHARACTERS = 160


def tried_command(
    *,
    where: Annotated[
        Texts, Argument(metavar="[KEY=VALUE]...", help="Only with this config, or flag of the command.")
    ] = None,
    kind: Annotated[
        Text, Option("--kind", metavar="KIND", help="Only of this kind: verdict, failure or marked.")
    ] = None,
    outcome: Annotated[
        Text, Option("--outcome", metavar="WORD", help="Only with this outcome: timeout, out_of_memory, ...")
    ] = None,
    entry_id: Annotated[Text, Option("--entry", metavar="ID", help="Only what this entry tried.")] = None,
    last: Annotated[int, Option("--last", metavar="N", help="Print only the last N.")] = _SHOWN,
    common: Common,
) -> None:
    """Answers without a gain, failed runs and cases, abandoned entries and those with a field `Negative result`.

    Example: logbook tried quant_mode=int8 --kind failure
    """
    space = common.space()
    if last < 1:
        raise UsageError(f"--last {last} is not a number of entries", cause="it is below 1", hint="--last 10")
    book = space.book(entry_id)
    only = book.resolve(entry_id) if entry_id is not None else None
    pairs = [parse_pair(text, example="logbook tried topk=2") for text in where or ()]
    selected = {normal_name(key): value for key, value in pairs}
    whole = read(space, book)
    space.warnings += whole.unreadable
    found = chosen(whole.tried, whole.summaries, where=selected, kind=kind, outcome=outcome, entry_id=only)
    text = "" if common.as_json else _text(found, last, book.header.zone)
    emit("tried", {"tried": found}, text, as_json=common.as_json, warnings=space.warnings)


def _text(found: Sequence[Item], last: int, zone: str) -> str:
    """Two lines each, the newest last; what is cut is counted."""
    found = _once(found)
    shown: list[str] = []
    size = 0
    for item in reversed(found[-last:]):
        lines = _lines(item, zone)
        size += len(lines.encode()) + 1
        if size > _LIMIT_BYTES - 100:
            break
        shown.insert(0, lines)
    more = len(found) - len(shown)
    cut = [f"{more:,} earlier ones: --last {len(found)}, or --json for all"] if more else []
    return "\n".join([*cut, *shown]) or "no negative results"


def _once(found: Sequence[Item]) -> list[Item]:
    """What an entry was marked with stands behind what came out of the same command there."""

    def command(item: Item) -> tuple[str, ...]:
        return item["entry"], *item["command"]

    marks = {command(i): i for i in found if i["kind"] == MARKED}
    said = {command(i) for i in found if i["kind"] != MARKED}
    return [
        {**i, "also": None if i["kind"] == MARKED else marks.get(command(i))}
        for i in found
        if i["kind"] != MARKED or command(i) not in said
    ]


def _lines(item: Item, zone: str) -> str:
    commit = f", commit {item['commit'][:9]}" if item["commit"] else ""
    since = f"; finished since in {item['since']}" if item["since"] else ""
    also = f"; {_cut(outcome_text(item['also']))}" if item["also"] else ""
    head = f"{where_text(item)}  {minute(item['at'], zone)}{commit}: {_cut(outcome_text(item))}{since}{also}"
    about = "; ".join(t for t in (assignments(item.get("case", {})), shlex.join(item["command"])) if t)
    return head + (f"\n    {_cut(about)}" if about else "")


_cut = partial(cut_line, characters=_LINE_CHARACTERS)
