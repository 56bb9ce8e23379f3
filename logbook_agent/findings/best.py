"""The best case of the thread by a metric: over all its runs that count, in whatever entries they were made.

A case is ranked by the median of its runs. One lucky run of a case that was measured again does not make it the best.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from logbook_agent.findings.measured import baseline_cases, unit_of
from logbook_agent.findings.thread import Summary, Thread
from logbook_agent.model.header import Baseline, Metric
from logbook_agent.model.stats import median
from logbook_agent.model.stats.summary import middle_of
from logbook_agent.model.units import common

# One case: `value` (the median of its runs), `low`, `high`, `runs`, `unit`; `entries` it was measured in, of which
# `entry` is the first, there in `run`; `label` where all its runs
# have the same, `config` (as far as it is kept), `config_left_out`, and `apart`, what
# else tells it from the other cases of that entry; `fresh`: all of its runs were made because it came out best of a
# sweep, where its value was `in_sweep`; `of`: the places of the baseline's cases that it is of;
# `is_baseline`: runs of the baseline measured it.
CaseBest: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricBest:
    """The best by one metric: of each of the baseline's cases, where it was measured, by its place; and `other`, the
    best of all where that is of none of these. `among` so many cases, of which so many are `unranked`: cases of sweeps
    that confirmed their best one, and were not run again themselves."""

    metric: Metric
    of_baseline: dict[int, CaseBest]
    other: CaseBest | None
    among: int
    unranked: int


def bests(thread: Thread) -> list[MetricBest]:
    """The best by each primary metric whose direction is known, as far as it was measured."""
    found = []
    for metric in (m for m in thread.header.metrics if m.primary):
        if cases := _ranked(thread, metric):
            places = range(len(baseline_cases(thread.header)))
            tops = {place: next((case for case in cases if place in case["of"]), None) for place in places}
            left = sum(s["measured"].get(metric.name, {}).get("unranked", 0) for s in thread.counted)
            found.append(
                MetricBest(
                    metric=metric,
                    of_baseline={place: top for place, top in tops.items() if top is not None},
                    other=None if cases[0]["of"] else cases[0],
                    among=len(cases) + left,
                    unranked=left,
                )
            )
    return found


def _ranked(thread: Thread, metric: Metric) -> list[CaseBest]:
    """Every case by a metric whose direction is known, the best first, the first measured of equal ones."""
    found: dict[str, list[tuple[Summary, dict[str, Any]]]] = {}
    for summary, case in _tried(thread, metric):
        found.setdefault(case["key"], []).append((summary, case))
    baseline = thread.header.baseline
    cases = [_case(own, baseline) for own in found.values()]
    return sorted(cases, key=lambda case: case["value"], reverse=metric.direction == "max")


def _tried(thread: Thread, metric: Metric) -> list[tuple[Summary, dict[str, Any]]]:
    """Every case of every entry by a metric whose direction is known. Of values in several units there are those in the
    metric's unit, and none where it has no unit."""
    if metric.direction is None:
        return []
    measured = [(s, s["measured"].get(metric.name, {})) for s in thread.counted]
    tried = [(summary, case) for summary, m in measured for case in m.get("trials", ())]
    units = {case["unit"] for _, case in tried} | {unit for _, m in measured for unit in m.get("units", ())}
    kept = common(units, unit_of(metric))
    return [(summary, case) for summary, case in tried if case["unit"] in kept]


@dataclass(frozen=True, slots=True, kw_only=True)
class BestStep:
    """The best case of an entry (`own`), and of all entries up to it (`so_far`), where a case that was measured several
    times counts with all its runs. `so_far` has `value`, `low`, `high`, `runs`, `entry`, `label` and `config` only."""

    own: CaseBest
    so_far: CaseBest


def course(thread: Thread, metric: Metric) -> list[BestStep]:
    """How the best came about, entry by entry that measured a metric; the last one is what `bests` says."""
    baseline, sign = thread.header.baseline, -1 if metric.direction == "max" else 1
    by_entry: dict[str, list[tuple[Summary, dict[str, Any]]]] = {}
    for summary, case in _tried(thread, metric):
        by_entry.setdefault(summary["id"], []).append((summary, case))
    found: dict[str, _Grown] = {}
    # The cases from the best to the worst, of equal ones the first; one whose value has changed is in it anew.
    order: list[tuple[float, int, str]] = []
    steps = []
    for tried in by_entry.values():
        for summary, case in tried:
            found.setdefault(case["key"], _Grown(place=len(found))).add(summary, case)
        for key in {case["key"] for _, case in tried}:
            heapq.heappush(order, (sign * middle_of(found[key].values), found[key].place, key))
        own = min(tried, key=lambda one: sign * median(one[1]["values"]))
        while sign * middle_of(found[order[0][2]].values) != order[0][0]:
            heapq.heappop(order)
        steps.append(BestStep(own=_case([own], baseline), so_far=found[order[0][2]].case()))
    return steps


@dataclass(slots=True)
class _Grown:
    """A case with all values measured so far, sorted. `place`: its rank in the order of first measurements."""

    place: int
    values: list[float] = field(default_factory=list)
    entry: str = ""
    told: dict[str, Any] | None = None
    labels: set[str | None] = field(default_factory=set)

    def add(self, summary: Summary, case: dict[str, Any]) -> None:
        self.entry = self.entry or summary["id"]
        for value in case["values"]:
            bisect.insort(self.values, value)
        if self.told is None or (case["config"] and not self.told["config"]):
            self.told, self.labels = case, set()
        if case["config"] or not self.told["config"]:
            self.labels.add(case["label"])

    def case(self) -> CaseBest:
        """The keys of `_case` that `BestStep.so_far` has."""
        told = self.told or {"label": None, "config": {}}
        return {
            "value": middle_of(self.values),
            "low": self.values[0],
            "high": self.values[-1],
            "runs": len(self.values),
            "entry": self.entry,
            "label": told["label"] if len(self.labels) == 1 else None,
            "config": told["config"],
        }


def _case(own: Sequence[tuple[Summary, dict[str, Any]]], baseline: Baseline | None) -> CaseBest:
    values = [value for _, case in own for value in case["values"]]
    told = next((case for _, case in own if case["config"]), own[0][1])
    summary, first = own[0]
    labels = {case["label"] for _, case in own if case["config"]} or {case["label"] for _, case in own}
    return {
        "value": median(values),
        "low": min(values),
        "high": max(values),
        "runs": len(values),
        "unit": next((case["unit"] for _, case in own if case["unit"] is not None), None),
        "entries": [s["id"] for s, _ in own],
        "entry": summary["id"],
        "run": first["run"],
        "label": told["label"] if len(labels) == 1 else None,
        "config": told["config"],
        "config_left_out": told["config_left_out"],
        "apart": told["apart"],
        "in_sweep": first["in_sweep"] if len(own) == 1 else None,
        "fresh": all(case["fresh"] for _, case in own),
        "of": first["of"],
        "is_baseline": baseline is not None and any(_is_of(baseline, s["id"], case["runs"]) for s, case in own),
    }


def _is_of(baseline: Baseline, entry_id: str, runs: Collection[int]) -> bool:
    """Whether runs of an entry are those of the baseline. Where it does not say which, all of its entry are."""
    return baseline.entry == entry_id and (not baseline.runs or not {*baseline.runs}.isdisjoint(runs))
