"""Runs that repeat one case, wherever in the thread they were made; how they scatter, and whether their level changed.

Rows are repeats when they agree in their identity (`findings.identity`), and in what tells them from other rows of
their run. Labels of runs are names, and tell no cases apart.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from logbook_agent.findings.cases import Case, cases, counting, value_of
from logbook_agent.findings.comparison.rule import Pair, chance_of, scatter_of
from logbook_agent.findings.identity import identity
from logbook_agent.findings.tables.axes import lay_out
from logbook_agent.findings.tables.frame import Frame, Item, frame_of, show
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.model.codec import encode
from logbook_agent.model.comparison import BUDGET_PAIRS, CODE_AXIS, MINIMUM_EFFECT
from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.record import Record
from logbook_agent.model.stats import level_change, median, noise_floor
from logbook_agent.model.units import format_value, known
from logbook_agent.model.values import varied
from logbook_agent.text.phrases import bounded, counted, duration

_DIGITS = 16
# Fewer pairs do not tell how far they scatter.
FEWEST_PAIRS = 3
# The effects that a forecast is about; 0: that there is none.
_EFFECTS = (0.0, 0.01, 0.03, 0.1)
_SHOWN = 20


class Repeats(Struct, frozen=True, kw_only=True):
    """Cases that are one, and share a `key`; each is of another run. `apart`: what tells them from other cases beyond
    config, entry, label and state."""

    key: str
    cases: tuple[Case, ...]
    apart: Mapping[str, str] = field(default_factory=dict)

    def values(self, metric: str) -> list[float]:
        """What each run measured of a metric, the median of its samples."""
        return [value for case in self.cases if (value := value_of(case.row, metric)) is not None]


def keys_of(cases: Sequence[Case]) -> list[str]:
    """The key of each case, which repeats share."""
    return _keys(frame_of(cases))[0]


def _keys(frame: Frame) -> tuple[list[str], list[str]]:
    """The key of each case, and the names of what tells the cases apart beyond config."""
    axes = lay_out(frame, TableSpec(), by_origin=False)
    names = [name for name in axes if name not in (*frame.config, frame.pseudo["state"])]
    order = frame.pseudo["row"]
    # What tells rows of one run apart is in no identity.
    known = {*frame.facts, *(name for name in frame.pseudo.values() if name != order)}
    loose = [name for name in names if name not in known]
    sides: dict[tuple[str, str | None], set[str]] = {}
    for case in (item.case for item in frame.items):
        if case.part is not None:
            sides.setdefault((case.entry, case.code), set()).add(case.part.side)
    keys = []
    for item in frame.items:
        # Where nothing but their order tells rows apart, the first is what a run with one row of it has.
        own = [
            (name, value) for name in loose if (value := item.key(name)) is not None and (name, value) != (order, "1")
        ]
        one = {**identity(item.case), **{f"row {name}": value for name, value in own}}
        if item.case.part is not None and "commit" in one and one.get(CODE_AXIS) == item.case.part.side:
            one.pop(CODE_AXIS)  # the name that a comparison gave the code
            if len(sides[item.case.entry, item.case.code]) > 1:  # the sides differ in data alone
                one["files"] = item.case.files or item.case.part.side
        text = repr(sorted(one.items())).encode("utf-8", "backslashreplace")
        keys.append(hashlib.sha256(text).hexdigest()[:_DIGITS])
    return keys, names


def repeats(cases: Sequence[Case]) -> list[Repeats]:
    """The cases in groups of repeats, in order of appearance. Runs that did not finish have groups of their own."""
    frame = frame_of(cases)
    keys, names = _keys(frame)
    found: dict[tuple[str, str | None], list[Item]] = {}
    for item, key in zip(frame.items, keys, strict=True):
        found.setdefault((key, item.case.state), []).append(item)
    return [
        Repeats(
            key=key,
            cases=tuple(item.case for item in items),
            apart={name: show(items[0].place.get(name)) for name in names},
        )
        for (key, _), items in found.items()
    ]


# -- levels ----------------------------------------------------------------------------------------------


class Level(Struct, frozen=True, kw_only=True):
    """A change of level: the median of a metric over the runs up to `run`, and over those after it."""

    metric: str
    entry: str
    run: int
    before: float
    after: float

    def text(self, *, of_entry: bool = False) -> str:
        """`tflops: the level changed after run 12 (100.3 → 92.1)`; with the ID of its entry if `of_entry`."""
        decimals, spread = known(self.metric).decimals, abs(self.before - self.after)
        before, after = (format_value(v, decimals=decimals, spread=spread) for v in (self.before, self.after))
        of = f" of {self.entry}" if of_entry else ""
        return f"{self.metric}: the level changed after run {self.run}{of} ({before} → {after})"


def level_in(own: Sequence[Case], metric: str) -> Level | None:
    """Where the level changed between the finished runs of a case, by the value of each."""
    good = [case for case in own if case.is_good and metric in case.row.metrics]
    values = [((c.started, c.entry, c.run), value_of(c.row, metric)) for c in good]
    ordered = sorted((run, value) for run, value in values if value is not None)
    if not all(math.isfinite(value) for _, value in ordered):
        return None
    found = level_change([value for _, value in ordered])
    if found is None:
        return None
    _, entry, run = ordered[found.count - 1][0]
    return Level(metric=metric, entry=entry, run=run, before=found.before, after=found.after)


def level_changes(record: Record) -> list[dict[str, object]]:
    """The cases of an entry whose level changed, as plain data: the config of the case, and what changed."""
    if sum(status.counts and bool(status.run.rows) for status in record.runs) < 2:
        return []
    found = []
    for group in repeats(counting(cases(record))):
        names = dict.fromkeys(name for case in group.cases for name in case.row.metrics)
        for level in (level_in(group.cases, name) for name in names):
            if level is not None:
                found.append({"config": dict(group.cases[0].row.config), **encode(level)})
    return found


# -- noise -----------------------------------------------------------------------------------------------


class Settles(Struct, frozen=True, kw_only=True):
    """How often an A/B of BUDGET_PAIRS settles an effect (0: that there is none), as a part of 1."""

    effect: float
    part: float

    @property
    def tenths(self) -> str:
        return f"{round(10 * self.part)} of 10"


class Noise(Struct, frozen=True, kw_only=True):
    """How far repeats of a case scatter in a metric: `scatter` is the standard deviation of the logs of the runs (0.01:
    about 1%; None: not known), `run_s` the median time that a run took, `settles` what an A/B would settle."""

    metric: str
    unit: str | None
    case: Mapping[str, str]
    runs: int
    median: float
    scatter: float | None
    run_s: float | None
    settles: tuple[Settles, ...]


def noise_of(record: Record, declared: Sequence[Metric]) -> list[Noise]:
    """The noise of each primary metric of each case of an entry, from its finished runs; else of each metric that they
    have."""
    good = [case for case in counting(cases(record)) if case.is_good]
    names = dict.fromkeys(name for case in good for name in case.row.metrics)
    metrics = [m for m in declared if m.primary] or [metric_named(name, declared) for name in names]
    durations = [s.run.duration_s for s in record.runs if s.counts and s.run.duration_s is not None]
    run_s = median(durations) if durations else None
    found: list[Noise] = []
    groups = repeats(good)
    names_apart = varied(group.cases[0].row.config for group in groups)
    for group, metric in ((group, metric) for group in groups for metric in metrics):
        if values := group.values(metric.name):
            scatter, config = noise_floor([[value] for value in values]), group.cases[0].row.config
            units = (case.row.metrics[metric.name].unit for case in group.cases if metric.name in case.row.metrics)
            found.append(
                Noise(
                    metric=metric.name,
                    unit=metric.unit or next((unit for unit in units if unit is not None), None),
                    case={**{n: show(config[n]) for n in names_apart if n in config}, **group.apart},
                    runs=len(values),
                    median=median(values),
                    scatter=scatter,
                    run_s=run_s,
                    settles=_forecast(values) if scatter is not None else (),
                )
            )
    return found


def _forecast(values: Sequence[float]) -> tuple[Settles, ...]:
    """How often the default A/B would settle each effect: neighbouring runs are taken for pairs of equal sides. Empty
    for too few of them."""
    pairs = list(zip(values[::2], values[1::2], strict=False))
    if len(pairs) < FEWEST_PAIRS:
        return ()
    scatter = scatter_of([Pair(math.log(b) - math.log(a), (-1) ** at, 0) for at, (a, b) in enumerate(pairs)])
    least = math.log1p(MINIMUM_EFFECT)
    found = [(e, chance_of(math.log1p(e), scatter, minimum=least, pairs=BUDGET_PAIRS)) for e in _EFFECTS]
    return tuple(Settles(effect=effect, part=part) for effect, part in found)


def noise_lines(found: Sequence[Noise]) -> list[str]:
    """The noise of each metric and case in a line, of at most 20."""
    return bounded([_line(one) for one in found], _SHOWN, "more: logbook show ID --json")


def _line(n: Noise) -> str:
    case = "".join(f" {k}={v}" for k, v in n.case.items())
    value = format_value(n.median, decimals=known(n.metric).decimals) + (f" {n.unit}" if n.unit else "")
    text = f"{n.metric}{case}: median {value} of {counted(n.runs, 'run')}"
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
