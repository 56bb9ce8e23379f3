"""What tells the sides of a comparison apart beside their metrics: what each pair reports of both, and what of that is
constant on each side."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from logbook_agent.findings.comparison.answer import Apart, ApartKind
from logbook_agent.findings.comparison.conditions import circumstances
from logbook_agent.findings.comparison.side_cases import RowPair, SideCase
from logbook_agent.model.comparison import CASE_AXIS
from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.record import Record
from logbook_agent.model.run import Row, Run
from logbook_agent.model.units import KNOWN
from logbook_agent.model.values import Scalar, canonical, finite, is_digest_name, parse_scalar

# So many pairs show that a value is constant.
_CONSTANT_PAIRS = 3
# A longer label is prose.
_WORD_CHARS = 24
# What bench-core says of its own checks, which fail a row, and of the compiled program: it follows from the axis.
_DIAGNOSTIC = re.compile(
    r"max_abs_error|error_ratio|worst_error|worst_tolerance|tolerance|check_worst_output|flops_inflation"
    r"|(?:model_ring|temporary|argument|output|code|device_peak)_bytes\w*|(?:compiled|device_rows)_\w+"
)
# The label by which a benchmark says what its figures cannot tell.
_CAUTION = "caution"
# What a side says of a name that the other side alone reports, and of a metric that it alone reports.
_NOT_REPORTED, _A_NUMBER = "not reported", "a number"
# What the base and the other side report in a pair, by name.
_Both: TypeAlias = Mapping[str, tuple[str, str]]


def differences(
    sides: Sequence[SideCase],
    axis: str,
    declared: Sequence[Metric],
    record: Record,
    judged: Collection[str],
) -> list[Apart]:
    """What is constant on each side of a case and differs between them, and counts that lie apart, but for what a gate
    of the `record` mentions, and metrics that are `judged` by their ratio; metrics that got worse come first, then
    usual ones."""
    found, free = list[Apart](), record.free
    known = {gate.name for gate in record.gates} - {*free}
    several = len({of.name for of in sides if of.name}) > 1
    for of in sides:
        reports = [*(_both(pair, axis) for pair in of.pairs), *(_alone(row, is_base) for row, is_base in of.alone)]
        if len(reports) < _CONSTANT_PAIRS:
            continue
        for name, (base, other) in {**dict(_far_counts(of.pairs)), **dict(_constants(reports))}.items():
            mine, theirs = (finite(parse_scalar(text)) for text in (base, other))
            is_judged = name in judged and min(mine or 0, theirs or 0) > 0
            if is_judged or name in known:
                continue
            kind: ApartKind = "free" if name in free else "label" if is_digest_name(name) else ""
            if not kind and any(m.name == name for m in declared):
                direction = None if mine is None or theirs is None else "min" if theirs > mine else "max"
                way = metric_named(name, declared).direction
                kind = "worse" if (other == _NOT_REPORTED if direction is None else way == direction) else ""
            found.append(Apart(of.side, of.name if several else "", name, base, other, kind))
    # A loss or an accuracy that nobody declared tells more than a count.
    return sorted(found, key=lambda one: (one.kind != "worse", one.kind != "label", one.name not in KNOWN))


def _constants(reports: Sequence[_Both]) -> Iterator[tuple[str, tuple[str, str]]]:
    """What the sides report otherwise, in all pairs alike. That the output of the side is another in each run is no
    excuse."""
    first, *others = reports
    for name, (base, other) in first.items():
        said = [report.get(name, ("", "")) for report in others]
        if base != other and all(one == (base, other) for one in said):
            yield name, (base, other)
        elif base != other and is_digest_name(name) and all(one[0] == base != one[1] for one in said):
            yield name, (base, "several")


def _far_counts(pairs: Sequence[RowPair]) -> Iterator[tuple[str, tuple[str, str]]]:
    """The counts of which no run of one side reaches those of the other side."""
    for name in pairs[0].rows[0].observations if pairs else ():
        if _DIAGNOSTIC.fullmatch(name):
            continue
        counts = [[_count(row.observations.get(name)) for row in one.rows] for one in pairs]
        both = [(base, other) for base, other in counts if base is not None and other is not None]
        if len(both) < len(pairs):
            continue
        base, other = zip(*both, strict=True)
        if max(base) < min(other):
            yield name, (f"at most {canonical(max(base))}", f"at least {canonical(min(other))}")
        elif max(other) < min(base):
            yield name, (f"at least {canonical(min(base))}", f"at most {canonical(max(other))}")


def _count(value: float | None) -> float | None:
    number = finite(value)
    return number if number is not None and number.is_integer() else None


def _both(pair: RowPair, axis: str) -> _Both:
    """What each side of a pair reports. Which number one side alone has says nothing."""
    base, other = (_said(run, row, axis) for run, row in zip(pair.runs, pair.rows, strict=True))
    first, last = (row.metrics for row in pair.rows)
    for name in dict.fromkeys((*first, *last)):
        for said, metrics in ((base, first), (other, last)):
            if name not in metrics:
                continue
            said[name] = _A_NUMBER
            if name in first and name in last:
                said[name] = canonical(metrics[name].samples[0])
                said[f"the unit of {name}"] = metrics[name].unit or "none"
                said[f"the number of samples of {name}"] = str(len(metrics[name].samples))
    names = dict.fromkeys((*base, *other))
    return {name: (base.get(name, _NOT_REPORTED), other.get(name, _NOT_REPORTED)) for name in names}


def _alone(row: Row, is_base: bool) -> _Both:
    """What one side reports of a case that the other side does not have."""
    return dict.fromkeys(row.metrics, (_A_NUMBER, _NOT_REPORTED) if is_base else (_NOT_REPORTED, _A_NUMBER))


def _said(run: Run, row: Row, axis: str) -> dict[str, str]:
    """What a row reports, what matters most first: config, circumstances, labels, numbers that nobody declared,
    where its curves end, and what is wrong with its run. A label in prose is left out."""
    config = {} if axis == CASE_AXIS else {name: value for name, value in row.config.items() if name != axis}
    labels = {n: v for n, v in row.labels.items() if n != _CAUTION and (len(v) <= _WORD_CHARS or is_digest_name(n))}
    ends: dict[str, Scalar] = {
        f"the last {c.over} of {c.name}": c.last_step for c in run.curves if c.config.items() <= row.config.items()
    }
    words: dict[str, Scalar] = {**config, **circumstances(run, row, axis), **labels, **row.observations, **ends}
    found = {n: canonical(v) for n, v in words.items() if v is not None and not _DIAGNOSTIC.fullmatch(n)}
    return {**found, **{f'"{problem.text}"': str(problem.grade) for problem in run.problems}}
