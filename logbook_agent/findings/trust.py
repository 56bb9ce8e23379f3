"""How far an entry's claim is borne out: computed from its own runs, and what a person says of it.

Only rows of the entry itself count, so that its confidence follows from its own files: comparisons that it keeps with
rows of other entries do not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from logbook_agent.findings.measured import unit_of
from logbook_agent.model.entry import CONFIDENCES, Comparison, Confidence, Entry, entry_of
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.record import Record
from logbook_agent.model.stats import median
from logbook_agent.model.units import common

if TYPE_CHECKING:
    from logbook_agent.findings.evidence.answers import Answer
    from logbook_agent.findings.evidence.confidence import Conclusion, InSetting, Setting
    from logbook_agent.findings.tables.spec import Case

_SEED = "seed"
_SHOWN_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """How far runs bear a claim out: as `computed`, with its reasons, unless a person `stated` something else.

    `repeated`: there is more to say of what is computed than that there is one run.
    """

    computed: Confidence
    reasons: tuple[str, ...]
    repeated: bool = False
    stated: Confidence | None = None
    stated_reason: str | None = None

    @property
    def word(self) -> Confidence:
        """What counts."""
        return self.stated or self.computed

    @property
    def is_raised(self) -> bool:
        """Whether a person claims more than the runs show."""
        return CONFIDENCES.index(self.word) > CONFIDENCES.index(self.computed)

    @property
    def text(self) -> str:
        """`replicated (computed: beneficial in 6 runs against the base)`, or `stable (stated by hand: REASON; computed:
        exploratory)`."""
        if self.stated is None:
            return f"{self.word} (computed: {self._basis})"
        said = f": {self.stated_reason}" if self.stated_reason else " without a reason" if self.is_raised else ""
        return f"{self.word} (stated by hand{said}; computed: {self.computed})"

    @property
    def _basis(self) -> str:
        more = len(self.reasons) - _SHOWN_REASONS
        return "; ".join([*self.reasons[:_SHOWN_REASONS], *([f"and {more} more"] if more > 0 else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A comparison that an entry keeps, with what it comes to; `error` says why there is no answer. `uncounted`: other
    entries of it that do not count (`MOE-001, which is void`), so that it settles nothing."""

    asked: Comparison
    answers: tuple[Answer, ...] = ()
    error: LogbookError | None = None
    uncounted: tuple[str, ...] = ()


def own_answers(record: Record, metrics: Sequence[Metric]) -> tuple[Answered, ...]:
    """Those of its comparisons that an entry can answer from its own rows alone."""
    own = {record.id, *record.entry.aliases}
    kept = [asked for asked in record.entry.comparisons if {*asked.entries} <= own]
    return tuple(Answered(asked=asked, answers=_answers(record, asked, metrics)) for asked in kept)


def trust_of(record: Record, metrics: Sequence[Metric], answered: Sequence[Answered] | None = None) -> Trust | None:
    """The confidence in an entry; None for what claims nothing: notes, and experiments without runs or commands,
    of which nobody states one. `answered` are its `own_answers`, where they are known."""
    claims = _claims(record.entry, len(record.runs))
    return trust_with(record.entry, len(record.runs), borne_out(record, metrics, answered)) if claims else None


def trust_with(entry: Entry, runs: int, borne: Trust) -> Trust | None:
    """The confidence in an entry whose runs come to this, with what a person says of it."""
    if not _claims(entry, runs):
        return None
    return replace(borne, stated=entry.confidence, stated_reason=entry.confidence_reason)


def _claims(entry: Entry, runs: int) -> bool:
    if entry.is_prediction:
        return False  # nobody measured anything that could be borne out
    is_claim = entry.kind == "experiment" and bool(runs or entry.commands)
    return is_claim or entry.confidence is not None


