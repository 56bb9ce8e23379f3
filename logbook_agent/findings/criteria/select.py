"""Which rows a predicate speaks of."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from logbook_agent.findings.criteria.outcome import not_computable, unmet
from logbook_agent.findings.tables.frame import Frame, frame_of, show
from logbook_agent.findings.tables.spec import Case
from logbook_agent.model.header import Computed
from logbook_agent.model.run import Row
from logbook_agent.model.values import Scalar


class Rows:
    """Cases that can be looked up by the values of their axes. Rows that failed, and those of runs that did not
    finish, count for nothing."""

    def __init__(self, cases: Sequence[Case]) -> None:
        good = [c for c in cases if c.row.failed is None and c.state in ("finished", None)]
        self.frame: Frame = frame_of(good)

    def missing(self, names: Iterable[str]) -> Computed | None:
        """Where nothing has been measured yet, nothing is met; a name that no row has cannot be looked up."""
        if not self.frame.items:
            return unmet("nothing has been measured yet")
        known = set(self.frame.axes())
        name = next((name for name in names if name not in known), None)
        return None if name is None else not_computable(f"no row has {name}")

    def choose(self, where: Mapping[str, Scalar], device: str | None) -> list[Case]:
        """The cases whose rows have these values, on a device whose kind holds `device`."""
        return [i.case for i in self.frame.having(where) if device is None or _is_on(i.row, device)]


def _is_on(row: Row, kind: str) -> bool:
    return any(kind.casefold() in (device.kind or device.platform).casefold() for device in row.devices)


def combinations(for_each: Mapping[str, Sequence[Scalar]]) -> Iterator[dict[str, Scalar]]:
    """Every combination of the values; one that is empty when there are none."""
    for values in itertools.product(*for_each.values()):
        yield dict(zip(for_each, values, strict=True))


def words(config: Mapping[str, Scalar]) -> str:
    """`topk=2 mlp_dim=1408`, as one types it."""
    return " ".join(f"{name}={show(value)}" for name, value in config.items())


def reference(case: Case) -> str:
    """`MOE-I8-003/2`."""
    return f"{case.entry}/{case.run}"
