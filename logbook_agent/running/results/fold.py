"""Reports of one case become one row, whichever of its kinds they are: JSON rows, RESULT lines, METRIC lines, labels.

The same config and the same values again are a duplicate and are dropped; the same config with new values
adds samples, in order. Only config identifies a case, but the config of a RESULT line is inferred: when two
lines of one config differ in a label or an observation, that key may well be what tells the cases apart
(`null_target=0.1`). Such rows stay apart, and a problem says how to settle it. A name that is measured by its
look (in `units.KNOWN`, or with a unit at its end: `elapsed_s`) tells no cases apart: what is kept of its values is
their median. A JSON row states its config; its first observation of another name stands. Rows that measure one thing
in several units stay apart, too.
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TypeVar

from msgspec import structs

from logbook_agent.model.run import Measurement, Row, Scalar
from logbook_agent.model.stats import median
from logbook_agent.model.units import KNOWN
from logbook_agent.model.values import Key, canonical, row_key
from logbook_agent.running.results.result_lines import RANK, cut

T = TypeVar("T")
Problem = Callable[[str], None]

_MEASURED = re.compile(r"(?:.*_)?(?:[num]?s|secs?|seconds|elapsed|time|[kmgt]i?b|bytes|t?flops|per_s\w*|pct|percent)")
# Lines of one case that lie further apart are named.
_FAR = 2.0
_LABEL_CHARS = 200


def is_measured(name: str) -> bool:
    return name in KNOWN or _MEASURED.fullmatch(name.lower()) is not None


def is_measuring(row: Row) -> bool:
    """Whether a row measures or observes something, or says why not; others have labels alone."""
    return bool(row.metrics or row.observations or row.failed)


def measured(row: Row) -> Row:
    """A row without the metrics of which some report was no number: a median of the others would hide that."""
    return structs.replace(row, metrics={n: m for n, m in row.metrics.items() if not any(map(math.isnan, m.samples))})


def fold(rows: Iterable[Row], problem: Problem, *, explicit: bool) -> list[Row]:
    """Rows with each case once, in order of first report. `explicit`: their config is stated, not inferred."""
    cases: dict[tuple[object, ...], list[Row]] = {}
    units: dict[object, dict[str, str]] = {}
    firsts: dict[Key, dict[str, str]] = {}
    seen: set[tuple[object, ...]] = set()
    for row in rows:
        key, telling = row_key(row.config), _telling(row)
        metrics = frozenset((name, m.samples, m.unit) for name, m in row.metrics.items())
        content = (key, row.failed, metrics, frozenset(row.observations.items()), frozenset(telling.items()))
        if content in seen:
            continue
        seen.add(content)
        first = firsts.setdefault(key, telling)
        if differing := [name for name in {**first, **telling} if first.get(name) != telling.get(name)]:
            problem(_advice(differing, explicit=explicit))
        case = (key, row.failed, () if explicit else frozenset(telling.items()))
        firsts_of = units.setdefault(case, {})
        stated = ((name, m.unit) for name, m in row.metrics.items() if m.unit)
        # Samples in several units have no common scale.
        others = frozenset((name, unit) for name, unit in stated if firsts_of.setdefault(name, unit) != unit)
        cases.setdefault((case, others), []).append(row)
    return [_one_row(reports, problem) for reports in cases.values()]


def _telling(row: Row) -> dict[str, str]:
    """The labels, without the ranks, and observations whose name does not say that they are measured."""
    labels = {k: text for k, text in row.labels.items() if k != RANK or not text.replace(",", "").isdigit()}
    return {**{k: canonical(v) for k, v in row.observations.items() if not is_measured(k)}, **labels}


def _advice(keys: Sequence[str], *, explicit: bool) -> str:
    names = cut(", ".join(keys), 120)
    if explicit:
        return f"rows of one config differ in {names}; the first value is kept"
    return (
        f"RESULT lines of one config differ in {names}, so they are separate rows; "
        "declare what identifies a case as an axis, and what is measured as a metric"
    )


def _one_row(reports: Sequence[Row], problem: Problem) -> Row:
    """One row of the reports of one case. Lines that lie far apart are named."""
    if len(reports) == 1:
        return reports[0]
    metrics = {}
    for name, given in _by_name(report.metrics for report in reports).items():
        values = [median(m.samples) for m in given]
        if _are_far_apart(values):
            problem(f"{cut(name, 40)}: {len(values)} lines of one case: {min(values):g} to {max(values):g}")
        metrics[name] = _joined(given)
    observations = {}
    for name, observed in _by_name(report.observations for report in reports).items():
        known = [value for value in observed if value is not None]
        observations[name] = median(known) if known and is_measured(name) else observed[0]
    ranks = dict.fromkeys(rank for report in reports for rank in report.labels.get(RANK, "").split(",") if rank)
    labels = {name: texts[0] for name, texts in _by_name(report.labels for report in reports).items()}
    return Row(
        config=reports[0].config,
        metrics=metrics,
        observations=observations,
        labels={**labels, **({RANK: ",".join(ranks)} if ranks else {})},
        devices=next((report.devices for report in reports if report.devices), ()),
        software={name: versions[0] for name, versions in _by_name(report.software for report in reports).items()},
        host=next((report.host for report in reports if report.host), None),
        failed=reports[0].failed,
    )


def _by_name(parts: Iterable[Mapping[str, T]]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for part in parts:
        for name, value in part.items():
            found.setdefault(name, []).append(value)
    return found


def _joined(given: Sequence[Measurement]) -> Measurement:
    return Measurement(
        samples=tuple(sample for m in given for sample in m.samples),
        unit=next((m.unit for m in given if m.unit), None),
        direction=next((m.direction for m in given if m.direction), None),
    )


def _are_far_apart(values: Sequence[float]) -> bool:
    low, high = min(values), max(values)
    return low < 0 < high or max(-low, high) > _FAR * min(abs(low), abs(high))


def completed(row: Row, more: Row) -> Row:
    """A row with what another one says and it does not."""
    known = row.metrics.keys() | row.observations.keys() | row.labels.keys() | row.config.keys()
    return structs.replace(
        row,
        metrics={**row.metrics, **{k: v for k, v in more.metrics.items() if k not in known}},
        observations={**row.observations, **{k: v for k, v in more.observations.items() if k not in known}},
        labels={**row.labels, **{k: v for k, v in more.labels.items() if k not in known}},
        devices=row.devices or more.devices,
        software={**more.software, **row.software},
        host=row.host or more.host,
    )


# -- rows of several kinds ---------------------------------------------------------------------------


def parted(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """The rows that measure something, and those that have labels alone."""
    parts: tuple[list[Row], list[Row]] = [], []
    for row in rows:
        parts[not is_measuring(row)].append(row)
    return parts


def join_lines(rows: Sequence[Row], lines: Sequence[Row], run_config: Mapping[str, Scalar]) -> list[Row]:
    """Rows, completed by the lines that report the same cases, then the lines' other cases.

    A line belongs to the rows whose config agrees with its own, in the keys that rows have; one of these keys is the
    line's own, if it has any beside the run's config. Of several, it belongs to the one with just the line's config: of
    two tiles, the default has no key for it. Labels alone belong to all of them.
    """

    @functools.cache
    def places_by(names: tuple[str, ...]) -> dict[Key, list[int]]:
        """The rows with all of these keys, by their values: to match n lines with m rows is not n x m."""
        found: dict[Key, list[int]] = {}
        for place, row in enumerate(rows):
            if all(name in row.config for name in names):
                found.setdefault(row_key({name: row.config[name] for name in names}), []).append(place)
        return found

    joined, others, known = list(rows), [], {name for row in rows for name in row.config}
    exact: dict[Key, list[int]] = {}
    for place, row in enumerate(rows):
        exact.setdefault(row_key(row.config), []).append(place)
    for line in lines:
        is_bare = not is_measuring(line)
        own, shared = line.config.keys() - run_config.keys(), line.config.keys() & known
        places = [] if is_bare else exact.get(row_key(line.config), [])
        if not places and (not own or own & shared):
            places = places_by(tuple(sorted(shared))).get(row_key({name: line.config[name] for name in shared}), [])
        if is_bare or len(places) == 1:
            for place in places:
                joined[place] = completed(joined[place], line)
        elif places and completed(joined[places[0]], line) != joined[places[0]]:
            others.append(line)
        if not places:
            others.append(line)
    return joined + others


def join_loose(rows: Sequence[Row], loose: Sequence[Row], reduced: Set[str]) -> list[Row]:
    """METRIC lines belong to the only row there is, to which they add new samples, and whose values that were `reduced`
    from curves they replace; with none or several they are rows of their own, and so are those in another unit."""
    if len(rows) != 1 or rows[0].failed is not None:
        return [*rows, *loose]
    replaced = reduced & {name for row in loose for name in row.metrics}
    only = structs.replace(rows[0], metrics={name: m for name, m in rows[0].metrics.items() if name not in replaced})
    apart = []
    for row in loose:
        units = {name: m.unit for name, m in only.metrics.items() if m.unit}
        if any(m.unit and units.get(name, m.unit) != m.unit for name, m in row.metrics.items()):
            apart.append(structs.replace(row, config=only.config))
            continue
        held = {(name, sample) for name, m in only.metrics.items() for sample in m.samples}
        fresh = {
            name: structs.replace(m, samples=samples)
            for name, m in row.metrics.items()
            if (samples := tuple(sample for sample in m.samples if (name, sample) not in held))
        }
        only = _one_row([only, structs.replace(row, metrics=fresh)], lambda text: None)
    return [only, *apart]


def labels_of(bare: Sequence[Row]) -> list[Row]:
    """One row for each config of rows that have labels alone. Several values of one name are one label."""
    cases: dict[Key, list[Row]] = {}
    for row in bare:
        cases.setdefault(row_key(row.config), []).append(row)
    found = []
    for rows in cases.values():
        labels = {name: _one_label(texts) for name, texts in _by_name(row.labels for row in rows).items()}
        found.append(structs.replace(_one_row(rows, lambda text: None), labels=labels))
    return found


def _one_label(values: Sequence[str]) -> str:
    text = ",".join(dict.fromkeys(values))
    return text if len(text) <= _LABEL_CHARS else hashlib.sha256(text.encode()).hexdigest()
