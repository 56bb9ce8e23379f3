"""Answers to a comparison as a table with notes, as short as it has to be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from logbook_agent.findings.contrasts.answers import Answer, Line
from logbook_agent.findings.contrasts.likeness import Difference, DifferenceStanding, differences_text
from logbook_agent.findings.contrasts.numbers import Compared
from logbook_agent.findings.contrasts.words import (
    change_text,
    interval_text,
    notes,
    number,
    verdict_text,
)
from logbook_agent.findings.evidence.layout import WHY, Lay
from logbook_agent.findings.evidence.noise import Noise, noise_of
from logbook_agent.findings.evidence.verdict import CLAIMS, Verdict
from logbook_agent.findings.tables.compare import IN_NOISE
from logbook_agent.findings.tables.frame import ABSENT
from logbook_agent.findings.tables.spec import Column, Table
from logbook_agent.model.values import canonical
from logbook_agent.text.lists import axis_option

LIMIT_BYTES = 8000
# From generous to sparse: rows, notes. More rows than the first has never fit.
_STEPS = ((100, 60), (60, 30), (40, 20), (25, 15), (15, 10), (8, 8), (4, 6), (2, 4), (1, 2))


def compared_text(answers: Sequence[Answer], render: Callable[[Table], str]) -> str:
    """At most 8,000 bytes of it; what is cut is counted. `render` makes text of a table."""
    text, noise = "", noise_of(answers)
    for rows, noted in _STEPS:
        text = render(compared_table(answers, noise, rows=rows, noted=noted))
        if len(text.encode()) <= LIMIT_BYTES:
            break
    return text


def compared_table(answers: Sequence[Answer], noise: Noise, *, rows: int, noted: int) -> Table:
    """One row for each metric of each pair, at most `rows`; below them what withholds verdicts, and at most `noted`
    notes."""
    every = [(a, line, m) for a in answers for line in a.lines for m in line.metrics]
    if len(every) > rows:
        every.sort(key=lambda one: _rank(one[2]))  # claims first: what is cut says nothing
    told = list(dict.fromkeys(name for _, line, _ in every for name in line.pair.case))
    axis = next((a.axis for a in answers), None)
    columns = [
        *(Column(name=name, numeric=False) for name in told),
        Column(name=axis or "compared"),
        Column(name="metric"),
        *(Column(name=name, numeric=True) for name in ("base", "other", "delta", "interval", "p", "runs")),
        Column(name="verdict"),
    ]
    marked = any(noise.marks(m) for _, _, m in every[:rows])
    mark = [f"{IN_NOISE} delta within the noise"] if marked else []
    found = [*_withheld(every, axis), *mark, *notes(answers, noise)]
    cut = [f"{len(every) - rows:,} more rows: --json shows all"] if len(every) > rows else []
    cut += [f"{len(found) - noted:,} more notes: --json shows all"] if len(found) > noted else []
    nothing = [] if every else ["no case on one side matches a case on the other"]
    return Table(
        columns=tuple(columns) if every else (Column(name="compared"), Column(name="verdict")),
        rows=tuple(_row(told, *one, noise) for one in every[:rows]),
        notes=tuple(dict.fromkeys((*nothing, *found[:noted], *cut))),
    )


def _row(told: Sequence[str], answer: Answer, line: Line, m: Compared, noise: Noise) -> tuple[str, ...]:
    effect = m.judgement.effect if m.judgement is not None else None
    return (
        *(line.pair.case.get(name, "") for name in told),
        f"{answer.base} → {answer.other}",
        f"{m.metric} ({m.unit})" if m.unit else m.metric,
        number(m, m.base),
        number(m, m.other),
        change_text(m) + (f" {IN_NOISE}" if noise.marks(m) else ""),
        interval_text(m),
        "" if effect is None or effect.p_value is None else f"{effect.p_value:.2g}",
        f"{m.base.runs}, {m.other.runs}",
        f"{verdict_text(m)}{m.marked}",
    )


def _rank(m: Compared) -> int:
    """Claims, other verdicts, then what has none."""
    word = verdict_text(m)
    return 0 if word in CLAIMS else 1 if word == Verdict.NEUTRAL else 2


def _withheld(every: Sequence[tuple[Answer, Line, Compared]], axis: str | None) -> list[str]:
    """What withholds verdicts, and what to type where that is meant."""
    found = Counter((m.withheld_by, _sides(a)) for a, _, m in every if m.withheld_by)
    shared: dict[tuple[Difference, ...], tuple[int, tuple[str, ...]]] = {}
    for (differences, values), count in found.items():
        total, all_values = shared.get(differences, (0, values[:1]))
        shared[differences] = total + count, (*all_values, *values[1:])
    return [
        _withheld_text(differences, axis, values, "" if count == len(every) else f" in {count} of {len(every)} rows")
        for differences, (count, values) in shared.items()
    ]


def _sides(answer: Answer) -> tuple[str, str]:
    return answer.base, answer.other


def _withheld_text(differences: Sequence[Difference], axis: str | None, values: Sequence[str], where: str) -> str:
    order = [d for d in differences if d.is_order]
    if not order:
        return f"verdict withheld{where}: differs in {differences_text(differences)}{_remedy(differences, axis)}"
    others = [d for d in differences if not d.is_order]
    also = f"; the sides also differ in {differences_text(others)}" if others else ""
    settle = f"logbook ab {_axis_option(axis, values)} -- COMMAND"
    # What was left out can be named; any other order has to be made anew.
    drift, settle = (
        ("", "name entries, not runs of them")
        if order[0].why == WHY[Lay.PICKED]
        else (", so a drift of the machine would look like an effect", settle)
    )
    return (
        f"{'verdict withheld' if others else 'not settled'}{where}: {order[0].why}{drift}{also}; "
        f"to settle it: {settle}; to judge it all the same: {' '.join(f'--allow {d.name}' for d in differences)}"
    )


def _axis_option(axis: str | None, values: Sequence[str]) -> str:
    """The values of a comparison as `logbook ab` takes them."""
    if axis is None:
        return "--axis NAME=A,B"
    # A command without the flag, or with an empty variable.
    none = "" if axis.startswith("env:") else canonical(None)
    return axis_option(axis, [none if value == ABSENT else value for value in dict.fromkeys(values)])


def _remedy(differences: Sequence[Difference], axis: str | None) -> str:
    names = [d.name for d in differences if d.name != "unit"]
    if len(names) < len(differences):
        return "; numbers in two units have no common scale"
    allow = f"; to allow it: {' '.join(f'--allow {name}' for name in names)}"
    [first, *more] = differences
    if axis is None and not more and first.standing is DifferenceStanding.DIFFERS and not first.name.startswith("argv"):
        return f"{allow}; if it is what you test: --axis {first.name}"
    return allow
