"""How an answer is said: in one sentence, in a line of progress, and as plain data. Every page uses these."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from logbook_agent.findings.comparison.answers import Answer, Finding, Outcome, Side
from logbook_agent.model.comparison import CODE_AXIS
from logbook_agent.model.units import TIMES, format_value, known
from logbook_agent.text import markdown as md
from logbook_agent.text.words import assignments

SENTENCE_CHARS = 120
# What follows the name in the label of a code: `main@3f2a9c01d`, `WORK+a1b2c3d`.
_CODE = re.compile(r"[@+](?=[0-9a-f]{7,}$)")
_SHOWN_FINDINGS = 12


def sentence(answer: Answer, finding: Finding) -> str:
    """`flash takes 8.1% less time than sdpa (95%: 6.9 to 9.4%; 12 pairs)`, at most SENTENCE_CHARS characters."""
    case = f" at {assignments(finding.case)}" if finding.case else ""
    text = _claim(answer, finding, label(answer, finding.side), label(answer, answer.question.base), case)
    basis = _basis(finding)
    room = SENTENCE_CHARS - len(basis) - 1
    return f"{text if len(text) <= room else text[: room - 1] + '…'} {basis}"


def label(answer: Answer, side: str) -> str:
    """The name of a side as the user gave it: `WORK` for the code `WORK+50d5d16`, where that tells the sides apart."""
    if answer.question.axis == CODE_AXIS:
        names = {value: _CODE.split(value)[0] for value in answer.question.values}
        if len(set(names.values())) == len(names):
            side = names.get(side, side)
    return side if side else "(empty)"


def _claim(answer: Answer, finding: Finding, side: str, base: str, case: str) -> str:
    name, change = finding.metric, finding.change
    if finding.outcome is Outcome.NO_DIFFERENCE:
        return f"{side} and {base} show no difference in {name}{case}"
    if finding.outcome is Outcome.OPEN:
        seen = f", {_signed(change)} so far" if change is not None else ""
        return f"{side} against {base}{case} is open in {name}{seen}"
    size = _part(abs(change or 0.0))
    less = (change or 0.0) < 0
    if finding.unit in TIMES:
        of = "" if _is_only_time(answer, finding) else f" ({name})"
        return f"{side} takes {size} {'less' if less else 'more'} time than {base}{case}{of}"
    if finding.unit is not None and "/" in finding.unit:
        return f"{side} has {size} {'less' if less else 'more'} {name} than {base}{case}"
    return f"{side} has {size} {'lower' if less else 'higher'} {name} than {base}{case}"


def _is_only_time(answer: Answer, finding: Finding) -> bool:
    return len({f.metric for f in answer.findings if f.unit in TIMES}) < 2


def _basis(finding: Finding) -> str:
    """`(95%: 6.9 to 9.4%; 12 pairs)`: the interval that decided, on the side of the change where it does not hold 0."""
    pairs = f"{finding.pairs} pair{'s' * (finding.pairs != 1)}"
    found = interval(finding)
    more = f"; {finding.to_settle}" if finding.to_settle.startswith(("about", "at least")) else ""
    return f"({found}; {pairs}{more})" if found else f"({pairs}{more})"


def interval(finding: Finding) -> str:
    """`95%: 6.9 to 9.4%`, or `95%: -0.3 to +0.4%` where it holds 0; empty where there is none."""
    low, high = finding.low, finding.high
    if low is None or high is None:
        return ""
    if low < 0 < high or not finding.is_settled or finding.outcome is Outcome.NO_DIFFERENCE:
        return f"{finding.level:.0%}: {100 * low:+.3g} to {100 * high:+.3g}%"
    small, large = sorted((abs(low), abs(high)))
    return f"{finding.level:.0%}: {100 * small:.3g} to {100 * large:.3g}%"


def _part(part: float) -> str:
    return f"{100 * part:.3g}%" if part >= 0.0005 else f"{100 * part:.2g}%"


def _signed(part: float | None) -> str:
    return "?" if part is None else f"{100 * part:+.3g}%"


def progress(finding: Finding) -> str:
    """`tflops +5.98% (95%: 5.68 to 6.29%), better`."""
    side = f"{finding.side}: " if finding.case or finding.side else ""
    case = f" {assignments(finding.case)}" if finding.case else ""
    found = interval(finding)
    text = f"{side}{finding.metric}{case} {_signed(finding.change)}" + (f" ({found})" if found else "")
    return f"{text}, {finding.outcome.value}" if finding.is_settled else text


def change_text(finding: Finding) -> str:
    """`-8.1%`; `?` where there is none."""
    return _signed(finding.change)


def sentences(answer: Answer) -> list[str]:
    """One sentence for each finding, goals first."""
    return [sentence(answer, f) for f in answer.findings]


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
    return [*lines, *map(md.escape, _of_all(answer))]


def _of_all(answer: Answer) -> list[str]:
    """What belongs to all findings: which entries share the answer, and what does not count."""
    lines = [f"Pairs of {', '.join(answer.entries)} together."] if len(answer.entries) > 1 else []
    lines += [f"The same was asked of other code in {', '.join(answer.earlier)}."] if answer.earlier else []
    lines += answer.left_out
    return [*lines, *([f"Void, and not counted: {', '.join(answer.void)}."] if answer.void else [])]


def text_lines(answer: Answer) -> list[str]:
    """An answer as plain text, complete: what is asked, each finding in a sentence, and below it the numbers of both
    sides and what stands beside it."""
    lines = [f"{answer.entry}, {asked(answer)}"]
    for f in answer.findings:
        lines += [sentence(answer, f), *(f"  {text}" for text in (_numbers(answer, f), *f.left_out, *f.notes) if text)]
    lines += _of_all(answer) if answer.findings else [*_of_all(answer), "no pair has a number yet"]
    return [*lines, f"confidence: {answer.confidence} ({'; '.join(answer.reasons)})"]


def _numbers(answer: Answer, f: Finding) -> str:
    """`none 100.25 [100.10, 100.70], int8 106.40 [106.12, 106.90] TF/s`: medians with the lowest and highest run."""
    found = []
    for name, side in ((answer.question.base, f.base), (f.side, f.other)):
        if side.median is None or side.low is None or side.high is None:
            return ""
        decimals, spread = known(f.metric).decimals, side.high - side.low
        ends = (side.median, side.low, side.high)
        middle, low, high = (format_value(v, decimals=decimals, spread=spread) for v in ends)
        found.append(f"{label(answer, name)} {middle} [{low}, {high}]")
    return ", ".join(found) + (f" {f.unit}" if f.unit else "")


def headline(answer: Answer, entry_id: str) -> str:
    """The first goal of an answer in one sentence, for a line about an entry."""
    later = answer.continued_in(entry_id)
    if later is not None:
        return f"continued in {later}"
    more = len(answer.goals) - 1
    return sentence(answer, answer.findings[0]) + (f" and {more} more" if more > 0 else "")


def settled(answers: Sequence[Answer]) -> list[tuple[Answer, Finding]]:
    """What the comparisons of a thread settled, the latest question first, in each the goals before the guards."""
    return [(a, f) for a in reversed(answers) for f in a.findings if f.is_settled]


def unsettled(answers: Sequence[Answer]) -> list[tuple[Answer, Finding]]:
    """The goals that are open, the latest question first."""
    return [(a, f) for a in reversed(answers) for f in a.goals if not f.is_settled]


def asked(answer: Answer) -> str:
    """What is asked: `quant_mode: int8 against none`."""
    q = answer.question
    return f"{q.axis}: {', '.join(label(answer, s) for s in q.sides)} against {label(answer, q.base)}"


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
