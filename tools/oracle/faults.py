"""Faults planted in the package, each as somebody could have made it, which the oracle has to notice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from logbook_agent.findings import contrast, read, summaries
from logbook_agent.findings.comparison import answers, judgement, rule, side_cases, words
from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome
from logbook_agent.findings.comparison.conditions import asks
from logbook_agent.findings.comparison.metric_series import MetricSeries
from logbook_agent.findings.comparison.run_pairs import RunPair
from logbook_agent.findings.criteria import side_by_side
from logbook_agent.model.comparison import Part
from logbook_agent.model.entry import VOID
from logbook_agent.model.record import Record
from logbook_agent.report.figures import over_cases
from logbook_agent.store import book

Patch = pytest.MonkeyPatch
_NUMBER = itertools.count()


def _forget(patch: Patch) -> None:
    """What the cache has was found without this fault."""
    key = f"fault {next(_NUMBER)}"
    patch.setattr(book, "code_key", lambda: key)


def _measured(change: Callable[[Record], Record]) -> Callable[[Patch], None]:
    """A fault in the record of which a comparison is answered."""

    def plant(patch: Patch) -> None:
        def wrong(record: Record, declared: Any = ()) -> Answer | None:
            return answers.answer_of(change(record), declared)

        _forget(patch)
        patch.setattr(summaries, "answer_of", wrong)

    return plant


def _void_counts(record: Record) -> Record:
    return structs.replace(record, state="finished")


def _superseded_is_left_out(record: Record) -> Record:
    return structs.replace(record, state=VOID) if record.id == "MOE-002" else record


def _first_run_is_the_base(record: Record) -> Record:
    """The base is the side that chance put first."""
    stated = record.entry.comparison
    made = sorted((s.run for s in record.runs if s.run.part is not None), key=lambda run: run.started)
    first = made[0].part if made else None
    if stated is None or first is None or first.side == stated.question.base:
        return record
    [side] = stated.question.sides
    question = structs.replace(stated.question, base=side, sides=(stated.question.base,))
    comparison = structs.replace(stated, question=question)
    return structs.replace(record, entry=structs.replace(record.entry, comparison=comparison))


def pool_entries(patch: Patch) -> None:
    """Pairs of earlier entries that ask the same count, too."""
    own, known = answers._series, dict[str, dict[str, list[MetricSeries]]]()

    def pooled(record: Record, stated: Any, *words: Any) -> Any:
        found, left_out = own(record, stated, *words)
        same = known.setdefault(asks(stated), {})
        same[record.id] = found

        def of_all(s: MetricSeries) -> MetricSeries:
            pairs = [p for of in same.values() for one in of if one.key == s.key for p in one.pairs]
            return structs.replace(s, pairs=pairs)

        return [*map(of_all, found)], left_out

    _forget(patch)
    patch.setattr(answers, "_series", pooled)


def one_sitting(patch: Patch) -> None:
    """However long a break is, it is one sitting."""
    _forget(patch)
    patch.setattr(judgement, "APART_S", math.inf)


def forget_earlier(patch: Patch) -> None:
    """An answer names no earlier try."""
    patch.setattr(answers, "_is_same", lambda one, other: False)


def pool_noise(patch: Patch) -> None:
    """Runs beside a comparison count as further pairs."""
    own = side_cases.run_pairs

    def pooled(record: Record, question: Any) -> Any:
        yield from own(record, question)
        beside = [s.run for s in record.runs if s.run.part is None and s.state == "finished"]
        made = [s.run for s in record.runs if s.run.part is not None and s.run.part.side == question.sides[0]]
        for run in beside:
            part = Part(pair=1, side=question.base)
            base = structs.replace(run, part=part)
            other = structs.replace(made[-1], part=structs.replace(part, side=question.sides[0]))
            yield RunPair(base, other, question.sides[0], "")

    _forget(patch)
    patch.setattr(side_cases, "run_pairs", pooled)


def spend_twice(patch: Patch) -> None:
    """The looks spend twice as much, so that more is claimed and intervals are narrower."""
    _forget(patch)
    own = rule._limits
    patch.setattr(rule, "_limits", lambda sizes, spent, sided: own(sizes, tuple(2 * part for part in spent), sided))


def tried_has_a_rule(patch: Patch) -> None:
    """What was tried goes by the medians of both sides."""
    own = read.without_gain

    def by_medians(answers: Any) -> Any:
        return own([structs.replace(a, findings=tuple(map(_by_median, a.findings))) for a in answers])

    patch.setattr(read, "without_gain", by_medians)


def _by_median(f: Finding) -> Finding:
    change = (f.other.median or 1.0) / (f.base.median or 1.0) - 1
    is_better = (change > 0) == (f.direction == "max")
    outcome = Outcome.NO_DIFFERENCE if abs(change) < 0.01 else Outcome.BETTER if is_better else Outcome.WORSE
    return structs.replace(f, outcome=outcome, change=change)


def criteria_have_a_rule(patch: Patch) -> None:
    """A criterion goes by the measured change, settled or not."""
    own = side_by_side._settled

    def by_medians(asked: Any, facts: Any, *words: Any) -> Any:
        answers = [structs.replace(a, findings=tuple(map(_by_median, a.findings))) for a in facts.answers]
        return own(asked, structs.replace(facts, answers=tuple(answers)), *words)

    patch.setattr(side_by_side, "_settled", by_medians)


def plots_have_a_rule(patch: Patch) -> None:
    """The title of a plot goes by the medians of both sides."""
    own = over_cases.title_of
    patch.setattr(over_cases, "title_of", lambda answer, found, what: own(answer, [*map(_by_median, found)], what))


def sentences_round_the_interval(patch: Patch) -> None:
    """Sentences have an interval of their own."""
    own = words.interval
    patch.setattr(words, "interval", lambda f: own(structs.replace(f, low=f.low and f.low * 0.9)))


def numbers_have_an_interval(patch: Patch) -> None:
    """Rows that no design drew show an interval of their ratio."""
    own = contrast.beside

    def with_interval(*words: Any) -> contrast.Contrasted:
        found = own(*words)
        table = structs.replace(found.table, notes=(*found.table.notes, "+1.5% (95%: 1 to 2%)"))
        return structs.replace(found, table=table)

    patch.setattr(contrast, "beside", with_interval)


FAULTS: dict[str, Callable[[Patch], None]] = {
    "a void entry counts": _measured(_void_counts),
    "a superseded entry does not count": _measured(_superseded_is_left_out),
    "entries are pooled": pool_entries,
    "a second sitting is part of the first": one_sitting,
    "earlier tries are forgotten": forget_earlier,
    "the base is the side that ran first": _measured(_first_run_is_the_base),
    "runs beside the comparison are pooled": pool_noise,
    "more is spent than the schedule has": spend_twice,
    "tried has a rule of its own": tried_has_a_rule,
    "criteria have a rule of their own": criteria_have_a_rule,
    "plots have a rule of their own": plots_have_a_rule,
    "sentences have an interval of their own": sentences_round_the_interval,
    "numbers without a design have an interval": numbers_have_an_interval,
}
