"""Reports of one case become one row.

The same config and the same values again are a duplicate and are dropped; the same config with new values
adds samples, in order. Only config identifies a case, but the config of a RESULT line is inferred: when two
lines of one config differ in a label or an observation, that key may well be what tells the cases apart
(`null_target=0.1`). Such rows stay apart, and a problem says how to settle it. A name that is measured by its
look (in `units.KNOWN`, or with a unit at its end: `elapsed_s`) tells no cases apart: what is kept of its values is
their median. A JSON row states its config; its first observation of another name stands. Rows that measure one thing
in several units stay apart, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from logbook_agent.model.run import Measurement, Row
from logbook_agent.model.stats import median
from logbook_agent.model.units import KNOWN
from logbook_agent.model.values import Key, canonical, row_key
from logbook_agent.running.results.lines import cut

_MEASURED = re.compile(r"(?:.*_)?(?:[num]?s|secs?|seconds|elapsed|time|[kmgt]i?b|bytes|t?flops|per_s\w*|pct|percent)")


def fold(rows: Sequence[Row], problem: Callable[[str], None], *, explicit: bool) -> tuple[list[Row], int]:
    """Rows with each case once, in order of first report, and how many duplicates were dropped."""
    folded: dict[tuple[object, ...], Row] = {}
    observed: dict[tuple[object, ...], list[Mapping[str, float | None]]] = {}
    seen: set[tuple[object, ...]] = set()
    firsts: dict[Key, Row] = {}
    duplicates = 0
    for row in rows:
        key = row_key(row.config)
        content = (key, _values(row), row.failed)
        if content in seen:
            duplicates += 1
            continue
        seen.add(content)
        first = firsts.setdefault(key, row)
        differing = _differing(first, row)
        if differing:
            problem(_advice(differing, explicit=explicit))
        telling = () if explicit else tuple(sorted(_telling(row).items()))
        case: tuple[object, ...] = (key, row.failed, telling)
        while case in folded and other_units(folded[case], row):
            case = (*case, "in another unit")
        folded[case] = _with_samples(folded[case], row) if case in folded else row
        observed.setdefault(case, []).append(row.observations)
    return [replace(row, observations=_summed_up(observed[case])) for case, row in folded.items()], duplicates


def _summed_up(observed: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    """What the reports of one case observed: of what is measured the median of the values that are known, of any other
    name the first value."""
    found = {}
    for name in dict.fromkeys(name for one in observed for name in one):
        values = [one[name] for one in observed if name in one]
        known = [value for value in values if value is not None]
        found[name] = median(known) if known and is_measured(name) else values[0]
    return found


def other_units(row: Row, more: Row) -> bool:
    """Whether two rows state one metric in two units: samples of both would have no common scale."""
    pairs = [(m.unit, more.metrics[name].unit) for name, m in row.metrics.items() if name in more.metrics]
    return any(a != b for a, b in pairs if a is not None and b is not None)


def _values(row: Row) -> tuple[object, ...]:
    metrics = tuple(sorted((n, m.samples, m.unit or "") for n, m in row.metrics.items()))
    return metrics, _words(row)


def _words(row: Row) -> tuple[object, ...]:
    return _observed(row), tuple(sorted(row.labels.items()))


def _observed(row: Row) -> tuple[object, ...]:
    return tuple(sorted((k, canonical(v)) for k, v in row.observations.items()))


def _telling(row: Row) -> dict[str, str]:
    """Labels, and observations whose name does not say that they are measured."""
    numbers = {k: canonical(v) for k, v in row.observations.items() if not is_measured(k)}
    return {**numbers, **row.labels}


def is_measured(name: str) -> bool:
    return name in KNOWN or _MEASURED.fullmatch(name.lower()) is not None


def _differing(first: Row, row: Row) -> list[str]:
    ours, theirs = _telling(first), _telling(row)
    return [k for k in {**ours, **theirs} if ours.get(k) != theirs.get(k)]


def _advice(keys: Sequence[str], *, explicit: bool) -> str:
    names = cut(", ".join(keys), 120)
    if explicit:
        return f"rows of one config differ in {names}; the first value is kept"
    return (
        f"RESULT lines of one config differ in {names}, so they are separate rows; "
        "declare what identifies a case as an axis, and what is measured as a metric"
    )


def _with_samples(row: Row, more: Row) -> Row:
    metrics = dict(row.metrics)
    for name, m in more.metrics.items():
        metrics[name] = _joined(metrics[name], m) if name in metrics else m
    return replace(
        row,
        metrics=metrics,
        observations={**more.observations, **row.observations},
        labels={**more.labels, **row.labels},
        devices=row.devices or more.devices,
        software={**more.software, **row.software},
        host=row.host or more.host,
    )


def add_new_samples(row: Row, more: Row) -> Row:
    """`row` with the measurements of `more` that it does not hold already."""
    fresh = {
        n: replace(m, samples=tuple(s for s in m.samples if n not in row.metrics or s not in row.metrics[n].samples))
        for n, m in more.metrics.items()
    }
    return _with_samples(row, replace(more, metrics={n: m for n, m in fresh.items() if m.samples}))


def _joined(first: Measurement, more: Measurement) -> Measurement:
    return Measurement(
        samples=first.samples + more.samples,
        unit=first.unit or more.unit,
        direction=first.direction or more.direction,
    )
