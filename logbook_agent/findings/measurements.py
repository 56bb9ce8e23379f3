"""What an entry measured of each primary metric, case by case, as plain data that is indexed; which of its rows count;
and why runs that went well measured nothing.

Which rows are one case, `findings.case_repeats` says.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import structs

from logbook_agent.findings.case_repeats import Repeats, repeats
from logbook_agent.findings.cases import Case, counting, without_mended
from logbook_agent.findings.cases import cases as cases_of
from logbook_agent.findings.identity import unexplained, words_of
from logbook_agent.model.entry import VOID
from logbook_agent.model.gates import REPORTED, WITHHELD
from logbook_agent.model.header import Header, Metric
from logbook_agent.model.record import Record, ended_badly, is_made, plan_runs
from logbook_agent.model.run import Row, Run, Scalar
from logbook_agent.model.stats import median
from logbook_agent.model.summary import MeasuredMetric, Trial
from logbook_agent.model.units import common, known
from logbook_agent.model.values import canonical, spelt
from logbook_agent.text.phrases import listed


def baseline_cases(header: Header) -> tuple[dict[str, Scalar], ...]:
    """The config of each of the baseline's numbers, or of the baseline alone when it states none, where there is
    some."""
    if header.baseline is None:
        return ()
    own = header.baseline.config
    return tuple(filter(None, [{**own, **n.config} for n in header.baseline.numbers] or [dict(own)]))


def is_case(config: Mapping[str, Scalar], case: Mapping[str, Scalar]) -> bool:
    """Whether this config has all values that a case names; never for a case that names none."""
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


# What a run measured of a metric in a case, and the unit.
_Value: TypeAlias = tuple[Case, float, str | None]


def measured(record: Record, header: Header) -> dict[str, MeasuredMetric]:
    """What an entry measured of each primary metric, by its name; else what the source of an import says of it."""
    primary = [m for m in header.metrics if m.primary]
    rows = [row for status in record.runs if status.counts for row in status.run.rows]
    if record.state == VOID or not any(m.name in row.metrics for m in primary for row in rows):
        return {}
    groups = repeats(counting(cases_of(record)))
    found = {m.name: _measured(groups, m) or _reported(rows, m) for m in primary}
    return {name: one for name, one in found.items() if one is not None}


def _reported(rows: Sequence[Row], metric: Metric) -> MeasuredMetric | None:
    own = [
        structs.replace(row, failed=None) for row in rows if row.failed is not None and row.failed.reason == REPORTED
    ]
    said = [value for row in own if (value := value_in(row, metric)) is not None]
    if not said or len({unit for _, unit in said}) > 1:
        return None
    values = [value for value, _ in said]
    return {"low": min(values), "high": max(values), "unit": said[0][1], "cases": len(said), "states": [REPORTED]}


def _measured(groups: Sequence[Repeats], metric: Metric) -> MeasuredMetric | None:
    of = [
        (g, [(case, *value) for case in g.cases if (value := value_in(case.row, metric)) is not None]) for g in groups
    ]
    units = {unit for _, own in of for *_, unit in own}
    # Values in several units have no common scale.
    kept = common(units, unit_of(metric))
    on_scale = [(group, held) for group, own in of if (held := [one for one in own if one[2] in kept])]
    if not on_scale:
        return {"units": sorted(unit for unit in units if unit is not None)} if units else None
    finished = [one for one in on_scale if one[0].cases[0].state == "finished"]
    values = [value for _, own in finished or on_scale for _, value, _ in own]
    unit = next((unit for unit in kept if unit is not None), None)
    span: MeasuredMetric = {"low": min(values), "high": max(values), "unit": unit}
    if not finished:
        states = list(dict.fromkeys(str(group.cases[0].state) for group, _ in on_scale))
        return {**span, "cases": len({group.key for group, _ in on_scale}), "states": states}
    trials = [_trial(group, own, unit) for group, own in finished]
    return {**span, "cases": len(trials), "trials": trials}


def _trial(group: Repeats, own: Sequence[_Value], unit: str | None) -> Trial:
    """A case with the value of each of its runs. A number or a word of the row that tells it from the others of its run
    is config that nobody declared."""
    first, beyond = own[0][0], group.apart
    said = {name: value for name, value in beyond.items() if name in {**first.row.observations, **first.row.labels}}
    found = [case for case, *_ in own]
    labels = {case.label for case in found}
    # A sweep measures a case before it is compared.
    part = next((case.part for case in found if case.part is not None), None)
    return Trial(
        key=group.key,
        unit=unit,
        values=[value for _, value, _ in own],
        runs=[case.run for case in found],
        accepted=all(case.accepted for case in found),
        problems=[*dict.fromkeys(problem for case in found for problem in case.problems)],
        side=part.side if part is not None else None,
        case=part.case if part is not None else "",
        label=first.label if len(labels) == 1 else None,
        config={name: spelt(value) for name, value in {**first.row.config, **said}.items()},
        apart={name: value for name, value in beyond.items() if name not in said},
        words=_words(first),
    )


def _words(case: Case) -> str:
    """The words of the command of a case that its config does not explain."""
    values = {canonical(value) for value in case.row.config.values()}
    return shlex.join(word for word in words_of(unexplained(case)) if word not in values)


def counted_rows(record: Record) -> list[Row]:
    """The rows that an entry is said to have, without those of warm-ups. Of runs of a sweep that were made again,
    because they were cut off or failed, the last one."""
    return [row for run in _counted(record) for row in run.rows]


def _counted(record: Record) -> list[Run]:
    is_sweep = record.entry.recipe is not None
    return [s.run for s in without_mended(record).runs if s.counts and (is_made(s.run) or not is_sweep)]


def row_counts(record: Record) -> tuple[int, int]:
    """How many rows there are, and how many of them failed. A row of a run of a sweep's plan that ended badly has,
    whatever it says; one that is withheld, or only reported, has not."""
    runs = _counted(record)
    bad = {run.run for run in plan_runs(runs) if ended_badly(run)} if record.entry.recipe is not None else set()
    failed = [_is_failed(row) or run.run in bad for run in runs for row in run.rows]
    return len(failed), sum(failed)


def _is_failed(row: Row) -> bool:
    return row.failed is not None and row.failed.reason not in (WITHHELD, REPORTED)


_SHOWN = 5


def unmeasured(runs: Sequence[Run], metrics: Sequence[Metric]) -> str | None:
    """Why runs that finished measured nothing, and what to print; None where they did, or nothing was to be."""
    rows = [row for run in runs for row in run.rows]
    good = [run for run in runs if run.exit is not None and run.exit.code == 0]
    if not metrics or not good or any(row.metrics or row.failed is not None for row in rows):
        return None
    if any(run.problems for run in good):
        return None  # these say what is wrong
    names = [m.name for m in metrics if m.primary] or [m.name for m in metrics]
    if not rows:
        return f"no result: the command printed no line of the form RESULT {names[0]}=0.31"
    said = list(dict.fromkeys(name for row in rows for name in (*row.observations, *row.labels, *row.config)))
    line = f"the RESULT line has {listed(said, _SHOWN)}" if said else "the RESULT line has no key"
    return f"no metric: the logbook declares {listed(names, _SHOWN)}, {line}"
