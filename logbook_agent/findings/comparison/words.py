"""The words of a finding: its sentence, its numbers, and what it needs. Every page uses these."""

from __future__ import annotations

import math

from logbook_agent.findings.comparison.answer import Answer, Finding, Lacks, Outcome, Side
from logbook_agent.model.comparison import BLOCK_PAIRS, CODE_AXIS, MINIMUM_EFFECT, code_hash, code_name
from logbook_agent.model.record import EffectEstimate
from logbook_agent.model.units import TIMES, format_value, known
from logbook_agent.text.phrases import assignments, counted, listed

# So many problems of the runs are shown.
SHOWN_NOTES = 3
# To so many characters longer names are cut, values that a side reports, and the name of an axis.
_NAME_CHARS, VALUE_CHARS, _AXIS_CHARS = 80, 16, 20
_TINY, _THOUSAND, _HUGE = 1e-3, 999.5, 1e7
# That an effect above this is ruled out says little.
_MOST = 0.5
# A change of so many times is said as a factor, too.
_BIG = 3.0
_ENV = "env:"
# Values that say nothing without their axis.
_BARE = frozenset({"true", "false", "null", "on", "off", "yes", "no", "(empty)"})
# What follows the name in the label of a code: `main@3f2a9c01d`, `WORK+a1b2c3d`.


def sentence(answer: Answer, finding: Finding) -> str:
    """`flash takes 8.1% less time than sdpa (95%: -9.4 to -6.9%; 12 pairs)`."""
    return f"{claim(answer, finding)} ({'; '.join(filter(None, (basis(answer, finding, 0), _needs(answer, finding))))})"


def claim(answer: Answer, finding: Finding) -> str:
    """`flash takes 8.1% less time than sdpa`: a sentence without its interval. Of names above 80 characters the middle
    is left out."""
    side, base = label(answer, finding.side), label(answer, answer.question.base)
    case = f" at {assignments(finding.case)}" if finding.case else ""
    names = (without_middle(name, _NAME_CHARS) for name in (finding.metric, case))
    return _claim(answer, finding, _axis_of(answer, finding.side), *_apart(side, base), *names)


def _apart(side: str, base: str) -> tuple[str, str]:
    """Both names, cut where they are long, still different where they were."""
    short = without_middle(side, _NAME_CHARS), without_middle(base, _NAME_CHARS)
    if short[0] != short[1] or side == base:
        return short
    alike = next((at for at, (one, other) in enumerate(zip(side, base, strict=False)) if one != other), 0)
    return without_middle(f"…{side[alike:]}", _NAME_CHARS), without_middle(f"…{base[alike:]}", _NAME_CHARS)


def without_middle(name: str, size: int) -> str:
    """A name in at most `size` characters, without its middle."""
    if len(name) <= size:
        return name
    tail = (size - 1) // 2
    return f"{name[: size - 1 - tail]}…{name[len(name) - tail :]}"


def label(answer: Answer, side: str) -> str:
    """The name of a side as the user gave it: `WORK` for the code `WORK+50d5d16`, if that tells the sides apart,
    and branches from those of other comparisons; of a commit without a name its hash and its subject, `3f2a9c01d
    "Faster"`."""
    if answer.question.axis == CODE_AXIS:
        names = {value: code_name(value) for value in answer.question.values}
        name = names.get(side, side)
        if " " in name or name.startswith('"'):
            quoted = name.strip('"')
            side = f'{code_hash(side)} "{quoted}"'
        elif len(set(names.values())) == len(names) and not answer.is_namesake:
            side = name
    return side if side else "(empty)"


def _axis_of(answer: Answer, side: str) -> str:
    """`tile=`, if the name of a side alone says nothing; else empty."""
    name, axis = label(answer, side), answer.question.axis
    is_bare = axis.startswith(_ENV) or name.casefold() in _BARE or not any(map(str.isalpha, name))
    return f"{without_middle(axis.removeprefix(_ENV), _AXIS_CHARS)}=" if is_bare else ""


def subject(answer: Answer, side: str) -> str:
    """The name of a side with its axis, if it needs one: `int8`, `tile=16`."""
    return f"{_axis_of(answer, side)}{label(answer, side)}"


