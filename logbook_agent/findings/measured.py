"""The best measured case of an entry, among all its cases and among those of the baseline. Plain data: it is indexed.

A case is what a table takes for one: rows that differ in config, label, environment, code, devices or packages are
none. The repeats of a case count as their median, so that many tries of one case do not look better than one. Only
runs that finished are ranked. The best case of a sweep is the one that was run again because it came out best, and its
value that of these fresh runs: the highest of many noisy numbers is too high.
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
from logbook_agent.model.units import known
from logbook_agent.model.values import canonical, row_key, spelt

if TYPE_CHECKING:
    from logbook_agent.findings.tables.spec import Case, Repeats
    from logbook_agent.model.values import Key

# One case: value, lowest and highest of its runs, unit, runs, run (the first), label, config (as far as it is kept),
# how many keys of it are not, what tells it apart beyond them (`apart`), and where all this is of fresh runs its value
# in the sweep that it was the best of (`in_sweep`, else None).
Best: TypeAlias = dict[str, Any]

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
    rows of each of the baseline's cases, None where there is none. Rows in another unit than the declared one
    are not ranked. Where no run that measured a metric finished, there are the first four alone, and `states`.
    """
    primary = [m for m in header.metrics if m.primary]
    if record.state == VOID or not any(
        m.name in row.metrics for m in primary for status in record.runs if status.counts for row in status.run.rows
    ):
        return {}
    # Imported where rows are met, as in `cases`.
    from logbook_agent.findings.case import keyed_cases
    from logbook_agent.findings.tables.build import repeats
    from logbook_agent.findings.tables.spec import Repeats

    cases = counting(cases_of(record))
    confirming = record.confirmations
    rows = repeats([case for case in cases if case.run not in confirming])
    fresh = [Repeats(cases=(case,)) for case in cases if case.run in confirming]
    configs = {status.run.run: row_key(status.run.config) for status in record.runs} if fresh else {}
    use = record.entry.recipe
    decides = (use.metric if use is not None else None) or primary[0].name
    against = baseline_cases(header)
    found = {}
    keyed = keyed_cases(record, cases)
    for metric in primary:
        if groups := _groups(rows, metric):
            groups = [_confirmed(g, _groups(fresh, metric), configs) for g in groups]
            found[metric.name] = _measured(groups, metric, against, chosen=metric.name == decides)
            if metric.direction is not None:
                found[metric.name] |= tried_cases(keyed, metric, against)
    return found


def tried_cases(
    keyed: Sequence[tuple[Case, str]], metric: Metric, places: Sequence[Mapping[str, Scalar]]
) -> dict[str, Any]:
    """`trials`: by case of an entry the value of each of its runs that finished, for `findings.best`; the best ones say
    what they are. Of a sweep that confirmed its best case only the fresh runs speak: any other number may be luck.
    `unranked`: how many cases that leaves out."""
    of: dict[str, list[tuple[Case, float, str | None]]] = {}
    for case, key in keyed:
        if case.state == "finished" and (taken := value_in(case.row, metric)) is not None:
            of.setdefault(key, []).append((case, *taken))

    def is_fresh(case: Case) -> bool:
        return case.confirms in ("", metric.name)

    planned = {key: [value for case, value, _ in own if case.confirms is None] for key, own in of.items()}
    if any(is_fresh(case) for own in of.values() for case, *_ in own):
        of = {key: fresh for key, own in of.items() if (fresh := [o for o in own if is_fresh(o[0])])}
    apart = _apart([own[0][0] for own in of.values()])
    found = [
        _tried_case(key, own, places)
        | {"apart": apart[id(own[0][0])]}
        | {"in_sweep": median(planned[key]) if own[0][0].confirms is not None and planned[key] else None}
        for key, own in of.items()
    ]
    found.sort(key=lambda case: median(case["values"]), reverse=metric.direction == "max")
    for one in found[_DESCRIBED:]:
        one |= {"label": None, "config": {}, "config_left_out": 0, "apart": {}}
    return {"trials": found, "unranked": len(planned) - len(found)}


def _apart(cases: Sequence[Case]) -> dict[int, dict[str, str]]:
    """What tells each of some cases from the others beyond its config, by the identity of the case."""
    from logbook_agent.findings.tables.build import repeats

    return {id(case): _bounded(r.apart, _APART_CHARS) for r in repeats(cases) for case in r.cases}


