"""`logbook tried`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from typer import Argument, Option

from logbook_agent.cli.options import Common, Text, Texts
from logbook_agent.cli.output import emit
from logbook_agent.findings.read import read
from logbook_agent.findings.tried.keys import MARKED
from logbook_agent.findings.tried.listed import TriedQuery, chosen
from logbook_agent.findings.tried.texts import case_text, outcome_text, where_text
from logbook_agent.model.errors import UsageError
from logbook_agent.model.pairs import parse_pair
from logbook_agent.running.commands.flags import normal_name
from logbook_agent.text.markdown import one_line
from logbook_agent.text.times import minute

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
    last: Annotated[int, Option("--last", metavar="N", help="The text shows the last N.")] = _SHOWN,
    common: Common,
) -> None:
    """Verdicts without a gain, failed runs and cases, abandoned entries and those with a field `Negative result`.

    Example: logbook tried quant_mode=int8 --kind failure
    """
    space = common.space()
    if last < 1:
        raise UsageError(f"--last {last} is not a number of entries", cause="it is below 1", hint="--last 10")
    book = space.book(entry_id)
    only = book.resolve(entry_id) if entry_id is not None else None
    query = TriedQuery(where=_where(where or ()), kind=kind, outcome=outcome, entry_id=only)
    whole = read(space, book)
    space.warnings += whole.unreadable
    found = chosen(whole.tried, whole.summaries, query)
    text = "" if common.as_json else _text(found, last, book.header.zone)
    emit("tried", {"tried": found}, text, as_json=common.as_json, warnings=space.warnings)


def _where(texts: Sequence[str]) -> dict[str, str]:
    pairs = [parse_pair(text, example="logbook tried topk=2") for text in texts]
    return {normal_name(key): value for key, value in pairs}


def _text(found: Sequence[Mapping[str, Any]], last: int, zone: str) -> str:
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


def _once(found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What an entry was marked with stands behind what came out of the same command there."""
    marks = {(i["entry"], *i["command"]): i for i in found if i["kind"] == MARKED}
    others = [i for i in found if i["kind"] != MARKED]
    said = {key for i in others if (key := (i["entry"], *i["command"])) in marks}
    kept = [i for i in found if i["kind"] != MARKED or (i["entry"], *i["command"]) not in said]
    return [{**i, "also": marks.get((i["entry"], *i["command"])) if i["kind"] != MARKED else None} for i in kept]


def _lines(item: Mapping[str, Any], zone: str) -> str:
    commit = f", commit {item['commit'][:9]}" if item["commit"] else ""
    since = f"; finished since in {item['since']}" if item["since"] else ""
    head = f"{where_text(item)}  {minute(item['at'], zone)}{commit}: {_cut(outcome_text(item))}{since}"
    head += f"; {_cut(outcome_text(item['also']))}" if item["also"] else ""
    case = case_text(item)
    about = f"{case}; " if case else ""
    command = shlex.join(item["command"]) if item["command"] else ""
    return head + (f"\n    {_cut(about + command)}" if about + command else "")


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LINE_CHARACTERS else line[: _LINE_CHARACTERS - 1] + "…"