def _claim(answer: Answer, finding: Finding, axis: str, side: str, base: str, name: str, case: str) -> str:
    change, side = finding.change, f"{axis}{side}"
    if finding.outcome is Outcome.NO_DIFFERENCE:
        return f"{side} and {base} show {no_difference(answer)} in {name}{case}"
    if finding.is_constant:
        return f"{side} and {base}{case} have the same {name} in all pairs"
    # What was found to be better and was discarded lacks nothing: it is said as it was found.
    if finding.outcome is Outcome.OPEN and finding.lacks is not None:
        seen = f", {signed(change)} so far" if change is not None else ""
        least = answer.question.minimum_effect
        of = f" for effects of {percent(least)}% or more" if least != MINIMUM_EFFECT else ""
        return f"{side} against {base}{case} is open in {name}{of}{seen}"
    size = f"{percent(abs(change or 0.0))}%"
    less = (change or 0.0) < 0
    if finding.unit in TIMES:
        of = "" if _is_only_time(answer) else f" ({name})"
        return f"{side} takes {size} {'less' if less else 'more'} time than {base}{case}{of}"
    if finding.unit is not None and "/" in finding.unit:
        return f"{side} has {size} {'less' if less else 'more'} {name} than {base}{case}"
    return f"{side} has {size} {'lower' if less else 'higher'} {name} than {base}{case}"


def no_difference(answer: Answer) -> str:
    least = answer.question.minimum_effect
    return "no difference" + (f" of {percent(least)}% or more" if least != MINIMUM_EFFECT else "")


def _is_only_time(answer: Answer) -> bool:
    return len({f.metric for f in answer.findings if f.unit in TIMES}) < 2


def basis(answer: Answer, finding: Finding, sittings: int) -> str:
    """`10.9x as fast; 95%: -91.2 to -90.3%; 12 pairs in 1 sitting of 2; with another checksum`."""
    made = f"{pairs(finding)} in {counted(sittings, 'sitting')}" if sittings else pairs(finding)
    made = f"{pairs(finding)}, replicated in another sitting" if sittings and finding.is_replicated else made
    # Those of the other sittings do not settle it.
    made += f" of {answer.sittings}" if 0 < sittings < answer.sittings else ""
    other = "" if finding.is_watched else freed(answer, finding.side)
    return "; ".join(filter(None, [factor(finding), interval(finding), made, other]))


def freed(answer: Answer, *sides: str) -> str:
    """`with another checksum`: what differs on these sides, as somebody said that it may; else empty."""
    names = dict.fromkeys(one.name for one in answer.apart if one.kind == "free" and one.side in sides)
    return f"with another {listed([*names], SHOWN_NOTES)}" if names else ""


def pairs(finding: Finding) -> str:
    """The pairs that the interval is of: `12 pairs`, or `10 of 14 pairs` while a block of an open finding is not
    finished."""
    judged = finding.judged or finding.pairs
    if finding.is_settled or judged == finding.pairs:
        return counted(judged, "pair")
    return f"{judged} of {counted(finding.pairs, 'pair')}"


def factor(finding: Finding) -> str:
    """`10.9x as fast`, of a time `4.5x as long`, else `10.9x`: a change that is settled and so large that a percentage
    hides its size."""
    ratio = 1 + (finding.change or 0.0)
    if finding.outcome not in (Outcome.BETTER, Outcome.WORSE) or 1 / _BIG < ratio < _BIG or ratio <= 0:
        return ""
    if finding.unit not in TIMES:
        return f"{_times(ratio)}x"
    return f"{_times(1 / ratio)}x as fast" if ratio < 1 else f"{_times(ratio)}x as long"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if _THOUSAND <= ratio < _HUGE else f"{ratio:.3g}"


def _needs(answer: Answer, finding: Finding) -> str:
    is_told = finding.lacks_pairs and finding.is_practical and not (answer.is_discarded or finding.is_constant)
    return f"needs {more_pairs(finding)}" if is_told else ""


