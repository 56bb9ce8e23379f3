"""`logbook baseline`."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from logbook_agent.cli.options import Common, Text, Texts, prose
from logbook_agent.cli.output import emit
from logbook_agent.findings.read import read
from logbook_agent.model.codec import encode
from logbook_agent.model.header import Header
from logbook_agent.pages.blocks import baseline_text
from logbook_agent.text.times import minute


def baseline_command(
    *,
    entry: Annotated[
        Text, Option("--entry", metavar="REF", help="Entry that measured it: ID, ID/RUN or ID:LABEL.")
    ] = None,
    config: Annotated[Texts, Option("--config", metavar="K=V", help="The baseline's case; repeatable.")] = None,
    number: Annotated[
        Texts, Option("--number", metavar="METRIC=V", help="A number measured elsewhere; repeatable.")
    ] = None,
    ref: Annotated[
        Texts, Option("--ref", metavar="REF", help="Its code: a file, commit or branch; repeatable.")
    ] = None,
    source: Annotated[Text, Option("--source", metavar="TEXT", help="Where the numbers come from.")] = None,
    confidence: Annotated[
        Text, Option("--confidence", metavar="TEXT", help="exploratory, replicated or stable, and why.")
    ] = None,
    reason: Annotated[
        Text, Option("--reason", metavar="TEXT", help="Why the baseline moves. Text, @FILE, or -.")
    ] = None,
    common: Common,
) -> None:
    """What results are compared with. A move needs a reason; deltas of entries from before keep the old one.

    Example: logbook baseline --entry MOE-I8-004 --config quant_mode=none --reason "the kernel was fixed"
    """
    from logbook_agent.entries.baseline import MoveRequest, move

    space = common.space()
    book = space.book()
    request = MoveRequest(
        entry_id=entry,
        config=config or (),
        numbers=number or (),
        refs=ref or (),
        source=source,
        confidence=confidence,
        reason=prose(reason),
    )
    header = move(space, book, request) if request.asks else book.header
    space.warnings += read(space, book).baseline_doubts
    data = {
        "logbook": book.topic,
        "baseline": encode(header.baseline),
        "moves": [encode(m) for m in header.baseline_moves],
    }
    emit("baseline", data, _text(header), as_json=common.as_json, warnings=space.warnings)


def _text(header: Header) -> str:
    def shown(found: Any) -> str:
        return baseline_text(found, header.metrics)

    lines = [f"baseline: {shown(header.baseline)}"]
    for m in header.baseline_moves:
        lines.append(f"moved {minute(m.at, header.zone)}: {m.reason}")
        lines.append(f"    until then: {shown(m.before)}")
    return "\n".join(lines)
