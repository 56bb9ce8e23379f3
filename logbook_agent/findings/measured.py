"""The best measured case of an entry, among all its cases and among those of the baseline. Plain data: it is indexed.

What one case is, `findings.case` says. The repeats of a case count as their median, so that many tries of one case do
not look better than one. Only runs that finished are ranked. The best case of a sweep is the one that was run again
because it came out best, and its value that of these fresh runs: the highest of many noisy numbers is too high.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from logbook_agent.findings.cases import cases as cases_of
from logbook_agent.findings.cases import counting
from logbook_agent.model.entry import VOID
from logbook_agent.model.header import Header, Metric
from logbook_agent.model.record import Record, ended_badly, is_made, mended, plan_runs
from logbook_agent.model.run import Row, Run, Scalar
from logbook_agent.model.stats import median
from logbook_agent.model.units import common, known
from logbook_agent.model.values import canonical, row_key, spelt

if TYPE_CHECKING:
    from logbook_agent.findings.tables.spec import Case

# One case: value, lowest and highest of its runs, unit, runs, run (the first), label, config (as far as it is kept),
# how many keys of it are not, what tells it apart beyond them (`apart`), and where all this is of fresh runs its value
# in the sweep that it was the best of (`in_sweep`, else None).
Best: TypeAlias = dict[str, Any]
# One case as `findings.best` takes it up: its key, the values of its runs, which these are, and the same as of `Best`.
Tried: TypeAlias = dict[str, Any]

CONFIG_CHARS = 600
_APART_CHARS = 300
# So many cases of an entry say what they are; of the others there are the numbers.
_DESCRIBED = 64


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


def value_in(row: Row, metric: Metric) -> tuple[float, str | None] | None:
    """What a row measured of a metric, the median of its samples, and its unit; None where that is no number."""
    found = row.metrics.get(metric.name)
    if found is None or not found.samples or row.failed is not None:
        return None
    value = median(found.samples)
    return (value, found.unit or unit_of(metric)) if math.isfinite(value) else None


def measured(record: Record, header: Header) -> dict[str, Any]:
    """By primary metric: `low`, `high`, `unit` and number of `cases`; and where a direction says what is better,
    `best` of all cases (with `of_baseline`: whether it is of the baseline's) and `against`, the best of the
    rows of each of the baseline's cases, None where there is none; `trials`, all cases for `findings.best`, and how
    many of a sweep are none (`unranked`). Where no run that measured a metric finished, there are the first four
    alone, and `states`; where its values have no common scale, their `units` alone.
    """
    primary = [m for m in header.metrics if m.primary]
    if record.state == VOID or not any(
        m.name in row.metrics for m in primary for status in record.runs if status.counts for row in status.run.rows
    ):
        return {}
    # Imported where rows are met, as in `cases`.
    from logbook_agent.findings.case import keys_of

    cases = counting(cases_of(record))
    keys = keys_of(cases)
    against = baseline_cases(header)
    found = {}
    for metric in primary:
        taken = [
            _Taken(case=case, key=key, value=of[0], unit=of[1])
            for case, key in zip(cases, keys, strict=True)
            if (of := value_in(case.row, metric)) is not None
        ]
        # Values in several units have no common scale.
        kept = common({t.unit for t in taken}, unit_of(metric))
        if on_scale := [t for t in taken if t.unit in kept]:
            found[metric.name] = _measured(on_scale, metric, against)
        elif taken:
            found[metric.name] = {"units": sorted({t.unit for t in taken if t.unit is not None})}
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """One row's value of a metric, with the key of its case."""

    case: Case
    key: str
    value: float
    unit: str | None


def _measured(taken: Sequence[_Taken], metric: Metric, places: Sequence[Mapping[str, Scalar]]) -> dict[str, Any]:
    finished = [t for t in taken if t.case.state == "finished"]
    # What was measured again because it came out best says nothing of how the others lie.
    planned = [t for t in finished or taken if not _is_fresh(t.case, metric)] or finished or taken
    values = [t.value for t in planned]
    unit = next((t.unit for t in taken if t.unit is not None), None)
    span = {"low": min(values), "high": max(values), "unit": unit, "cases": len({t.key for t in finished or taken})}
    if not finished:
        return {**span, "states": list(dict.fromkeys(str(t.case.state) for t in taken))}
    if metric.direction is None:
        return span
    tried, unranked = _tried(finished, metric, unit, places)
    against = [next((case for case in tried if at in case["of"]), None) for at in range(len(places))]
    for one in tried[_DESCRIBED:]:
        one |= {"label": None, "config": {}, "config_left_out": 0, "apart": {}}
    return {
        **span,
        "best": {**_best(tried[0]), "of_baseline": bool(tried[0]["of"])},
        "against": [_best(case) if case is not None else None for case in against],
        "trials": tried,
        "unranked": unranked,
    }


def _is_fresh(case: Case, metric: Metric) -> bool:
    """Whether a row is of a run that was made because its case came out best of a sweep by this metric."""
    return case.confirms in ("", metric.name)


def _tried(
    finished: Sequence[_Taken], metric: Metric, unit: str | None, places: Sequence[Mapping[str, Scalar]]
) -> tuple[list[Tried], int]:
    """Every case with the value of each of its runs, the best first. Of a sweep that confirmed its best case only the
    fresh runs speak: any other number may be luck; and how many cases that leaves out."""
    from logbook_agent.findings.case import repeats

    of: dict[str, list[_Taken]] = {}
    for one in finished:
        of.setdefault(one.key, []).append(one)
    fresh = {key: [t for t in own if _is_fresh(t.case, metric)] for key, own in of.items()}
    told = {key: own for key, own in fresh.items() if own} or of
    apart = {id(case): r.apart for r in repeats([own[0].case for own in told.values()]) for case in r.cases}
    found: list[Tried] = []
    for key, own in told.items():
        planned = [t.value for t in of[key] if t.case.confirms is None]
        first = own[0].case
        config, more = _bounded(first.row.config, CONFIG_CHARS), _bounded(apart[id(first)], _APART_CHARS)
        labels = {t.case.label for t in own}
        found.append(
            {
                "key": key,
                "unit": unit,
                "values": [t.value for t in own],
                "run": first.run,
                "runs": sorted({t.case.run for t in own}),
                "fresh": bool(fresh[key]),
                "of": [at for at, place in enumerate(places) if is_case(first.row.config, place)],
                "label": first.label if len(labels) == 1 else None,
                "config": config,
                "config_left_out": len(first.row.config) - len(config),
                "apart": more,
                "apart_left_out": len(apart[id(first)]) - len(more),
                "in_sweep": median(planned) if fresh[key] and planned else None,
            }
        )
    found.sort(key=lambda case: median(case["values"]), reverse=metric.direction == "max")
    return found, len(of) - len(told)


def _best(case: Tried) -> Best:
    return {
        "value": median(case["values"]),
        "low": min(case["values"]),
        "high": max(case["values"]),
        # Rows of one run are one process: no evidence about the noise between runs.
        "runs": len(case["runs"]),
        **{name: case[name] for name in ("unit", "run", "label", "config", "apart", "in_sweep")},
        "config_left_out": case["config_left_out"] + case["apart_left_out"],
    }


def represented(record: Record) -> Record:
    """The record with the fresh runs alone of a case that has some: they say how good it really is."""
    confirming = record.confirmations
    good = [s.run for s in record.runs if s.state == "finished" and all(row.failed is None for row in s.run.rows)]
    fresh = {row_key(run.config) for run in good if run.run in confirming and run.rows}
    kept = tuple(s for s in record.runs if s.run.run in confirming or row_key(s.run.config) not in fresh)
    return replace(record, runs=kept)


def counted_rows(record: Record) -> list[Row]:
    """The rows that an entry is said to have, without those of warm-ups. Of a sweep: no confirmation, and of runs that
    were made again, because they were cut off or failed, the last one."""
    return [row for run in _counted(record) for row in run.rows]


def _counted(record: Record) -> list[Run]:
    runs = [s.run for s in record.runs if s.counts]
    if record.entry.recipe is None:
        return runs
    left_out = record.confirmations | mended(runs)
    return [run for run in runs if is_made(run) and run.run not in left_out]


def row_counts(record: Record) -> tuple[int, int]:
    """How many rows count, and how many of them failed. A row of a run of a sweep's plan that ended badly has,
    whatever it says."""
    runs = _counted(record)
    bad = {run.run for run in plan_runs(runs) if ended_badly(run)} if record.entry.recipe is not None else set()
    failed = [row.failed is not None or run.run in bad for run in runs for row in run.rows]
    return len(failed), sum(failed)


def _bounded(config: Mapping[str, Scalar], room: int) -> dict[str, str]:
    """The first keys with their values as text; a key that is too long ends it."""
    found: dict[str, str] = {}
    for name, value in config.items():
        text = spelt(value)
        room -= len(name) + len(text) + 2
        if room < 0:
            break
        found[name] = text
    return found
