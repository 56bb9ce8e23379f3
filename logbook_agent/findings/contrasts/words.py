"""The numbers of contrasts in lines, as Markdown for an entry, and as plain data."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from logbook_agent.findings.contrasts.contrast import Contrasted
from logbook_agent.findings.contrasts.likeness import DifferenceStanding, differences_text
from logbook_agent.findings.contrasts.matching import Pair, Pairing
from logbook_agent.findings.contrasts.numbers import MetricChange, Numbers, compared
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import Contrast
from logbook_agent.model.units import format_value, known
from logbook_agent.text import markdown as md
from logbook_agent.text.words import assignments

LIMIT_BYTES, _NOTES_BYTES = 8000, 3000
_SHOWN_LINES = 12
_Place: TypeAlias = tuple[Pairing, Pair, MetricChange]


def text(one: Contrasted) -> str:
    """A line for each metric of each pair, then the notes; as many of each as there is room for in 8,000 bytes."""
    places = _places(one)
    noted = _fitting((f"- {note}" for note in notes(one, places)), _NOTES_BYTES)
    head = _subject(one.asked)
    room = LIMIT_BYTES - len("\n".join([head, *noted]).encode())
    return "\n".join([head, *_fitting((f"  {line}" for line in _lines(one, places)), room), *noted])


def _fitting(lines: Iterable[str], room: int) -> list[str]:
    """As many lines as so many bytes hold, and how many more there are."""
    shown: list[str] = []
    rest, room = iter(lines), room - 60
    for line in rest:
        room -= len(line.encode()) + 1
        if room < 0:
            return [*shown, f"and {1 + sum(1 for _ in rest):,} more: --json shows all"]
        shown.append(line)
    return shown


def markdown(one: Contrasted, own_id: str) -> str:
    """What the entry `own_id` shows of a contrast: the same in fewer lines; or why there are no numbers."""
    subject = md.escape(_subject(one.asked, own_id))
    if one.error is not None:
        why = f" ({one.error.cause})" if one.error.cause else ""
        return f"{subject} cannot be compared: {md.escape(one.error.message + why)}"
    places = _places(one)
    more = len(places) - _SHOWN_LINES
    shown = list(itertools.islice(_lines(one, places), _SHOWN_LINES))
    shown += [f"and {more} more: logbook compare shows them"] if more > 0 else []
    return f"{subject}\n{md.items([*map(md.escape, (*shown, *notes(one, places)))])}"


def _subject(asked: Contrast, own_id: str = "") -> str:
    """`quant_mode in MOE-I8-001, MOE-I8-002, only topk=2:`"""
    only = f", only {assignments(asked.where)}" if asked.where else ""
    if asked.axis is None:
        return f"{' → '.join(asked.references)}{only}:"
    of = "" if asked.references == (own_id,) else f" in {', '.join(asked.references)}"
    return f"{asked.axis}{of}{only}:"


def _places(one: Contrasted) -> list[_Place]:
    return [(side, pair, compared(pair, name)) for side in one.sides for pair in side.pairs for name in one.metrics]


def _lines(one: Contrasted, places: Sequence[_Place]) -> Iterator[str]:
    """`none → int8, topk=2, tflops: 100.25 [100.10, 100.40] → 106.65 [106.50, 106.80] TF/s, +6.38% (4 and 4 runs)`."""
    for side, pair, m in places:
        names = f"{side.base} → {side.other}" if one.asked.axis is not None else ""
        about = ", ".join(filter(None, (names, assignments(pair.case), m.metric)))
        change = "" if m.change is None else f", {m.change:+.2%}"
        numbers = f"{_number(m, m.base)} → {_number(m, m.other)}" + (f" {m.unit}" if m.unit else "")
        yield f"{about}: {numbers}{change} ({m.base.runs} and {m.other.runs} runs)"
    if not places:
        yield "no case on one side matches a case on the other"


def _number(m: MetricChange, side: Numbers) -> str:
    """A median with the lowest and highest run; `?` when there is none."""
    decimals = known(m.metric).decimals
    if side.runs < 2 or side.low is None or side.high is None:
        return format_value(side.median, decimals=decimals)
    ends = (side.median, side.low, side.high)
    middle, low, high = (format_value(v, decimals=decimals, spread=side.high - side.low) for v in ends)
    return f"{middle} [{low}, {high}]"


def notes(one: Contrasted, places: Sequence[_Place]) -> list[str]:
    """What would settle it, in what the sides differ, and what was left out."""
    pairs = [pair for side in one.sides for pair in side.pairs]
    of: Counter[str] = Counter()
    for like in (pair.likeness for pair in pairs):
        noted = [d for d in like.differences if d.standing is DifferenceStanding.NOTED]
        of.update([f"differs in {differences_text(like.withheld_by)}"] if like.withheld_by else [])
        of.update(differences_text([d]) for d in noted)
        of.update([f"not known for either side: {', '.join(like.not_known)}"] if like.not_known else [])
    differ = [t + (f" ({n} of {len(pairs)} cases)" if n < len(pairs) else "") for t, n in of.items()]
    groups = [group for pair in pairs for group in (pair.base, pair.other)]
    failed = [reason for g in groups if len(g.failed) < len(g.items) for reason in g.failed]
    contended = {item.run: item.case.contended for g in groups for item in g.items}
    counted = {
        "row{s} of runs that did not finish left out": sum(g.left_out for g in groups),
        f"failed row{{s}} left out: {', '.join(dict.fromkeys(failed))}": len(failed),
        f"of {len(contended)} runs started while others held an accelerator": sum(contended.values()),
    }
    left_out = [f"{n} {what.replace('{s}', 's' * (n != 1))}" for what, n in counted.items() if n]
    settle = [one.settle] if one.settle else []
    return [*one.uncounted, *settle, *differ, *dict.fromkeys(_missing(places)), *left_out, *_unpaired(one)]


def _missing(places: Sequence[_Place]) -> Iterator[str]:
    """Why metrics have no change, or one that may be of unlike samples."""
    for side, _, m in places:
        if m.has_two_units:
            yield f"{m.metric} is in two units: {m.base.unit} and {m.other.unit}"
        if m.change is not None and m.base.samples * m.other.runs != m.other.samples * m.base.runs:
            a, b = (f"{of.samples / of.runs:g}" for of in (m.base, m.other))
            yield f"{m.metric}: {a} samples a run against {b}"
        for name, of in ((side.base, m.base), (side.other, m.other)):
            if why := of.missing:
                yield f"{name} has no {m.metric}: {why}"


def _unpaired(one: Contrasted) -> Iterator[str]:
    for side in one.sides:
        why: dict[tuple[str, str], list[str]] = {}
        for lone in side.unpaired:
            name = {"base": side.base, "other": side.other}.get(lone.side, "neither side")
            case = assignments(lone.case) or f"{lone.runs} run{'s' * (lone.runs != 1)}"
            why.setdefault((name, lone.why), []).append(case)
        for (name, reason), cases in why.items():
            shown = "; ".join(cases[:3]) + (f" and {len(cases) - 3} more" if len(cases) > 3 else "")
            yield f"{len(cases)} case{'s' * (len(cases) > 1)} of {name} not compared ({shown}): {reason}"


# -- data --------------------------------------------------------------------------------------------


def data(one: Contrasted) -> dict[str, Any]:
    """A contrast with its numbers, complete, or with the `error` of one that has none."""
    return {
        "references": list(one.asked.references),
        "axis": one.asked.axis,
        "where": dict(one.asked.where),
        "sides": [
            {
                "base": side.base,
                "other": side.other,
                "cases": [_case(pair, one.metrics) for pair in side.pairs],
                "not_compared": [encode(lone) for lone in side.unpaired],
            }
            for side in one.sides
        ],
        "settle": one.settle,
        "uncounted": list(one.uncounted),
        "error": one.error.message if one.error is not None else None,
    }


def _case(pair: Pair, metrics: Sequence[str]) -> dict[str, Any]:
    return {
        "case": dict(pair.case),
        "differences": [encode(d) for d in pair.likeness.differences],
        "not_known": list(pair.likeness.not_known),
        "left_out_rows": pair.base.left_out + pair.other.left_out,
        "metrics": [_metric(compared(pair, name)) for name in metrics],
    }


def _metric(m: MetricChange) -> dict[str, Any]:
    sides = {"base": _side(m.base), "other": _side(m.other)}
    return {"metric": m.metric, "unit": m.unit, **sides, "change": m.change}


def _side(side: Numbers) -> dict[str, Any]:
    found = {name: getattr(side, name) for name in ("median", "low", "high", "runs", "samples")}
    return {**found, "failed": list(side.failed)}
