"""Which rows a predicate speaks of."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from logbook_agent.findings.evidence.alike import Trial
from logbook_agent.findings.tables.frame import Frame, Item, frame_of, key_of, show
from logbook_agent.model.values import Scalar


class Rows:
    """Trials that can be looked up by the values of their axes. Rows that failed, and those of runs that did not
    finish, count for nothing."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        good = [t for t in trials if t.case.row.failed is None and t.case.state in ("finished", None)]
        self.frame: Frame = frame_of([t.case for t in good])
        self._of: list[tuple[Item, Trial]] = list(zip(self.frame.items, good, strict=True))

    def unknown(self, names: Mapping[str, object]) -> str | None:
        """The first of some names that no row has."""
        known = set(self.frame.axes())
        return next((name for name in names if name not in known), None)

    def choose(self, where: Mapping[str, Scalar], device: str | None) -> list[Trial]:
        """The trials whose rows have these values, on a device whose kind holds `device`."""
        wanted = {name: self._key(name, value) for name, value in where.items()}
        return [
            trial
            for item, trial in self._of
            if (device is None or _is_on(trial, device)) and all(item.key(name) == key for name, key in wanted.items())
        ]

    def _key(self, name: str, value: Scalar) -> str | None:
        return str(value) if name in self.frame.facts else key_of(value)


def _is_on(trial: Trial, kind: str) -> bool:
    return any(kind.casefold() in (device.kind or device.platform).casefold() for device in trial.case.row.devices)


def combinations(for_each: Mapping[str, Sequence[Scalar]]) -> Iterator[dict[str, Scalar]]:
    """Every combination of the values; one that is empty when there are none."""
    for values in itertools.product(*for_each.values()):
        yield dict(zip(for_each, values, strict=True))


def words(config: Mapping[str, Scalar]) -> str:
    """`topk=2 mlp_dim=1408`, as one types it."""
    return " ".join(f"{name}={show(value)}" for name, value in config.items())


def reference(trial: Trial) -> str:
    """`MOE-I8-003/2`."""
    return f"{trial.case.entry}/{trial.case.run}"
