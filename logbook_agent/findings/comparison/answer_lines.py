"""An answer in lines: those of its entry, complete as text, and plain data. `words` has the sentence of a finding."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.findings.comparison.answer import Answer, Apart, Finding, Outcome
from logbook_agent.findings.comparison.words import (
    SHOWN_NOTES,
    VALUE_CHARS,
    asked,
    claim,
    label,
    number,
    percent,
    sentence,
    subject,
    to_settle,
    without_middle,
)
from logbook_agent.model.codec import encode
from logbook_agent.model.units import with_unit
from logbook_agent.model.values import finite, is_digest_name, parse_scalar
from logbook_agent.text import markdown as md
from logbook_agent.text.phrases import bounded, counted, listed

_SHOWN_FINDINGS = 12
# Of what comes before any finding.
_SHOWN_FIRST = 4
# Of the entries that asked the same, the latest.
SHOWN_SAME = 2
# Of what comes before any finding, where the answer is one line.
SHORTLY = 2


def entry_lines(answer: Answer) -> list[str]:
    """The lines about the comparison in the block of an entry, as Markdown: a line for each finding with its notes."""
    lines = []
    for f in answer.findings:
        text = md.escape(sentence(answer, f))
        text = f"**{text}**" if f.is_settled and not f.is_watched else text
        lines.append("; ".join([text, *map(md.escape, (*f.left_out, *f.notes))]))
    lines = bounded(lines, _SHOWN_FINDINGS, f"more, which `logbook compare {answer.entry}` shows")
    return [*map(md.escape, first_words(answer)), *lines, *map(md.escape, about(answer))]


def first_words(answer: Answer, most: int = _SHOWN_FIRST) -> list[str]:
    """What comes before any finding: which sides failed, what got worse beside the goals, and what is constant on each
    side and differs."""
    worse = [f"{claim(answer, f)} (worse)" for f in answer.findings if f.is_watched and f.outcome is Outcome.WORSE]
    apart = [_differs(answer, one) for one in answer.apart if one.kind != "free"]
    return [*answer.first, *bounded([*failures(answer), *worse, *apart], most)]


def _differs(answer: Answer, one: Apart) -> str:
    """`loss is 0.9 with int8, 0.5 with none at topk=4`."""
    name = f"{one.name}, which may differ," if one.kind == "free" else one.name
    side, base = subject(answer, one.side), subject(answer, answer.question.base)
    other, own = _values(one)
    said = f"{name} is {other} with {side}, {own} with {base}"
    return f"{said}{f' at {one.case}' if one.case else ''}{' (worse)' if one.kind == 'worse' else ''}"


def notes(answer: Answer) -> list[str]:
    """What differs between the sides, and may, as somebody said; and problems of the runs."""
    return [*(_differs(answer, one) for one in answer.apart if one.kind == "free"), *answer.notes]


def failures(answer: Answer) -> list[str]:
    """`int8 failed in 4 pairs: exit code 1`, for each side that failed, with its most frequent reason."""
    return [
        f"{subject(answer, side)} failed in {counted(sum(of.values()), 'pair')}: {answer.how_failed(side)}"
        for side, of in answer.failed.items()
    ]


def _values(one: Apart) -> tuple[str, str]:
    """What the side and the base report; bytes in MiB or GiB, where that shows a difference."""
    numbers = [number for text in (one.other, one.base) if (number := finite(parse_scalar(text))) is not None]
    if one.name.endswith("_bytes") and len(numbers) == 2:
        (other, base), unit = with_unit(numbers, "bytes", one.name)
        if other != base:
            return f"{other} {unit}", f"{base} {unit}"
    return _value(one.name, one.other), _value(one.name, one.base)


def _value(name: str, text: str) -> str:
    """A value that one side reports: of a number six digits, of a word, and of a digest, 16 characters."""
    number = None if is_digest_name(name) else finite(parse_scalar(text))
    is_long = number is not None and len(text) > VALUE_CHARS
    return f"{number:.6g}" if is_long else without_middle(text, VALUE_CHARS)


def about(answer: Answer) -> list[str]:
    """Lines about all findings of an answer: who asked the same, and what was left out."""
    other = answer.of_other_code[::-1]
    same = [entry for entry in dict.fromkeys((*answer.earlier, *answer.twins)) if entry not in other]
    again = [f"The same was asked in {listed(same[::-1], SHOWN_SAME)}."] if same else []
    again += [f"The same was asked of other code in {listed(other, SHOWN_SAME)}."] if other else []
    void = ["Void: its pairs count for nothing."] if answer.is_void else []
    noted = bounded(notes(answer), SHOWN_NOTES)
    gates = {to_settle(answer, f): None for f in answer.goals if f.lacks is not None and f.lacks.what == "gate"}
    needs = [f"To settle it: {text}" for text in gates if text]
    return [*again, *evaluator(answer), *answer.left_out, *needs, *(f"Noted: {text}" for text in noted), *void]


def evaluator(answer: Answer) -> list[str]:
    """Which files of the base measured both sides, where another side has others."""
    if not answer.evaluator:
        return []
    base = label(answer, answer.question.base)
    return [f"Measured with {listed(answer.evaluator, SHOWN_NOTES)} of {base} on both sides."]


def method(answer: Answer) -> list[str]:
    """How an answer was found, in sentences."""
    q, sittings = answer.question, answer.sittings
    codes = dict.fromkeys(answer.code.values())
    named = [f"{label(answer, side)} {code}" for side, code in answer.code.items()] if len(codes) > 1 else [*codes]
    return [
        f"Asked: {asked(answer)}; an effect below {percent(q.minimum_effect)}% does not matter.",
        f"Measured: {answer.pairs} pairs in {counted(sittings, 'sitting')}; chance drew the order of each.",
        "Judged: the intervals hold at 95% over all looks, for all goals together and for each watched metric alone.",
        *([f"Code: {', '.join(named)}."] if codes else []),
        f"Confidence: {'; '.join([answer.confidence, *answer.reasons])}.",
    ]


def text_lines(answer: Answer) -> list[str]:
    """An answer as plain text, complete: the question, each finding in a sentence with the numbers of both sides and
    its notes below it."""
    lines = [f"{answer.entry}, {asked(answer)}", *first_words(answer)]
    for f in answer.findings:
        lines += [sentence(answer, f), *(f"  {text}" for text in (_numbers(answer, f), *f.left_out, *f.notes) if text)]
    return [
        *lines,
        *about(answer),
        *unmeasured(answer),
        f"confidence: {answer.confidence} ({'; '.join(answer.reasons)})",
    ]


def unmeasured(answer: Answer) -> list[str]:
    """That no pair has a number, and which side failed, or the setup."""
    if answer.findings or answer.is_void:
        return []
    failed = f": {subject(answer, answer.stopped[0])} failed: {answer.stopped[1]}" if answer.stopped else ""
    return [f"no pair has a number yet{failed}"]


def end_lines(answer: Answer) -> list[str]:
    """An answer as plain text where its pairs end: each finding in a sentence, with its notes below it."""
    found = [[sentence(answer, f), *(f"  {note}" for note in (*f.left_out, *f.notes))] for f in answer.findings]
    return [*first_words(answer), *(line for lines in found for line in lines), *about(answer)]


def _numbers(answer: Answer, f: Finding) -> str:
    """`none 100.25 [100.10, 100.70], int8 106.40 [106.12, 106.90] TF/s`, with the number of pairs where the interval is
    of fewer; empty where a side has no number."""
    sides = ((answer.question.base, f.base), (f.side, f.other))
    if any(side.median is None for _, side in sides):
        return ""
    text = ", ".join(f"{subject(answer, name)} {number(f, side)}" for name, side in sides)
    of = f" (medians of {counted(f.pairs, 'pair')})" if f.judged and f.judged < f.pairs else ""
    return text + (f" {f.unit}" if f.unit else "") + of


# What plain data have as the answer and its findings do.
_OF_ANSWER = (
    "code",
    "pairs",
    "sittings",
    "confidence",
    "reasons",
    "earlier",
    "left_out",
    "evaluator",
    "stopped",
    "failed",
)
_OF_FINDING = ("metric", "unit", "direction", "side", "case", "change", "level", "pairs", "judged", "left_out", "notes")
_OF_SIDE = ("median", "low", "high", "runs")


def data(answer: Answer) -> dict[str, object]:
    """An answer as plain data."""
    q = answer.question
    return {
        "id": answer.entry,
        "axis": q.axis,
        "base": q.base,
        "sides": list(q.sides),
        "minimum_effect": q.minimum_effect,
        **_plain(answer, _OF_ANSWER),
        "void": answer.is_void,
        "notes": notes(answer),
        "first": first_words(answer),
        "findings": [_finding(answer, f) for f in answer.findings],
    }


def _finding(answer: Answer, f: Finding) -> dict[str, object]:
    return {
        **_plain(f, _OF_FINDING),
        "watched": f.is_watched,
        "base": _plain(f.base, _OF_SIDE),
        "other": _plain(f.other, _OF_SIDE),
        "outcome": f.outcome.value,
        "interval": None if f.low is None or f.high is None else [f.low, f.high],
        "replicated": f.is_replicated,
        "to_settle": to_settle(answer, f),
        "sentence": sentence(answer, f),
    }


def _plain(value: object, names: Sequence[str]) -> dict[str, object]:
    return {name: encode(getattr(value, name)) for name in names}