def borne_out(record: Record, metrics: Sequence[Metric], answered: Sequence[Answered] | None = None) -> Trust:
    """How far its own runs bear out what an entry claims."""
    found: list[Conclusion] = []
    if sum(status.state == "finished" and status.counts for status in record.runs) > 1:
        answered = own_answers(record, metrics) if answered is None else answered
        found = list(_of_comparisons(answered)) or list(_of_repeats(record, metrics))
    # An entry is as sure as the claim of it that is borne out the least.
    words: list[Confidence] = [one.confidence for one in found] or ["exploratory"]
    computed = min(words, key=CONFIDENCES.index)
    reasons = tuple(reason for one in found if one.confidence == computed for reason in one.reasons)
    return Trust(computed=computed, reasons=reasons or _too_few(record), repeated=bool(found))


def _too_few(record: Record) -> tuple[str, ...]:
    """Why runs say nothing of how sure they are."""
    if not record.runs:
        return ("nothing was run",)
    finished = [status.run for status in record.runs if status.state == "finished" and status.counts]
    if not finished:
        return ("no run finished" if all(s.counts for s in record.runs) else "no run other than a warm-up finished",)
    if not any(row.metrics for run in finished for row in run.rows):
        return ("nothing was measured",)
    return ("one run of each case" if len(finished) > 1 else "one run",)


# -- of verdicts -------------------------------------------------------------------------------------


def _of_comparisons(answered: Sequence[Answered]) -> Iterator[Conclusion]:
    """A conclusion for each other side of the comparisons that an entry keeps of its own rows."""
    from logbook_agent.findings.evidence.confidence import confidence

    for one in answered:
        for answer in one.answers:
            trials = list(_trials(answer))
            if trials:
                found = confidence(_apart(trials), minimum_effect=one.asked.minimum_effect, apart_s=one.asked.apart_s)
                about = f"{answer.base} → {answer.other}: {found.reasons[0]}"
                yield replace(found, reasons=(about, *found.reasons[1:]))


def _answers(record: Record, asked: Comparison, metrics: Sequence[Metric]) -> tuple[Answer, ...]:
    from logbook_agent.findings.comparisons.asked import answers_of, is_planned, rows_of

    # The entry may have had another ID when it was asked.
    references = tuple(record.id + reference[len(entry_of(reference)) :] for reference in asked.references)
    asked = replace(asked, references=references)
    try:
        records = {record.id: record}
        whole = None if is_planned(asked, record.entry) else lambda question: rows_of(question, records)
        return answers_of(asked, rows_of(asked, records), metrics, whole)
    except LogbookError:
        return ()  # the comparison itself says why it has no answer


def _trials(answer: Answer) -> Iterator[InSetting]:
    """What every case says of the first metric, which decides."""
    from logbook_agent.findings.evidence.compared import sides
    from logbook_agent.findings.evidence.confidence import InSetting

    for line in answer.lines:
        for m in line.metrics[:1]:
            judged = m.judgement is not None and not m.withheld_by and m.direction is not None
            yield InSetting(
                setting=_setting(line.pair.other.items[0].case, [*line.pair.case]),
                runs=sides(line.pair, m.metric)[1],
                verdict=m.judgement.verdict if judged and m.judgement is not None else None,
                sittings=m.sittings,
            )


# -- of repeats --------------------------------------------------------------------------------------


