"""One account of a run from its three kinds of report: JSON rows, RESULT lines, METRIC lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from logbook_agent.model.run import Row, Scalar
from logbook_agent.model.values import canonical
from logbook_agent.running.results.fold import add_new_samples, other_units

# Lines that agree with very many JSON rows cannot be placed; looking at this many settles what matters.
_LOOK_AT = 20


def merge_lines(json_rows: Sequence[Row], line_rows: Sequence[Row], run_config: Mapping[str, Scalar]) -> list[Row]:
    """JSON rows, completed by the lines that report the same cases, then the lines' other cases.

    A line reports a JSON row's case when the config keys that both have agree, at least one of them not from
    the run's own config (unless the line has none of its own). It adds what the JSON row does not say.
    """
    rows = list(json_rows)
    others: list[Row] = []
    index = _Index(json_rows)
    for line in line_rows:
        matching = index.agreeing(line, run_config)
        if len(matching) == 1:
            at = matching[0]
            rows[at] = _completed(rows[at], line)
        elif not any(_completed(rows[i], line) == rows[i] for i in matching[:_LOOK_AT]):
            others.append(line)
    return rows + others


class _Index:
    """Rows by the values of some of their config keys, so that matching n lines to m rows is not n x m."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._by_keys: dict[frozenset[str], list[int]] = {}
        self._projected: dict[tuple[frozenset[str], tuple[str, ...]], dict[tuple[str, ...], list[int]]] = {}
        for i, row in enumerate(rows):
            self._by_keys.setdefault(frozenset(row.config), []).append(i)

    def agreeing(self, line: Row, run_config: Mapping[str, Scalar]) -> list[int]:
        own = line.config.keys() - run_config.keys()
        found: list[int] = []
        for keys in self._by_keys:
            if own and not own & keys:
                continue
            shared = tuple(sorted(line.config.keys() & keys))
            values = tuple(canonical(line.config[k]) for k in shared)
            found += self._projection(keys, shared).get(values, [])
        return sorted(found)

    def _projection(self, keys: frozenset[str], shared: tuple[str, ...]) -> dict[tuple[str, ...], list[int]]:
        known = self._projected.get((keys, shared))
        if known is None:
            known = self._projected[keys, shared] = {}
            for i in self._by_keys[keys]:
                config = self._rows[i].config
                known.setdefault(tuple(canonical(config[k]) for k in shared), []).append(i)
        return known


def _completed(row: Row, line: Row) -> Row:
    known = row.metrics.keys() | row.observations.keys() | row.labels.keys() | row.config.keys()
    return replace(
        row,
        metrics={**row.metrics, **{k: v for k, v in line.metrics.items() if k not in known}},
        observations={**row.observations, **{k: v for k, v in line.observations.items() if k not in known}},
        labels={**row.labels, **{k: v for k, v in line.labels.items() if k not in known}},
    )


def join_loose(rows: Sequence[Row], loose: Sequence[Row], run_config: Mapping[str, Scalar]) -> list[Row]:
    """METRIC lines belong to the only row there is; with none or several they are a row of their own, and so are
    those in another unit."""
    if len(rows) == 1 and rows[0].failed is None:
        only, apart = rows[0], []
        for row in loose:
            if other_units(only, row):
                apart.append(replace(row, config=only.config))
            else:
                only = add_new_samples(only, row)
        return [only, *apart]
    return [*rows, *(replace(row, config={**run_config, **row.config}) for row in loose)]
