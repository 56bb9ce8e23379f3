"""Reads the results of one run from its output, line by line, in bounded memory.

A line that cannot be read is a problem of the run, never an exception: the command has already been paid for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from logbook_agent.model.header import STEP
from logbook_agent.model.run import Curve, Grade, Measurement, PredictedRow, Problem, Row, Scalar, noted
from logbook_agent.model.values import Key, finite, parse_scalar, row_key
from logbook_agent.running.results.classifier import Classifier, quantities_of
from logbook_agent.running.results.curve_points import (
    CurvePoint,
    JsonPoint,
    KnownKeys,
    PointRow,
    PointRules,
    PointSink,
    Reduced,
    points_at,
)
from logbook_agent.running.results.fold import fold, fold_predicted, join_loose, measured_only, merge_lines
from logbook_agent.running.results.result_lines import (
    MAX_KEYS,
    Kind,
    cut,
    split_line,
    split_metric,
    split_pairs,
    split_point,
)
from logbook_agent.text.commands.flags import flags

MAX_ROWS = 20_000
MAX_TEXT_CHARS = 64 * 2**20
MAX_LINE_CHARS = 16 * 2**20
MAX_PROBLEMS = 50
_LAST_CHARS = 120
# Plain data without its secrets, in the form it came in.
Clean = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultReading:
    """The rows of a run, and apart from them what it predicted; what was said again was folded. The reduction of each
    of its curves stands in a row."""

    rows: tuple[Row, ...] = ()
    predictions: tuple[PredictedRow, ...] = ()
    curves: tuple[Curve, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class Problems:
    """The first 50 different problems, and how many there were beyond them."""

    shown: dict[str, Problem] = field(default_factory=dict)
    more: int = 0

    def add(self, text: str, grade: Grade = "noted") -> None:
        text = cut(text, 300)
        if text not in self.shown and len(self.shown) >= MAX_PROBLEMS:
            self.more += 1
        else:
            self.shown.setdefault(text, Problem(grade=grade, text=text))

    def all(self) -> tuple[Problem, ...]:
        return (*self.shown.values(), *noted(*([f"{self.more} more problems like these"] if self.more else [])))


class ResultReader:
    """Feed it every line; `finish` gives the rows. `last` is the last result line, short, or None.

    At most 20,000 lines and 64 MiB of result text are kept; what is beyond is counted as a problem. What is read passes
    `clean` before anything is said of it: a secret that was shortened first would no longer be known as one. Rows that
    are points go to the sink that `make_sink` makes for the first of them (None: no feature keeps points). Without
    that, there are none.
    """

    def __init__(
        self,
        clean: Clean,
        known: KnownKeys = KnownKeys(),  # noqa: B008 - it is frozen
        make_sink: Callable[[], PointSink | None] | None = None,
    ) -> None:
        self._clean, self._known, self._make_sink = clean, known, make_sink
        self._rules = PointRules.of(known)
        self._step_keys = self._rules.step_keys() if make_sink is not None else ()
        self._sink: PointSink | None = None
        self._point_labels: dict[Key, dict[str, str]] = {}
        self._last: str | None = None
        self._pairs: list[dict[str, str]] = []
        self._metrics: list[tuple[str, float, str | None]] = []
        # Those that METRIC lines with a step report, with their units.
        self._point_units: dict[str, str | None] = {}
        self._json: list[Row] = []
        self._predicted: list[PredictedRow] = []
        self._predicts = False
        self._problems = Problems()
        # The files that the command names, as it names them.
        self.artifacts: list[str] = []
        self._chars = 0
        self._beyond = 0

    @property
    def last(self) -> str | None:
        """The last result line, short; None before the first."""
        return None if self._last is None else cut(self._last, _LAST_CHARS)

    def flush(self) -> None:
        """Write points that were read to the disk. To be called whenever something or nothing came for a moment."""
        if self._sink is not None:
            self._sink.flush()

    def feed(self, line: str) -> None:
        """Take one line of output, with or without its line end."""
        if self._sink is not None and self._sink.line(line):
            self._last = line
            return
        found = split_line(line)
        if found is None:
            return
        kind, body = found
        if self._step_keys and any(key in body for key in self._step_keys) and self._feed_point(kind, body, line):
            return
        self._chars += len(body)
        count = len(self._pairs) + len(self._metrics) + len(self._json) + len(self._predicted) + len(self.artifacts)
        if count >= MAX_ROWS or self._chars > MAX_TEXT_CHARS or len(body) > MAX_LINE_CHARS:
            self._beyond += 1
            return
        if kind == "RESULT":
            self._feed_pairs(body)
        elif kind == "METRIC":
            self._feed_metric(body)
        elif kind == "ARTIFACT":
            self.artifacts.append(body)
        else:
            self._feed_json(body)

    def _clean_config(self, values: dict[str, Any]) -> dict[str, Any]:
        """Names with their values, which tell one case from another."""
        return self._clean({"config": values})["config"]  # type: ignore[no-any-return]

    # -- points of curves --------------------------------------------------------------------------

    def _feed_point(self, kind: Kind, body: str, line: str) -> bool:
        """Take a RESULT or METRIC line that is a point; whether it is one."""
        if kind == "RESULT_JSON" or len(body) > MAX_LINE_CHARS:
            return False
        if kind == "METRIC":
            name, unit, pairs = split_point(body)
            if name is None:
                return False
        else:
            name, unit, (pairs, wrong) = None, None, split_pairs(body)
            if wrong:
                return False
        clean = self._clean_config(pairs)
        row = self._rules.row(clean, self._step_keys, self._problems.add) if len(pairs) <= MAX_KEYS else None
        if row is None or not self._keep(row, line if clean == pairs else None):
            return False
        if name is not None and row.points:
            self._point_units.setdefault(self._clean(name), self._clean(unit))
        self._last = cut(self._clean(body), _LAST_CHARS)
        return True

    def point(self, name: str, step: float, value: float) -> None:
        """Take one point that stood on no line, over `step`. Where that is config, it is left out."""
        if STEP in self._step_keys:
            one = CurvePoint(name=self._clean(name), over=STEP, step=step, value=value)
            self._keep(PointRow(config={}, points=(one,), labels={}))

    def _keep(self, row: PointRow, line: str | None = None) -> bool:
        """Hand a row of points to the sink; False where there is none."""
        if not row.points:
            return True
        if self._sink is None:
            self._sink = self._make_sink() if self._make_sink is not None else None
        if self._sink is None:
            self._step_keys = ()
            return False
        self._sink.add(row, line)
        labels = self._point_labels.setdefault(row_key(row.config), {}) if row.labels else {}
        for key, text in row.labels.items():
            if labels.setdefault(key, text) != text:
                self._problems.add(
                    f"points of one curve differ in {cut(key, 40)}, and the last value is kept; give their metrics"
                    f" names of their own (train_loss, eval_loss), or declare {cut(key, 40)} as an axis"
                )
                labels[key] = text
        return True

    def _curve_rows(self, classifier: Classifier) -> tuple[list[Row], list[Curve]]:
        """The curves of the run, and rows with the reduction of each."""
        if self._sink is None:
            return [], []

        def reduced(name: str) -> Reduced:
            metric = classifier.measurement(name, 0.0, self._point_units.get(name))
            return Reduced(how=classifier.reduction(name), direction=metric.direction, unit=metric.unit)

        curves, problems = self._sink.finish(reduced)
        for text in problems:
            self._problems.add(text)
        rows: dict[Key, Row] = {}
        found = []
        for curve in curves:
            key = row_key(curve.config)
            row = rows.setdefault(
                key,
                Row(config=classifier.with_run_config(curve.config), labels=self._point_labels.get(key, {})),
            )
            found.append(replace(curve, config=row.config))
            if not classifier.is_metric(curve.name):
                row.observations.setdefault(curve.name, curve.value)
            elif curve.value is not None and curve.name not in row.metrics:
                row.metrics[curve.name] = Measurement(
                    samples=(curve.value,), unit=curve.unit, direction=curve.direction
                )
        return [*rows.values()], found

    # -- rows ----------------------------------------------------------------------------------------

    def _feed_pairs(self, body: str) -> None:
        pairs, wrong = split_pairs(body)
        clean = self._clean(body)
        shown = cut(clean, 120)
        if wrong and clean != body:
            # Taken apart at the wrong place, a secret may no longer stand behind its name.
            pairs, wrong = split_pairs(clean)
        for word, why in wrong:
            what = f"{cut(word, 40)!r} {why}" if word else why
            self._problems.add(f"RESULT line: {what}: {shown}")
        if len(pairs) > MAX_KEYS:
            self._problems.add(f"RESULT line: {len(pairs) - MAX_KEYS} keys were not kept: a row has at most {MAX_KEYS}")
            pairs = dict(list(pairs.items())[:MAX_KEYS])
        if pairs:
            self._pairs.append(self._clean_config(pairs))
            self._last = clean

    def _feed_metric(self, body: str) -> None:
        parts = split_metric(body)
        shown = cut(self._clean(body), 120)
        if parts is None:
            self._problems.add(f"METRIC line: expected name=value [unit]: {shown}")
            return
        name, text, unit = parts
        value = finite(parse_scalar(text))
        if value is None:
            self._problems.add(f"METRIC line: no measurement: {shown}")
            return
        self._metrics.append((self._clean(name), value, self._clean(unit)))
        self._last = shown

    def _feed_json(self, body: str) -> None:
        shown = functools.cache(lambda: cut(self._clean(body), 120))
        rows = self._rows(body, lambda text: self._problems.add(f"RESULT_JSON: {text}: {shown()}"))
        self._json += rows
        if rows:
            config = [f"{k}={v}" for k, v in list(rows[-1].config.items())[:3]]
            taken = [f"{k}={m.samples[-1]:g}" for k, m in list(rows[-1].metrics.items())[:3]]
            self._last = " ".join([*config, *taken]) or self._last

    def _rows(self, text: str, problem: Callable[[str], None]) -> list[Row]:
        """The measured rows of a JSON text; those that it predicts are kept apart."""
        # Loaded with the first JSON: most commands print lines, or nothing.
        from logbook_agent.running.results.json_rows import rows_from_json

        found = rows_from_json(text, problem, self._clean, step_keys=self._step_keys)
        for point in found.points:
            self._feed_json_point(point)
        self._predicted += found.predicted
        self._predicts = self._predicts or found.predicts
        return found.measured

    def _feed_json_point(self, point: JsonPoint) -> None:
        """Take a JSON row with a step: its metrics are points, and only what stands under `config` is config."""
        values = points_at(point.values, point.steps, self._rules.over)
        if self._keep(PointRow(config=point.config, points=values, labels=point.labels)):
            for name, unit in point.units.items():
                self._point_units.setdefault(name, unit)
            shown = [f"{one.name}={one.value:g}" for one in values[:3]]
            self._last = " ".join([f"{key}={step:g}" for key, step in point.steps.items()] + shown)

    def finish(self, *, file_text: str | None = None, stated: Sequence[Row] = ()) -> ResultReading:
        """The rows of the run, in the order in which each case was first reported.

        The run's own config belongs to every row. `file_text` is what stands in the result file; its rows are JSON
        rows, and so are those `stated` elsewhere. Classification: see `Classifier`; folding: see `fold`. In the output
        of a run that predicts, only a JSON row of its own is a measurement: see `measured_only`.
        """
        problem, known = self._problems.add, self._known
        config = self._clean_config(dict(known.config))
        explicit = [*self._json, *stated]
        if file_text is not None and file_text.strip():
            explicit += self._rows(file_text, lambda text: problem(f"result file: {text}"))
        if self._beyond:
            problem(f"{self._beyond} result lines were not kept: over the limit of rows or size")
        classifier = Classifier(
            problem,
            declared={m.name: m for m in known.declared},
            metrics={n for n, _, _ in self._metrics}
            | {n for row in explicit for n in row.metrics}
            | self._point_units.keys(),
            config_keys=set(known.axes)
            | {k for row in explicit for k in row.config}
            | {k for row in self._predicted for k in row.config}
            | set(config),
            flags=flags(known.argv).keys(),
            run_config=config,
            quantities=quantities_of(explicit, self._metrics),
        )
        json_rows = fold([classifier.completed(r) for r in explicit], problem, explicit=True)
        line_rows = fold([classifier.row(p) for p in self._pairs], problem, explicit=False)
        rows = merge_lines(json_rows, line_rows, config)
        curve_rows, curves = self._curve_rows(classifier)
        loose = [Row(metrics={n: classifier.measurement(n, v, u)}) for n, v, u in self._metrics]
        if self._predicts:
            rows, loose = measured_only(rows, len(json_rows), loose, problem), []
        else:
            rows = _with_curves(rows, curve_rows, loose, config)
        rows = join_loose(rows, fold(loose, problem, explicit=True), config)
        predicted = fold_predicted([classifier.predicted(row) for row in self._predicted])
        return ResultReading(
            rows=tuple(rows), predictions=predicted, curves=tuple(curves), problems=self._problems.all()
        )


def _with_curves(
    rows: Sequence[Row], curve_rows: Sequence[Row], loose: Sequence[Row], config: Mapping[str, Scalar]
) -> list[Row]:
    """The rows with the reductions of the curves. In a run of one case, a METRIC line without a step states the
    measurement, and the reduction of its curve is no second sample of it."""
    merged = merge_lines(rows, curve_rows, config)
    stated = {name for row in loose for name in row.metrics}
    if len(merged) != 1 or not stated:
        return merged
    others = [replace(row, metrics={n: m for n, m in row.metrics.items() if n not in stated}) for row in curve_rows]
    return merge_lines(rows, others, config)
