"""Predicates over rows that differ in nothing but what is tested: values of an axis, and cases with their controls."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from logbook_agent.findings.cases import Case
from logbook_agent.findings.criteria.evidence import Facts, combinations, every, met, unmet, words
from logbook_agent.findings.criteria.predicate import PairsCompared, Sweep
from logbook_agent.findings.tables.frame import Item, by, frame_of, show
from logbook_agent.findings.tables.grid import value_of
from logbook_agent.findings.tables.likeness import beyond_config, differences
from logbook_agent.model.header import Computed
from logbook_agent.model.values import Scalar


def compared(asked: PairsCompared, facts: Facts) -> Computed:
    """Met when each value has enough pairs with the base in each combination: those of a comparison, or rows that may
    be compared; else what the first one lacks."""

    def of_value(value: Scalar, where: Mapping[str, Scalar]) -> Computed:
        pairs = [(a.entry, f.setting) for a, f in facts.findings(asked.metric, where, asked, value) if f.pairs]
        if len({setting for _, setting in pairs}) >= asked.cases:
            return met(f"{asked.axis}={show(value)}: compared in pairs", (entry for entry, _ in pairs))
        sides = {**where, asked.axis: asked.values[0]}, {**where, asked.axis: value}
        return _beside(asked, facts, *sides, asked.axis, (), asked.metric, asked.cases)

    places = ({**asked.where, **at} for at in combinations(asked.for_each))
    return every(of_value(value, where) for where in places for value in asked.values[1:])


def swept(asked: Sweep, facts: Facts) -> Computed:
    """Met when each value was measured and, with controls, beside its control; else what the first one lacks."""

    def of_value(where: Mapping[str, Scalar]) -> Computed:
        rows = facts.rows.choose(where, asked.device)
        if rows and asked.controls:
            axis, *others = asked.controls
            return _beside(asked, facts, {**where, **asked.controls}, where, axis, others)
        return met(f"{words(where)} was measured", rows) if rows else unmet(f"{words(where)} was not measured")

    missing = facts.rows.missing([asked.axis, *asked.where, *asked.controls, *asked.for_each])
    places = ({**asked.where, **at, asked.axis: value} for at in combinations(asked.for_each) for value in asked.values)
    return missing or every(map(of_value, places))


def _beside(
    asked: PairsCompared | Sweep,
    facts: Facts,
    base: Mapping[str, Scalar],
    other: Mapping[str, Scalar],
    axis: str,
    implied: tuple[str, ...] | list[str],
    metric: str | None = None,
    wanted: int = 1,
) -> Computed:
    """Whether enough cases of two sides differ in nothing but an axis and what is declared, and have a metric each."""
    if (missing := facts.rows.missing(other)) is not None:
        return missing
    sides = [facts.rows.choose(where, asked.device) for where in (base, other)]
    for where, side in zip((base, other), sides, strict=True):
        if not side:
            return unmet(f"{words(where)} was not measured")
    primary = [metric] if metric else [m.name for m in facts.metrics if m.primary]
    metrics = primary or [name for side in sides for case in side for name in case.row.metrics]
    ignored = {axis, *implied, *asked.implied, *asked.allow}
    frame = frame_of([*sides[0], *sides[1]])
    items = frame.items[: len(sides[0])], frame.items[len(sides[0]) :]
    kept = [n for n in (*frame.apart, frame.pseudo["devices"]) if not {n, n.partition(":")[0]} & ignored]

    names = (*ignored, *frame.config)

    def cases(side: Sequence[Item]) -> Mapping[Hashable, list[Item]]:
        good = [item for item in side if any(value_of(item, name) is not None for name in metrics)]
        said = {"argv", "command"} & ignored
        return by(good, lambda i: (i.keys(kept), None if said else beyond_config(_placed(i, axis), names)))

    first, last = map(cases, items)
    both = [first[key] + last[key] for key in first if key in last]
    pairs = f"{len(both)} pair{'s' * (len(both) != 1)} may be compared"
    if len(both) >= wanted:
        return met(f"{words(other)}: {pairs}", (item.case for pair in both for item in pair))
    unlike = differences(frame, *items, ignored)
    why = f"; others differ in {', '.join(unlike)}" if unlike else ""
    return unmet(f"{words(other)}: {pairs}, {wanted} wanted{why}")


def _placed(item: Item, axis: str) -> Case:
    """A case with `{axis}` wherever its command has the value of the axis, as a word or as part of a path: what was put
    in its place (`--src wt/{axis}`) is no other difference."""
    value = item.place.get(axis)
    if value is None:
        return item.case
    word = re.compile(rf"(?<![\w.-]){re.escape(show(value))}(?![\w.-])")
    return replace(item.case, command=tuple(word.sub("{axis}", text) for text in item.case.command))
