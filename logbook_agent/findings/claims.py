"""What a thread has settled: verdicts of its comparisons that nothing withholds, the strongest first."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from logbook_agent.findings.evidence.answers import Answer

# One verdict: `entry` that keeps the comparison, `axis`, its values `base` and `other`, `case` (what tells the pair
# from the others), `metric`, `ratio` (other / base), `low` and `high` of its interval or None, `verdict`, and how many
# `runs` both sides have.
Claim: TypeAlias = dict[str, Any]

_ORDER = ("beneficial", "regressive", "neutral")
# Of one entry; a sweep may compare very many cases.
_MOST = 20


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
                        "case": " ".join(f"{k}={v}" for k, v in line.pair.case.items()),
                        "metric": m.metric,
                        "ratio": judged.effect.ratio,
                        "low": interval.low if interval is not None else None,
                        "high": interval.high if interval is not None else None,
                        "verdict": judged.verdict.value,
                        "runs": [m.base.runs, m.other.runs],
                    }
                )
    return strongest(found)[:_MOST]


def strongest(claims: Iterable[Claim]) -> list[Claim]:
    """Gains first, then losses, each by its size; then what makes no difference."""
    return sorted(claims, key=lambda c: (_ORDER.index(c["verdict"]), -abs(math.log(c["ratio"]))))


def claim_text(claim: Claim) -> str:
    """`none → int8: tflops +5.99% (+5.68% to +6.29%), beneficial`."""
    span = f" ({claim['low'] - 1:+.2%} to {claim['high'] - 1:+.2%})" if claim["low"] is not None else ""
    case = f" at {claim['case']}" if claim["case"] else ""
    sides = f"{claim['base']} → {claim['other']}"
    return f"{sides}{case}: {claim['metric']} {claim['ratio'] - 1:+.2%}{span}, {claim['verdict']}"
