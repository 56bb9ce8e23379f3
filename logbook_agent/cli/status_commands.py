"""`logbook status`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from typer import Option

from logbook_agent.cli.options import Common, Text, prose
from logbook_agent.cli.output import clean, emit, json_answer
from logbook_agent.entries.overview import overview
from logbook_agent.entries.start import summarise
from logbook_agent.findings.read import read
from logbook_agent.findings.status import BUDGET_BYTES
from logbook_agent.findings.status_answer import StatusAnswer
from logbook_agent.store.records import dump_yaml
from logbook_agent.text.phrases import counted


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
    budget: Annotated[
        int, Option("--budget", metavar="BYTES", help="Print at most so many bytes; the least useful is left out.")
    ] = BUDGET_BYTES,
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
        summarise(space, book, prose(summary) or "")
    found = read(space, book)

    def size(answer: StatusAnswer) -> int:
        text = json_answer("status", answer, space.warnings) if common.as_json else clean(_status_text(answer))
        return len(text.encode("utf-8", "surrogatepass")) + 1

    data = overview(space, book, found, budget=budget, size=size)
    text = "" if common.as_json else _status_text(data)

    def draw(d: Any) -> None:
        d.draw_status(_opening_lines(data), _rest(data), data, book.header.zone)

    emit("status", data, text, as_json=common.as_json, warnings=space.warnings, draw=draw)


_OPENING = (
    *("logbook", "asked", "not_settled", "command", "answers", "in_words", "best_so_far", "decisions"),
    *("negative_results", "failed", "next_actions", "summary", "summary_before"),
)


def _status_text(data: StatusAnswer) -> str:
    """The first lines as text; then the rest as YAML, the shortest text that still shows its structure."""
    return "\n".join([*_opening_lines(data), dump_yaml(_rest(data)).rstrip()])


def _rest(data: StatusAnswer) -> dict[str, object]:
    """What the first lines do not say."""
    return {name: value for name, value in data.items() if name not in _OPENING and value not in ([], {})}


def _opening_lines(data: StatusAnswer) -> Iterator[str]:
    """What was asked, found and decided, what would settle the rest, what failed, the next actions."""
    book = data["logbook"]
    yield f"{book['title'] or book['topic']} ({book['topic']}, {book['prefix']})"
    yield f"asked: {data['asked']}"
    yield from _answer_lines(data, is_settled=True)
    if "not_settled" in data:
        yield data["not_settled"]
    if "command" in data:
        yield f"  to compare: {data['command']}"
    yield from _answer_lines(data, is_settled=False)
    yield from (f"{one['kind']} of {one['id']}: {one['text']}" for one in data.get("in_words", ()))
    if "best_so_far" in data:
        yield data["best_so_far"]
    if "summary" in data:
        later = ", ".join(data.get("summary_before", ()))
        before = f" (written before the result of {later})" * bool(later)
        yield f"summary{before}: {data['summary']}"
    yield from (f"decision: {_told(one)}" for one in data["decisions"])
    yield from (f"negative result: {_told(one)}" for one in data["negative_results"])
    yield from (f"failed: {_told(one)}" for one in data["failed"])
    yield from (f"next{', from ' * ('id' in one)}{one.get('id', '')}: {one['next']}" for one in data["next_actions"])
    yield ""


def _told(one: Mapping[str, object]) -> str:
    """`MOE-I8-006 Where the criteria stand: no verdict from this host (superseded by MOE-I8-009)`."""
    later = one.get("superseded_by")
    text = ": ".join(str(part) for part in (f"{one['id']} {one['title']}", one.get("text")) if part)
    text += f" (commit {str(one['commit'])[:9]})" if "commit" in one else ""
    return text + (f" (superseded by {', '.join(later)})" if isinstance(later, list) else "")


def _answer_lines(data: StatusAnswer, *, is_settled: bool) -> Iterator[str]:
    """A line for each comparison, with why it is open and what to type to go on."""
    for one in data["answers"]:
        if one["settled"] is is_settled:
            later = f"superseded by {', '.join(one['superseded_by'])}" if "superseded_by" in one else None
            notes = filter(None, (f"{one['id']} {one['title']}", one.get("confidence"), later))
            yield f"- {one['answer']} [{'; '.join(notes)}]"
            if "why" in one:
                yield f"  why it is open: {one['why']}"
            if "command" in one:
                pairs = one.get("pairs_to_add")
                does = f"add up to {counted(pairs, 'pair')}" if pairs else "measure it again"
                yield f"  to {does}: {one['command']}"
