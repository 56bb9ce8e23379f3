"""Points of curves out of rows with a step, and rows out of the curves that they make. `PointSink` is what a feature
does with the points; without one, such rows are read as all others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from logbook_agent.model.header import Metric
from logbook_agent.model.run import Curve, Measurement, Row
from logbook_agent.model.values import Key, Scalar, finite, parse_scalar, row_key
from logbook_agent.running.results.classifier import Classifier, CurvePoint
from logbook_agent.running.results.fold import fold
from logbook_agent.running.results.result_lines import RANK, ResultWords, cut, of_rank

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
        self._sink.add(replace(row, config=config), points, line)
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
            found.append(replace(curve, config=config))
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
