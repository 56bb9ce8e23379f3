"""The comparisons of a thread: their answers, what these add to an entry, and which one answers a contrast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import structs

from logbook_agent.findings.comparison import synopsis, words
from logbook_agent.findings.comparison.answer import Answer, Outcome
from logbook_agent.findings.comparison.answers import answer_of, confidence, placed, values_apart
from logbook_agent.findings.protocol import Records
from logbook_agent.findings.references import Contrast, names_run
from logbook_agent.findings.summaries import Trust
from logbook_agent.model.comparison import CODE_AXIS
from logbook_agent.model.entry import parse_id
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record
from logbook_agent.model.summary import SaidByEntry, Summary
from logbook_agent.model.values import canonical
from logbook_agent.text.markdown import escape
from logbook_agent.text.phrases import bounded

# Of one comparison, in lists of negative results.
_SHOWN_NEGATIVES = 3


class Comparisons:
    """The answers to the comparisons of a thread, from those of each entry alone (`own`). `discarded` names the
    decision by which an entry was discarded."""

    def __init__(self, own: Sequence[Answer], header: Header, discarded: Mapping[str, str]) -> None:
        self._own, self._header, self._discarded = own, header, discarded

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The answer to every comparison, in the order of their entries."""
        return tuple(map(self._answer, self._own))

    @cached_property
    def _by_entry(self) -> dict[str, Answer]:
        return {one.entry: one for one in self.answers}

    @cached_property
    def _apart(self) -> set[str]:
        return values_apart(self._own, self._header.case_keys)

    @cached_property
    def _asking(self) -> dict[str, list[Answer]]:
        """The answers by what they ask."""
        found: dict[str, list[Answer]] = {}
        for one in self._own:
            found.setdefault(one.asks or one.entry, []).append(one)
        return found

    def _answer(self, own: Answer) -> Answer:
        """The answer of an entry, in which no goal is found to be better that somebody discarded."""
        answer = placed(own, self._asking[own.asks or own.entry], self._apart, self._discarded)
        by = self._discarded.get(own.entry)
        if by is None:
            return answer
        found = [
            structs.replace(f, outcome=Outcome.OPEN) if f.outcome is Outcome.BETTER and not f.is_watched else f
            for f in answer.findings
        ]
        why = (f"discarded by {by}",)
        trust = confidence(found, answer.sittings)[0]
        return structs.replace(
            answer, findings=tuple(found), first=why, confidence=trust, reasons=why, is_discarded=True
        )

    def answer_of(self, entry_id: str) -> Answer | None:
        """The answer to the comparison that an entry states; None where it states none."""
        return self._by_entry.get(entry_id)

    def asking(self, axis: str) -> list[str]:
        """The entries whose comparison has this axis, the latest first, without those that somebody discarded."""
        return [
            one.entry for one in reversed(self._own) if one.question.axis == axis and one.entry not in self._discarded
        ]

    def answer_with(self, record: Record) -> Answer | None:
        """The answer to the comparison of an entry as its record is now; None where it states none."""
        now = answer_of(record, self._header.metrics)
        if now is None:
            return None
        others = (one for one in self._own if one.entry != record.id)
        own = sorted([*others, now], key=lambda one: parse_id(one.entry) or ("", 0))
        return Comparisons(own, self._header, self._discarded)._answer(now)

    # -- what is said of an entry ------------------------------------------------------------------

    def in_summary(self, summary: Summary) -> Summary:
        """A summary whose result and confidence are those of the entry's comparison."""
        answer = self.answer_of(summary["id"])
        if answer is None or not answer.findings:
            return summary
        trust = Trust(computed=answer.confidence, reasons=answer.reasons, **summary["stated"])
        return {
            **summary,
            "negative": self.negative_of(summary),
            "result": synopsis.synopsis(answer),
            "confidence": trust.word,
            "confidence_text": trust.text,
        }

    def negative_of(self, said: SaidByEntry) -> str | None:
        """The negative results of an entry, with those of its comparison."""
        answer = self.answer_of(said["id"])
        found = [escape(words.sentence(answer, f)) for f in answer.without_gain] if answer else []
        shown = [said["negative"], *bounded(found, _SHOWN_NEGATIVES)]
        return "; ".join(filter(None, shown)) or None


# -- which comparison answers a question ------------------------------------------------------------------


def designed(comparisons: Comparisons, records: Records, asked: Contrast) -> Answer | None:
    """The answer of the comparison that holds the sides of a contrast, with the metrics and cases that are asked for;
    None where no comparison does. Its base is the one that the comparison states."""
    answer = comparisons.answer_of(asked.entries[0]) if len(asked.entries) == 1 else None
    if answer is None or not _is_about(answer, asked) or not _holds(asked, records.record(answer.entry)):
        return None
    found = tuple(
        f
        for f in answer.findings
        if (not asked.metrics or f.metric in asked.metrics)
        and all(canonical(f.case.get(k)) == canonical(v) for k, v in asked.where.items())
    )
    is_there = {*asked.metrics} <= {f.metric for f in found} and (found or not asked.where)
    return structs.replace(answer, findings=found) if is_there else None


def _is_about(answer: Answer, asked: Contrast) -> bool:
    """Whether an answer is about the axis of a contrast, and has its base."""
    question, base = answer.question, asked.base_value
    if asked.axis not in (None, question.axis) and (asked.axis, question.axis) != ("commit", CODE_AXIS):
        return False
    names = question.values if len(question.sides) == 1 else (question.base,)
    return base is None or base in names or canonical(base) in names


def _holds(asked: Contrast, record: Record) -> bool:
    """Whether the runs that a contrast names, if any, are runs of the comparison, of different sides."""
    if {*asked.references} == {record.id}:
        return True
    sides: list[set[str]] = []
    for reference in asked.references:
        of = [s.run for s in record.runs if names_run(reference, s.run) and s.run.rows and s.counts]
        if reference != record.id and not all(run.part for run in of):
            return False
        sides.append({run.part.side for run in of if run.part})
    if asked.axis is None and len(sides) == 2:
        return sides[0].isdisjoint(sides[1]) and all(sides)
    return len(set().union(*sides)) > 1
