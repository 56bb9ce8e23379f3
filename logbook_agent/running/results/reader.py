"""Reads the results of one run from its output, line by line, in bounded memory.

A line that cannot be read is a problem of the run, never an exception: the command has already been paid for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field, structs

from logbook_agent.model.gates import SAME
from logbook_agent.model.header import STEP
from logbook_agent.model.run import Curve, Measurement, Row
from logbook_agent.model.values import is_digest_name
from logbook_agent.model.worker_report import Problem, noted
from logbook_agent.running.results.classifier import Classifier, KnownKeys, PointSink, RowPoints
from logbook_agent.running.results.fold import (
    fold,
    is_measured,
    is_measuring,
    join_lines,
    join_loose,
    labels_of,
    measured,
    parted,
)
from logbook_agent.running.results.reporting_lines import ResultLine, split_line
from logbook_agent.running.results.result_lines import (
    MAX_KEYS,
    PlainForms,
    ResultWords,
    cut,
    digests_of,
    of_rank,
    words_of,
)

MAX_ROWS = 20_000
MAX_TEXT_CHARS = 64 * 2**20
MAX_PROBLEMS = 50
_LAST_CHARS = 120
_TRACEBACK = "Traceback (most recent call last)"


class ResultReading(Struct, frozen=True, kw_only=True):
    """The rows of a run; what was said again was folded. The reduction of each of its curves stands in a row."""

    rows: tuple[Row, ...] = ()
    curves: tuple[Curve, ...] = ()
    problems: tuple[Problem, ...] = ()


class Problems(Struct):
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
    """Feed it every line; `finish` gives the rows.

    At most 20,000 lines and 64 MiB of result text are kept; what is beyond is counted as a problem. What is read passes
    `clean`, which takes the secrets out of plain data, before anything is said of it: a secret that was shortened first
    would no longer be known as one. Rows that are points go to the sink that `make_sink` makes for the first of them
    (None: no feature keeps points). Without that, there are none.
    """

    def __init__(
        self,
        clean: Callable[[Any], Any],
        known: KnownKeys = KnownKeys(),  # noqa: B008 - it is frozen
        make_sink: Callable[[], PointSink | None] | None = None,
    ) -> None:
        self._clean = clean
        self._problems = Problems()
        self._run_config = self._clean_config(dict(known.config))
        self._keys = keys = Classifier(structs.replace(known, config=self._run_config), self._problems.add)
        self._points = RowPoints(keys, self._problems.add, make_sink)
        self._forms = PlainForms(keys.declared, self._points.plain_steps, keys.is_config)
        # JSON rows; RESULT lines; METRIC lines; of plain lines the last of each metric and rank with how many there
        # were, and digests.
        self._json: list[Row] = []
        self._lines: list[ResultWords] = []
        self._metrics: list[ResultWords] = []
        self._plain: dict[tuple[str, str | None], tuple[ResultWords, int]] = {}
        self._digests: dict[tuple[str, str], None] = {}
        self._gates = [gate for gate in known.gates if gate.name not in keys.declared]
        self._gated = {gate.name for gate in self._gates}
        # The declared metrics that lines report in another than a plain form.
        self._reported: set[str] = set()
        # The beginning of the lines of a traceback after the last result, and its last line.
        self._traceback: tuple[str, str] | None = None
        # The files that the command names, as it names them.
        self.artifacts: list[str] = []
        self._chars = self._beyond = 0

    def _short(self, text: str) -> str:
        return cut(self._clean(text), _LAST_CHARS)

    def _clean_config(self, values: dict[str, Any]) -> dict[str, Any]:
        """Names with their values, which tell one case from another."""
        return self._clean({"config": values})["config"]  # type: ignore[no-any-return]

    # -- lines -------------------------------------------------------------------------------------

    def feed(self, line: str) -> None:
        """Take one line of output, with or without its line end."""
        if self._points.is_known(line):
            self._traceback = None
            return
        found = split_line(line)
        if found is None:
            self._feed_other(line)
            return
        self._traceback = None
        if any(key in found.body for key in self._points.steps) and self._feed_point(found, line):
            return
        self._chars += len(found.body)
        count = len(self._lines) + len(self._metrics) + len(self._json) + len(self.artifacts)
        if count >= MAX_ROWS or self._chars > MAX_TEXT_CHARS:
            self._beyond += 1
        elif found.kind == "ARTIFACT":
            self.artifacts.append(found.body)
        elif found.kind == "RESULT_JSON":
            self._feed_json(found)
        else:
            self._feed_words(found)

    def _feed_words(self, found: ResultLine) -> None:
        """Take a RESULT or METRIC line."""
        pairs, units, wrong = words_of(found)
        if wrong and (clean := self._clean(found.body)) != found.body:
            # Taken apart at the wrong place, a secret may no longer stand behind its name.
            pairs, units, wrong = words_of(found._replace(body=clean))
        if len(units) > 1:
            wrong.append("several values, read as a RESULT line")
        if len(pairs) > MAX_KEYS:
            wrong.append(f"{len(pairs) - MAX_KEYS} keys were not kept: a row has at most {MAX_KEYS}")
            pairs = dict(list(pairs.items())[:MAX_KEYS])
        shown = self._short(found.body) if wrong else ""
        for why in wrong:
            self._problems.add(f"{found.kind} line: {why}: {shown}")
        if not pairs:
            return
        self._learn(pairs, units)
        [unit] = units.values() if len(units) == 1 else [None]
        is_alone = len(units) == 1 and not any(map(self._is_label, units))
        words = ResultWords(self._clean_config(pairs), found.rank, self._clean(unit))
        (self._metrics if is_alone else self._lines).append(words)

    def _learn(self, pairs: Mapping[str, str], units: Mapping[str, str | None]) -> None:
        """Remember what a line reports. Of a METRIC line, which has `units`, the first value is a metric, and so are
        others that are measured by their look."""
        self._reported.update(pairs.keys() & self._keys.declared.keys())
        for place, (name, unit) in enumerate(units.items()):
            if not self._is_label(name) if place == 0 else is_measured(name) and not self._keys.is_config(name):
                self._keys.learn(Row(metrics={self._clean(name): Measurement(samples=(), unit=self._clean(unit))}))

    def _is_label(self, name: str) -> bool:
        return is_digest_name(name) and name not in self._keys.declared

    def _feed_json(self, found: ResultLine) -> None:
        shown = functools.cache(lambda: self._short(found.body))
        self._json += self._json_rows(
            found.body, lambda why: self._problems.add(f"RESULT_JSON: {why}: {shown()}"), found.rank
        )

    def _json_rows(self, text: str, problem: Callable[[str], None], rank: str | None = None) -> list[Row]:
        """The measured rows of a JSON text; its points are kept."""
        # Loaded with the first JSON: most commands print lines, or nothing.
        from logbook_agent.running.results.json_rows import rows_from_json

        rows = []
        for row, steps in rows_from_json(text, problem, self._clean, step_keys=self._points.steps):
            if not steps:
                rows.append(structs.replace(row, labels={**of_rank(rank), **row.labels}))
            elif self._points.add(row, steps, rank):
                self._reported.update(row.metrics.keys() & self._keys.declared.keys())
                self._keys.learn(Row(metrics=row.metrics))
        return rows

    def _feed_other(self, line: str) -> None:
        """Take a line without a word of ours: a plain form of a declared metric, or a part of a traceback."""
        if (at := line.find(_TRACEBACK)) >= 0:
            self._traceback = line[:at], ""
        elif (plain := self._forms.read(line)) is not None:
            self._traceback = None
            key = next(iter(plain.pairs)), plain.rank
            if len(plain.pairs) > 1:
                words = plain._replace(pairs=self._clean_config(plain.pairs))
                self._points.add_words(words, self._points.plain_steps)
            elif key in self._plain or len(self._plain) < MAX_ROWS:
                self._plain[key] = plain, self._plain.get(key, (plain, 0))[1] + 1
        elif digests := digests_of(line, self._gated):
            found = (item for item in digests.items() if not self._keys.is_config(item[0]))
            self._digests.update(dict.fromkeys(found) if len(self._digests) < MAX_ROWS else {})
        elif self._traceback is not None and not self._traceback[1]:
            prefix = self._traceback[0]
            if line.startswith(prefix) and not line[len(prefix) : len(prefix) + 1].isspace():
                self._traceback = prefix, line[len(prefix) :]

    # -- points of curves --------------------------------------------------------------------------

    def _feed_point(self, found: ResultLine, line: str) -> bool:
        """Take a RESULT or METRIC line that is a point; whether it is one."""
        pairs, units, wrong = words_of(found) if found.kind in ("RESULT", "METRIC") else ({}, {}, [])
        if wrong or len(pairs) > MAX_KEYS:
            return False
        clean = self._clean_config(pairs)
        is_form = clean == pairs and found.is_alike
        words = ResultWords(clean, found.rank)
        if not self._points.add_words(words, self._points.steps, line if is_form else None):
            return False
        self._learn(pairs, units)
        return True

    def point(self, name: str, step: float, value: float) -> None:
        """Take one point that stood on no line, over `step`. Where that is config, it is left out."""
        if STEP in self._points.steps:
            self._points.add(Row(observations={self._clean(name): value}), {STEP: step})

    # -- rows --------------------------------------------------------------------------------------

    def finish(
        self, *, file_text: str | None = None, stated: Sequence[Row] = (), succeeded: bool = False
    ) -> ResultReading:
        """The rows of the run, in the order in which each case was first reported. `succeeded`: the command said so.

        The run's own config belongs to every row. `file_text` is what stands in the result file; its rows are JSON
        rows, and so are those `stated` elsewhere. Classification: see `Classifier`; folding: see `fold`.
        """
        problem, keys = self._problems.add, self._keys
        rows = [*self._json, *stated]
        if file_text is not None and file_text.strip():
            rows += self._json_rows(file_text, lambda why: problem(f"result file: {why}"))
        if self._beyond:
            problem(f"{self._beyond} result lines were not kept: over the limit of rows or size")
        for row in rows:
            keys.learn(row)
        self._reported.update(name for row in rows for name in row.metrics)
        loose = [row for words in (*self._metrics, *self._plain_words()) if is_measuring(row := self._row(words))]
        for row in loose:
            keys.learn(row)
        loose = fold(map(keys.completed, loose), problem, explicit=True)
        lines, bare = parted([keys.completed(self._row(words)) for words in self._lines])
        rows = fold(map(keys.completed, rows), problem, explicit=True)
        rows = join_lines(rows, fold(lines, problem, explicit=False), self._run_config)
        curve_rows, curves = self._points.rows(self._run_config)
        reduced = {name for row in curve_rows for name in row.metrics} - {name for row in rows for name in row.metrics}
        # A line of config alone may state that of the curves.
        stating = [row for row in bare if row.config.keys() - self._run_config.keys()]
        rows = join_lines(rows, labels_of(stating), self._run_config)
        rows, more = parted(join_lines(rows, curve_rows, self._run_config))
        bare = labels_of([*bare, *more])
        rows = join_loose(rows or bare, loose, reduced)
        # Digests on plain lines make no row.
        names = {*[*dict.fromkeys(name for name, _ in self._digests)][:MAX_KEYS]}
        said = [Row(labels=self._clean_config({n: text})) for n, text in self._digests if n in names]
        digests = labels_of([self._counting(row, said) for row in said])
        rows = join_lines(rows, [*bare, *(digests if rows else [])], self._run_config)
        if succeeded and self._traceback is not None:
            last = cut(self._clean(self._traceback[1]), 200) or "its end is missing"
            problem(f"a traceback after the last result, of a command that reported success: {last}")
        return ResultReading(rows=tuple(map(measured, rows)), curves=tuple(curves), problems=self._problems.all())

    def _counting(self, one: Row, said: Sequence[Row]) -> Row:
        """Of rows that say what a gate limits the first that does not fulfil it, else the last."""
        gates = [gate for gate in self._gates if gate.name in one.labels and gate.op != SAME]
        own = [row for row in said if row.labels.keys() == one.labels.keys()]
        return next((row for row in own for gate in gates if gate.broken_by(row)), own[-1]) if gates else one

    def _row(self, words: ResultWords) -> Row:
        row = self._keys.row(words.pairs)
        metrics = {name: structs.replace(m, unit=m.unit or words.unit) for name, m in row.metrics.items()}
        return structs.replace(row, metrics=metrics, labels={**of_rank(words.rank), **row.labels})

    def _plain_words(self) -> list[ResultWords]:
        """The last value in a plain form of each metric that was not reported otherwise, for each rank."""
        found = []
        for (name, rank), (words, count) in self._plain.items():
            if name not in self._reported:
                found.append(ResultWords(self._clean_config(words.pairs), rank, self._clean(words.unit)))
                each = " of each rank" if rank else ""
                if count > 1:
                    self._problems.add(f"{cut(name, 40)}: {count} lines without a step; the last one{each} counts")
        return found
