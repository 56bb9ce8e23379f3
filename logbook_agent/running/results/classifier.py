"""What the keys of reported lines are: metric, config, observation or label; with which unit and direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace

from logbook_agent.model.run import Measurement, Row, Scalar
from logbook_agent.model.units import KNOWN, is_time, known, usual_direction
from logbook_agent.model.values import canonical, finite, is_digest_name, is_not_finite, is_number, parse_scalar
from logbook_agent.running.results.curve_points import KnownKeys
from logbook_agent.running.results.line_prefix import RANK
from logbook_agent.running.results.result_lines import PLAIN_NUMBER, cut, measured_number
from logbook_agent.text.commands.flags import flags


class Classifier:
    """What the keys of a RESULT line are: metric, config, observation or label.

    A key is a metric when the logbook declares it, or a METRIC line or JSON row of the run names it so; else
    config when it is a declared axis, a `--config` key, a config key of a JSON row, or matches a flag of the
    command; else a number is an observation (nan and inf: unknown) and a word a label. A logbook that declares no
    metric at all takes the names that `units.KNOWN` has as its metrics. `quantities` holds units and directions that
    the run itself stated.
    """

    def __init__(
        self,
        problem: Callable[[str], None],
        known: KnownKeys,
        run_config: Mapping[str, Scalar],
        *,
        metrics: Set[str],
        config_keys: Set[str],
        quantities: Mapping[str, Measurement],
    ) -> None:
        self._problem, self._metrics, self._config_keys = problem, metrics, config_keys
        self._declared, self._flags = {metric.name: metric for metric in known.declared}, flags(known.argv).keys()
        self._run_config, self._quantities = run_config, quantities

    def is_metric(self, key: str) -> bool:
        return key in self._declared or key in self._metrics or (not self._declared and key in KNOWN)

    def reduction(self, key: str) -> str:
        """How the logbook declares that a curve of this metric is reduced."""
        return self._declared[key].reduce if key in self._declared else "last"

    def is_config(self, key: str) -> bool:
        return key in self._config_keys or key.replace("-", "_") in self._flags

    def row(self, pairs: Mapping[str, str], rank: str | None = None) -> Row:
        """The row of one RESULT line, which a rank printed."""
        row = Row(labels={} if rank is None else {RANK: rank})
        for key, text in pairs.items():
            value = parse_scalar(text)
            if self.is_metric(key):
                self._add_metric(row, key, text)
            elif self.is_config(key):
                row.config[key] = value
            elif is_digest_name(key):
                row.labels[key] = text
            elif is_number(value):
                row.observations[key] = finite(value)
            elif value is None or is_not_finite(value):
                row.observations[key] = None
            else:
                row.labels[key] = text
        return replace(row, config=self.with_run_config(row.config))

    def _add_metric(self, row: Row, key: str, text: str) -> None:
        number, unit = measured_number(text)
        if number is None:
            self._problem(f"{cut(key, 40)}: {cut(text, 40)!r} is not a measurement; {PLAIN_NUMBER}")
        else:
            row.metrics[key] = self.measurement(key, number, unit)

    def described(self, row: Row) -> Row:
        """A row with units and directions where it left them open."""
        return replace(row, metrics={n: self._described(n, m) for n, m in row.metrics.items()})

    def completed(self, row: Row) -> Row:
        """A JSON row with the run's config, described."""
        return replace(self.described(row), config=self.with_run_config(row.config))

    def measurement(self, name: str, value: float, unit: str | None) -> Measurement:
        return self._described(name, Measurement(samples=(value,), unit=unit))

    def _described(self, name: str, given: Measurement) -> Measurement:
        """Unit and direction: the logbook's declaration, then the run's own, then the table of units. A number that
        was stated in a unit is in that one, whatever is declared."""
        declared, stated = self._declared.get(name), self._quantities.get(name)
        table = known(name)
        meant = declared.unit if declared is not None else None
        if given.unit and meant and given.unit != meant:
            own, shown = cut(given.unit, 20), cut(meant, 20)
            self._problem(
                f"{cut(name, 40)}: stated in {own}, declared in {shown}; kept in {own}, and not compared with values"
                f" in {shown}"
            )
        units = [given.unit, meant, stated and stated.unit, table.unit]
        directions = [
            declared and declared.direction,
            given.direction,
            stated and stated.direction,
            table.direction,
        ]
        unit, direction = next((u for u in units if u), None), next((d for d in directions if d), None)
        if is_time(name, unit) and min(given.samples, default=0.0) < 0:
            self._problem(f"{cut(name, 40)}: a time of {min(given.samples):g}, which no clock measures")
        usual = usual_direction(unit)
        if None not in (usual, direction) and usual != direction:
            self._problem(f"{cut(name, 40)}: its direction is {direction}, but its unit is {unit}: {usual} is usual")
        return Measurement(samples=given.samples, unit=unit, direction=direction)

    def with_run_config(self, own: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """The run's config under the row's own, which wins where they disagree: it was there."""
        for key, value in self._run_config.items():
            if key in own and canonical(own[key]) != canonical(value):
                said, meant = canonical(own[key]), canonical(value)
                self._problem(f"{cut(key, 40)}: the row says {cut(said, 40)}, --config says {cut(meant, 40)}")
        return {**self._run_config, **own}


def quantities_of(rows: Sequence[Row], units: Mapping[str, str | None]) -> dict[str, Measurement]:
    """What the run itself says about a metric's unit and direction: a row that does, else the units of its lines."""
    found: dict[str, Measurement] = {}
    for row in rows:
        for name, m in row.metrics.items():
            if m.unit is not None or m.direction is not None:
                found.setdefault(name, m)
    return {**{name: Measurement(samples=(), unit=unit) for name, unit in units.items()}, **found}
