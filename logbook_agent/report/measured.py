"""The best measured case of an entry, among all its cases and among those of the baseline. Plain data: it is indexed.

Two rows are one case when config and label agree; the repeats of a case count as their median, so that many tries
of one case do not look better than one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from logbook_agent.model.header import Header, Metric
from logbook_agent.model.record import Record
from logbook_agent.model.run import Row, Run, Scalar
from logbook_agent.results.values import canonical, row_key
from logbook_agent.stats import median
from logbook_agent.units import known

# One case: value, lowest and highest of its runs, unit, runs, run (the first), label, config (as far as it is kept),
# and how many keys of it are not.
Best: TypeAlias = dict[str, Any]

CONFIG_CHARS = 600


def baseline_cases(header: Header) -> tuple[dict[str, Scalar], ...]:
    """The config of each of the baseline's numbers; of the baseline alone when it states none."""
    if header.baseline is None:
        return ()
    own = header.baseline.config
    return tuple({**own, **n.config} for n in header.baseline.numbers) or ((own,) if own else ())


def is_case(config: Mapping[str, Scalar], case: Mapping[str, Scalar]) -> bool:
    """Whether a row with this config is of a case. A case that names no key is nobody's."""
    return bool(case) and all(canonical(config.get(k)) == canonical(v) for k, v in case.items())


def unit_of(metric: Metric) -> str | None:
    """The unit in which a stated number of this metric is."""
    return metric.unit or known(metric.name).unit


def measured(record: Record, header: Header) -> dict[str, Any]:
    """By primary metric: `low`, `high`, `unit` and number of `cases`; and where a direction says what is better,
    `best` of all cases (with `of_baseline`: whether it is of the baseline's) and `against`, the best of the
    rows of each of the baseline's cases, None where there is none. Rows in another unit than the declared one
    are not ranked.
    """
    if record.state == "void":
        return {}
    cases = baseline_cases(header)
    found = {}
    for metric in header.metrics:
        groups = _groups(record, metric) if metric.primary else []
        if groups:
            found[metric.name] = _measured(groups, metric, cases)
    return found


def row_counts(record: Record) -> tuple[int, int]:
    """How many rows there are, and how many of them failed."""
    rows = [row for status in record.runs for row in status.run.rows]
    return len(rows), sum(row.failed is not None for row in rows)


_Group: TypeAlias = "list[tuple[float, Run, Row]]"


def _groups(record: Record, metric: Metric) -> list[_Group]:
    """The rows that have a value of this metric, by case; those in its unit when there are such."""
    found: dict[object, _Group] = {}
    for status in record.runs:
        for row in status.run.rows:
            measurement = row.metrics.get(metric.name)
            if measurement is None or not measurement.samples or row.failed is not None:
                continue
            value = median(measurement.samples)
            if math.isfinite(value):
                key = (measurement.unit, status.run.label, row_key(row.config))
                found.setdefault(key, []).append((value, status.run, row))
    wanted = unit_of(metric)
    right = [g for g in found.values() if wanted is None or g[0][2].metrics[metric.name].unit in (None, wanted)]
    return right or _one_unit(list(found.values()), metric)


def _one_unit(groups: list[_Group], metric: Metric) -> list[_Group]:
    """Nothing when the groups come in several units: they have no common scale."""
    return groups if len({g[0][2].metrics[metric.name].unit for g in groups}) == 1 else []


def _measured(groups: Sequence[_Group], metric: Metric, cases: Sequence[Mapping[str, Scalar]]) -> dict[str, Any]:
    values = [value for group in groups for value, _, _ in group]
    unit = groups[0][0][2].metrics[metric.name].unit
    span = {"low": min(values), "high": max(values), "unit": unit, "cases": len(groups)}
    if metric.direction is None:
        return span
    of = [[g for g in groups if is_case(g[0][2].config, case)] for case in cases]
    top = _top(groups, metric)
    return {
        **span,
        "best": {**_best(top, metric), "of_baseline": any(top in found for found in of)},
        "against": [_best(_top(found, metric), metric) if found else None for found in of],
    }


def _top(groups: Sequence[_Group], metric: Metric) -> _Group:
    return (max if metric.direction == "max" else min)(groups, key=lambda g: median([value for value, _, _ in g]))


def _best(group: _Group, metric: Metric) -> Best:
    values = [value for value, _, _ in group]
    _, run, row = group[0]
    config = _bounded(row.config)
    return {
        "value": median(values),
        "low": min(values),
        "high": max(values),
        "unit": row.metrics[metric.name].unit,
        # Rows of one run are one process: no evidence about the noise between runs.
        "runs": len({r.run for _, r, _ in group}),
        "run": run.run,
        "label": run.label,
        "config": config,
        "config_left_out": len(row.config) - len(config),
    }


def _bounded(config: Mapping[str, Scalar]) -> dict[str, str]:
    """The first keys with their values as text; a key that is too long ends it."""
    found: dict[str, str] = {}
    room = CONFIG_CHARS
    for name, value in config.items():
        text = canonical(value) if value is None or isinstance(value, bool) else str(value)
        room -= len(name) + len(text) + 2
        if room < 0:
            break
        found[name] = text
    return found
