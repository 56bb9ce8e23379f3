"""The rows of the logbook's baseline, and how like them a run is."""

from __future__ import annotations

from dataclasses import replace

from logbook_agent.findings.contrasts.contrast import Contrasted, beside, rows_of
from logbook_agent.findings.contrasts.likeness import Terms
from logbook_agent.findings.contrasts.matching import unlike
from logbook_agent.findings.measured import baseline_cases, is_case
from logbook_agent.model.comparison import Contrast
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record
from logbook_agent.store.book import Book

# Runs of the baseline that are looked at: how it was measured is told by the first ones.
_LOOKED_AT = 20


def against_baseline(book: Book, asked: Contrast) -> Contrasted:
    """The rows of the baseline's case beside those of a contrast. Raises UsageError where no entry measured them."""
    header = book.header
    if header.baseline is None or header.baseline.entry is None:
        stated = header.baseline is not None and bool(header.baseline.numbers)
        raise UsageError(
            f"no run measured the baseline of {header.topic}" if stated else f"{header.topic} has no baseline",
            cause="its header states numbers, and names no entry" if stated else "its header names none",
            hint="logbook baseline --entry ID --reason '...' names one; or name both sides: logbook compare A B",
        )
    entry = book.resolve(header.baseline.entry)
    asked = replace(asked, references=(entry, *asked.references))
    base, *others = rows_of(asked, {i: book.record(i) for i in asked.entries})
    places = baseline_cases(header)
    own = [t for t in base if not places or any(is_case(t.row.config, place) for place in places)]
    if not own:
        raise UsageError(
            f"no row of {entry} matches the baseline's case",
            cause="the header names the entry, and a config that none of its rows has",
            hint=f"name the rows themselves: logbook compare {entry}/1 {asked.references[1]}",
        )
    return beside(asked, [own, *others], header.metrics)


class BaselineLikeness:
    """In what a run differs from those that measured the baseline."""

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
        other = replace(record, runs=tuple(s for s in record.runs if s.run.run == run))
        return ", ".join(dict.fromkeys(d.name for p in unlike(base, other, Terms()) for d in p.likeness.withheld_by))

    def _base(self, header: Header) -> Record | None:
        """The baseline's entry with the runs of its case alone."""
        baseline, places = header.baseline, baseline_cases(header)
        if baseline is None or baseline.entry is None:
            return None
        try:
            record = self._book.record(baseline.entry)
        except LogbookError:
            return None  # its damage is reported where entries are read
        own = [s for s in record.runs if not places or any(is_case(r.config, c) for r in s.run.rows for c in places)]
        return replace(record, runs=tuple(own[:_LOOKED_AT]))
