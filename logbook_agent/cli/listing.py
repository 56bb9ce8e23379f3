"""`logbook list`: the entries, those that contain some words, and what was tried without a gain."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from logbook_agent.cli.options import Common, Text, arguments, flag, number, option
from logbook_agent.cli.output import columns
from logbook_agent.findings.attempts import outcome_text, where_text
from logbook_agent.findings.queries import latest, listed, tried_items
from logbook_agent.findings.read import read
from logbook_agent.model.summary import TriedItem
from logbook_agent.pages.views import with_cited_numbers
from logbook_agent.text.markdown import cut_line, one_line
from logbook_agent.text.phrases import assignments, minute

# What was tried is printed up to these.
_SHOWN, _LIMIT_BYTES = 20, 8000
_LINE_CHARACTERS = 160


def list_command(
    *,
    text: Sequence[str] = arguments("[TEXT...]", "Only entries that contain all these words; shows where."),
    tried: bool = flag(
        "--tried", "Instead, what did not work: failures, comparisons without a gain, negative results, abandoned."
    ),
    state: Text = option("--state STATE", "Only entries in this state: planned, running, finished, failed ..."),
    kind: Text = option("--kind KIND", "Only entries of this kind: experiment, note, decision ..."),
    last: int | None = number("--last N", "Only the last N."),
    common: Common,
) -> None:
    """List entries.

    Searches titles, fields, commands, config, results and output.
    With --tried, a word KEY=VALUE selects what was tried with this config or flag.

    Example: logbook list int8 --state failed
    """
    space = common.space()
    book = space.book().outgoing()
    found = with_cited_numbers(read(space, book))
    space.warnings += found.unreadable
    zone = book.header.zone
    if tried:
        items = tried_items(found, text, state=state, kind=kind)
        common.emit("tried", {"tried": latest(items, last)}, lambda: _tried_text(items, last or _SHOWN, zone))
        return
    lines = listed(found, text, state=state, kind=kind, last=last)
    shown = _lines(lines, zone) or _none_text(text, is_filtered=bool(state or kind))
    common.emit("list", lines, shown, draw=(lambda d: d.draw_list(lines, zone)) if lines and not text else None)


def _lines(lines: list[dict[str, Any]], zone: str) -> str:
    if lines and "found" in lines[0]:
        return "\n".join(text for e in lines for text in _hits(e))
    rows = [
        [
            e["id"],
            minute(e["opened"], zone),
            e["state"],
            cut_line(e["title"], 60),
            cut_line(e["result"] or "", 90),
        ]
        for e in lines
    ]
    return columns(rows)


def _none_text(words: Sequence[str], *, is_filtered: bool) -> str:
    """`no entry contains int8 and ring; to list all entries: logbook list`."""
    if not words and not is_filtered:
        return "no entries"
    what = f"no entry contains {' and '.join(map(one_line, words))}" if words else "no entry has this state or kind"
    filtered = " in this state or of this kind" if words and is_filtered else ""
    return f"{what}{filtered}; to list all entries: logbook list"


def _hits(entry: Mapping[str, Any]) -> list[str]:
    """An entry with the places where the words stand."""
    places = [f"    {hit['where']}: {hit['text']}" for hit in entry["found"]]
    more = [f"    and {entry['more']} more places"] if entry["more"] else []
    return [f"{entry['id']}  {entry['state']}  {one_line(entry['title'])}", *places, *more]


def _tried_text(found: Sequence[TriedItem], last: int, zone: str) -> str:
    """Two lines each, the newest last; what is cut is counted."""
    shown: list[str] = []
    size = 0
    for item in reversed(found[-last:]):
        lines = _tried_lines(item, zone)
        size += len(lines.encode()) + 1
        if size > _LIMIT_BYTES - 100:
            break
        shown.insert(0, lines)
    more = len(found) - len(shown)
    cut = [f"{more:,} earlier ones: --last {len(found)}, or --json for all"] if more else []
    return "\n".join([*cut, *shown]) or "no negative results"


def _tried_lines(item: TriedItem, zone: str) -> str:
    commit = f", commit {item['commit'][:9]}" if item["commit"] else ""
    since = f"; finished since in {item['since']}" if item["since"] else ""
    head = f"{where_text(item)}  {minute(item['at'], zone)}{commit}: {_cut(outcome_text(item))}{since}"
    about = "; ".join(t for t in (assignments(item.get("case", {})), shlex.join(item["command"])) if t)
    return head + (f"\n    {_cut(about)}" if about else "")


_cut = partial(cut_line, characters=_LINE_CHARACTERS)
