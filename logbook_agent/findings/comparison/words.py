"""How an answer is said: the lines of an entry, a line about it, and plain data. Every page uses these."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from logbook_agent.findings.comparison.answer import Answer, Finding, Side
from logbook_agent.findings.comparison.sentences import SENTENCE_CHARS as SENTENCE_CHARS
from logbook_agent.findings.comparison.sentences import interval as interval
from logbook_agent.findings.comparison.sentences import label as label
from logbook_agent.findings.comparison.sentences import percent, signed, subject
from logbook_agent.findings.comparison.sentences import progress as progress
from logbook_agent.findings.comparison.sentences import sentence as sentence
from logbook_agent.model.units import format_value, known
from logbook_agent.text import markdown as md

_SHOWN_FINDINGS = 12


def change_text(finding: Finding) -> str:
    """`-8.1%`; `?` where there is none."""
    return signed(finding.change)


def entry_lines(answer: Answer, entry_id: str) -> list[str]:
    """What the block of an entry says of its comparison, as Markdown: that a later entry goes on with the question, or
    a line for each finding, with what stands beside it."""
    later = answer.continued_in(entry_id)
    if later is not None:
        return [f"Continued in {later}, which has the answer."]
    shown = answer.findings[:_SHOWN_FINDINGS]
    lines = []
    for f in shown:
        text = md.escape(sentence(answer, f))
        text = f"**{text}**" if f.is_settled and not f.is_guard else text
        lines.append("; ".join([text, *map(md.escape, (*f.left_out, *f.notes))]))
    more = len(answer.findings) - len(shown)
    lines += [f"and {more} more, which `logbook compare {entry_id}` shows"] if more > 0 else []
    return [*lines, *map(md.escape, about(answer))]


def about(answer: Answer) -> list[str]:
    """What holds for all findings of an answer: which entries have its pairs, and what was left out."""
    together = [f"Pairs of {', '.join(answer.entries)} together."] if len(answer.entries) > 1 else []
    ids = ", ".join(answer.earlier)
    earlier = [f"The same was asked of other code, or under other conditions, in {ids}."] if ids else []
    void = [f"Void, and not counted: {', '.join(answer.void)}."] if answer.void else []
    return [*together, *earlier, *answer.left_out, *void]


def method(answer: Answer) -> list[str]:
    """How an answer was found, in sentences that a page folds away."""
    q, sittings = answer.question, answer.sittings
    codes = dict.fromkeys(answer.code.values())
    named = [f"{label(answer, side)} {code}" for side, code in answer.code.items()] if len(codes) > 1 else [*codes]
    return [
        f"Asked: {asked(answer)}; an effect below {percent(q.minimum_effect)}% does not matter.",
        f"Measured: {answer.pairs} pairs in {sittings} sitting{'s' * (sittings != 1)}; chance drew the order of each.",
        "Judged: the intervals hold at 95% over all looks, for all goals together, and for all guards together.",
        *([f"Code: {', '.join(named)}."] if codes else []),
        f"Confidence: {'; '.join([answer.confidence, *answer.reasons])}.",
    ]


def text_lines(answer: Answer) -> list[str]:
    """An answer as plain text, complete: what is asked, each finding in a sentence, and below it the numbers of both
    sides and what stands beside it."""
    lines = [f"{answer.entry}, {asked(answer)}"]
    for f in answer.findings:
        lines += [sentence(answer, f), *(f"  {text}" for text in (_numbers(answer, f), *f.left_out, *f.notes) if text)]
    lines += about(answer) if answer.findings else [*about(answer), "no pair has a number yet"]
    return [*lines, f"confidence: {answer.confidence} ({'; '.join(answer.reasons)})"]


def _numbers(answer: Answer, f: Finding) -> str:
    """`none 100.25 [100.10, 100.70], int8 106.40 [106.12, 106.90] TF/s`; empty where a side has no number."""
    sides = ((answer.question.base, f.base), (f.side, f.other))
    if any(side.median is None for _, side in sides):
        return ""
    text = ", ".join(f"{label(answer, name)} {number(f, side)}" for name, side in sides)
    return text + (f" {f.unit}" if f.unit else "")


def number(f: Finding, side: Side) -> str:
    """`100.25 [100.10, 100.70]`: the median of a side with its lowest and highest run; `?` where nothing counts."""
    decimals, low, high = known(f.metric).decimals, side.low, side.high
    if low is None or high is None:
        return format_value(side.median, decimals=decimals)
    text, *ends = (format_value(v, decimals=decimals, spread=high - low) for v in (side.median, low, high))
    return f"{text} [{', '.join(ends)}]"


def headline(answer: Answer, entry_id: str) -> str:
    """The first goal of an answer in one sentence, for a line about an entry."""
    later = answer.continued_in(entry_id)
    if later is not None:
        return f"continued in {later}"
    more = len(answer.goals) - 1
    return sentence(answer, answer.findings[0]) + (f" and {more} more" if more > 0 else "")


def settled(answers: Sequence[Answer], metrics: Sequence[str] = ()) -> list[tuple[Answer, Finding]]:
    """What the comparisons of a thread settled: goals before guards, by the order of `metrics`, and of one metric the
    latest question first."""
    found = [(a, f) for a in reversed(answers) for f in a.findings if f.is_settled]
    rank = {name: at for at, name in enumerate(metrics)}
    return sorted(found, key=lambda one: (one[1].is_guard, rank.get(one[1].metric, len(rank))))


def unsettled(answers: Sequence[Answer]) -> list[tuple[Answer, Finding]]:
    """The goals that are open, those first that the fewest pairs would settle, else the latest question first."""
    found = [(a, f) for a in reversed(answers) for f in a.goals if not f.is_settled]
    return sorted(found, key=lambda one: missing_pairs(one[1]))


def missing_pairs(finding: Finding) -> float:
    """How many more pairs would probably settle a finding; infinite where no practical number would."""
    found = re.search(r"\d+", finding.to_settle)
    return float(found[0]) if found is not None else math.inf


def negatives(answer: Answer) -> list[str]:
    """The negative results of a comparison."""
    return [sentence(answer, f) for f in answer.without_gain]


def asked(answer: Answer) -> str:
    """What is asked: `quant_mode: int8 against none`."""
    q = answer.question
    return f"{q.axis}: {', '.join(label(answer, s) for s in q.sides)} against {label(answer, q.base)}"


def line_data(answer: Answer, entry_id: str) -> dict[str, Any]:
    """What a line about an entry says of its comparison, as plain data: the `result` in a sentence, what was `asked`,
    and each finding of the candidates, which the latest entry has."""
    has = answer.continued_in(entry_id) is None
    return {
        "result": headline(answer, entry_id),
        "asked": asked(answer),
        "candidates": [
            {
                "metric": f.metric,
                "side": subject(answer, f.side),
                "value": f.other.median,
                "spread": (f.other.high or 0.0) - (f.other.low or 0.0),
                "unit": f.unit,
                "change": change_text(f),
                "outcome": f.outcome.value,
                "is_bold": f.is_settled and not f.is_guard,
            }
            for f in (answer.findings if has else ())
        ],
    }


def data(answer: Answer) -> dict[str, Any]:
    """An answer as plain data."""
    q = answer.question
    return {
        "id": answer.entry,
        "entries": list(answer.entries),
        "axis": q.axis,
        "base": q.base,
        "sides": list(q.sides),
        "minimum_effect": q.minimum_effect,
        "code": dict(answer.code),
        "pairs": answer.pairs,
        "sittings": answer.sittings,
        "confidence": answer.confidence,
        "reasons": list(answer.reasons),
        "earlier": list(answer.earlier),
        "void": list(answer.void),
        "left_out": list(answer.left_out),
        "findings": [_finding(answer, f) for f in answer.findings],
    }


def _finding(answer: Answer, f: Finding) -> dict[str, Any]:
    return {
        "metric": f.metric,
        "unit": f.unit,
        "direction": f.direction,
        "guard": f.is_guard,
        "side": f.side,
        "case": dict(f.case),
        "base": _side(f.base),
        "other": _side(f.other),
        "outcome": f.outcome.value,
        "change": f.change,
        "interval": None if f.low is None or f.high is None else [f.low, f.high],
        "level": f.level,
        "pairs": f.pairs,
        "judged": f.judged,
        "replicated": f.is_replicated,
        "left_out": list(f.left_out),
        "notes": list(f.notes),
        "to_settle": f.to_settle,
        "sentence": sentence(answer, f),
    }


def _side(side: Side) -> dict[str, Any]:
    return {"median": side.median, "low": side.low, "high": side.high, "runs": side.runs}
