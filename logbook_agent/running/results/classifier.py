"""What the keys of reported lines are: metric, config, observation or label; with which unit and direction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct, field, structs

from logbook_agent.model.gates import Gate
from logbook_agent.model.header import STEP, Metric
from logbook_agent.model.run import Curve, Measurement, Row
from logbook_agent.model.units import KNOWN, Quantity, is_time, usual_direction
from logbook_agent.model.values import (
    Key,
    Scalar,
    canonical,
    finite,
    is_digest_name,
    is_not_finite,
    is_number,
    parse_scalar,
    row_key,
)
from logbook_agent.running.results.fold import fold
from logbook_agent.running.results.result_lines import PLAIN_NUMBER, RANK, ResultWords, cut, measured_number, of_rank
from logbook_agent.text.commands.flags import flags

_NAN = float("nan")
_UNSTATED = Measurement(samples=())


class KnownKeys(Struct, frozen=True, kw_only=True):
    """What is known of the keys of a run's rows before it starts: the metrics that the logbook has `declared`, its
    `axes`, the `gates` of the run, and its own `config` and command."""

    declared: Sequence[Metric] = ()
    axes: Sequence[str] = ()
    gates: Sequence[Gate] = ()
    config: Mapping[str, Scalar] = field(default_factory=dict)
    argv: Sequence[str] = ()


class CurvePoint(NamedTuple):
    """One value of a metric (nan: not finite) at a step of the key `over`."""

    name: str
    over: str
    step: float
    value: float


class Classifier:
    """What a key is: a metric when the logbook declares it, or a METRIC line or JSON row of the run names it so; else
    config when it is a declared axis, a `--config` key, a config key of a JSON row, or matches a flag of the command;
    else a number is an observation (nan and inf: unknown) and a word a label. A logbook that declares no metric at all
    takes the names that `units.KNOWN` has as its metrics.

    `learn` what the run itself says before its lines are classified. `steps` are the keys that number points: `step`,
    and those that metrics declare, as far as they are no config.
    """

    def __init__(self, known: KnownKeys, problem: Callable[[str], object] = str) -> None:
        self._problem, self._run_config = problem, known.config
        self.declared = {metric.name: metric for metric in known.declared}
        over = dict.fromkeys((STEP, *(metric.over for metric in known.declared)))
        printed = {key for key in over if not any(_sets(word, key) for word in known.argv)}
        self._flags = flags(known.argv).keys() - printed
        self._config_keys = {*known.axes, *known.config}
        self._metrics: set[str] = set()
        self._stated: dict[str, Measurement] = {}
        self.steps = tuple(key for key in over if key not in self.declared and not self.is_config(key))

    def learn(self, row: Row) -> None:
        """Take what a row states of its keys: config, metrics, units and directions."""
        self._config_keys.update(row.config)
        self._metrics.update(row.metrics)
        for name, m in row.metrics.items():
            if m.unit is not None or m.direction is not None:
                self._stated.setdefault(name, m)

    def is_metric(self, key: str) -> bool:
        return key in self.declared or key in self._metrics or (not self.declared and key in KNOWN)

    def is_config(self, key: str) -> bool:
        return key in self._config_keys or key.replace("-", "_") in self._flags

    def row(self, pairs: Mapping[str, str], *, is_point: bool = False) -> Row:
        """What the words of one line are. A metric whose text is no number is nan: its case has no measurement of it.
        In a point, it may well be nan."""
        row = Row()
        for key, text in pairs.items():
            value = parse_scalar(text)
            is_unknown = value is None or is_not_finite(value)
            if self.is_metric(key):
                number, unit = measured_number(text)
                if number is None and not (is_unknown and is_point):
                    self._problem(f"{cut(key, 40)}: {cut(text, 40)!r} is not a measurement; {PLAIN_NUMBER}")
                row.metrics[key] = Measurement(samples=(_NAN if number is None else number,), unit=unit)
            elif self.is_config(key):
                row.config[key] = value
            elif (is_number(value) or is_unknown) and not is_digest_name(key):
                row.observations[key] = finite(value)
            else:
                row.labels[key] = text
        return row

    def points(self, row: Row, steps: Mapping[str, float]) -> tuple[CurvePoint, ...]:
        """The metrics and observations of a row as points, each over the key that its metric declares, else over
        `step`, else over the first key that is there."""
        found = []
        for name, value in [*((n, m.samples[0]) for n, m in row.metrics.items()), *row.observations.items()]:
            over = self.declared[name].over if name in self.declared else STEP
            over = next(key for key in (over, STEP, *steps) if key in steps)
            found.append(CurvePoint(name, over, steps[over], _NAN if value is None else value))
        return tuple(found)

    def reduced(self, name: str) -> Metric:
        """How a curve of this name is reduced, as the logbook declares it, with its direction and unit."""
        described = self._described(name, structs.replace(self._stated.get(name, _UNSTATED), samples=()))
        declared = self.declared.get(name, Metric(name=name))
        return structs.replace(declared, direction=described.direction, unit=described.unit)

    def completed(self, row: Row) -> Row:
        """A row with the run's config, and with units and directions where it left them open. Of config, the row's own
        wins: it was there."""
        for key, value in self._run_config.items():
            own, meant = canonical(row.config.get(key, value)), canonical(value)
            if own != meant:
                self._problem(f"{cut(key, 40)}: the row says {cut(own, 40)}, --config says {cut(meant, 40)}")
        metrics = {name: self._described(name, m) for name, m in row.metrics.items()}
        return structs.replace(row, config={**self._run_config, **row.config}, metrics=metrics)

    def _described(self, name: str, given: Measurement) -> Measurement:
        """Unit and direction: the logbook's declaration, then the run's own, then the table of units. A number that
        was stated in a unit is in that one, whatever is declared."""
        declared, stated = self.declared.get(name, Metric(name=name)), self._stated.get(name, _UNSTATED)
        if given.unit and declared.unit and given.unit != declared.unit:
            own, shown = cut(given.unit, 20), cut(declared.unit, 20)
            self._problem(
                f"{cut(name, 40)}: stated in {own}, declared in {shown}; kept in {own}, and not compared with values"
                f" in {shown}"
            )
        usual = KNOWN.get(name, Quantity())
        unit = given.unit or declared.unit or stated.unit or usual.unit
        direction = declared.direction or given.direction or stated.direction or usual.direction
        least = min(given.samples, default=0.0)
        if least < 0 and direction != "max" and is_time(name, unit):
            self._problem(f"{cut(name, 40)}: a time of {least:g}, which no clock measures")
        of_unit = usual_direction(unit)
        usually = of_unit or usual.direction
        if None not in (usually, direction) and usually != direction:
            why = f"its unit is {unit}: {usually} is usual" if of_unit else f"{usually} is usual for this name"
            self._problem(f"{cut(name, 40)}: its direction is {direction}, but {why}")
        return Measurement(samples=given.samples, unit=unit, direction=direction)


def _sets(word: str, key: str) -> bool:
    """Whether a word of a command sets a key. In a script, `step=$i` is what it prints, and only `--step` is a flag."""
    dashed = "--" + key.replace("_", "-")
    names = [part.partition("=")[0].replace("_", "-") for part in word.split()]
    return dashed in names or names == [dashed[2:]]


# -- points of curves ------------------------------------------------------------------------------


# Numbers the steps of a plain line, too.
_EPOCH = "epoch"


class PointSink(Protocol):
    """Keeps the points of a run while they are read."""

    def line(self, line: str) -> bool:
        """Take the points of a line of a form that was added before; False, where it has another form."""

    def add(self, row: Row, points: Sequence[CurvePoint], line: str | None = None) -> None:
        """Keep the points of a row with this config. `line`: what they were read from, where its words are no
        secrets."""

    def finish(self, reduced: Callable[[str], Metric]) -> tuple[list[Curve], list[str]]:
        """The curves in numbers, in the order of their first points, after their points were written; and what is
        wrong with them. `reduced` says how the curve of a name is reduced, and its direction and unit."""


class RowPoints:
    """Hands points to the sink of a run, which `make_sink` makes for the first of them. `steps` are the keys that
    number points: none without a sink; `plain_steps` those of plain lines."""

    def __init__(
        self, keys: Classifier, problem: Callable[[str], None], make_sink: Callable[[], PointSink | None] | None
    ) -> None:
        self._keys, self._problem, self._make_sink = keys, problem, make_sink
        self.steps = keys.steps if make_sink is not None else ()
        epoch = (_EPOCH,) if _EPOCH not in keys.declared and not keys.is_config(_EPOCH) else ()
        self.plain_steps = tuple(dict.fromkeys((*self.steps, *epoch))) if self.steps else ()
        self._sink: PointSink | None = None
        self._labels: dict[Key, dict[str, str]] = {}

    def is_known(self, line: str) -> bool:
        """Take a line of a form that was met before; whether it is one."""
        return self._sink is not None and self._sink.line(line)

    def add_words(self, words: ResultWords, keys: Iterable[str], line: str | None = None) -> bool:
        """Take words with a step, by one of these keys; whether they are a point. `line`: as for `PointSink.add`."""
        steps: dict[str, float] = {}
        for key in (key for key in keys if key in words.pairs):
            step = finite(parse_scalar(words.pairs[key]))
            if step is None:
                shown = cut(words.pairs[key], 40)
                self._problem(f"{cut(key, 40)}: {shown!r} is not a number; the points were left out")
                return True
            steps[key] = step
        values = {key: text for key, text in words.pairs.items() if key not in steps}
        return bool(steps) and self.add(self._keys.row(values, is_point=True), steps, words.rank, line)

    def add(self, row: Row, steps: Mapping[str, float], rank: str | None = None, line: str | None = None) -> bool:
        """Take the values of a row as points; whether there are any. Each rank has a curve of its own."""
        points = self._keys.points(row, steps)
        if points and self._sink is None:
            self._sink = self._make_sink() if self._make_sink is not None else None
            self.steps = self.steps if self._sink is not None else ()
        if self._sink is None or not points:
            return False
        config = {**row.config, **of_rank(rank)}
        self._sink.add(structs.replace(row, config=config), points, line)
        labels = self._labels.setdefault(row_key(config), {}) if row.labels else {}
        for key, text in row.labels.items():
            if labels.setdefault(key, text) != text:
                self._problem(
                    f"points of one curve differ in {cut(key, 40)}, and the last value is kept; give their metrics"
                    f" names of their own (train_loss, eval_loss), or declare {cut(key, 40)} as an axis"
                )
                labels[key] = text
        return True

    def rows(self, run_config: Mapping[str, Scalar]) -> tuple[list[Row], list[Curve]]:
        """Rows with the reduction of each curve of the run, of which ranks are samples of a case; and the curves."""
        if self._sink is None:
            return [], []
        curves, problems = self._sink.finish(self._keys.reduced)
        for text in problems:
            self._problem(text)
        rows: dict[Key, Row] = {}
        found = []
        for curve in curves:
            key, config = row_key(curve.config), {**run_config, **curve.config}
            found.append(structs.replace(curve, config=config))
            is_rank = RANK in curve.config and not self._keys.is_config(RANK)
            labels = {**of_rank(str(curve.config[RANK]) if is_rank else None), **self._labels.get(key, {})}
            config = {name: value for name, value in config.items() if name != RANK or not is_rank}
            row = rows.setdefault(key, Row(config=config, labels=labels))
            if not self._keys.is_metric(curve.name):
                row.observations.setdefault(curve.name, curve.value)
            elif curve.value is not None:
                m = Measurement(samples=(curve.value,), unit=curve.unit, direction=curve.direction)
                row.metrics.setdefault(curve.name, m)
        return fold(rows.values(), self._problem, explicit=True), found
