"""Which reported rows are points of a curve: those with a step. A key of the config never is one.

`PointSink` is what a feature does with points. Without one, such rows are read as all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Protocol

from logbook_agent.model.header import STEP, Metric
from logbook_agent.model.run import Curve
from logbook_agent.model.units import Direction
from logbook_agent.model.values import Scalar, finite, is_not_finite, is_number, parse_scalar
from logbook_agent.running.results.result_lines import cut
from logbook_agent.text.commands.flags import flags

NAN = float("nan")


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
    """Keeps the points of a run while it goes on."""

    def line(self, line: str) -> bool:
        """Take the points of a line of a form that was added before; False, where it has another form."""

    def add(self, row: PointRow, line: str | None = None) -> None:
        """Keep the points of a row. `line`: what they were read from, where its words are no secrets."""

    def flush(self) -> None:
        """Write what was added to the disk, if that was not done just now. It is called again and again."""

    def finish(self, reduced: Callable[[str], Reduced]) -> tuple[list[Curve], list[str]]:
        """The curves in numbers, in the order of their first points, after their points were written; and what is
        wrong with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKeys:
    """What is known of the keys of a run's rows before it starts: the metrics that the logbook has `declared`, its
    `axes`, and the run's own `config` and command."""

    declared: Sequence[Metric] = ()
    axes: Sequence[str] = ()
    config: Mapping[str, Scalar] = field(default_factory=dict)
    argv: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRules:
    """What a row's keys are while a run goes on: by metric the key of its steps, and the keys of the config."""

    over: Mapping[str, str]
    config_keys: Set[str]
    flags: Set[str]

    @classmethod
    def of(cls, known: KnownKeys) -> PointRules:
        over = {m.name: m.over for m in known.declared}
        printed = {key for key in (STEP, *over.values()) if not any(_names(word, key) for word in known.argv)}
        return cls(over=over, config_keys={*known.axes, *known.config}, flags=flags(known.argv).keys() - printed)

    def step_keys(self) -> tuple[str, ...]:
        """The keys that number points: `step`, and those that metrics declare."""
        found = dict.fromkeys((STEP, *self.over.values()))
        return tuple(key for key in found if key not in self.over and not self.is_config(key))

    def is_config(self, key: str) -> bool:
        return key in self.config_keys or key.replace("-", "_") in self.flags

    def row(
        self, pairs: Mapping[str, object], step_keys: Sequence[str], problem: Callable[[str], None]
    ) -> PointRow | None:
        """The points of one row, whose values are text or data; None for a row that is none. A step that is no number
        is a problem, and leaves a row without points."""
        steps: dict[str, float] = {}
        for key in step_keys:
            if key in pairs:
                step = finite(_scalar(pairs[key]))
                if step is None:
                    problem(f"{cut(key, 40)}: {cut(str(pairs[key]), 40)!r} is not a number; the points were left out")
                    return PointRow(config={}, points=(), labels={})
                steps[key] = step
        if not steps:
            return None
        config: dict[str, Scalar] = {}
        labels: dict[str, str] = {}
        points = []
        for key, given in pairs.items():
            value = _scalar(given)
            if key in steps:
                continue
            if key not in self.over and self.is_config(key):
                config[key] = value
            elif is_number(value) or value is None or is_not_finite(value):
                points.append(_point(key, self.over.get(key, STEP), steps, value))
            else:
                labels[key] = str(given)
        return PointRow(config=config, points=tuple(points), labels=labels) if points else None


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonPoint:
    """A JSON row with steps, by their keys; `values` (nan: not finite) are its metrics, whose `units` it may state, and
    its observations."""

    steps: dict[str, float]
    values: dict[str, float]
    units: dict[str, str | None]
    config: dict[str, Scalar]
    labels: dict[str, str]


def points_at(
    values: Mapping[str, float], steps: Mapping[str, float], over: Mapping[str, str]
) -> tuple[CurvePoint, ...]:
    """The points of these values, each at the step of the key that its metric declares in `over`."""
    return tuple(_point(name, over.get(name, STEP), steps, value) for name, value in values.items())


def _point(name: str, over: str, steps: Mapping[str, float], value: Scalar) -> CurvePoint:
    """A point over the key that its metric declares, else over `step`, else over the first key that is there."""
    key = over if over in steps else STEP if STEP in steps else next(iter(steps))
    number = finite(value)
    return CurvePoint(name=name, over=key, step=steps[key], value=NAN if number is None else number)


def _names(word: str, key: str) -> bool:
    """Whether a word of a command sets a key. In a script, `step=$i` is what it prints, and only `--step` is a flag."""
    dashed = "--" + key.replace("_", "-")
    if " " in word or "\n" in word:
        return any(one.partition("=")[0].replace("_", "-") == dashed for one in word.split())
    return word.partition("=")[0].replace("_", "-") in (dashed, dashed[2:])


def _scalar(given: object) -> Scalar:
    return parse_scalar(given) if isinstance(given, str) else given  # type: ignore[return-value]
