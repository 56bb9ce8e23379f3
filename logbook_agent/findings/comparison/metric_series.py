"""The pairs of one metric, side and case of a comparison, as numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from logbook_agent.findings.cases import value_of
from logbook_agent.findings.comparison.run_pairs import order_of, part_of
from logbook_agent.findings.comparison.side_cases import SideCase
from logbook_agent.model.comparison import Question
from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.units import Direction
from logbook_agent.model.values import Scalar


class ValuePair(NamedTuple):
    """What the two runs of a pair measured: `sign` is +1 where the side ran second; `base` and `other` are their
    values, None without one that has a ratio; `block` is the number of its block in the entry, `is_done` whether that
    is finished."""

    started: str
    ended: str
    sign: int
    base: float | None
    other: float | None
    block: int
    is_done: bool


class MetricSeries(Struct, frozen=True, kw_only=True):
    """The pairs of one metric of a side and case, by block, in the order of their starts. `runs` are the values of all
    runs of the base and of the side, also of those whose pair does not count; `left_out` counts pairs without a ratio,
    by reason; `cautions` say what the numbers cannot tell."""

    side: str
    name: str
    metric: str
    config: Mapping[str, Scalar] = field(default_factory=dict)
    device: str = ""
    unit: str | None = None
    direction: Direction | None = None
    pairs: Sequence[ValuePair] = ()
    runs: tuple[Sequence[float], Sequence[float]] = ((), ())
    left_out: Mapping[str, int] = field(default_factory=dict)
    cautions: Sequence[str] = ()

    @property
    def key(self) -> str:
        return f"{self.side} {self.name} {self.metric}"


def series_of(
    of: SideCase,
    name: str,
    question: Question,
    declared: Sequence[Metric],
    blocks: Mapping[tuple[str, int], tuple[int, bool]],
) -> MetricSeries:
    """The series of a metric. Unit and direction are those that the logbook declares, else those of the runs; which way
    is better the base says."""
    stated, left_out = metric_named(name, declared), Counter[str]()
    units = (row.metrics[name].unit for one in of.pairs for row in one.rows if name in row.metrics)
    directions = (one.rows[0].metrics[name].direction for one in of.pairs if name in one.rows[0].metrics)
    pairs = [*_ratios(of, name, question, blocks, left_out)]
    base, other = ([value for row in rows if (value := value_of(row, name)) is not None] for rows in of.rows)
    said = dict.fromkeys(row.labels["caution"] for one in of.pairs for row in one.rows if "caution" in row.labels)
    return MetricSeries(
        side=of.side,
        name=of.name,
        metric=name,
        config=of.config,
        device=of.device,
        unit=stated.unit or next(filter(None, units), None),
        direction=stated.direction or next(filter(None, directions), None),
        pairs=sorted(pairs, key=lambda one: (one.block, *one[:2])),
        runs=(base, other),
        left_out=left_out if of.pairs else of.left_out,
        cautions=[*said, *of.void],
    )


def _ratios(
    of: SideCase,
    name: str,
    question: Question,
    blocks: Mapping[tuple[str, int], tuple[int, bool]],
    left_out: Counter[str],
) -> Iterator[ValuePair]:
    """The pairs by a metric; why some have no ratio is counted in `left_out`."""
    for one in of.pairs:
        # A unit that one side alone states may be another one.
        units = {row.metrics[name].unit or "none" for row in one.rows if name in row.metrics}
        if len(units) > 1:
            left_out[f"two units: {' and '.join(sorted(units))}"] += 1
        if len(units) > 1 or (not units and name not in question.metrics):
            continue
        values = [value_of(row, name) for row in one.rows]
        base, other = (value if value is not None and 0 < value < math.inf else None for value in values)
        for side, value, usable in zip((question.base, of.side), values, (base, other), strict=True):
            if usable is None:
                left_out[f"{side} has no {name}" if value is None else f"no ratio: {side} has {value:g}"] += 1
                break
        began, ended = min(run.started for run in one.runs), max(run.ended or run.started for run in one.runs)
        block, is_done = blocks[part_of(one.runs[0]).block]
        yield ValuePair(began, ended, order_of(*one.runs), base, other, block, is_done)
