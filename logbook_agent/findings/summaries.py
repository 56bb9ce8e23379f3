"""The summary of an entry, which the index keeps: small plain data that stays the same as long as its files do. `list`,
`status` and the issue are made of summaries. And the confidence in an entry, and what was measured."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, structs

from logbook_agent.findings.attempts import finished, how_it_failed, items_of, keys_of
from logbook_agent.findings.case_repeats import Repeats, repeats
from logbook_agent.findings.cases import Case, counting, without_mended
from logbook_agent.findings.cases import cases as cases_of
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.answers import answer_of
from logbook_agent.findings.comparison.synopsis import synopsis
from logbook_agent.findings.identity import unexplained, words_of
from logbook_agent.findings.thread import said_by
from logbook_agent.model.codec import encode
from logbook_agent.model.entry import CONFIDENCES, VOID, Confidence, Entry, settled
from logbook_agent.model.gates import REPORTED, WITHHELD, fails
from logbook_agent.model.header import Header, Metric, metric_named
from logbook_agent.model.record import WARM_UP, Record, ended_badly, is_made, plan_runs, record_digest
from logbook_agent.model.run import Measurement, Row, Run, Scalar
from logbook_agent.model.stats import median
from logbook_agent.model.summary import EntryLine, MeasuredMetric, Summary, Trial
from logbook_agent.model.units import common, known, with_unit
from logbook_agent.model.values import canonical, spelt
from logbook_agent.text.markdown import cut_line, lead, one_line
from logbook_agent.text.phrases import bounded, counted, listed

# No answer shows more of a text than this.
TEXT_CHARS = 600
# Of a run whose worker is nowhere, while nobody has closed its record.
LOST = "lost: logbook doctor looks for its worker"


def summary_of(record: Record, header: Header) -> Summary:
    """The summary of an entry: its line of `list`, and what `status` and the body of an issue need beyond it."""
    entry = record.entry
    rows, failed_rows = row_counts(record)
    said = said_by(entry)
    return {
        **said,
        **line_of(record, header),
        "decision": None if said["decision"] is None else _lead(said["decision"]) or "",
        "negative": _lead(said["negative"]),
        "interpretation": _text(entry.text("Interpretation")),
        "next": _text(record.next_action),
        "next_lead": _lead(record.next_action),
        "next_at": entry.next_at,
        "settled": settled(record.state),
        "stated": {"stated": entry.confidence, "stated_reason": entry.confidence_reason},
        "name": entry.name,
        "comparison": encode(answer) if (answer := answer_of(record, header.metrics)) is not None else None,
        "tried": items_of(without_mended(record)),
        "finished": finished(record),
        "keys": keys_of(record),
        "rows": rows,
        "failed_rows": failed_rows,
        "measured": measured(record, header),
        "digest": record_digest(record),
    }


def _lead(text: str | None) -> str | None:
    """The first paragraph of a text, on one line."""
    return _text(lead(text)) if text else None


def _text(text: str | None) -> str | None:
    """A text on one line, at most TEXT_CHARS of it; what was cut ends in `…`."""
    if not text:
        return None
    line = one_line(text)
    if len(line) <= TEXT_CHARS:
        return line
    from logbook_agent.text import fit  # takes a parser of Markdown along, which few entries need

    # Behind a word, what would open a fence is text.
    cut: str = fit.shorten(f"x {line[: 2 * TEXT_CHARS]}", fit.size(line[: TEXT_CHARS - 1])).text
    return cut.removeprefix("x ") + "…"


_TEXT_CHARS = 120


def line_of(record: Record, header: Header, answer: Answer | None = None) -> EntryLine:
    """The line of `list` about an entry, and the answer to its comparison."""
    trust = trust_of(record.entry, len(record.runs), answer)
    return {
        "id": record.id,
        "opened": record.entry.opened,
        "kind": record.entry.kind,
        "state": record.state,
        "confidence": trust.word if trust is not None else None,
        "confidence_text": trust.text if trust is not None else None,
        "title": record.entry.title,
        "runs": len(record.runs),
        "result": synopsis(answer) if answer is not None and answer.findings else headline(record, header),
    }


def headline(record: Record, header: Header) -> str | None:
    """The result in a few words: the range of the first metric over the rows, or how it failed."""
    rows = counted_rows(record)
    names = dict.fromkeys([*(m.name for m in header.metrics), *(n for r in rows for n in r.metrics)])
    # What a row that failed says of itself is no result.
    for reason, name in itertools.product((None, REPORTED), names):
        own = [r for r in rows if (r.failed.reason if r.failed is not None else None) == reason]
        good = [m for r in own if (m := r.metrics.get(name)) is not None and m.samples]
        if good:
            span = _span(good, metric_named(name, header.metrics))
            return f"{counted(len(rows), 'row')}, {name} {span}" + (f" ({reason})" if reason else "")
    if record.runs and (rows or not record.runs[-1].run.is_reported):
        last = record.runs[-1]
        if last.state == "finished" and not last.counts:
            return "only warm-ups" if last.discarded_as == WARM_UP else "no run counts"
        if last.state == "finished" and (failure := fails(last.run)) is not None:
            return cut_line(str(failure), _TEXT_CHARS)
        if last.state == "finished":
            return f"{counted(len(rows), 'row')} without a metric" if rows else "finished, no result lines"
        reasons = dict.fromkeys(row.failed.reason for row in last.run.rows if row.failed is not None)
        if reasons:
            return f"{last.state}: {' / '.join(reasons)}"
        if last.state == "lost" and last.run.exit is None:
            return LOST
        if last.state in ("timeout", "stalled"):
            return f"{last.state}: {cut_line(how_it_failed(last.run), _TEXT_CHARS)}"
        said = last.run.last_words
        return f"{last.state}" + (f": {cut_line(said, _TEXT_CHARS)}" if said else "")
    return cut_line(record.entry.text("Result") or "", _TEXT_CHARS) or None


def _span(good: Sequence[Measurement], metric: Metric) -> str:
    """`0.4 .. 0.6 s`: the range of values in the declared unit, else of those of each unit."""
    of: dict[str | None, list[float]] = {}
    kept = common({m.unit for m in good}, unit_of(metric))
    unit = next((m.unit for m in good if m.unit in kept and m.unit is not None), None)
    for m in good:
        if m.unit in kept or not kept:
            of.setdefault(unit if kept else m.unit, []).append(median(m.samples))
    spans = []
    for name, values in of.items():
        (low, high), shown = with_unit((min(values), max(values)), name, metric.name)
        spans.append((low if low == high else f"{low} .. {high}") + (f" {shown}" if shown else ""))
    return " and ".join(spans)


# -- the confidence in an entry: computed from its comparison, or stated by a person --------------------------


_SHOWN_REASONS = 3


class Trust(Struct, frozen=True, kw_only=True):
    """The confidence in an entry: as `computed`, with its reasons, unless a person `stated` another."""

    computed: Confidence
    reasons: tuple[str, ...]
    stated: Confidence | None = None
    stated_reason: str | None = None

    @property
    def word(self) -> Confidence:
        """The confidence that counts."""
        return self.stated or self.computed

    @property
    def is_raised(self) -> bool:
        """Whether a person claims more than the runs show."""
        return CONFIDENCES.index(self.word) > CONFIDENCES.index(self.computed)

    @property
    def text(self) -> str:
        """`replicated (computed: settled in two sittings)`, or `stable (stated by hand: REASON; computed:
        exploratory)`."""
        if self.stated is None:
            basis = "; ".join(bounded(self.reasons, _SHOWN_REASONS))
            return f"{self.word} (computed: {basis})" if basis else self.word
        said = f": {self.stated_reason}" if self.stated_reason else " without a reason" if self.is_raised else ""
        return f"{self.word} (stated by hand{said}; computed: {self.computed})"


def trust_of(entry: Entry, runs: int, answer: Answer | None = None) -> Trust | None:
    """The confidence in an entry with so many runs, and the answer to its comparison; None for entries that claim
    nothing: notes, and experiments without runs, commands or a stated confidence."""
    is_claim = entry.kind == "experiment" and bool(runs or entry.commands)
    if not (is_claim or entry.confidence is not None):
        return None
    return Trust(
        computed=answer.confidence if answer is not None else "exploratory",
        reasons=answer.reasons if answer is not None else (),
        stated=entry.confidence,
        stated_reason=entry.confidence_reason,
    )


# -- what was measured of each primary metric, case by case (`findings.case_repeats` says which rows are one) ---


def baseline_cases(header: Header) -> tuple[dict[str, Scalar], ...]:
    """The config of each of the baseline's numbers, or of the baseline alone when it states none, where there is
    some."""
    if header.baseline is None:
        return ()
    own = header.baseline.config
    return tuple(filter(None, [{**own, **n.config} for n in header.baseline.numbers] or [dict(own)]))


def is_case(config: Mapping[str, Scalar], case: Mapping[str, Scalar]) -> bool:
    """Whether this config has all values that a case names; never for a case that names none."""
    return bool(case) and all(canonical(config.get(k)) == canonical(v) for k, v in case.items())


def unit_of(metric: Metric) -> str | None:
    """The unit in which a stated number of this metric is."""
    return metric.unit or known(metric.name).unit


def value_in(row: Row, metric: Metric) -> tuple[float, str | None] | None:
    """What a row measured of a metric, the median of its samples, and its unit; None where that is no number."""
    found = row.metrics.get(metric.name)
    if found is None or not found.samples or row.failed is not None:
        return None
    value = median(found.samples)
    return (value, found.unit or unit_of(metric)) if math.isfinite(value) else None


# What a run measured of a metric in a case, and the unit.
_Value: TypeAlias = tuple[Case, float, str | None]


def measured(record: Record, header: Header) -> dict[str, MeasuredMetric]:
    """What an entry measured of each primary metric, by its name; else what the source of an import says of it."""
    primary = [m for m in header.metrics if m.primary]
    rows = [row for status in record.runs if status.counts for row in status.run.rows]
    if record.state == VOID or not any(m.name in row.metrics for m in primary for row in rows):
        return {}
    groups = repeats(counting(cases_of(record)))
    found = {m.name: _measured(groups, m) or _reported(rows, m) for m in primary}
    return {name: one for name, one in found.items() if one is not None}


def _reported(rows: Sequence[Row], metric: Metric) -> MeasuredMetric | None:
    own = [
        structs.replace(row, failed=None) for row in rows if row.failed is not None and row.failed.reason == REPORTED
    ]
    said = [value for row in own if (value := value_in(row, metric)) is not None]
    if not said or len({unit for _, unit in said}) > 1:
        return None
    values = [value for value, _ in said]
    return {"low": min(values), "high": max(values), "unit": said[0][1], "cases": len(said), "states": [REPORTED]}


def _measured(groups: Sequence[Repeats], metric: Metric) -> MeasuredMetric | None:
    of = [
        (g, [(case, *value) for case in g.cases if (value := value_in(case.row, metric)) is not None]) for g in groups
    ]
    units = {unit for _, own in of for *_, unit in own}
    # Values in several units have no common scale.
    kept = common(units, unit_of(metric))
    on_scale = [(group, held) for group, own in of if (held := [one for one in own if one[2] in kept])]
    if not on_scale:
        return {"units": sorted(unit for unit in units if unit is not None)} if units else None
    finished = [one for one in on_scale if one[0].cases[0].state == "finished"]
    values = [value for _, own in finished or on_scale for _, value, _ in own]
    unit = next((unit for unit in kept if unit is not None), None)
    span: MeasuredMetric = {"low": min(values), "high": max(values), "unit": unit}
    if not finished:
        states = list(dict.fromkeys(str(group.cases[0].state) for group, _ in on_scale))
        return {**span, "cases": len({group.key for group, _ in on_scale}), "states": states}
    trials = [_trial(group, own, unit) for group, own in finished]
    return {**span, "cases": len(trials), "trials": trials}


def _trial(group: Repeats, own: Sequence[_Value], unit: str | None) -> Trial:
    """A case with the value of each of its runs. A number or a word of the row that tells it from the others of its run
    is config that nobody declared."""
    first, beyond = own[0][0], group.apart
    said = {name: value for name, value in beyond.items() if name in {**first.row.observations, **first.row.labels}}
    found = [case for case, *_ in own]
    labels = {case.label for case in found}
    # A sweep measures a case before it is compared.
    part = next((case.part for case in found if case.part is not None), None)
    return Trial(
        key=group.key,
        unit=unit,
        values=[value for _, value, _ in own],
        runs=[case.run for case in found],
        accepted=all(case.accepted for case in found),
        problems=[*dict.fromkeys(problem for case in found for problem in case.problems)],
        side=part.side if part is not None else None,
        case=part.case if part is not None else "",
        label=first.label if len(labels) == 1 else None,
        config={name: spelt(value) for name, value in {**first.row.config, **said}.items()},
        apart={name: value for name, value in beyond.items() if name not in said},
        words=_words(first),
    )


def _words(case: Case) -> str:
    """The words of the command of a case that its config does not explain."""
    values = {canonical(value) for value in case.row.config.values()}
    return shlex.join(word for word in words_of(unexplained(case)) if word not in values)


def counted_rows(record: Record) -> list[Row]:
    """The rows that an entry is said to have, without those of warm-ups. Of runs of a sweep that were made again,
    because they were cut off or failed, the last one."""
    return [row for run in _counted(record) for row in run.rows]


def _counted(record: Record) -> list[Run]:
    is_sweep = record.entry.recipe is not None
    return [s.run for s in without_mended(record).runs if s.counts and (is_made(s.run) or not is_sweep)]


def row_counts(record: Record) -> tuple[int, int]:
    """How many rows there are, and how many of them failed. A row of a run of a sweep's plan that ended badly has,
    whatever it says; one that is withheld, or only reported, has not."""
    runs = _counted(record)
    bad = {run.run for run in plan_runs(runs) if ended_badly(run)} if record.entry.recipe is not None else set()
    failed = [_is_failed(row) or run.run in bad for run in runs for row in run.rows]
    return len(failed), sum(failed)


def _is_failed(row: Row) -> bool:
    return row.failed is not None and row.failed.reason not in (WITHHELD, REPORTED)


_SHOWN = 5


def unmeasured(runs: Sequence[Run], metrics: Sequence[Metric]) -> str | None:
    """Why runs that finished measured nothing, and what to print; None where they did, or nothing was to be."""
    rows = [row for run in runs for row in run.rows]
    good = [run for run in runs if run.exit is not None and run.exit.code == 0]
    if not metrics or not good or any(row.metrics or row.failed is not None for row in rows):
        return None
    if any(run.problems for run in good):
        return None  # these say what is wrong
    names = [m.name for m in metrics if m.primary] or [m.name for m in metrics]
    if not rows:
        return f"no result: the command printed no line of the form RESULT {names[0]}=0.31"
    said = list(dict.fromkeys(name for row in rows for name in (*row.observations, *row.labels, *row.config)))
    line = f"the RESULT line has {listed(said, _SHOWN)}" if said else "the RESULT line has no key"
    return f"no metric: the logbook declares {listed(names, _SHOWN)}, {line}"