def _tried_case(
    key: str, own: Sequence[tuple[Case, float, str | None]], places: Sequence[Mapping[str, Scalar]]
) -> dict[str, Any]:
    first, _, unit = own[0]
    config = _bounded(first.row.config, CONFIG_CHARS)
    return {
        "key": key,
        "unit": unit,
        "values": [value for _, value, _ in own],
        "run": first.run,
        "fresh": first.confirms is not None,
        "of": [at for at, place in enumerate(places) if is_case(first.row.config, place)],
        "label": first.label,
        "config": config,
        "config_left_out": len(first.row.config) - len(config),
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Group:
    """The repeats of one case that have a value of a metric, all in one unit and of runs that ended alike; `fresh` are
    those that were made because it came out best."""

    values: list[float]
    cases: list[Case]
    unit: str | None
    apart: Mapping[str, str]
    fresh: _Group | None = None

    @property
    def value(self) -> float:
        return median((self.fresh or self).values)

    @property
    def state(self) -> str | None:
        return self.cases[0].state

    @property
    def config(self) -> Mapping[str, Scalar]:
        return self.cases[0].row.config


def _groups(rows: Sequence[Repeats], metric: Metric) -> list[_Group]:
    """Those of runs that finished, else of the others; of them those in the metric's unit when there are such."""
    wanted = unit_of(metric)
    found: list[_Group] = []
    for row in rows:
        of_unit: dict[str | None, _Group] = {}
        for case in row.cases:
            if (taken := value_in(case.row, metric)) is not None:
                value, unit = taken
                group = of_unit.setdefault(unit, _Group(values=[], cases=[], unit=unit, apart=row.apart))
                group.values.append(value)
                group.cases.append(case)
        found += of_unit.values()
    found = [g for g in found if g.state == "finished"] or found
    # Groups in several units have no common scale.
    return [g for g in found if wanted is None or g.unit == wanted] or (
        found if len({g.unit for g in found}) == 1 else []
    )


def _confirmed(group: _Group, fresh: Sequence[_Group], configs: Mapping[int, Key]) -> _Group:
    """The group with the fresh runs of its case that finished. `configs` are those that runs were started with."""
    key = configs.get(group.cases[0].run)
    own = [g for g in fresh if g.state == group.state == "finished" and g.unit == group.unit]
    own = [g for g in own if configs[g.cases[0].run] == key]
    if not own:
        return group
    values, cases = [v for g in own for v in g.values], [c for g in own for c in g.cases]
    return replace(group, fresh=replace(own[0], values=values, cases=cases))


def _measured(
    groups: Sequence[_Group], metric: Metric, cases: Sequence[Mapping[str, Scalar]], *, chosen: bool
) -> dict[str, Any]:
    """`chosen`: what was run again came out best by this metric."""
    values = [value for group in groups for value in group.values]
    span = {"low": min(values), "high": max(values), "unit": groups[0].unit, "cases": len(groups)}
    states = dict.fromkeys(str(g.state) for g in groups if g.state != "finished")
    if states:
        return {**span, "states": list(states)}
    if metric.direction is None:
        return span
    of = [[g for g in groups if is_case(g.config, case)] for case in cases]
    top = _top(groups, metric, chosen=chosen)
    return {
        **span,
        "best": {**_best(top), "of_baseline": any(top in found for found in of)},
        "against": [_best(_top(found, metric, chosen=chosen)) if found else None for found in of],
    }


def _top(groups: Sequence[_Group], metric: Metric, *, chosen: bool) -> _Group:
    """The best group. Where one was chosen and run again, no other takes its place by a number that may be luck."""
    better = max if metric.direction == "max" else min
    if again := [g for g in groups if g.fresh is not None] if chosen else []:
        return better(again, key=lambda g: median(g.values))
    return better(groups, key=lambda g: g.value)


def _best(group: _Group) -> Best:
    told = group.fresh or group
    first = told.cases[0]
    config, apart = _bounded(group.config, CONFIG_CHARS), _bounded(group.apart, _APART_CHARS)
    return {
        "value": group.value,
        "low": min(told.values),
        "high": max(told.values),
        "unit": group.unit,
        # Rows of one run are one process: no evidence about the noise between runs.
        "runs": len({case.run for case in told.cases}),
        "run": first.run,
        "label": group.cases[0].label,
        "config": config,
        "config_left_out": len(group.config) - len(config) + len(group.apart) - len(apart),
        "apart": apart,
        "in_sweep": median(group.values) if group.fresh is not None else None,
    }


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
