"""`logbook compare`: measured rows against each other, like for like, and the questions that entries keep."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from logbook_agent.findings.contrasts.answers import Answer, answer_stated
from logbook_agent.findings.contrasts.asked import answers_of, ask_of, is_planned, rows_of
from logbook_agent.findings.contrasts.likeness import Terms
from logbook_agent.findings.contrasts.matching import unlike
from logbook_agent.findings.measured import baseline_cases, is_case
from logbook_agent.findings.tables.spec import Case
from logbook_agent.findings.trust import Answered
from logbook_agent.model.entry import Comparison, Entry, entry_of
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record
from logbook_agent.store.book import Book

_EXAMPLE = "logbook compare A B, logbook compare A --baseline, or logbook compare ID --axis NAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareResult:
    """The answers to `question`, which has the IDs that the entries have now.

    `not_kept`: why no entry can keep the question; None when one can.
    """

    question: Comparison
    answers: tuple[Answer, ...]
    not_kept: str | None = None


def compare(book: Book, asked: Comparison, *, baseline: bool = False) -> CompareResult:
    """The answers from the records as they stand; `baseline` puts the logbook's baseline before the references.

    Raises UsageError for what is no comparison, and for names or values that the rows do not have.
    """
    _check(asked, baseline=baseline)
    asked = _resolved(book, asked)
    if not baseline:
        return CompareResult(question=asked, answers=_answers(book, asked, _rows(book, asked)))
    entry = _baseline_entry(book.header)
    if entry is None:
        stated = "the baseline states its numbers and names no entry that measured them"
        return CompareResult(question=asked, answers=(_with_stated(book, asked),), not_kept=stated)
    asked = dataclasses.replace(asked, references=(book.resolve(entry), *asked.references))
    base, *others = _rows(book, asked)
    cases = baseline_cases(book.header)
    of_baseline = [t for t in base if not cases or any(is_case(t.row.config, c) for c in cases)]
    if not of_baseline:
        raise UsageError(
            f"no row of {entry} matches the baseline's case",
            cause="the header names the entry, and a config that none of its rows has",
            hint=f"name the rows themselves: logbook compare {asked.references[0]}/1 {asked.references[1]}",
        )
    why = None if len(of_baseline) == len(base) else f"only some rows of {entry} match the baseline's case"
    return CompareResult(question=asked, answers=_answers(book, asked, [of_baseline, *others]), not_kept=why)


def kept(book: Book, entry: Entry, why: Callable[[Entry], str]) -> list[Answered]:
    """The questions that an entry keeps, answered from the records as they stand. `why` says of an entry why
    nothing is settled by it, and nothing where it is."""
    found = []
    for asked in entry.comparisons:
        try:
            others = [e for e in map(book.entry, asked.entries) if e.id != entry.id]
            uncounted = tuple(f"{e.id}, which is {reason}" for e in others if (reason := why(e)))
            found.append(Answered(asked=asked, answers=compare(book, asked).answers, uncounted=uncounted))
        except LogbookError as error:
            found.append(Answered(asked=asked, error=error))
    return found


def _rows(book: Book, asked: Comparison) -> list[list[Case]]:
    return rows_of(asked, {entry_id: book.record(entry_id) for entry_id in asked.entries})


def _answers(book: Book, asked: Comparison, rows: Sequence[list[Case]]) -> tuple[Answer, ...]:
    is_stated = any(is_planned(asked, book.entry(entry)) for entry in asked.entries)
    whole = None if is_stated else functools.partial(_rows, book)
    return answers_of(asked, rows, book.header.metrics, whole)


def _check(asked: Comparison, *, baseline: bool) -> None:
    """Raises UsageError for a question that says too little or contradicts itself."""
    if asked.axis is None and asked.base_value is not None:
        raise UsageError(
            f"--base {asked.base_value} without --axis",
            cause="--base names the value of an axis that the others are compared with",
            hint=f"--axis NAME --base {asked.base_value}",
        )
    if not 0 <= asked.minimum_effect < 1:
        raise UsageError(
            f"a minimum effect of {asked.minimum_effect:.4g} is out of range",
            cause="expected a fraction from 0 up to 1, or a percentage",
            hint="--min-effect 1%",
        )
    count = len(asked.references)
    if count != 1 if baseline else count < 1 if asked.axis is not None else count != 2:
        given = f"{count} reference{'s' * (count != 1)}{' and --baseline' * baseline}{' and --axis' * bool(asked.axis)}"
        raise UsageError(
            f"cannot compare {given}",
            cause="give two references, one with --baseline, or any number with --axis",
            hint=_EXAMPLE,
        )


def _resolved(book: Book, asked: Comparison) -> Comparison:
    """With the present IDs of the entries. Raises NotFound."""
    found = (book.resolve(entry_of(r)) + r[len(entry_of(r)) :] for r in asked.references)
    return dataclasses.replace(asked, references=tuple(found))


# -- the baseline ------------------------------------------------------------------------------------


def _baseline_entry(header: Header) -> str | None:
    """The entry that measured the baseline; None when only its numbers are stated. Raises UsageError when there is
    neither."""
    baseline = header.baseline
    if baseline is None or (baseline.entry is None and not baseline.numbers):
        raise UsageError(
            f"{header.topic} has no baseline to compare with",
            cause="its header names no entry that measured one, and states no numbers",
            hint="name both sides: logbook compare A B",
        )
    return baseline.entry


def _with_stated(book: Book, asked: Comparison) -> Answer:
    header = book.header
    [side] = _rows(book, asked)
    answer = answer_stated(header, side, asked.references[0], ask_of(asked, header.metrics))
    if not answer.lines:
        shown = "; ".join(" ".join(f"{k}={v}" for k, v in case.items()) for case in baseline_cases(header))
        raise UsageError(
            f"no row of {asked.references[0]} matches the baseline's case",
            cause=f"the baseline states numbers of {shown or 'a case without config'}",
            hint=f"see what it has: logbook table {entry_of(asked.references[0])}",
        )
    return answer


# Runs of the baseline that are looked at: how it was measured is told by the first ones.
_LOOKED_AT = 20


class BaselineLikeness:
    """In what a run differs from those that measured the baseline, beyond what a verdict allows."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._header = book.header
        self._bases: dict[str, Record | None] = {}

    def __call__(self, entry_id: str, run: int, opened: str | None) -> str:
        """`env:XLA_FLAGS, commit`; empty where they differ in nothing, and where there are no rows to compare with.
        `opened`: from the baseline that there was when the entry was opened, then; None: from that of now."""
        header = self._header if opened is None else self._header.as_of(entry_id, opened)
        told = repr(header.baseline)
        if told not in self._bases:
            self._bases[told] = self._base(header)
        base = self._bases[told]
        if base is None or base.id == entry_id or not base.runs:
            return ""
        record = self._book.record(entry_id)
        other = dataclasses.replace(record, runs=tuple(s for s in record.runs if s.run.run == run))
        return ", ".join(dict.fromkeys(d.name for p in unlike(base, other, Terms()) for d in p.likeness.withheld_by))

    def _base(self, header: Header) -> Record | None:
        """The baseline's entry with the runs of its case alone."""
        baseline, cases = header.baseline, baseline_cases(header)
        if baseline is None or baseline.entry is None:
            return None
        try:
            record = self._book.record(baseline.entry)
        except LogbookError:
            return None  # its damage is told where entries are read
        own = [s for s in record.runs if not cases or any(is_case(r.config, c) for r in s.run.rows for c in cases)]
        return dataclasses.replace(record, runs=tuple(own[:_LOOKED_AT]))
