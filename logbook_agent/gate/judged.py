"""What was found of each case and metric: the verdicts of comparisons, and whether a second measurement bears them out.

No statistic is computed here: `findings.evidence` gives the verdicts, `findings.comparisons.told` the words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from logbook_agent.findings.comparisons.told import change_text, doubts, evidence_text, interval_text, number
from logbook_agent.findings.evidence.alike import differences_text
from logbook_agent.findings.evidence.answers import Answer, Line
from logbook_agent.findings.evidence.compared import Compared
from logbook_agent.findings.evidence.noise import noise_of
from logbook_agent.findings.evidence.verdict import Verdict
from logbook_agent.gate.job import SIDE
from logbook_agent.model.values import canonical

Key = tuple[frozenset[tuple[str, str]], str]


class CaseChange(StrEnum):
    """What became of a case in one metric. `unconfirmed`: a regression that a second measurement did not show."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"
    UNSETTLED = "unsettled"
    UNCONFIRMED = "unconfirmed"


_CHANGES = {
    Verdict.REGRESSIVE: CaseChange.REGRESSED,
    Verdict.BENEFICIAL: CaseChange.IMPROVED,
    Verdict.NEUTRAL: CaseChange.UNCHANGED,
    Verdict.INCONCLUSIVE: CaseChange.UNSETTLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRow:
    """One metric of one case. `ratio` is head / base, with the `low` and `high` of its interval; `n` counts pairs.

    `base`, `head`, `delta`, `interval` and `evidence` are these as text, `why` says what keeps it unsettled, and
    `second` what a second measurement showed."""

    key: Key
    case: str
    metric: str
    unit: str | None
    direction: str | None
    base: str
    head: str
    delta: str
    interval: str
    evidence: str
    ratio: float | None
    low: float | None
    high: float | None
    p_value: float | None
    n: int
    change: CaseChange
    why: str = ""
    second: str = ""

    def unconfirmed(self, why: str) -> JudgedRow:
        """The row as one that nothing confirms, where it would have to be."""
        if self.change is not CaseChange.REGRESSED:
            return self
        return replace(self, change=CaseChange.UNCONFIRMED, why=why)

    def with_second(self, other: JudgedRow | None, stopped: str) -> JudgedRow:
        """The row beside what a second measurement of its case showed."""
        if self.change is not CaseChange.REGRESSED:
            return self
        if other is None:
            return self.unconfirmed(f"a second measurement gave nothing to compare: {stopped}")
        second = f"{other.delta} ({other.evidence})"
        if other.change is CaseChange.REGRESSED:
            return replace(self, second=second)
        return replace(self.unconfirmed("a second measurement did not show it"), second=second)

    def data(self) -> dict[str, Any]:
        return {
            "case": self.case,
            "metric": self.metric,
            "unit": self.unit,
            "direction": self.direction,
            "base": self.base,
            "head": self.head,
            "ratio": self.ratio,
            "interval": None if self.low is None else [self.low, self.high],
            "p_value": self.p_value,
            "pairs": self.n,
            "verdict": self.change.value,
            "why": self.why or None,
            "second": self.second or None,
        }


def rows_of(answers: Sequence[Answer]) -> tuple[JudgedRow, ...]:
    """The rows of the answers to one question, in their order."""
    noise = noise_of(answers)
    return tuple(_row(line, m, evidence_text(m, noise)) for line, m in _compared(answers))


def regressed_runs(answers: Sequence[Answer]) -> frozenset[int]:
    """The numbers of the runs that measured a case that came out regressive."""
    lines = [line for line, m in _compared(answers) if _change(m) is CaseChange.REGRESSED]
    return frozenset(item.run[2] for line in lines for item in line.pair.other.items)


def _compared(answers: Sequence[Answer]) -> Iterator[tuple[Line, Compared]]:
    return ((line, m) for answer in answers for line in answer.lines for m in line.metrics)


def _change(m: Compared) -> CaseChange:
    """What its verdict says; nothing that is withheld settles anything."""
    return CaseChange.UNSETTLED if m.judgement is None or m.withheld_by else _CHANGES[m.judgement.verdict]


def _row(line: Line, m: Compared, evidence: str) -> JudgedRow:
    effect = m.judgement.effect if m.judgement is not None else None
    interval = effect.interval if effect is not None else None
    return JudgedRow(
        key=_key_of(line, m),
        case=" ".join(f"{name}={value}" for name, value in line.pair.case.items()),
        metric=m.metric,
        unit=m.unit,
        direction=m.direction,
        base=number(m, m.base),
        head=number(m, m.other),
        delta=change_text(m),
        interval=interval_text(m),
        evidence=evidence,
        ratio=m.ratio,
        low=interval.low if interval is not None else None,
        high=interval.high if interval is not None else None,
        p_value=effect.p_value if effect is not None else None,
        n=len(m.layout.pairs) if m.layout is not None else 0,
        change=_change(m),
        why=_why(m),
    )


def _key_of(line: Line, m: Compared) -> Key:
    """The case, whatever it is told apart from."""
    config = line.pair.other.items[0].row.config if line.pair.other.items else {}
    return frozenset((name, canonical(value)) for name, value in config.items() if name != SIDE), m.metric


def _why(m: Compared) -> str:
    """What keeps it unsettled."""
    if m.withheld_by:
        return f"differs in {differences_text(m.withheld_by)}"
    if m.direction is None and m.judgement is not None:
        return f"no direction is known: --metric {m.metric}:min or --metric {m.metric}:max"
    return "; ".join(doubts(m))