def _of_repeats(record: Record, metrics: Sequence[Metric]) -> Iterator[Conclusion]:
    """Where nothing is compared: whether the runs of each case agree in the first metric. Nothing when no case has
    several."""
    from logbook_agent.findings.case import repeats
    from logbook_agent.findings.cases import cases
    from logbook_agent.findings.evidence.confidence import Conclusion, InSetting, confidence
    from logbook_agent.model.stats.noise import noise_floor

    # That the best case of a sweep was run once more says nothing of the others.
    confirming = record.confirmations
    own = [case for case in cases(record) if case.run not in confirming]
    groups = [[c for c in group.cases if c.state == "finished"] for group in repeats(own)]
    name = _deciding(groups, metrics)
    kept = _scale([case for group in groups for case in group], name, metrics) if name is not None else frozenset()
    found = [(group, _runs(group, name, kept)) for group in groups if name is not None]
    measured = [(group[0], runs) for group, runs in found if runs]
    if all(len(runs) < 2 for _, runs in measured):
        return
    varied = _varied([case for case, _ in measured])
    trials = _apart(
        [
            InSetting(setting=_setting(group[0], varied), runs=runs, sittings=_sittings(group, runs, name))
            for group, runs in found
            if runs
        ]
    )
    concluded = [confidence([trial]) for trial in trials]
    if len(trials) > 1 and all(one.confidence != "exploratory" for one in concluded):
        widest = max(range(len(trials)), key=lambda at: noise_floor(trials[at].runs) or 0.0)
        reasons = (f"the runs of each of {len(trials)} cases agree", *concluded[widest].reasons)
        concluded = [Conclusion(confidence="replicated", reasons=reasons)]
    yield from concluded


def _deciding(groups: Sequence[Sequence[Case]], metrics: Sequence[Metric]) -> str | None:
    """The first primary metric that was measured, else the first of the rows."""
    there = list(dict.fromkeys(name for group in groups for case in group for name in case.row.metrics))
    return next((m.name for m in metrics if m.primary and m.name in there), there[0] if there else None)


def _scale(cases: Sequence[Case], name: str, metrics: Sequence[Metric]) -> frozenset[str | None]:
    """The units whose values can agree with each other."""
    units = {m.unit for case in cases if (m := case.row.metrics.get(name)) is not None}
    return common(units, unit_of(metric_named(name, metrics)))


def _runs(group: Sequence[Case], metric: str, units: Collection[str | None]) -> list[list[float]]:
    found: dict[int, list[float]] = {}
    for case in group:
        measurement = case.row.metrics.get(metric)
        if measurement is None or measurement.unit not in units:
            continue
        if measurement.samples and case.row.failed is None:
            found.setdefault(case.run, []).extend(measurement.samples)
    return list(found.values())


def _sittings(group: Sequence[Case], runs: Sequence[Sequence[float]], metric: str | None) -> list[list[float]]:
    """The logarithms of what the runs of a case measured, by sitting; nothing where they have none."""
    from logbook_agent.findings.evidence.layout import sittings

    measured = {c.run: c for c in group if metric in c.row.metrics and c.row.failed is None}
    values = [median(list(run)) for run in runs]
    if len(measured) != len(values) or not all(v > 0 for v in values):
        return []
    places = sittings([(c.started, c.ended) for c in measured.values()])
    return [[math.log(values[at]) for at in own] for own in places]


def _varied(cases: Sequence[Case]) -> list[str]:
    from logbook_agent.model.values import canonical

    names = dict.fromkeys(key for case in cases for key in case.row.config)
    return [n for n in names if len({canonical(case.row.config.get(n)) for case in cases}) > 1]


def _apart(trials: Sequence[InSetting]) -> list[InSetting]:
    """Without the device where all have the same: reasons name what tells settings apart."""
    if len({trial.setting.device for trial in trials}) > 1:
        return list(trials)
    return [replace(trial, setting=replace(trial.setting, device=None)) for trial in trials]


def _setting(case: Case, varied: Sequence[str]) -> Setting:
    """Where a case was tried, by the config that tells it from the others and its devices."""
    from logbook_agent.findings.evidence.confidence import Setting

    config = case.row.config
    shape = " ".join(f"{name}={config[name]}" for name in varied if name in config and name != _SEED)
    device = ", ".join(d.kind or d.platform for d in case.row.devices)
    return Setting(
        shape=shape or None,
        seed=str(config[_SEED]) if _SEED in varied and _SEED in config else None,
        device=device or None,
    )
