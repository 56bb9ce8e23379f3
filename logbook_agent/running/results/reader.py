"""Reads the results of one run from its output, line by line, in bounded memory.

A line that cannot be read is a problem of the run, never an exception: the command has already been paid for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from logbook_agent.model.header import Metric
from logbook_agent.model.run import Measurement, Row, Scalar
from logbook_agent.model.values import parse_scalar
from logbook_agent.running.results.classify import Classifier, Context
from logbook_agent.running.results.fold import fold
from logbook_agent.running.results.json_rows import finite, rows_from_json
from logbook_agent.running.results.lines import MAX_KEYS, cut, split_line, split_metric, split_pairs
from logbook_agent.running.results.merge import join_loose, merge_lines

MAX_ROWS = 20_000
MAX_TEXT_CHARS = 64 * 2**20
MAX_LINE_CHARS = 16 * 2**20
MAX_PROBLEMS = 50
_LAST_CHARS = 120
# Plain data without its secrets, in the form it came in.
Clean = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultReading:
    """The rows of a run; `duplicates` lines or rows said again what was said before and were folded."""

    rows: tuple[Row, ...] = ()
    problems: tuple[str, ...] = ()
    duplicates: int = 0


@dataclass(slots=True)
class Problems:
    """The first 50 different problems, and how many there were beyond them."""

    shown: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, text: str) -> None:
        text = cut(text, 300)
        if text in self.shown:
            return
        if len(self.shown) < MAX_PROBLEMS:
            self.shown.append(text)
        else:
            self.more += 1

    def texts(self) -> tuple[str, ...]:
        return (*self.shown, *([f"{self.more} more problems like these"] if self.more else []))


class ResultReader:
    """Feed it every line; `finish` gives the rows. `last` is the last result line, short, or None.

    At most 20,000 lines and 64 MiB of result text are kept; what is beyond is counted as a problem. What is read passes
    `clean` before anything is said of it: a secret that was shortened first would no longer be known as one.
    """

    def __init__(self, clean: Clean) -> None:
        self._clean = clean
        self.last: str | None = None
        self._pairs: list[dict[str, str]] = []
        self._metrics: list[tuple[str, float, str | None]] = []
        self._json: list[Row] = []
        self._problems = Problems()
        self._chars = 0
        self._beyond = 0

    def feed(self, line: str) -> None:
        """Take one line of output, with or without its line end."""
        found = split_line(line)
        if found is None:
            return
        kind, body = found
        self._chars += len(body)
        count = len(self._pairs) + len(self._metrics) + len(self._json)
        if count >= MAX_ROWS or self._chars > MAX_TEXT_CHARS or len(body) > MAX_LINE_CHARS:
            self._beyond += 1
            return
        if kind == "RESULT":
            self._feed_pairs(body)
        elif kind == "METRIC":
            self._feed_metric(body)
        else:
            self._feed_json(body)

    def _feed_pairs(self, body: str) -> None:
        pairs, wrong = split_pairs(body)
        clean = self._clean(body)
        if wrong and clean != body:
            # Taken apart at the wrong place, a secret may no longer stand behind its name.
            pairs, wrong = split_pairs(clean)
        for word, why in wrong:
            what = f"{cut(word, 40)!r} {why}" if word else why
            self._problems.add(f"RESULT line: {what}: {cut(clean, 120)}")
        if len(pairs) > MAX_KEYS:
            self._problems.add(f"RESULT line: {len(pairs) - MAX_KEYS} keys were not kept: a row has at most {MAX_KEYS}")
            pairs = dict(list(pairs.items())[:MAX_KEYS])
        if pairs:
            self._pairs.append(self._clean(pairs))
            self.last = cut(clean, _LAST_CHARS)

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
        self.last = shown

    def _feed_json(self, body: str) -> None:
        shown = functools.cache(lambda: cut(self._clean(body), 120))
        rows = rows_from_json(body, lambda text: self._problems.add(f"RESULT_JSON: {text}: {shown()}"), self._clean)
        self._json += rows
        if rows:
            config = [f"{k}={v}" for k, v in list(rows[-1].config.items())[:3]]
            taken = [f"{k}={m.samples[-1]:g}" for k, m in list(rows[-1].metrics.items())[:3]]
            self.last = cut(" ".join([*config, *taken]), _LAST_CHARS) or self.last

    def finish(
        self,
        *,
        declared: Sequence[Metric] = (),
        axes: Sequence[str] = (),
        argv_flags: Mapping[str, str | None] | None = None,
        config: Mapping[str, Scalar] | None = None,
        file_text: str | None = None,
    ) -> ResultReading:
        """The rows of the run, in the order in which each case was first reported.

        `config` is the run's own and belongs to every row. `file_text` is what stands in the result file;
        its rows are JSON rows. Classification: see `classify`; folding: see `fold`.
        """
        problem = self._problems.add
        config = self._clean(dict(config or {}))
        explicit = list(self._json)
        if file_text is not None and file_text.strip():
            explicit += rows_from_json(file_text, lambda text: problem(f"result file: {text}"), self._clean)
        if self._beyond:
            problem(f"{self._beyond} result lines were not kept: over the limit of rows or size")
        context = Context(
            declared={m.name: m for m in declared},
            metrics=frozenset(n for n, _, _ in self._metrics) | {n for row in explicit for n in row.metrics},
            config_keys=frozenset(axes) | {k for row in explicit for k in row.config} | set(config),
            flags=frozenset(argv_flags or {}),
            run_config=config,
            quantities=_quantities(explicit, self._metrics),
        )
        classifier = Classifier(context, problem)
        json_rows, json_again = fold([classifier.completed(r) for r in explicit], problem, explicit=True)
        line_rows, lines_again = fold([classifier.row(p) for p in self._pairs], problem, explicit=False)
        rows = merge_lines(json_rows, line_rows, context.run_config)
        loose = [Row(metrics={n: classifier.measurement(n, v, u)}) for n, v, u in self._metrics]
        loose_rows, loose_again = fold(loose, problem, explicit=True)
        rows = join_loose(rows, loose_rows, context.run_config)
        return ResultReading(
            rows=tuple(rows),
            problems=self._problems.texts(),
            duplicates=json_again + lines_again + loose_again,
        )


def _quantities(rows: Sequence[Row], metrics: Sequence[tuple[str, float, str | None]]) -> dict[str, Measurement]:
    """What the run itself says about a metric's unit and direction, JSON before METRIC lines."""
    found: dict[str, Measurement] = {}
    for row in rows:
        for name, m in row.metrics.items():
            if m.unit is not None or m.direction is not None:
                found.setdefault(name, m)
    for name, value, unit in metrics:
        if unit is not None:
            found.setdefault(name, Measurement(samples=(value,), unit=unit))
    return found
