"""What runs say of experiments that are still to come: how far pairs scatter, how many it takes, and for how long.

Neighbouring runs of one command are pairs of a value with itself, as an A/A would make them; every second pair is
turned round, as the order within pairs changes in an A/B, so that what the second run of a pair is slower by counts as
scatter. `planning` says how many pairs it takes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from logbook_agent.findings.cases import cases
from logbook_agent.findings.evidence.alike import Terms
from logbook_agent.findings.evidence.answers import Ask, Line, metric_names
from logbook_agent.findings.evidence.compared import Compared, numbers, scatter_of
from logbook_agent.findings.evidence.pairs import Ground, Group
from logbook_agent.findings.evidence.planning import (
    FEWEST_PAIRS,
    fewest_pairs,
    is_open,
    pairs_for,
    pairs_with_looks,
    scatter_of_pairs,
    smallest_effect,
)
from logbook_agent.findings.evidence.verdict import percent
from logbook_agent.model.entry import Design
from logbook_agent.model.header import Metric
from logbook_agent.model.record import Record
from logbook_agent.model.stats import median
from logbook_agent.model.stats.noise import noise_floor
from logbook_agent.model.stats.sequential import ALPHA, threshold
from logbook_agent.text.markdown import one_line
from logbook_agent.text.times import duration

# The effects, and the numbers of pairs, that a forecast is made for.
EFFECTS = (0.01, 0.03, 0.1)
PAIRS = (FEWEST_PAIRS, 10, 20)
# Fewer pairs do not tell how far they scatter.
FEWEST = 3
_CASE_CHARS = 120
# Of all that is told in words: an agent reads it in one look.
_TOLD_BYTES = 7000


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """What shows an effect in four of five experiments: pairs of a number that was fixed before the first, or at most
    so many with looks on the way; for the former, how long all runs take."""

    effect: float
    pairs: int
    pairs_with_looks: int
    minutes: float | None
    device_hours: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The smallest effect that so many pairs show in four of five experiments."""

    pairs: int
    effect: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Of a metric of a case; `other` names the value beside the base, where there are two. `floor` is how far `runs`
    scatter, `scatter` how far `pairs` do (None: they are too few, or have no ratio). `run_s` is the median of what a
    run took; `devices` are accelerators that one has."""

    metric: str
    case: Mapping[str, str]
    other: str | None
    runs: int
    floor: float | None
    pairs: int
    scatter: float | None
    run_s: float | None
    devices: int | None
    needed: tuple[Needed, ...]
    shown: tuple[Shown, ...]


def forecasts(record: Record, declared: Sequence[Metric]) -> list[Forecast]:
    """What the finished runs of an entry say of each primary metric of each case."""
    found = [case for case in cases(record) if case.state == "finished"]
    if not found:
        return []
    ground = Ground(found, Terms())
    names = metric_names(ground, Ask(terms=Terms(), declared=tuple(declared)))
    return [
        _of_group(record, case, group, name)
        for case, group in ground.cases()
        for name in names
        if numbers(group, name).runs
    ]


def _of_group(record: Record, case: Mapping[str, str], group: Group, metric: str) -> Forecast:
    values = numbers(group, metric).values
    floor = noise_floor([[value] for value in values])
    # Without a floor the values have no logarithms.
    scatter = scatter_of_pairs(_logs(values)) if floor is not None else None
    run_s, devices = _duration(record, [group]), _devices([group])
    return Forecast(
        metric=metric,
        case=case,
        other=None,
        runs=len(values),
        floor=floor,
        pairs=len(values) // 2,
        scatter=scatter,
        run_s=run_s,
        devices=devices,
        needed=_needed(scatter, EFFECTS, 2 * run_s if run_s is not None else None, devices),
        shown=_shown(scatter),
    )


def _logs(values: Sequence[float]) -> list[float]:
    """The logarithms of the ratios of neighbours, every second pair turned round."""
    pairs = zip(values[::2], values[1::2], strict=False)
    return [(math.log(b) - math.log(a)) * (-1) ** at for at, (a, b) in enumerate(pairs)]


def forecast_of(
    record: Record, line: Line, m: Compared, other: str, *, values: int, effects: Collection[float], before: Design
) -> Forecast:
    """What the pairs of an A/B of so many values say of those that are still to come, by another plan behind the one
    `before`; or by another one in its place, where nothing was looked at yet."""
    groups = [line.pair.base, line.pair.other]
    scatter, run_s, devices = scatter_of(m), _duration(record, groups), _devices(groups)
    pairs = len(m.layout.pairs) if m.layout is not None else 0
    after = After(design=before, is_open=is_open(before, pairs))
    return Forecast(
        metric=m.metric,
        case=line.pair.case,
        other=other,
        runs=m.base.runs + m.other.runs,
        floor=None,
        pairs=pairs,
        scatter=scatter,
        run_s=run_s,
        devices=devices,
        needed=_needed(scatter, effects, values * run_s if run_s is not None else None, devices, after),
        shown=_shown(scatter, after),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """What went before another plan; `is_open`: nothing was looked at, so that it takes the place of that one."""

    design: Design
    is_open: bool

    def fixed(self, effect: float, scatter: float) -> int:
        """Pairs of a number that is stated now: a plan that was seen on its way has no end that is judged once."""
        if self.is_open:
            return self.with_looks(effect, scatter)
        return pairs_for(effect, scatter, alpha=self.alpha)

    def with_looks(self, effect: float, scatter: float) -> int:
        if self.is_open:
            return pairs_with_looks(effect, scatter, least=self.design.looks)
        return pairs_with_looks(effect, scatter, looked=self.design.looks, plans=self.design.plans)

    @property
    def alpha(self) -> float:
        """What the next look is held against."""
        return self.design.alpha if self.is_open else threshold(self.design.looks + 1, self.design.plans + 1)


def _needed(
    scatter: float | None,
    effects: Collection[float],
    pair_s: float | None,
    devices: int | None,
    after: After | None = None,
) -> tuple[Needed, ...]:
    found = []
    for effect in sorted({*effects} - {0.0}) if scatter is not None else ():
        noise = scatter or 0.0
        pairs = pairs_for(effect, noise) if after is None else after.fixed(effect, noise)
        minutes = pairs * pair_s / 60 if pair_s is not None else None
        found.append(
            Needed(
                effect=effect,
                pairs=pairs,
                pairs_with_looks=pairs_with_looks(effect, noise) if after is None else after.with_looks(effect, noise),
                minutes=minutes,
                device_hours=minutes * devices / 60 if minutes is not None and devices is not None else None,
            )
        )
    return tuple(found)


def _shown(scatter: float | None, after: After | None = None) -> tuple[Shown, ...]:
    if scatter is None:
        return ()
    alpha = ALPHA if after is None else after.alpha
    able = [n for n in PAIRS if n >= fewest_pairs(alpha=alpha)]
    return tuple(Shown(pairs=n, effect=smallest_effect(n, scatter, alpha=alpha)) for n in able)


def _duration(record: Record, groups: Sequence[Group]) -> float | None:
    """The median of what the runs took."""
    numbers = {item.case.run for group in groups for item in group.items}
    took = [s.run.duration_s for s in record.runs if s.run.run in numbers and s.run.duration_s is not None]
    return median(took) if took else None


def _devices(groups: Sequence[Group]) -> int | None:
    """How many accelerators a run has; None where there are none, or nobody says how many."""
    counts = [
        sum((d.used if d.used is not None else d.count) or 0 for d in item.row.devices if d.platform != "cpu")
        for group in groups
        for item in group.items
    ]
    return max(counts, default=0) or None


# -- in words ----------------------------------------------------------------------------------------


def told(f: Forecast) -> list[str]:
    """A forecast in lines, the first of which says what it is of."""
    case = "".join(f" {k}={v}" for k, v in f.case.items())
    name = one_line(f"{f'{f.other}: ' if f.other is not None else ''}{f.metric}{case}")
    name = name if len(name) <= _CASE_CHARS else f"{name[: _CASE_CHARS - 1]}…"
    floor = f"{f.runs} runs scatter by {f.floor:.2%}, " if f.floor is not None else ""
    if f.scatter is None:
        return [f"{name}: {floor}{_no_scatter(f)}"]
    lines = [f"{name}: {floor}{f.pairs} pairs {'' if floor else 'scatter '}by {f.scatter:.2%}"]
    lines += [_needed_text(n) for n in f.needed]
    shown = ", ".join(f"{s.pairs} pairs {percent(float(f'{s.effect:.2g}'))}" for s in f.shown)
    return [*lines, *([f"smallest effect that can be shown: {shown}"] if shown else [])]


def bounded(found: Sequence[Forecast]) -> tuple[list[list[str]], int]:
    """The lines of each forecast, as many as fit, and how many are left out."""
    parts, room = [], _TOLD_BYTES
    for f in found:
        lines = told(f)
        room -= sum(len(line.encode("utf-8", "replace")) + 4 for line in lines)
        if room < 0:
            break
        parts.append(lines)
    return parts, len(found) - len(parts)


def _no_scatter(f: Forecast) -> str:
    if f.pairs < FEWEST:
        return f"{f.pairs} pair{'s' * (f.pairs != 1)}: {FEWEST} are needed before it is known how far pairs scatter"
    return "values that are not above zero have no ratio"


def _needed_text(n: Needed) -> str:
    """`showing an effect of 1% takes 23 pairs (at most 34 with looks on the way), 15 minutes, 0.25 device hours`."""
    looked = f"at most {n.pairs_with_looks:,} pairs"
    several = f"{n.pairs:,} pairs (at most {n.pairs_with_looks:,} with looks on the way)"
    parts = [looked if n.pairs == n.pairs_with_looks else several]
    parts += [_length(n.minutes)] if n.minutes is not None else []
    parts += [f"{_rounded(n.device_hours)} device hours"] if n.device_hours is not None else []
    return f"showing an effect of {percent(n.effect)} takes {', '.join(parts)}"


def _length(minutes: float) -> str:
    return duration(60 * minutes) if minutes < 1 else f"{_rounded(minutes)} minutes"


def _rounded(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"
