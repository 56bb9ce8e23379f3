"""What repeats of one command say of an A/B to come: how far they scatter, and what the default A/B would settle.

Neighbouring runs are pairs of a value with itself, as an A/B of equal sides would make them. The rule judges simulated
pairs that scatter as these do (`comparison.power`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from logbook_agent.findings.case import repeats
from logbook_agent.findings.cases import Repeats, cases, counting
from logbook_agent.findings.comparison.answer import PairSeries
from logbook_agent.model.comparison import BUDGET_PAIRS, MINIMUM_EFFECT
from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.record import Record
from logbook_agent.model.stats import median, noise_floor
from logbook_agent.model.units import format_value, known
from logbook_agent.text.times import duration

# Fewer pairs do not tell how far they scatter.
FEWEST_PAIRS = 3
# No effect is one, too.
EFFECTS = (0.0, 0.01, 0.03, 0.1)
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Settles:
    """In which part of all cases an A/B of BUDGET_PAIRS settles an effect (0: that there is none)."""

    effect: float
    part: float

    @property
    def tenths(self) -> str:
        return f"{round(10 * self.part)} of 10"


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Of a metric of a case: `scatter` is the standard deviation of the logs of the runs (0.01: about 1%; None: not
    known), `run_s` the median time that a run took."""

    metric: str
    unit: str | None
    case: Mapping[str, str]
    runs: int
    median: float
    scatter: float | None
    run_s: float | None
    settles: tuple[Settles, ...]


def noise_of(record: Record, declared: Sequence[Metric], *, forecasts: int = 0) -> list[Noise]:
    """What the finished runs of an entry say of each primary metric of each case. The first `forecasts` say what an
    A/B would settle, which takes most of a second each."""
    found = [case for case in cases(record) if case.state == "finished"]
    if not found:
        return []
    primary = [m for m in declared if m.primary]
    names = dict.fromkeys(name for case in found for name in case.row.metrics)
    metrics = primary or [metric_named(name, declared) for name in names]
    durations = [s.run.duration_s for s in record.runs if s.counts and s.run.duration_s is not None]
    run_s = median(durations) if durations else None
    groups = repeats(counting(found))
    measured = [(group, metric, _values(group, metric.name)) for group in groups for metric in metrics]
    there = [one for one in measured if one[2]]
    return [_noise(*one, run_s, is_forecast=at < forecasts) for at, one in enumerate(there)]


def _values(group: Repeats, metric: str) -> list[float]:
    """The value of each run: the median of its samples."""
    there = [case.row.metrics[metric] for case in group.cases if metric in case.row.metrics]
    return [median(measured.samples) for measured in there if measured.samples]


def _noise(group: Repeats, metric: Metric, values: Sequence[float], run_s: float | None, *, is_forecast: bool) -> Noise:
    scatter = noise_floor([[value] for value in values])
    pairs = list(zip(values[::2], values[1::2], strict=False)) if scatter is not None else []
    settles: tuple[Settles, ...] = ()
    if is_forecast and len(pairs) >= FEWEST_PAIRS:
        # The rule is loaded for those who have runs to judge.
        from logbook_agent.findings.comparison.power import settled_part

        series = PairSeries(
            y=tuple(math.log(b) - math.log(a) for a, b in pairs),
            signs=tuple((-1) ** at for at in range(len(pairs))),
            entries=(0,) * len(pairs),
        )
        bound = math.log1p(MINIMUM_EFFECT)
        settles = tuple(
            Settles(effect=e, part=settled_part(series, effect=math.log1p(e), pairs=BUDGET_PAIRS, bound=bound))
            for e in EFFECTS
        )
    units = (case.row.metrics[metric.name].unit for case in group.cases if metric.name in case.row.metrics)
    return Noise(
        metric=metric.name,
        unit=metric.unit or next((unit for unit in units if unit is not None), None),
        case=group.apart,
        runs=len(values),
        median=median(values),
        scatter=scatter,
        run_s=run_s,
        settles=settles,
    )


def noise_lines(found: Sequence[Noise]) -> list[str]:
    """A line for each metric and case, at most 20."""
    more = len(found) - _SHOWN
    return [_line(one) for one in found[:_SHOWN]] + ([f"and {more} more: logbook show ID --json"] if more > 0 else [])


def _line(n: Noise) -> str:
    case = "".join(f" {k}={v}" for k, v in n.case.items())
    value = format_value(n.median, decimals=known(n.metric).decimals) + (f" {n.unit}" if n.unit else "")
    text = f"{n.metric}{case}: median {value} of {n.runs} run{'s' * (n.runs != 1)}"
    if n.scatter is None:
        return f"{text}; {'values that are not above zero have no ratio' if n.runs > 1 else 'one run does not scatter'}"
    text = f"{text}, which scatter by {100 * n.scatter:.2g}%"
    if not n.settles:
        return text
    none, first, *others = n.settles
    found = f"an effect of {first.effect:.0%} in {first.tenths} cases"
    found += "".join(f", {one.effect:.0%} in {one.tenths}" for one in others)
    took = f", {duration(2 * BUDGET_PAIRS * n.run_s)}" if n.run_s is not None else ""
    return f"{text}; logbook ab ({BUDGET_PAIRS} pairs{took}) would settle {found}, and no difference in {none.tenths}"
