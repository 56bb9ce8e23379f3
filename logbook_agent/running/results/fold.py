"""Reports of one case become one row, whichever of its three kinds they are: JSON rows, RESULT lines, METRIC lines.

The same config and the same values again are a duplicate and are dropped; the same config with new values
adds samples, in order. Only config identifies a case, but the config of a RESULT line is inferred: when two
lines of one config differ in a label or an observation, that key may well be what tells the cases apart
(`null_target=0.1`). Such rows stay apart, and a problem says how to settle it. A name that is measured by its
look (in `units.KNOWN`, or with a unit at its end: `elapsed_s`) tells no cases apart: what is kept of its values is
their median. A JSON row states its config; its first observation of another name stands. Rows that measure one thing
in several units stay apart, too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from logbook_agent.model.run import Measurement, Row, Scalar
from logbook_agent.model.stats import median
from logbook_agent.model.units import KNOWN
from logbook_agent.model.values import Key, canonical, row_key
from logbook_agent.running.results.line_prefix import RANK
from logbook_agent.running.results.result_lines import cut

_MEASURED = re.compile(r"(?:.*_)?(?:[num]?s|secs?|seconds|elapsed|time|[kmgt]i?b|bytes|t?flops|per_s\w*|pct|percent)")
# Lines that agree with very many JSON rows cannot be placed; looking at this many settles what matters.
_LOOK_AT = 20
# Lines of one case that lie further apart are named.
_FAR = 2.0
_LABEL_CHARS = 200


def fold(rows: Sequence[Row], problem: Callable[[str], None], *, explicit: bool) -> list[Row]:
    """Rows with each case once, in order of first report."""
    folded: dict[tuple[object, ...], Row] = {}
    observed: dict[tuple[object, ...], list[Mapping[str, float | None]]] = {}
    seen: set[tuple[object, ...]] = set()
    firsts: dict[Key, Row] = {}
    lines: dict[tuple[tuple[object, ...], str], list[float]] = {}
    for row in rows:
        key = row_key(row.config)
        content = (key, _values(row), row.failed)
        if content in seen:
            continue
        seen.add(content)
        first = firsts.setdefault(key, row)
        differing = _differing(first, row)
        if differing:
            problem(_advice(differing, explicit=explicit))
        telling = () if explicit else tuple(sorted(_telling(row).items()))
        case: tuple[object, ...] = (key, row.failed, telling)
        while case in folded and other_units(folded[case], row):
            case = (*case, "in another unit")
        folded[case] = _with_samples(folded[case], row) if case in folded else row
        observed.setdefault(case, []).append(row.observations)
        for name, m in row.metrics.items():
            lines.setdefault((case, name), []).append(median(m.samples))
    for (_, metric), values in lines.items():
        if _are_far_apart(values):
            problem(f"{cut(metric, 40)}: {len(values)} lines of one case: {min(values):g} to {max(values):g}")
    return [replace(row, observations=_summed_up(observed[case])) for case, row in folded.items()]


def _are_far_apart(values: Sequence[float]) -> bool:
    low, high = min(values), max(values)
    return low < 0 < high or max(-low, high) > _FAR * min(abs(low), abs(high))


def _summed_up(observed: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    """What the reports of one case observed: of what is measured the median of the values that are known, of any other
    name the first value."""
    found = {}
    for name in dict.fromkeys(name for one in observed for name in one):
        values = [one[name] for one in observed if name in one]
        known = [value for value in values if value is not None]
        found[name] = median(known) if known and is_measured(name) else values[0]
    return found


def other_units(row: Row, more: Row) -> bool:
    """Whether two rows state one metric in two units: samples of both would have no common scale."""
    pairs = [(m.unit, more.metrics[name].unit) for name, m in row.metrics.items() if name in more.metrics]
    return any(a != b for a, b in pairs if a is not None and b is not None)


def _values(row: Row) -> tuple[object, ...]:
    metrics = tuple(sorted((n, m.samples, m.unit or "") for n, m in row.metrics.items()))
    observed = tuple(sorted((k, canonical(v)) for k, v in row.observations.items()))
    return metrics, observed, tuple(sorted(_words(row).items()))


def _telling(row: Row) -> dict[str, str]:
    """Labels, and observations whose name does not say that they are measured."""
    numbers = {k: canonical(v) for k, v in row.observations.items() if not is_measured(k)}
    return {**numbers, **_words(row)}


def _words(row: Row) -> dict[str, str]:
    """The labels, without the ranks."""
    return {k: text for k, text in row.labels.items() if k != RANK or not text.replace(",", "").isdigit()}


def is_measured(name: str) -> bool:
    return name in KNOWN or _MEASURED.fullmatch(name.lower()) is not None


def _differing(first: Row, row: Row) -> list[str]:
    ours, theirs = _telling(first), _telling(row)
    return [k for k in {**ours, **theirs} if ours.get(k) != theirs.get(k)]


def _advice(keys: Sequence[str], *, explicit: bool) -> str:
    names = cut(", ".join(keys), 120)
    if explicit:
        return f"rows of one config differ in {names}; the first value is kept"
    return (
        f"RESULT lines of one config differ in {names}, so they are separate rows; "
        "declare what identifies a case as an axis, and what is measured as a metric"
    )


def _with_samples(row: Row, more: Row) -> Row:
    metrics = dict(row.metrics)
    for name, m in more.metrics.items():
        metrics[name] = _joined(metrics[name], m) if name in metrics else m
    ranks = dict.fromkeys(rank for one in (row, more) for rank in one.labels.get(RANK, "").split(",") if rank)
    return replace(
        row,
        metrics=metrics,
        observations={**more.observations, **row.observations},
        labels={**more.labels, **row.labels, **({RANK: ",".join(ranks)} if ranks else {})},
        devices=row.devices or more.devices,
        software={**more.software, **row.software},
        host=row.host or more.host,
    )


def add_new_samples(row: Row, more: Row) -> Row:
    """`row` with the measurements of `more` that it does not hold already."""
    fresh = {
        n: replace(m, samples=tuple(s for s in m.samples if n not in row.metrics or s not in row.metrics[n].samples))
        for n, m in more.metrics.items()
    }
    return _with_samples(row, replace(more, metrics={n: m for n, m in fresh.items() if m.samples}))


def _joined(first: Measurement, more: Measurement) -> Measurement:
    return Measurement(
        samples=first.samples + more.samples,
        unit=first.unit or more.unit,
        direction=first.direction or more.direction,
    )


# -- lines beside JSON rows ------------------------------------------------------------------------


def merge_lines(json_rows: Sequence[Row], line_rows: Sequence[Row], run_config: Mapping[str, Scalar]) -> list[Row]:
    """JSON rows, completed by the lines that report the same cases, then the lines' other cases.

    A line reports a JSON row's case when the config keys that both have agree, at least one of them not from
    the run's own config (unless the line has none of its own). Where several do, it is that of the row with just the
    line's config: of two tiles, the default has no key for it. It adds what the JSON row does not say.
    """
    rows = list(json_rows)
    others: list[Row] = []
    index = _Index(json_rows)
    for line in line_rows:
        matching = index.agreeing(line, run_config)
        if len(matching) > 1:
            matching = index.equal(line) or matching
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

    def equal(self, line: Row) -> list[int]:
        """Rows with just the config of a line."""
        keys = frozenset(line.config)
        shared = tuple(sorted(keys))
        return self._projection(keys, shared).get(tuple(canonical(line.config[k]) for k in shared), [])

    def _projection(self, keys: frozenset[str], shared: tuple[str, ...]) -> dict[tuple[str, ...], list[int]]:
        known = self._projected.get((keys, shared))
        if known is None:
            known = self._projected[keys, shared] = {}
            for i in self._by_keys.get(keys, []):
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


def with_labels(rows: Sequence[Row], digests: Mapping[str, Collection[str]]) -> list[Row]:
    """Rows that have labels alone, as parts of the measured rows whose config agrees; and the `digests` of the whole
    output, as labels of each row that does not report them. Several values of one name are one label."""
    measured = [row for row in rows if row.metrics or row.observations or row.failed is not None]
    bare = [row for row in rows if row not in measured]
    placed: list[Row] = []
    for row in measured:
        said: dict[str, dict[str, None]] = {}
        for name, text in (item for one in bare if _agrees(one, row) for item in one.labels.items()):
            said.setdefault(name, {})[text] = None
        labels = {name: _one_label(values) for name, values in {**digests, **said}.items() if name not in row.config}
        fresh = {
            name: text for name, text in labels.items() if name not in row.metrics.keys() | row.observations.keys()
        }
        placed.append(replace(row, labels={**fresh, **row.labels}))
    return [*placed, *(one for one in bare if not any(_agrees(one, row) for row in measured))]


def _agrees(bare: Row, row: Row) -> bool:
    return all(name in row.config and canonical(row.config[name]) == canonical(v) for name, v in bare.config.items())


def _one_label(values: Collection[str]) -> str:
    text = ",".join(values)
    return text if len(text) <= _LABEL_CHARS else hashlib.sha256(text.encode()).hexdigest()


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
