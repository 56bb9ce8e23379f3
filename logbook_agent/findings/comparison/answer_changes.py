"""Which answers a change of a logbook took back, gave again or turned, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from logbook_agent.findings.comparison import synopsis
from logbook_agent.findings.comparison.answer import Answer, Outcome
from logbook_agent.text.phrases import listed

_SHOWN = 10


class AnswerChange(Struct, frozen=True, kw_only=True):
    """The outcome of an entry's comparison `before` a change and `after` it; `why`: the reason for which pairs do not
    count, else the answer in a sentence."""

    entry: str
    before: str
    after: str
    why: str


def answer_changes(before: Sequence[Answer], after: Sequence[Answer]) -> list[AnswerChange]:
    """The comparisons whose outcome is another after a change, or that have lost all pairs by it, in the order of their
    entries."""
    old = {answer.entry: answer for answer in before}
    both = [(old[answer.entry], answer) for answer in after if answer.entry in old]
    return [
        AnswerChange(entry=new.entry, before=synopsis.outcome(was), after=synopsis.outcome(new), why=_why(new))
        for was, new in both
        if synopsis.outcome(was) != synopsis.outcome(new) or (new.is_lost and not was.is_lost)
    ]


def _why(answer: Answer) -> str:
    failed = map(answer.how_failed, answer.failed)
    return next(failed, synopsis.why_open(answer) or synopsis.synopsis(answer) if answer.findings else "no pair counts")


def change_lines(changes: Sequence[AnswerChange]) -> Iterator[str]:
    """`RT-000 and RT-002 have no answer now: gate same checksum: ...` for each reason; then the other changes."""
    lost: dict[str, list[str]] = {}
    for one in changes:
        if one.after == Outcome.OPEN.value:
            what = "pair that counts" if one.before == one.after else "answer"
            lost.setdefault(f"no {what} now: {one.why}", []).append(one.entry)
        else:
            yield f"{one.entry} was {one.before}, and is {one.after} now: {one.why}"
    for what, entries in lost.items():
        yield f"{listed(entries, _SHOWN)} {'has' if len(entries) == 1 else 'have'} {what}"