def to_settle(answer: Answer, finding: Finding) -> str:
    """What an open finding needs; empty where it is settled or discarded, or more would say no more."""
    match finding.lacks if not (answer.is_discarded or finding.is_constant) else None:
        case None:
            return ""
        case Lacks("pairs"):
            rest = "" if finding.is_practical else ruled_out(finding)
            return "; ".join(filter(None, [more_pairs(finding), rest]))
        case Lacks("values"):
            return "runs in which both sides report a value above zero"
        case Lacks("direction"):
            return f"a direction of {finding.metric}"
        case Lacks("side", name=side):
            return _passing(answer, side)
        case Lacks("gate", name=name):
            free = f"ab --id {answer.entry}" if answer.is_typed else f"edit {answer.entry}"
            side = subject(answer, finding.side)
            return f"a change of {side}; if {name} may differ: logbook {free} --free {name}"
        case Lacks(name=name):
            edit = f"logbook edit {answer.entry}"
            return (
                f"your decision on {name}: `{edit} --free {name}` if it may differ, else `{edit} --gate 'same {name}'`"
            )


def _passing(answer: Answer, side: str) -> str:
    """What an answer needs of which a side failed in each pair, as further pairs run the same again."""
    is_base, name = side == answer.question.base, subject(answer, side)
    needs = f"another base than {name}" if is_base else f"a change of {name}"
    if is_base and answer.evaluator:
        needs += f", or {listed(answer.evaluator, SHOWN_NOTES)} of the other side"
    return f"{needs}: further pairs run what failed again"


def more_pairs(finding: Finding) -> str:
    """`at least 10 more pairs` to the next look; after two looks `tens of pairs more`, as no forecast is exact."""
    if finding.lacks is None or finding.lacks.pairs is None:
        return "more pairs than is practical: measure for longer in each run"
    if finding.lacks.pairs <= BLOCK_PAIRS or not finding.judged:
        return f"at least {counted(finding.lacks.pairs, 'more pair')}"
    return "tens of pairs more"


def ruled_out(finding: Finding) -> str:
    """`an effect of 9.5% or more is ruled out`, by the interval of an open finding; empty where that says little."""
    if not finding.lacks_pairs or not finding.most or finding.most > _MOST:
        return ""
    digit = 10.0 ** (math.floor(math.log10(finding.most)) - 1)
    return f"an effect of {percent(digit * math.ceil(finding.most / digit))}% or more is ruled out"


def interval(finding: Finding) -> str:
    """`95%: -9.4 to -6.9%`; empty where there is none."""
    low, high = finding.low, finding.high
    return "" if low is None or high is None else f"{finding.level:.0%}: {percent(low, '+')} to {percent(high, '+')}%"


def percent(part: float, sign: str = "") -> str:
    """A fraction in percent with three digits, without an exponent unless it is absurdly large."""
    value, size = 100 * part, abs(100 * part)
    if size < _TINY:
        return "0"
    return f"{value:{sign}.3g}" if size < _THOUSAND or size >= _HUGE else f"{value:{sign},.0f}"


def signed(part: float | None) -> str:
    """`-8.1%`; `?` where there is none."""
    return "?" if part is None else f"{percent(part, '+')}%"


def progress(finding: Finding) -> str:
    """`tflops +5.98% (95%: +5.68 to +6.29%), better`; `tflops +5.66% so far`."""
    side = f"{finding.side}: " if finding.case or finding.side else ""
    case = f" {assignments(finding.case)}" if finding.case else ""
    found = interval(finding)
    text = f"{side}{finding.metric}{case} {signed(finding.change)}" + (f" ({found})" if found else " so far")
    return f"{text}, {finding.outcome.value}" if finding.is_settled else text


def estimates(answer: Answer) -> tuple[EffectEstimate, ...]:
    """The changes of the goals, as a terminal draws them."""
    return tuple(
        EffectEstimate(
            name=" ".join(filter(None, (subject(answer, f.side), f.metric, assignments(f.case)))),
            change=f.change,
            low=f.low,
            high=f.high,
            least=answer.question.minimum_effect,
            outcome=f.outcome.value,
            interval=interval(f),
        )
        for f in answer.goals
    )


def number(f: Finding, side: Side) -> str:
    """`100.25 [100.10, 100.70]`: the median of a side with its lowest and highest run; `?` where nothing counts."""
    decimals, low, high = known(f.metric).decimals, side.low, side.high
    if low is None or high is None:
        return format_value(side.median, decimals=decimals)
    text, *ends = (format_value(v, decimals=decimals, spread=high - low) for v in (side.median, low, high))
    return f"{text} [{', '.join(ends)}]"


def asked(answer: Answer) -> str:
    """What is asked: `quant_mode: int8 against none`."""
    q = answer.question
    return f"{q.axis}: {', '.join(label(answer, s) for s in q.sides)} against {label(answer, q.base)}"
