"""The cases of a comparison in one metric, and what figures of them have to say in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from logbook_agent.findings.comparisons.told import delta_text, interval_text, verdict_text
from logbook_agent.findings.evidence.answers import Answer, Line
from logbook_agent.findings.evidence.compared import Compared, Numbers, runs_behind
from logbook_agent.findings.plots.words import (
    NAME_CHARS,
    counted,
    name_of,
)
from logbook_agent.findings.tables.frame import RunKey
from logbook_agent.findings.trust import Answered
from logbook_agent.text.markdown import cut_line

SAID_CHARS = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCase:
    """One case of a comparison in one metric. `name` tells it from the others, and is empty of a single one."""

    name: str
    answer: Answer
    line: Line
    m: Compared

    @property
    def verdict(self) -> str:
        """`beneficial (fixed order)`, `not settled`, ..."""
        return f"{verdict_text(self.m)}{self.m.marked if not self.m.withheld_by else ''}"

    @property
    def sides(self) -> tuple[tuple[str, Numbers, list[RunKey]], tuple[str, Numbers, list[RunKey]]]:
        m, pair = self.m, self.line.pair
        return (
            (self.answer.base, m.base, runs_behind(pair.base, m.metric)),
            (self.answer.other, m.other, runs_behind(pair.other, m.metric)),
        )


def judged_cases(one: Answered, metric: str) -> list[JudgedCase]:
    several = len(one.answers) > 1
    found = []
    for answer in one.answers:
        for line in answer.lines:
            case = name_of(line.pair.case)
            name = " ".join(filter(None, [cut_line(answer.other, NAME_CHARS) if several else "", case]))
            found += [JudgedCase(name=name, answer=answer, line=line, m=m) for m in line.metrics if m.metric == metric]
    return found


def title_of(entry_id: str, judged: Sequence[JudgedCase], what: str) -> str:
    """With the verdict where there is one case."""
    first = judged[0]
    sides = f"{cut_line(first.answer.base, 40)} → {cut_line(first.answer.other, 40)}"
    if len({one.answer.other for one in judged}) > 1:
        sides = f"against {cut_line(first.answer.base, 40)}"
    said = f": {delta_text(first.m)}, {first.verdict}" if len(judged) == 1 and first.m.ratio is not None else ""
    return f"{entry_id}: {first.m.metric} {what}, {sides}{said}"


def finite(*values: float | None) -> bool:
    return all(value is not None and math.isfinite(value) for value in values)


def unjudged(j: JudgedCase) -> str:
    """Why a case has no ratio; empty if it has one, or was not judged."""
    if j.m.judgement is None or j.m.judgement.effect is not None:
        return ""
    return "; ".join(j.m.reasons)


def unsettled(one: Answered) -> str:
    return f" This settles nothing, because it rests on {' and '.join(one.uncounted)}." if one.uncounted else ""


def verdicts_of(judged: Sequence[JudgedCase], most: int = 6) -> str:
    said = [f"{j.name or j.answer.other}: {delta_text(j.m)}, {j.verdict}" for j in judged]
    more = len(said) - most
    return "; ".join(said[:most]) + (f"; and {more} more" if more > 0 else "")


def change_said(j: JudgedCase) -> str:
    """`int8 topk=2: +5.99% (+5.68% to +6.29%), 6 pairs, beneficial`."""
    count = len(j.m.layout.pairs) if j.m.interleaved and j.m.layout is not None else 0
    basis = counted(count, "pair") if count else f"{j.m.base.runs} and {j.m.other.runs} runs"
    span = f" ({interval_text(j.m)})" if interval_text(j.m) else ""
    name = " ".join(filter(None, [cut_line(j.answer.other, NAME_CHARS), name_of(j.line.pair.case)]))
    return f"{name}: {delta_text(j.m)}{span}, {basis}, {j.verdict}"
