"""Points of curves: rows with a step. `PointSink` is what a feature does with them; without one, such rows are read as
all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from logbook_agent.model.header import Metric
from logbook_agent.model.run import Curve
from logbook_agent.model.units import Direction
from logbook_agent.model.values import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKeys:
    """What is known of the keys of a run's rows before it starts: the metrics that the logbook has `declared`, its
    `axes`, and the run's own `config` and command."""

    declared: Sequence[Metric] = ()
    axes: Sequence[str] = ()
    config: Mapping[str, Scalar] = field(default_factory=dict)
    argv: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """One value of a metric (nan: not finite) at a step of the key `over`."""

    name: str
    over: str
    step: float
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRow:
    """The points that one row reports, with the config of their case, and other words beside them."""

    config: dict[str, Scalar]
    points: tuple[CurvePoint, ...]
    labels: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """How the curve of a metric is reduced (`last`, `best`, `mean=N`), its direction and its unit."""

    how: str
    direction: Direction | None
    unit: str | None


class PointSink(Protocol):
    """Keeps the points of a run while they are read."""

    def line(self, line: str) -> bool:
        """Take the points of a line of a form that was added before; False, where it has another form."""

    def add(self, row: PointRow, line: str | None = None) -> None:
        """Keep the points of a row. `line`: what they were read from, where its words are no secrets."""

    def finish(self, reduced: Callable[[str], Reduced]) -> tuple[list[Curve], list[str]]:
        """The curves in numbers, in the order of their first points, after their points were written; and what is
        wrong with them."""
