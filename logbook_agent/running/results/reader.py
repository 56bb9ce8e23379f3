"""Reads the results of one run from its output, line by line, in bounded memory.

A line that cannot be read is a problem of the run, never an exception: the command has already been paid for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from logbook_agent.model.header import STEP
from logbook_agent.model.run import Curve, Measurement, Problem, Row, Scalar, noted
from logbook_agent.model.values import Key, is_digest_name, row_key
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
from logbook_agent.running.results.fold import fold, is_measured, join_loose, merge_lines, with_labels
from logbook_agent.running.results.line_prefix import RANK
from logbook_agent.running.results.plain_lines import PlainForms, PlainValue, digests_of
from logbook_agent.running.results.result_lines import (
    MAX_KEYS,
    PLAIN_NUMBER,
    Kind,
    cut,
    measured_number,
    split_line,
    split_metric,
    split_pairs,
    split_point,
)

MAX_ROWS = 20_000
MAX_TEXT_CHARS = 64 * 2**20
MAX_LINE_CHARS = 16 * 2**20
MAX_PROBLEMS = 50
_LAST_CHARS = 120
_TRACEBACK = "Traceback (most recent call last)"
# Plain data without its secrets, in the form it came in.
Clean = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultReading:
    """The rows of a run; what was said again was folded. The reduction of each of its curves stands in a row."""

    rows: tuple[Row, ...] = ()
    curves: tuple[Curve, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class Problems:
    """The first 50 different problems, and how many there were beyond them."""

    shown: dict[str, None] = field(default_factory=dict)
    more: int = 0

    def add(self, text: str) -> None:
        text = cut(text, 300)
        if text not in self.shown and len(self.shown) >= MAX_PROBLEMS:
            self.more += 1
        else:
            self.shown.setdefault(text)

    def all(self) -> tuple[Problem, ...]:
        return noted(*self.shown, *([f"{self.more} more problems like these"] if self.more else []))


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
        # The pairs of RESULT lines, and the rank that printed each.
        self._pairs: list[tuple[dict[str, str], str | None]] = []
        # Of METRIC lines, and the last of each metric and rank in a plain form, with the number of such lines.
        self._metrics: list[Row] = []
        self._forms = PlainForms(self._rules, self._step_keys)
        self._plain: dict[tuple[str, str | None], tuple[int, PlainValue]] = {}
        # The values of each digest of the output on a line of its own, or among words `key=value`.
        self._digests: dict[str, dict[str, None]] = {}
        # The declared metrics on RESULT lines, and all on METRIC lines.
        self._printed: set[str] = set()
        # What METRIC lines with a step or with several values report, with their units.
        self._line_units: dict[str, str | None] = {}
        # The beginning of the lines of a traceback after the last result, and its last line.
        self._traceback: tuple[str, str] | None = None
        self._json: list[Row] = []
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
            self._last, self._traceback = line, None
            return
        found = split_line(line)
        if found is None:
            self._feed_other(line)
            return
        self._traceback = None
        kind, body = found.kind, found.body
        is_point = any(key in body for key in self._step_keys)
        if is_point and self._feed_point(kind, body, line if found.is_alike else None, found.rank):
            return
        self._chars += len(body)
        count = len(self._pairs) + len(self._metrics) + len(self._json) + len(self.artifacts)
        if count >= MAX_ROWS or self._chars > MAX_TEXT_CHARS or len(body) > MAX_LINE_CHARS:
            self._beyond += 1
            return
        if kind == "RESULT":
            self._feed_pairs(body, found.rank)
        elif kind == "METRIC":
            self._feed_metric(body, found.rank)
        elif kind == "ARTIFACT":
            self.artifacts.append(body)
        else:
            self._feed_json(body, found.rank)

    def _feed_other(self, line: str) -> None:
        """Take a line without a word of ours: a plain form of a declared metric, or a part of a traceback."""
        at = line.find(_TRACEBACK)
        if at >= 0:
            self._traceback = line[:at], ""
        elif (plain := self._forms.read(line)) is not None:
            self._last, self._traceback = cut(self._clean(line), _LAST_CHARS), None
            if isinstance(plain, PlainValue):
                count, _ = self._plain.get((plain.name, plain.rank), (0, plain))
                if len(self._plain) < MAX_ROWS:
                    self._plain[plain.name, plain.rank] = count + 1, plain
            elif row := self._rules.row(self._clean(plain.pairs), self._forms.step_keys, self._problems.add):
                self._keep(row, rank=plain.rank)
        elif digests := digests_of(line):
            for name, value in digests.items():
                if not self._rules.is_config(name) and (name in self._digests or len(self._digests) < MAX_KEYS):
                    values = self._digests.setdefault(name, {})
                    if len(values) < MAX_ROWS:
                        values[value] = None
        elif self._traceback is not None and not self._traceback[1]:
            prefix = self._traceback[0]
            if line.startswith(prefix) and not line[len(prefix) : len(prefix) + 1].isspace():
                self._traceback = prefix, line[len(prefix) :]

    def _plain_rows(self, reported: Set[str]) -> list[Row]:
        """The last value in a plain form of each metric that was not reported otherwise, for each rank."""
        rows = []
        for (name, rank), (count, value) in self._plain.items():
            if name in reported:
                continue
            shown, each = cut(name, 40), " of each rank" if rank else ""
            if count > 1:
                self._problems.add(f"{shown}: {count} lines without a step; the last one{each} counts")
            if value.number is not None:
                rows.append(_metric_row(name, value.number, self._clean(value.unit), rank))
            else:
                text = cut(self._clean(value.text), 40)
                self._problems.add(f"{shown}: {text!r} is not a measurement; {PLAIN_NUMBER}")
        return rows

    def _clean_config(self, values: dict[str, Any]) -> dict[str, Any]:
        """Names with their values, which tell one case from another."""
        return self._clean({"config": values})["config"]  # type: ignore[no-any-return]

    # -- points of curves --------------------------------------------------------------------------

    def _feed_point(self, kind: Kind, body: str, line: str | None, rank: str | None) -> bool:
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
        self._printed |= pairs.keys() & self._rules.over.keys()
        row = self._rules.row(clean, self._step_keys, self._problems.add) if len(pairs) <= MAX_KEYS else None
        if row is None or not self._keep(row, line if clean == pairs else None, rank):
            return False
        if name is not None and row.points:
            self._line_units.setdefault(self._clean(name), self._clean(unit))
        self._last = cut(self._clean(body), _LAST_CHARS)
        return True

    def point(self, name: str, step: float, value: float) -> None:
        """Take one point that stood on no line, over `step`. Where that is config, it is left out."""
        if STEP in self._step_keys:
            one = CurvePoint(name=self._clean(name), over=STEP, step=step, value=value)
            self._keep(PointRow(config={}, points=(one,), labels={}))

    def _keep(self, row: PointRow, line: str | None = None, rank: str | None = None) -> bool:
        """Hand a row of points to the sink; False where there is none. Each rank has a curve of its own."""
        if not row.points:
            return True
        row = row if rank is None else replace(row, config={**row.config, RANK: rank})
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
            metric = classifier.measurement(name, 0.0, self._line_units.get(name))
            return Reduced(how=classifier.reduction(name), direction=metric.direction, unit=metric.unit)

        curves, problems = self._sink.finish(reduced)
        for text in problems:
            self._problems.add(text)
        rows: dict[Key, Row] = {}
        found = []
        for curve in curves:
            of_rank = RANK in curve.config and not self._rules.is_config(RANK)
            config = {name: value for name, value in curve.config.items() if name != RANK or not of_rank}
            row = rows.setdefault(
                row_key(config),
                Row(
                    config=classifier.with_run_config(config),
                    labels=self._point_labels.get(row_key(curve.config), {}),
                ),
            )
            found.append(replace(curve, config={**row.config, **curve.config}))
            if not classifier.is_metric(curve.name):
                row.observations.setdefault(curve.name, curve.value)
            elif curve.value is not None and (of_rank or curve.name not in row.metrics):
                # The ranks of a case are samples of it.
                earlier = row.metrics[curve.name].samples if curve.name in row.metrics else ()
                row.metrics[curve.name] = Measurement(
                    samples=(*earlier, curve.value), unit=curve.unit, direction=curve.direction
                )
        return [*rows.values()], found

    # -- rows ----------------------------------------------------------------------------------------

    def _feed_pairs(self, body: str, rank: str | None) -> None:
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
            self._pairs.append((self._clean_config(pairs), rank))
            self._printed |= pairs.keys() & self._rules.over.keys()
            self._last = clean

    def _feed_metric(self, body: str, rank: str | None) -> None:
        values = split_metric(body)
        shown = cut(self._clean(body), 120)
        if not values:
            self._problems.add(f"METRIC line: expected name=value [unit]: {shown}")
            return
        self._last = shown
        self._printed.update(name for name, _, _ in values)
        name, text, unit = values[0]
        is_label = is_digest_name(name) and name not in self._rules.over
        if len(values) > 1:
            self._problems.add(f"METRIC line with several values, read as a RESULT line: {shown}")
        if len(values) > 1 or is_label:
            pairs: dict[str, str] = {}
            for other, text, of in values:
                pairs.setdefault(other, text)
                is_metric = is_measured(other) and not self._rules.is_config(other)
                if is_metric or (other == name and not is_label):
                    self._line_units.setdefault(self._clean(other), self._clean(of))
            self._pairs.append((self._clean_config(pairs), rank))
            return
        value, attached = measured_number(text)
        if value is None:
            self._problems.add(f"METRIC line: no measurement: {shown}; {PLAIN_NUMBER}")
            return
        self._metrics.append(_metric_row(self._clean(name), value, self._clean(unit or attached), rank))

    def _feed_json(self, body: str, rank: str | None) -> None:
        shown = functools.cache(lambda: cut(self._clean(body), 120))
        rows = self._rows(body, lambda text: self._problems.add(f"RESULT_JSON: {text}: {shown()}"))
        self._json += [replace(row, labels={RANK: rank, **row.labels}) if rank else row for row in rows]
        if rows:
            config = [f"{k}={v}" for k, v in list(rows[-1].config.items())[:3]]
            taken = [f"{k}={m.samples[-1]:g}" for k, m in list(rows[-1].metrics.items())[:3]]
            self._last = " ".join([*config, *taken]) or self._last

    def _rows(self, text: str, problem: Callable[[str], None]) -> list[Row]:
        """The measured rows of a JSON text; its points are fed."""
        # Loaded with the first JSON: most commands print lines, or nothing.
        from logbook_agent.running.results.json_rows import rows_from_json

        found = rows_from_json(text, problem, self._clean, step_keys=self._step_keys)
        for point in found.points:
            self._feed_json_point(point)
        return found.measured

    def _feed_json_point(self, point: JsonPoint) -> None:
        """Take a JSON row with a step: its metrics are points, and only what stands under `config` is config."""
        values = points_at(point.values, point.steps, self._rules.over)
        if self._keep(PointRow(config=point.config, points=values, labels=point.labels)):
            for name, unit in point.units.items():
                self._line_units.setdefault(name, unit)
            shown = [f"{one.name}={one.value:g}" for one in values[:3]]
            self._last = " ".join([f"{key}={step:g}" for key, step in point.steps.items()] + shown)

    def finish(
        self, *, file_text: str | None = None, stated: Sequence[Row] = (), succeeded: bool = False
    ) -> ResultReading:
        """The rows of the run, in the order in which each case was first reported. `succeeded`: the command said so.

        The run's own config belongs to every row. `file_text` is what stands in the result file; its rows are JSON
        rows, and so are those `stated` elsewhere. Classification: see `Classifier`; folding: see `fold`.
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
            known,
            config,
            metrics={n for row in (*self._metrics, *explicit) for n in row.metrics} | self._line_units.keys(),
            config_keys=set(known.axes) | {k for row in explicit for k in row.config} | set(config),
            quantities=quantities_of([*explicit, *self._metrics], self._line_units),
        )
        json_rows = fold([classifier.completed(r) for r in explicit], problem, explicit=True)
        line_rows = fold([classifier.row(pairs, rank) for pairs, rank in self._pairs], problem, explicit=False)
        rows = merge_lines(json_rows, line_rows, config)
        curve_rows, curves = self._curve_rows(classifier)
        reported = {n for row in json_rows for n in row.metrics} | self._line_units.keys() | self._printed
        loose = [classifier.described(row) for row in (*self._metrics, *self._plain_rows(reported))]
        rows = with_labels(_with_curves(rows, curve_rows, loose, config), {})
        digests = {name: self._clean_config({name: [*values]})[name] for name, values in self._digests.items()}
        rows = with_labels(join_loose(rows, fold(loose, problem, explicit=True), config), digests)
        if succeeded and self._traceback is not None:
            last = cut(self._clean(self._traceback[1]), 200) or "its end is missing"
            problem(f"a traceback after the last result, of a command that reported success: {last}")
        return ResultReading(rows=tuple(rows), curves=tuple(curves), problems=self._problems.all())


def _metric_row(name: str, value: float, unit: str | None, rank: str | None) -> Row:
    return Row(metrics={name: Measurement(samples=(value,), unit=unit)}, labels={} if rank is None else {RANK: rank})


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
