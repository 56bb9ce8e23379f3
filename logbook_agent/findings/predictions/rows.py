"""The predicted rows of an entry: their names, the case each is of, and what they claim against one another.

A case is known by its config without what a measurement and a prediction of it cannot share (`aot`, how often a call is
timed and what in turn with, which devices are asked for), by kind and number of the devices, and by the variables that
change the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logbook_agent.model.record import Record, digest
from logbook_agent.model.values import Scalar, canonical, spelt
from logbook_agent.text.words import assignments

if TYPE_CHECKING:
    from bench_core.accounting.prediction import Outcome, Prediction
    from logbook_agent.model.run import PredictedRow, Row, Run

SIDE = "side"
# The key of all entries that predict something, in the index of hints.
PREDICTS = "predicts"
TIME = "time_s"
_ENV = "env:"
# Of config: the target of a prediction, how a measurement is repeated and what was called in turn with it, and the
# devices, which the key names anyway.
_BESIDE = frozenset(("aot", "iters", "warmup", "in_turn", "devices", "processes"))
# Of the environment: flags of the compiler, but for those that say where it dumps and how many devices a CPU plays.
_COMPILER = ("LIBTPU_INIT_ARGS", "XLA_FLAGS")
_NOT_COMPILED = ("--xla_dump", "--xla_force_host_platform_device_count")


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """One predicted row of an entry. `name` tells it from the others there; `at`: when it was made, the end of its
    run."""

    run: Run
    row: PredictedRow
    name: str
    key: str

    @property
    def said(self) -> Prediction:
        return self.row.said

    @property
    def at(self) -> str:
        return self.run.ended or self.run.started


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedPair:
    """What the model says of one predicted row against another. `base` and `other` are places in the list of them."""

    base: int
    other: int
    outcome: Outcome


def predicted_rows(record: Record) -> list[Predicted]:
    """The predicted rows of an entry, in the order they were made."""
    found = [(s.run, row) for s in record.runs if s.counts for row in s.run.predictions]
    return [
        Predicted(run=run, row=row, name=name, key=_predicted_key(run, row))
        for (run, row), name in zip(found, _names(found), strict=True)
    ]


def timed_rows(record: Record) -> Iterator[tuple[str, Run, Row]]:
    """The rows of an entry that a prediction may be held against: key, run, and row with the seconds of each call. They
    are of runs that finished, on accelerators."""
    for status in record.runs:
        if not status.counts or status.state != "finished":
            continue
        for row in status.run.rows:
            time = row.metrics.get(TIME)
            if time is None or row.failed is not None or time.unit not in (None, "s"):
                continue
            if (key := measured_key(status.run, row)) is not None:
                yield key, status.run, row


def measured_key(run: Run, row: Row) -> str | None:
    """The case of a measured row; None where nothing could be predicted of it, as on a CPU."""
    used = [d for d in row.devices or run.own_devices if d.used]
    if len(used) != 1 or used[0].platform == "cpu" or used[0].kind is None:
        return None
    return _key(run, row.config, used[0].kind, used[0].used or 0)


def _predicted_key(run: Run, row: PredictedRow) -> str:
    said = row.said
    return _key(run, row.config, said.device_kind, said.devices)


def _key(run: Run, config: Mapping[str, Scalar], kind: str, devices: int) -> str:
    said = {k: canonical(v) for k, v in config.items() if k not in _BESIDE and v is not None}
    variables = run.env.variables
    flags = {n: words for n in _COMPILER if (words := _compiled(variables.get(n, "")))}
    return digest(said, kind, devices, flags)[:16]


def _compiled(flags: str) -> list[str]:
    return sorted(word for word in flags.split() if not word.startswith(_NOT_COMPILED))


# -- names ---------------------------------------------------------------------------------------------


def _names(found: Sequence[tuple[Run, PredictedRow]]) -> list[str]:
    """What tells each of the rows from the others: its side, the label of its run, what varies of config and variables.
    Of config what was declared of the runs, where that is enough: a row may also state what follows from it."""
    labels = {run.label for run, _ in found}
    fronts = [
        [*([row.labels[SIDE]] if SIDE in row.labels else []), *([run.label] if len(labels) > 1 and run.label else [])]
        for run, row in found
    ]
    variables = _told([run.env.variables for run, _ in found])
    for configs in ([run.config for run, _ in found], [row.config for _, row in found]):
        told = _told([{k: spelt(v) for k, v in c.items() if k not in _BESIDE} for c in configs])
        names = [", ".join([*front, *filter(None, ends)]) for front, *ends in zip(fronts, told, variables, strict=True)]
        if len({*names}) == len(names):
            break
    return names


def _told(mappings: Sequence[Mapping[str, str]]) -> list[str]:
    """What varies, as text, of each of the mappings."""
    varied = _varied(mappings)
    return [assignments({key: one[key] for key in varied if key in one}) for one in mappings]


def _varied(mappings: Sequence[Mapping[str, str]]) -> list[str]:
    keys = dict.fromkeys(key for one in mappings for key in one)
    return [key for key in keys if len({one.get(key) for one in mappings}) > 1]


# -- one against another -------------------------------------------------------------------------------


def pairs_of(record: Record, found: Sequence[Predicted]) -> list[PredictedPair]:
    """What the rows of an entry claim against one another: the side B of a command against its side A, and by the
    question of the entry each value of an axis against its base."""
    if not found:
        return []
    from bench_core.accounting.prediction import outcome

    places = [*_sides(found), *_on_axis(record, found)]
    return [
        PredictedPair(base=base, other=other, outcome=outcome(found[base].said, found[other].said))
        for base, other in dict.fromkeys(places)
    ]


def _sides(found: Sequence[Predicted]) -> Iterator[tuple[int, int]]:
    of_run: dict[int, dict[str, list[int]]] = {}
    for place, one in enumerate(found):
        if (side := one.row.labels.get(SIDE)) in ("A", "B"):
            of_run.setdefault(one.run.run, {}).setdefault(side, []).append(place)
    for sides in of_run.values():
        yield from zip(sides.get("A", []), sides.get("B", []), strict=False)


def _on_axis(record: Record, found: Sequence[Predicted]) -> Iterator[tuple[int, int]]:
    asked = record.entry.predicting
    if asked is None or asked.axis is None:
        return
    groups: dict[str, dict[str, int]] = {}
    own_varied = _varied_in_runs(found)
    for place, one in enumerate(found):
        value = _value_of(asked.axis, one)
        if value is None:
            continue
        rest = {asked.axis, *asked.implied, *_BESIDE}
        config = {k: canonical(v) for k, v in one.run.config.items() if k not in rest and v is not None}
        config |= {k: canonical(v) for k in own_varied[one.run.run] if (v := one.row.config.get(k)) is not None}
        # The last one of a value counts: a run that was made again stands in the place of the first.
        groups.setdefault(digest(config), {})[value] = place
    for group in groups.values():
        base = group.get(asked.base_value) if asked.base_value is not None else next(iter(group.values()))
        if base is not None:
            yield from ((base, place) for place in group.values() if place != base)


def _value_of(axis: str, one: Predicted) -> str | None:
    """The value of a row on an axis, as the base of a question names it."""
    if axis.startswith(_ENV):
        return one.run.env.variables.get(axis.removeprefix(_ENV))
    known = {**one.run.config, **one.row.config}
    return canonical(known[axis]) if axis in known else None


def _varied_in_runs(found: Sequence[Predicted]) -> dict[int, list[str]]:
    """What varies between the rows of each run."""
    of_run: dict[int, list[dict[str, str]]] = {}
    for one in found:
        of_run.setdefault(one.run.run, []).append({k: spelt(v) for k, v in one.row.config.items()})
    return {run: _varied(configs) for run, configs in of_run.items()}
