"""The numbers of contrasts as a table, as Markdown for an entry, and as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from logbook_agent.findings.contrasts.contrast import Contrasted
from logbook_agent.findings.contrasts.likeness import DifferenceStanding, differences_text
from logbook_agent.findings.contrasts.matching import Pair, Pairing
from logbook_agent.findings.contrasts.numbers import Compared, Numbers, compared
from logbook_agent.findings.tables.spec import Column, Table
from logbook_agent.model.codec import encode
from logbook_agent.model.comparison import Contrast
from logbook_agent.model.units import format_value, known
from logbook_agent.text import markdown as md
from logbook_agent.text.words import assignments

LIMIT_BYTES = 8000
# From generous to sparse: rows, notes. More rows than the first has never fit.
_STEPS = ((100, 60), (60, 30), (40, 20), (25, 15), (15, 10), (8, 8), (4, 6), (2, 4), (1, 2))
_SHOWN_LINES = 12


def text(one: Contrasted, render: Callable[[Table], str]) -> str:
    """At most 8,000 bytes of a table with notes; what is cut is counted. `render` makes text of a table."""
    found = ""
    for rows, noted in _STEPS:
        found = render(_table(one, rows=rows, noted=noted))
        if len(found.encode()) <= LIMIT_BYTES:
            break
    return found


def markdown(one: Contrasted, own_id: str) -> str:
    """What the entry `own_id` shows of a contrast: a line for each metric of each pair, then the notes; or why there
    are no numbers."""
    if one.error is not None:
        why = f" ({one.error.cause})" if one.error.cause else ""
        return f"{_subject(one.asked, own_id)}: cannot be compared: {md.escape(one.error.message + why)}"
    found = [_sentence(one, *place) for place in _places(one)]
    more = len(found) - _SHOWN_LINES
    shown = found[:_SHOWN_LINES] + ([f"and {more} more, which `logbook compare` shows"] if more > 0 else [])
    return f"{_subject(one.asked, own_id)}:\n{md.items([*shown, *map(md.escape, notes(one))])}"


def _places(one: Contrasted) -> Iterator[tuple[Pairing, Pair, Compared]]:
    return ((side, pair, compared(pair, name)) for side in one.sides for pair in side.pairs for name in one.metrics)


def _subject(asked: Contrast, own_id: str) -> str:
    references = [md.escape(r) for r in asked.references]
    only = f", only {md.inline_code(assignments(asked.where))}" if asked.where else ""
    if asked.axis is None:
        return f"{' → '.join(references)}{only}"
    of = "" if asked.references == (own_id,) else f" in {', '.join(references)}"
    return f"{md.inline_code(asked.axis)}{of}{only}"


def _sentence(one: Contrasted, side: Pairing, pair: Pair, m: Compared) -> str:
    case = md.inline_code(assignments(pair.case)) if pair.case else ""
    names = md.escape(f"{side.base} → {side.other}") if one.asked.axis is not None else ""
    about = ", ".join(t for t in (names, case, md.inline_code(m.metric)) if t)
    unit = f" {m.unit}" if m.unit else ""
    numbers = f"{_number(m, m.base)} → {_number(m, m.other)}{unit}, {_change(m)}"
    return f"{about}: {md.escape(f'{numbers} ({m.base.runs} and {m.other.runs} runs)')}"


def _table(one: Contrasted, *, rows: int, noted: int) -> Table:
    """One row for each metric of each pair, at most `rows`, and below them at most `noted` notes."""
    every, found = list(_places(one)), notes(one)
    told = list(dict.fromkeys(name for _, pair, _ in every for name in pair.case))
    columns = [
        *(Column(name=name) for name in told),
        Column(name=one.asked.axis or "compared"),
        Column(name="metric"),
        *(Column(name=name, numeric=True) for name in ("base", "other", "change", "runs")),
    ]
    cut = [f"{len(every) - rows:,} more rows: --json shows all"] if len(every) > rows else []
    cut += [f"{len(found) - noted:,} more notes: --json shows all"] if len(found) > noted else []
    nothing = [] if every else ["no case on one side matches a case on the other"]
    return Table(
        columns=tuple(columns) if every else (Column(name="compared"),),
        rows=tuple(
            (
                *(pair.case.get(name, "") for name in told),
                f"{side.base} → {side.other}",
                f"{m.metric} ({m.unit})" if m.unit else m.metric,
                _number(m, m.base),
                _number(m, m.other),
                _change(m),
                f"{m.base.runs}, {m.other.runs}",
            )
            for side, pair, m in every[:rows]
        ),
        notes=tuple(dict.fromkeys((*nothing, *found[:noted], *cut))),
    )


def _number(m: Compared, side: Numbers) -> str:
    """A median with the lowest and highest run; `?` when there is none."""
    decimals = known(m.metric).decimals
    if side.runs < 2 or side.low is None or side.high is None:
        return format_value(side.median, decimals=decimals)
    ends = (side.median, side.low, side.high)
    middle, low, high = (format_value(v, decimals=decimals, spread=side.high - side.low) for v in ends)
    return f"{middle} [{low}, {high}]"


def _change(m: Compared) -> str:
    return "?" if m.change is None else f"{m.change:+.2%}"


def notes(one: Contrasted) -> list[str]:
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
    return [*one.uncounted, *settle, *differ, *dict.fromkeys(_missing(one)), *left_out, *_unpaired(one)]


def _missing(one: Contrasted) -> Iterator[str]:
    """Why metrics have no change."""
    for side, _, m in _places(one):
        if m.has_two_units:
            yield f"{m.metric} is in two units: {m.base.unit} and {m.other.unit}"
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
    """A contrast with its numbers, complete."""
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
    }


def _case(pair: Pair, metrics: Sequence[str]) -> dict[str, Any]:
    return {
        "case": dict(pair.case),
        "differences": [encode(d) for d in pair.likeness.differences],
        "not_known": list(pair.likeness.not_known),
        "left_out_rows": pair.base.left_out + pair.other.left_out,
        "metrics": [_metric(compared(pair, name)) for name in metrics],
    }


def _metric(m: Compared) -> dict[str, Any]:
    sides = {"base": _side(m.base), "other": _side(m.other)}
    return {"metric": m.metric, "unit": m.unit, **sides, "change": m.change}


def _side(side: Numbers) -> dict[str, Any]:
    found = {name: getattr(side, name) for name in ("median", "low", "high", "runs", "samples")}
    return {**found, "failed": list(side.failed)}
