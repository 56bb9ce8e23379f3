"""What was found of each case and metric: the verdicts of comparisons, and whether a second measurement bears them out.

No statistic is computed here: `findings.evidence` gives the verdicts, `findings.comparisons.told` the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from logbook_agent.findings.comparisons.told import change_text, doubts, evidence_text, interval_text, number
from logbook_agent.findings.contrasts.likeness import differences_text
from logbook_agent.findings.contrasts.matching import Group
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
    `second` what a second measurement showed. `told` is what tells the case from the others of its measurement."""

    key: Key
    told: Mapping[str, str]
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
            return self.unconfirmed(f"the second measurement gave nothing to compare: {stopped}")
        second = f"{other.delta} ({other.evidence})"
        if other.change is CaseChange.REGRESSED:
            return replace(self, second=second)
        return replace(self.unconfirmed("the second measurement did not show it"), second=second)

    def among(self, rows: Sequence[JudgedRow]) -> JudgedRow | None:
        """The row of the same case and metric in another measurement; None where there is not just one. Fewer names
        may tell cases apart there, since it may have fewer of them."""
        found = [row for row in rows if row.key == self.key and _agree(row.told, self.told)]
        return found[0] if len(found) == 1 else None

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


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSided:
    """A case that one side alone measured: `side` is the one that did."""

    case: str
    side: str
    why: str


def rows_of(answers: Sequence[Answer]) -> tuple[JudgedRow, ...]:
    """The rows of the answers to one question, in their order."""
    noise = noise_of(answers)
    return tuple(
        _row(line, m, evidence_text(m, noise), _why_not_paired(answer, line))
        for answer in answers
        for line in answer.lines
        for m in line.metrics
    )


def regressed_runs(answers: Sequence[Answer]) -> frozenset[int]:
    """The numbers of the runs that measured a case that came out regressive."""
    return frozenset(
        item.run[2]
        for answer in answers
        for line in answer.lines
        if any(_change(m, _why_not_paired(answer, line)) is CaseChange.REGRESSED for m in line.metrics)
        for item in line.pair.other.items
    )


def one_sided(answers: Sequence[Answer]) -> tuple[OneSided, ...]:
    """What was measured and has no partner."""
    return tuple(
        OneSided(case=_text(one.case), side=answer.base if one.side == "base" else answer.other, why=one.why)
        for answer in answers
        for one in answer.unpaired
    )


def _why_not_paired(answer: Answer, line: Line) -> str:
    """Why two rows that only their order tells apart may be of different cases; empty where nothing speaks for it."""
    mine = _without_order(line.pair.case)
    if not _is_by_order(line):
        return ""
    if any(_ORDER in one.case and _without_order(one.case) == mine for one in answer.unpaired):
        return "base and head printed different numbers of such rows, which only their order tells apart"
    lines = [one for one in answer.lines if _is_by_order(one) and _without_order(one.pair.case) == mine]
    for name in dict.fromkeys(name for item in line.pair.base.items for name in item.row.observations):
        base, head = ([_observed(side, name) for side in sides] for sides in _sides(lines))
        # The same numbers in another order: what they name has moved.
        if base != head and len(set(base)) == len(base) > 1 and set(base) == set(head):
            return (
                f"base and head printed such rows in different orders of {name}, and only their order tells them apart"
            )
    return ""


_ORDER = "row"


def _is_by_order(line: Line) -> bool:
    return _ORDER in line.pair.case and not any(_ORDER in item.row.config for item in line.pair.base.items)


def _without_order(case: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in case.items() if name != _ORDER}


def _sides(lines: Sequence[Line]) -> tuple[list[Group], list[Group]]:
    return [line.pair.base for line in lines], [line.pair.other for line in lines]


def _observed(side: Group, name: str) -> frozenset[float | None]:
    return frozenset(item.row.observations.get(name) for item in side.items)


def _agree(a: Mapping[str, str], b: Mapping[str, str]) -> bool:
    return all(b.get(name, value) == value for name, value in a.items())


def _text(case: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in case.items())


def _change(m: Compared, why_not: str) -> CaseChange:
    """What its verdict says; nothing that is withheld settles anything."""
    if m.judgement is None or m.withheld_by or why_not:
        return CaseChange.UNSETTLED
    return _CHANGES[m.judgement.verdict]


def _row(line: Line, m: Compared, evidence: str, why_not: str) -> JudgedRow:
    effect = m.judgement.effect if m.judgement is not None else None
    interval = effect.interval if effect is not None else None
    return JudgedRow(
        key=_key_of(line, m),
        told=line.pair.case,
        case=_text(line.pair.case),
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
        change=_change(m, why_not),
        why=why_not or _why(m),
    )


def _key_of(line: Line, m: Compared) -> Key:
    """The config of the case, whatever it is told apart from; rows that one run prints may share it."""
    config = line.pair.other.items[0].row.config if line.pair.other.items else {}
    return frozenset((name, canonical(value)) for name, value in config.items() if name != SIDE), m.metric


def _why(m: Compared) -> str:
    """What keeps it unsettled."""
    if m.withheld_by:
        return f"differs in {differences_text(m.withheld_by)}"
    if m.direction is None and m.judgement is not None:
        return f"no direction is known: --metric {m.metric}:min or --metric {m.metric}:max"
    # Here the other side has a name.
    return "; ".join(doubts(m)).replace("other has no number", "head has no number")
