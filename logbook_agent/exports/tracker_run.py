"""A row as a run of an experiment tracker, in the words that MLflow, Weights & Biases and Trackio share.

One row is one run there: their parameters and metrics are those of a single case. Every sample is a step. Whatever
their fields cannot hold stands in `data`, which is kept whole beside the run.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from logbook_agent.exports.columns import facts_of, moment, packages_of
from logbook_agent.exports.curve_rows import PointsOf, no_points
from logbook_agent.exports.measured_rows import Exported, MeasuredRow
from logbook_agent.exports.row_data import row_data
from logbook_agent.model.codec import utf8
from logbook_agent.model.record import GOING
from logbook_agent.model.stats import median
from logbook_agent.model.values import Scalar, row_key, spelt

Status = Literal["finished", "failed", "killed", "running"]
_STATUS: dict[str, Status] = {"finished": "finished", "failed": "failed", "timeout": "failed", "stalled": "failed"}

# What all three take for a name, and what one of them keeps for itself.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.\-]*)*")
_NAME_CHARACTERS = 200
_RESERVED = frozenset({"project", "run", "timestamp", "step", "time", "metrics"})
# Behind the name of a metric that was sampled more than once: its median.
_SUMMARY = ".median"
# Whole numbers beyond that are no floats, which is what JSON is read as elsewhere.
_EXACT = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedRun:
    """`samples` are all of each metric, in order, `curves` the finite points of those that are curves; `summary` the
    median of each and the observations. `config` holds numbers, texts and switches; `facts` where the row comes from
    and what it is worth, all text. Times are milliseconds since 1970."""

    key: str
    name: str
    group: str
    title: str
    status: Status
    started_ms: int
    ended_ms: int | None
    config: dict[str, Scalar]
    samples: dict[str, tuple[float, ...]]
    curves: dict[str, list[tuple[int, float]]]
    summary: dict[str, float]
    facts: dict[str, str]
    data: dict[str, object]


def tracked(found: Exported, points: PointsOf = no_points) -> list[TrackedRun]:
    """The rows as runs. A name that a tracker refuses is another one there, the same in all rows, and `names` among the
    facts says which."""
    measured = [(row, row.row) for row in found.rows]
    metrics = named(name for _, row in measured for name in (*row.metrics, *row.observations))
    config = named(name for _, row in measured for name in row.config)
    return [_tracked(row, metrics, config, points) for row in found.rows]


def _tracked(row: MeasuredRow, metrics: dict[str, str], config: dict[str, str], points: PointsOf) -> TrackedRun:
    run, measured = row.run, row.row
    started, ended = moment(run.started), moment(run.ended) if run.ended is not None else None
    samples = {metrics[name]: m.samples for name, m in measured.metrics.items() if m.samples}
    # A name that is both is a metric.
    seen = {n: v for n, v in measured.observations.items() if v is not None and n not in measured.metrics}
    return TrackedRun(
        key=re.sub(r"[^a-z0-9]+", "-", row.name.lower()),
        name=row.name,
        group=row.entry.id,
        title=utf8(row.entry.title),
        status=_STATUS.get(row.status.state, "running" if row.status.state in GOING else "killed")
        if measured.failed is None
        else "failed",
        started_ms=_milliseconds(started.timestamp()) if started is not None else 1,
        ended_ms=_milliseconds(ended.timestamp()) if ended is not None else None,
        config={config[name]: _plain(value) for name, value in measured.config.items()},
        samples=samples,
        curves={metrics[name]: found for name, found in _curves(row, points).items()},
        summary={n: median(s) for n, s in samples.items()} | {metrics[n]: v for n, v in seen.items()},
        facts=_facts(row, {**metrics, **config}),
        data=row_data(row),
    )


def _curves(row: MeasuredRow, points: PointsOf) -> dict[str, list[tuple[int, float]]]:
    """The points of the curves of a row. Trackers count steps: where one is no whole number, points are numbered."""
    found = {}
    for curve, steps, values in points(row.run) if row.run.curves else ():
        if row_key(curve.config) != row_key(row.row.config):
            continue
        whole = all(step.is_integer() and 0 <= step < _EXACT for step in steps)
        numbers = map(int, steps) if whole else range(len(steps))
        kept = [(step, value) for step, value in zip(numbers, values, strict=True) if math.isfinite(value)]
        if kept and (curve.name in row.row.metrics or curve.name in row.row.observations):
            found[curve.name] = kept
    return found


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def _plain(value: Scalar) -> Scalar:
    if isinstance(value, str):
        return utf8(value)
    return str(value) if isinstance(value, int) and abs(value) > _EXACT else value


def _facts(row: MeasuredRow, names: dict[str, str]) -> dict[str, str]:
    own = {*row.row.metrics, *row.row.observations, *row.row.config}
    renamed = {new: name for name, new in names.items() if new != name and name in own}
    values: dict[str, Scalar] = {
        **facts_of(row),
        **({"names": json.dumps(renamed)} if renamed else {}),
        **{f"unit.{names[name]}": m.unit for name, m in row.row.metrics.items()},
        **{f"package.{name}": version for name, version in packages_of(row).items()},
        **{f"label.{name}": text for name, text in row.row.labels.items()},
    }
    return {name: utf8(v if isinstance(v, str) else spelt(v)) for name, v in values.items() if v is not None}


def named(names: Iterable[str]) -> dict[str, str]:
    """By name one that every tracker takes: itself where it is one; else with `_` for what is not allowed, and a number
    behind it where two would be the same."""
    wanted = list(dict.fromkeys(names))
    found = {name: name for name in wanted if _is_name(name)}
    taken = {name.casefold() for name in found}
    for name in wanted:
        if name in found:
            continue
        base = "m_" + re.sub(r"[^A-Za-z0-9_.\-]", "_", name)[: _NAME_CHARACTERS - 20]
        new, number = base, 1
        while new.casefold() in taken:
            number += 1
            new = f"{base}_{number}"
        found[name] = new
        taken.add(new.casefold())
    return found


def _is_name(name: str) -> bool:
    return (
        len(name) <= _NAME_CHARACTERS
        and _NAME.fullmatch(name) is not None
        and name not in _RESERVED
        and not name.endswith(_SUMMARY)
    )


def series(run: TrackedRun) -> list[tuple[int, dict[str, float]]]:
    """What is logged at each step: the points of curves, the samples of other metrics, and at step 0 what the row says
    once: observations, and the median of each metric with several samples as `NAME.median`."""
    steps: dict[int, dict[str, float]] = {}
    for name, points in run.curves.items():
        for step, value in points:
            steps.setdefault(step, {})[name] = value
    for name, samples in run.samples.items():
        for step, value in enumerate(samples) if name not in run.curves else ():
            steps.setdefault(step, {})[name] = value
    for name, value in run.summary.items():
        if name in run.curves:
            continue
        if name not in run.samples:
            steps.setdefault(0, {})[name] = value
        elif len(run.samples[name]) > 1:
            steps.setdefault(0, {})[f"{name}{_SUMMARY}"] = value
    return sorted(steps.items())


def shortened(text: str, limit: int) -> str:
    """The text, or as much of it as a field holds; the whole stands in the data of the row."""
    said = " … (cut; whole in row.json)"
    return text if len(text) <= limit else text[: limit - len(said)] + said
