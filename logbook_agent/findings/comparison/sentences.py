"""A finding in one sentence, and its parts: names of sides, interval, change."""

from __future__ import annotations

import re

from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome
from logbook_agent.model.comparison import CODE_AXIS, MINIMUM_EFFECT
from logbook_agent.model.units import TIMES
from logbook_agent.text.words import assignments

SENTENCE_CHARS = 120
# No name in a sentence is cut to less: at first, and where it does not fit even so.
_LONG_NAME, _SHORT_NAME = 16, 8
_AXIS_CHARS = 20
_TINY, _THOUSAND, _HUGE = 1e-3, 999.5, 1e7
_ENV = "env:"
# Values that say nothing without their axis.
_BARE = frozenset({"true", "false", "null", "on", "off", "yes", "no", "(empty)"})
# What follows the name in the label of a code: `main@3f2a9c01d`, `WORK+a1b2c3d`.
_CODE = re.compile(r"[@+](?=[0-9a-f]{7,}$)")


def sentence(answer: Answer, finding: Finding) -> str:
    """`flash takes 8.1% less time than sdpa (95%: 6.9 to 9.4%; 12 pairs)`, at most SENTENCE_CHARS characters: of names
    that are longer, the middle is left out, never the outcome or the interval."""
    basis, needs = _basis(finding)
    for more, least in ((needs, _LONG_NAME), ("", _LONG_NAME), ("", _SHORT_NAME)):
        text = _within(answer, finding, f"{basis}{more})", least)
        if len(text) <= SENTENCE_CHARS:
            break
    return text


def _within(answer: Answer, finding: Finding, basis: str, least: int) -> str:
    """The sentence with names that are cut until it fits, none to less than so many characters."""
    side, base = label(answer, finding.side), label(answer, answer.question.base)
    case, axis = f" at {assignments(finding.case)}" if finding.case else "", _axis_of(answer, finding.side)
    text = ""
    for size in range(max(map(len, (side, base, finding.metric, case, "x" * least))), least - 1, -1):
        others = (_without_middle(name, size) for name in (finding.metric, case))
        text = f"{_claim(answer, finding, axis, *_apart(side, base, size), *others)} {basis}"
        if len(text) <= SENTENCE_CHARS:
            break
    return text


def _apart(side: str, base: str, size: int) -> tuple[str, str]:
    """Both names in so many characters each, still told apart where they were."""
    short = _without_middle(side, size), _without_middle(base, size)
    if short[0] != short[1] or side == base:
        return short
    alike = next((at for at, (one, other) in enumerate(zip(side, base, strict=False)) if one != other), 0)
    return _without_middle(f"…{side[alike:]}", size), _without_middle(f"…{base[alike:]}", size)


def _without_middle(name: str, size: int) -> str:
    """A name in at most so many characters."""
    if len(name) <= size:
        return name
    tail = (size - 1) // 2
    return f"{name[: size - 1 - tail]}…{name[len(name) - tail :]}"


def label(answer: Answer, side: str) -> str:
    """The name of a side as the user gave it: `WORK` for the code `WORK+50d5d16`, where that tells the sides apart."""
    if answer.question.axis == CODE_AXIS:
        names = {value: code_name(value) for value in answer.question.values}
        if len(set(names.values())) == len(names):
            side = names.get(side, side)
    return side if side else "(empty)"


def code_name(label: str) -> str:
    """The name of a code in its label: `main` of `main@3f2a9c01d`."""
    return _CODE.split(label)[0]


def _axis_of(answer: Answer, side: str) -> str:
    """`tile=`, where the name of a side alone says nothing."""
    name, axis = label(answer, side), answer.question.axis
    is_bare = axis.startswith(_ENV) or name.casefold() in _BARE or not any(map(str.isalpha, name))
    return f"{_without_middle(axis.removeprefix(_ENV), _AXIS_CHARS)}=" if is_bare else ""


def subject(answer: Answer, side: str) -> str:
    """The name of a side where it stands alone: `int8`, `tile=16`."""
    return f"{_axis_of(answer, side)}{label(answer, side)}"


def _claim(answer: Answer, finding: Finding, axis: str, side: str, base: str, name: str, case: str) -> str:
    change, side = finding.change, f"{axis}{side}"
    if finding.outcome is Outcome.NO_DIFFERENCE:
        return f"{side} and {base} show no difference in {name}{case}"
    if finding.outcome is Outcome.OPEN:
        seen = f", {signed(change)} so far" if change is not None else ""
        least = answer.question.minimum_effect
        of = f" for effects of {percent(least)}% or more" if least != MINIMUM_EFFECT else ""
        return f"{side} against {base}{case} is open in {name}{of}{seen}"
    size = f"{percent(abs(change or 0.0))}%"
    less = (change or 0.0) < 0
    if finding.unit in TIMES:
        of = "" if _is_only_time(answer, finding) else f" ({name})"
        return f"{side} takes {size} {'less' if less else 'more'} time than {base}{case}{of}"
    if finding.unit is not None and "/" in finding.unit:
        return f"{side} has {size} {'less' if less else 'more'} {name} than {base}{case}"
    return f"{side} has {size} {'lower' if less else 'higher'} {name} than {base}{case}"


def _is_only_time(answer: Answer, finding: Finding) -> bool:
    return len({f.metric for f in answer.findings if f.unit in TIMES}) < 2


def _basis(finding: Finding) -> tuple[str, str]:
    """`(95%: 6.9 to 9.4%; 12 pairs`: the interval and the pairs that decided, on the side of the change where it does
    not hold 0; and `; needs about 8 more pairs`."""
    count = finding.judged if finding.is_settled else finding.pairs
    pairs = f"{count} pair{'s' * (count != 1)}"
    is_counted = finding.to_settle.startswith(("about", "at least"))
    found = interval(finding)
    return f"({found}; {pairs}" if found else f"({pairs}", f"; needs {finding.to_settle}" if is_counted else ""


def interval(finding: Finding) -> str:
    """`95%: 6.9 to 9.4%`, or `95%: -0.3 to +0.4%` where it holds 0; empty where there is none."""
    low, high = finding.low, finding.high
    if low is None or high is None:
        return ""
    if low < 0 < high or not finding.is_settled or finding.outcome is Outcome.NO_DIFFERENCE:
        return f"{finding.level:.0%}: {percent(low, '+')} to {percent(high, '+')}%"
    small, large = (percent(end) for end in sorted((abs(low), abs(high))))
    return f"{finding.level:.0%}: {'above ' if small == '0' else ''}{small} to {large}%"


def percent(part: float, sign: str = "") -> str:
    """Three digits of a fraction in percent, without an exponent unless it is absurdly large."""
    value, size = 100 * part, abs(100 * part)
    if size < _TINY:
        return "0"
    return f"{value:{sign}.3g}" if size < _THOUSAND or size >= _HUGE else f"{value:{sign},.0f}"


def signed(part: float | None) -> str:
    """`-8.1%`; `?` where there is none."""
    return "?" if part is None else f"{percent(part, '+')}%"


def progress(finding: Finding) -> str:
    """`tflops +5.98% (95%: 5.68 to 6.29%), better`."""
    side = f"{finding.side}: " if finding.case or finding.side else ""
    case = f" {assignments(finding.case)}" if finding.case else ""
    found = interval(finding)
    text = f"{side}{finding.metric}{case} {signed(finding.change)}" + (f" ({found})" if found else "")
    return f"{text}, {finding.outcome.value}" if finding.is_settled else text
