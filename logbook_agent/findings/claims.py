"""What a thread has settled: verdicts of its comparisons that nothing withholds, the strongest first."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from logbook_agent import __version__
from logbook_agent.findings.thread import Summary, Thread
from logbook_agent.findings.where import axes_of, case_told, shared
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.record import digest
from logbook_agent.store.book import Book
from logbook_agent.text.words import assignments

if TYPE_CHECKING:
    from logbook_agent.findings.evidence.answers import Answer

# One verdict: `entry` that keeps the comparison, `axis`, its values `base` and `other`, `case` (what tells the pair
# from the others), `shared` (what else all its rows agree in), `metric`, `ratio` (other / base), `low` and `high` of
# its interval or None, `verdict` with its `marks`, and how many `runs` both sides have. Of a whole thread, `case` has
# what the thread varies of `shared`, too.
Claim: TypeAlias = dict[str, Any]

_ORDER = ("beneficial", "regressive", "neutral")
# Of one entry; a sweep may compare very many cases.
_MOST = 20
# Of what is kept: a new number whenever the same records give something else.
_FORM = 4


def claims_of(entry_id: str, answers: Iterable[Answer]) -> list[Claim]:
    """The verdicts of an entry's comparisons. `inconclusive` settles nothing."""
    found = []
    for answer in answers:
        for line in answer.lines:
            for m in line.metrics:
                judged = m.judgement
                if judged is None or judged.effect is None or m.withheld_by or judged.verdict.value not in _ORDER:
                    continue
                interval = judged.effect.interval
                found.append(
                    {
                        "entry": entry_id,
                        "axis": answer.axis,
                        "base": answer.base,
                        "other": answer.other,
                        "case": dict(line.pair.case),
                        "shared": shared(answer, line.pair),
                        "metric": m.metric,
                        "ratio": judged.effect.ratio,
                        "low": interval.low if interval is not None else None,
                        "high": interval.high if interval is not None else None,
                        "verdict": judged.verdict.value,
                        "marks": list(m.marks),
                        "runs": [m.base.runs, m.other.runs],
                    }
                )
    return strongest(found)[:_MOST]


def strongest(claims: Iterable[Claim]) -> list[Claim]:
    """Gains first, then losses, each by its size; then what makes no difference."""
    return sorted(claims, key=lambda c: (_ORDER.index(c["verdict"]), -abs(math.log(c["ratio"]))))


def claim_text(claim: Claim) -> str:
    """`none → int8 at topk=2: tflops +5.99% (+5.68% to +6.29%), beneficial`."""
    span = f" ({claim['low'] - 1:+.2%} to {claim['high'] - 1:+.2%})" if claim["low"] is not None else ""
    case = f" at {assignments(claim['case'])}" if claim["case"] else ""
    sides = f"{claim['base']} → {claim['other']}"
    verdict = claim["verdict"] + (f" ({', '.join(claim['marks'])})" if claim["marks"] else "")
    return f"{sides}{case}: {claim['metric']} {claim['ratio'] - 1:+.2%}{span}, {verdict}"


# -- of a whole logbook ------------------------------------------------------------------------------


def settled_claims(book: Book, thread: Thread) -> list[Claim]:
    """Of entries that count, where everything that they are compared with counts, too. What an entry says of its own
    rows stands in its summary; a comparison with the rows of others is kept in the index until one of them changes."""
    by_name = {name: s for s in thread.summaries for name in (s["id"], *s["aliases"])}
    counted = {name for s in thread.counted for name in (s["id"], *s["aliases"])}
    found: list[Claim] = []
    for summary in thread.counted:
        found += summary["claims"]
        others = [by_name[name] for name in summary["compared_with"] if name in by_name]
        if others:
            with contextlib.suppress(LogbookError):  # its own page says that it cannot be answered
                found += _with_others(book, summary, others, counted)
    axes = axes_of(thread) if found else ()
    # Two questions of an entry may come to the same.
    told = {repr(claim): claim for claim in found}.values()
    return strongest({**c, "case": case_told(c["case"], c["shared"], axes)} for c in told)


def _with_others(book: Book, summary: Summary, others: Sequence[Summary], counted: Collection[str]) -> list[Claim]:
    """What the comparisons of an entry with others settle, as it was found before or anew."""
    rests_on = [[s["id"], s["digest"], s["id"] in counted] for s in (summary, *others)]
    key = digest([__version__, _FORM, encode(book.header.metrics), rests_on])
    place = f"claims of {summary['id']}"
    kept = book.said.get(place, key)
    if kept is not None:
        with contextlib.suppress(ValueError):
            claims: list[Claim] = json.loads(kept)
            return claims
    claims = _found(book, summary["id"], counted)
    book.said.put(place, key, json.dumps(claims))
    return claims


def _found(book: Book, entry_id: str, counted: Collection[str]) -> list[Claim]:
    # Tables and statistics, which few threads need here.
    from logbook_agent.findings.comparisons.compare import compare

    entry = book.entry(entry_id)
    own = {entry.id, *entry.aliases}
    asked = [c for c in entry.comparisons if not {*c.entries} <= own and {*c.entries} <= {*counted}]
    return claims_of(entry_id, [answer for one in asked for answer in compare(book, one).answers])
