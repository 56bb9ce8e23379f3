"""`logbook status`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from logbook_agent.campaign.typing_place import typing_place
from logbook_agent.cli.options import Common, Text, number, option, prose
from logbook_agent.cli.output import clean, json_answer
from logbook_agent.entries.overview import overview
from logbook_agent.findings.read import read
from logbook_agent.findings.status import BUDGET_BYTES, StatusAnswer
from logbook_agent.findings.synopses import does
from logbook_agent.store.workspace import naming


def status_command(
    *,
    summary: Text = option(
        "--summary TEXT",
        "Set the summary, which status shows from now on: text, @FILE or -; '' removes it.",
        read=prose,
    ),
    budget: int = number("--budget BYTES", "Print at most so many bytes; the least useful is left out.", BUDGET_BYTES),
    common: Common,
) -> None:
    """Show where the thread stands.

    That is: what was asked, what is settled, what is open, what to type next. Type it first when you have lost all
    context.

    Example: logbook status --json --budget 6000
    """
    space = common.space()
    book = space.book()
    if summary is not None:
        from logbook_agent.entries.header import (
            summarise,  # what changes a header, which showing it does not need
        )

        summarise(space, book, summary)
    found = read(space, book, naming(space, book), typing_place(space))

    def size(answer: StatusAnswer) -> int:
        text = json_answer("status", answer, space.warnings) if common.as_json else clean(status_text(answer))
        return len(text.encode("utf-8", "surrogatepass")) + 1

    data = overview(space, book, found, budget=budget, size=size)
    common.emit("status", data, lambda: status_text(data), draw=lambda d: d.draw_status(status_lines(data)))


def status_text(data: StatusAnswer) -> str:
    """The page as plain text."""
    return "\n".join(text for text, _ in status_lines(data))


def status_lines(data: StatusAnswer) -> Iterator[tuple[str, str]]:
    """The lines of the page, each with its kind: a `title`, a `command`, what `failed`, or an outcome."""
    book = data["logbook"]
    yield f"{book['title'] or book['topic']} ({book['topic']}, {book['prefix']})", "title"
    yield f"asked: {data['asked']}", ""
    left_out = dict(data.get("left_out", {}))
    for key, lines in _LINES.items():
        value = data.get(key)
        for one in value if isinstance(value, list) else [value] if value else []:
            yield from lines(one, data)
        if value and key in left_out:
            where = f": logbook -L {book['topic']} {_COMMANDS[key]}" if key in _COMMANDS else ""
            count = left_out.pop(key)
            yield f"  and {count} more {_name(count, key)}{where}", "command" if where else ""
    entries = dict(data["entries"])
    total = entries.pop("total")
    states = ", ".join(f"{n} {state}" for state, n in entries.items())
    damaged = f"; {data['damaged']} cannot be read: logbook doctor" if "damaged" in data else ""
    yield f"entries: {total:,}{f' ({states})' if states else ''}{damaged}", ""
    if left_out:
        names = ", ".join(f"{n} {_name(n, key)}" for key, n in left_out.items())
        yield f"left out, as the page is full: {names}; --budget 20000 shows more", ""


# What shows the lines of a section that the page has no room for.
_COMMANDS = {
    **dict.fromkeys(("answers", "decisions", "open", "negative_results", "failed", "in_words"), "list"),
    "next_actions": "next",
    "criteria": "criteria",
}


_NAMES = {"best": "best cases", "reported": "reported numbers", "open": "open entries", "failed": "that failed"}
_ONE = {"open": "open entry", "criteria": "criterion"}


def _name(count: int, key: str) -> str:
    name = _NAMES.get(key, key.replace("_", " "))
    return _ONE.get(key, name.removesuffix("s")) if count == 1 else name


_Lines = Callable[[Any, StatusAnswer], Iterator[tuple[str, str]]]


def _plain(form: str) -> _Lines:
    """A line for each value, in which it stands for `{}`."""
    return lambda one, _: iter([(form.format(one), "")])


def _about(form: str, kind: str = "") -> _Lines:
    """A line about an entry, which stands for `{}`: its ID and title, its text, and the commit."""

    def lines(one: Mapping[str, Any], _: StatusAnswer) -> Iterator[tuple[str, str]]:
        text = ": ".join(filter(None, (f"{one['id']} {one['title']}", one.get("text"))))
        yield form.format(text) + (f" (commit {one['commit'][:9]})" if "commit" in one else ""), kind
        if "command" in one:
            yield f"  to let them count: {one['command']}", "command"

    return lines


def _summary(text: str, data: StatusAnswer) -> Iterator[tuple[str, str]]:
    later = ", ".join(data.get("summary_before", ()))
    yield f"summary{f' (written before the result of {later})' if later else ''}: {text}", ""


def _answer(one: Mapping[str, Any], _: StatusAnswer) -> Iterator[tuple[str, str]]:
    """A comparison, with why it is open and what to type to go on."""
    notes = "; ".join(filter(None, (f"{one['id']} {one['title']}", one.get("confidence"))))
    yield f"- {one['answer']} [{notes}]", one["outcome"]
    what = does(one.get("lacks", ""), one.get("pairs_to_add", 0))
    for text, kind in open_lines(one.get("why"), what, one.get("command")):
        yield f"  {text}", kind


def open_lines(why: str | None, what: str, command: str | None) -> list[tuple[str, str]]:
    """Why a comparison is open, and the command that does `what`, as far as there is one."""
    lines = [(f"why it is open: {why}", "")] if why else []
    return lines + ([(f"to {what}: {command}", "command")] if command else [])


def _criterion(one: Mapping[str, Any], _: StatusAnswer) -> Iterator[tuple[str, str]]:
    said = "; ".join(filter(None, (one.get("reason") or one.get("evidence"), one.get("doubt"))))
    yield f"criterion {'met' if one['met'] else 'not met'}: {one['text']}{f' ({said})' if said else ''}", ""
    if "command" in one:
        yield f"  to meet it: {one['command']}", "command"


def _running(one: Mapping[str, Any], _: StatusAnswer) -> Iterator[tuple[str, str]]:
    where = " on ".join(filter(None, (one.get("executor"), one.get("host"))))
    said = filter(None, (one.get("label"), one.get("said"), one.get("last")))
    yield "; ".join([f"{one['state']}: {one['id']}/{one['run']} {where}, since {one['since']}", *said]), ""


def _open(of: Mapping[str, Any], data: StatusAnswer) -> Iterator[tuple[str, str]]:
    """The entries that wait; a run that goes on has its line already."""
    going = {one["id"] for one in data.get("running", ())}
    for state, entries in of.items():
        for one in (e for e in entries if e["id"] not in going):
            step = f"; next: {one['next']}" if "next" in one else ""
            yield f"{state}: {one['id']} {one['title']}{step}", "failed" if state == "failed" else ""


def _next_action(one: Mapping[str, Any], _: StatusAnswer) -> Iterator[tuple[str, str]]:
    yield f"next{', from ' if 'id' in one else ''}{one.get('id', '')}: {one['next']}", ""
    if "command" in one:
        yield f"  type: {one['command']}", "command"


def _baseline(one: Mapping[str, Any], _: StatusAnswer) -> Iterator[tuple[str, str]]:
    numbers = [
        ": ".join(filter(None, (n.get("config"), ", ".join(f"{k}={v}" for k, v in n["metrics"].items()))))
        for n in one.get("numbers", ())
    ]
    moved = [f"moved {m['at']}: {m['reason']}" for m in one.get("moved", ())]
    facts = (one.get("case"), *numbers, one.get("entry"), one.get("date"), one.get("source"), *moved)
    yield f"baseline: {'; '.join(filter(None, facts))}", ""


# In the order of the page. Each makes the lines of one value of a section.
_LINES: dict[str, _Lines] = {
    "closed": lambda one, _: iter([(f"closed {one['at']}: {one['conclusion']}", "")]),
    "not_settled": _plain("{}"),
    "command": lambda one, _: iter([(f"  type: {one}", "command")]),
    "summary": _summary,
    "answers": _answer,
    "decisions": _about("decision: {}"),
    "criteria": _criterion,
    "running": _running,
    "detached_series": _plain("series of runs: {}"),
    "claimed": lambda one, _: iter([(f"claimed: {one['id']} by {one['host']}, {one['root']}", "")]),
    "executed": _plain("executed: {0[id]} in {0[root]} at {0[at]}; merge that branch to have its runs here"),
    "open": _open,
    "next_actions": _next_action,
    "negative_results": _about("negative result: {}"),
    "failed": _about("failed: {}", "failed"),
    **dict.fromkeys(("best", "reported"), lambda one, _: iter([(one["text"], "")])),
    "in_words": lambda one, _: iter([(f"{one['kind']} of {one['id']}: {one['text']}", "")]),
    "baseline": _baseline,
    "metrics": _plain("metric: {}"),
    "gates": _plain("gate: {}"),
    "free": _plain("may differ between the sides: {}"),
    "constraints": _plain("constraint: {}"),
    "reserved": _plain("reserved, without an entry: {}"),
    "view": _plain("view: {}"),
    "issue": _plain("issue: {}"),
    "links": _plain("link: {}"),
}
