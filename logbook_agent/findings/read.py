"""One reading of a logbook: what its records amount to, for everything that tells of them.

A part is made when it is asked for, at most once, from the book and its index, and its modules are loaded then. What
was read stays as it was read: after a change a logbook is read anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from logbook_agent.findings.thread import Mentions, Standing, Summary, Thread, said_by, standings
from logbook_agent.model.entry import Comparison, Entry, id_number, is_withdrawn, settled
from logbook_agent.model.errors import NotFound, StoreError
from logbook_agent.model.header import Criterion, Header
from logbook_agent.model.record import only_predicts
from logbook_agent.store.book import Book, Contents, Summaries
from logbook_agent.store.workspace import Workspace
from logbook_agent.text import marked

if TYPE_CHECKING:
    from logbook_agent.findings.claims import Claim
    from logbook_agent.findings.criteria.evaluate import Facts
    from logbook_agent.findings.predictions.thread import ThreadPredictions
    from logbook_agent.findings.trust import Answered
    from logbook_agent.model.record import Record


_SHOWN_OTHERS = 5


def read(workspace: Workspace, book: Book, *, written: Collection[str] = ()) -> Findings:
    """What a logbook amounts to as it stands now. `written`: entries that this process has just written."""
    # A process may go on for days; meanwhile others change the header.
    book.reread_header()
    return Findings(book, workspace.now, written)


class Findings:
    """The answers that view, issue, `status`, `list`, `show`, `table`, `criteria` and `tried` have in common."""

    def __init__(self, book: Book, now: Callable[[], datetime], written: Collection[str] = ()) -> None:
        self.book = book
        self._written = frozenset(written)
        self._now = now
        self._entries: dict[str, Entry] = {}
        # Those that were read for their summaries.
        self._records: dict[str, Record] = {}
        self._kept: dict[str, list[Answered]] = {}

    # -- the thread ------------------------------------------------------------------------------

    @cached_property
    def header(self) -> Header:
        """The header, its predicates held against the records, and judgements against the state of their evidence.
        Without predicates no record is read but that evidence."""
        header = self.book.header
        criteria = tuple(dataclasses.replace(c, doubt=self._doubt(c)) for c in header.stop_criteria)
        if header.has_predicates:
            # Statistics and tables are loaded for those that need them.
            from logbook_agent.findings.criteria.evaluate import computed

            facts = self._facts()
            criteria = tuple(computed(c, facts) for c in criteria)
        return dataclasses.replace(header, stop_criteria=criteria)

    def _doubt(self, criterion: Criterion) -> str | None:
        """That the evidence of a judgement is an entry that does not stand any more; None where it does."""
        evidence = criterion.judgement.evidence if criterion.judgement is not None else ""
        if id_number(evidence, self.book.header.prefix) is None:
            return None
        lost = self._lost(evidence)
        return f"rests on {evidence}, which is {lost}" if lost is not None else None

    def _facts(self) -> Facts:
        from logbook_agent.findings.cases import cases
        from logbook_agent.findings.criteria.evaluate import Facts

        # That something was predicted is no run of an experiment, and takes no time on a device.
        runs = [s for record in self.contents.records for s in record.runs if not only_predicts(record.entry, s.run)]
        return Facts(
            cases=cases(*(r for r in self.counting if settled(r.state))),
            metrics=self.book.header.metrics,
            now=self._now(),
            runs=sum(status.counts for status in runs),
            hours=sum(status.run.duration_s or 0.0 for status in runs) / 3600,
        )

    @cached_property
    def _summarised(self) -> Summaries:
        from logbook_agent.findings.summaries import FORM, summary_of

        header = self.book.header

        def summarise(record: Record) -> dict[str, Any]:
            self._records[record.id] = record
            return summary_of(record, header)

        return self.book.summaries(summarise, form=FORM)

    @property
    def summaries(self) -> Sequence[Summary]:
        """A summary of every entry that can be read, from the index where it can be; in order."""
        return self._summarised.entries

    @property
    def unreadable(self) -> list[str]:
        """What is wrong with each of the other entries."""
        return [error.message for error in self._summarised.damaged]

    @cached_property
    def thread(self) -> Thread:
        """What the summaries say together."""
        return Thread(self.header, self.summaries)

    @cached_property
    def told(self) -> Thread:
        """The same, with what comparisons found to be no gain among the negative results."""
        return Thread(self.header, [self.with_verdicts(one) for one in self.summaries])

    @cached_property
    def settled(self) -> list[Claim]:
        """The settled claims, the strongest first."""
        from logbook_agent.findings.claims import settled_claims

        return settled_claims(self.book, self.thread)

    @cached_property
    def axes(self) -> frozenset[str]:
        """The config keys that tell where a verdict holds."""
        from logbook_agent.findings.where import axes_of

        return axes_of(Thread(self.book.header, self.summaries))

    @cached_property
    def tried(self) -> list[dict[str, Any]]:
        """Everything that was tried and did not work out: failures, what was marked, verdicts without a gain."""
        keeping = [s["id"] for s in self.summaries if s["comparisons"]]
        return [item for s in self.summaries for item in s["tried"]] + [
            item for entry_id in keeping for item in self.verdicts(self.entry(entry_id))
        ]

    @property
    def doubts(self) -> list[str]:
        """What rests on an entry that does not stand any more: the baseline, and judgements of stop criteria."""
        doubtful = [(n, doubt) for n, c in enumerate(self.book.header.stop_criteria, 1) if (doubt := self._doubt(c))]
        return self.baseline_doubts + [
            f"stop criterion {n} {doubt}: logbook criteria --met {n} --evidence ID, or --unmet, judges it again"
            for n, doubt in doubtful
        ]

    def left_out(self, asked: Comparison) -> list[str]:
        """That other entries ask what is asked of several: which of them are named may be a choice by their results."""
        question, named = [asked.axis, asked.base_value], {*asked.entries}
        if asked.axis is None or len(named) < 2:
            return []
        others = [s["id"] for s in self.thread.counted if question in s["asks"] and s["id"] not in named]
        if not others:
            return []
        shown = ", ".join(others[:_SHOWN_OTHERS]) + (" ..." if len(others) > _SHOWN_OTHERS else "")
        asks, is_out = ("asks", "is") if len(others) == 1 else ("ask", "are")
        return [f"{shown} {asks} the same ({asked.axis} against {asked.base_value}) and {is_out} left out"]

    @property
    def baseline_doubts(self) -> list[str]:
        """That the baseline was measured by an entry that does not count any more; nothing where it does."""
        entry_id = self.book.header.baseline.entry if self.book.header.baseline is not None else None
        lost = self._uncounted(entry_id) if entry_id is not None else None
        if not lost:
            return []
        return [f"the baseline is {entry_id}, which is {lost}: logbook baseline --entry ID --reason '...' moves it"]

    def _lost(self, entry_id: str) -> str | None:
        """Why an entry does not stand any more, `void`; None where it does, and where its damage is told elsewhere."""
        try:
            state = self.entry(entry_id).state
        except NotFound:
            return "no longer there"
        except StoreError:
            return None
        return state if is_withdrawn(state) else None

    def _uncounted(self, entry_id: str) -> str | None:
        """Why an entry does not count, superseded ones included."""
        lost = self._lost(entry_id)
        if lost is not None:
            return lost
        try:
            return self._mentions.standing(self.entry(entry_id)).why
        except StoreError:
            return None

    @cached_property
    def predictions(self) -> ThreadPredictions:
        """What the predictions of the thread come to."""
        from logbook_agent.findings.predictions.thread import ThreadPredictions

        return ThreadPredictions(self.book, lambda: self.order, lambda: self.thread, self._written)

    # -- records ---------------------------------------------------------------------------------

    @cached_property
    def contents(self) -> Contents:
        """All records. Their entries are not read again."""
        found = self.book.contents(self._records)
        self._entries.update((record.id, record.entry) for record in found.records if record.id not in self._entries)
        return found

    @cached_property
    def counting(self) -> list[Record]:
        """The records of the entries that count."""
        records = self.contents.records
        standing = standings(said_by(r.entry) for r in records)
        return [r for r in records if standing[r.id].counts]

    # -- the view --------------------------------------------------------------------------------

    @cached_property
    def edited(self) -> list[str]:
        """The names of the blocks of the view that were edited by hand."""
        text = self.book.read_view()
        if text is None or marked.has_conflict(text):
            return []
        return [block.name for block in marked.parse(text, []).values() if block.edited(text)]

    @cached_property
    def listed(self) -> Thread:
        """The decisions and negative results of the thread, from the files of the entries alone."""
        said = map(said_by, self._mentions.entries())
        return Thread(self.book.header, [self.with_verdicts(one) for one in said])

    def with_verdicts(self, summary: Summary) -> Summary:
        """With what the comparisons that an entry keeps found to be no gain among its negative results."""
        if not summary["comparisons"]:
            return summary
        from logbook_agent.findings.tried.listed import verdict_lines

        verdicts = verdict_lines(self.verdicts(self.entry(summary["id"])))
        return {**summary, "negative": "; ".join(filter(None, [summary["negative"], *verdicts])) or None}

    # -- one entry -------------------------------------------------------------------------------

    @cached_property
    def order(self) -> list[str]:
        """The IDs of all entries."""
        return self.book.entry_ids()

    def entry(self, entry_id: str) -> Entry:
        """One entry. Raises NotFound and StoreError."""
        if entry_id not in self._entries:
            self._entries[entry_id] = self.book.entry(entry_id)
        return self._entries[entry_id]

    @cached_property
    def _mentions(self) -> Mentions:
        return Mentions(self.book, self.order, self.entry)

    def standing(self, entry: Entry) -> Standing:
        """Whether an entry counts, and which later ones complete or supersede it."""
        return self._mentions.standing(entry)

    def later(self, entry: Entry) -> dict[str, list[str]]:
        """The entries that complete or supersede this one, where there are some."""
        return self.standing(entry).later

    def keepers(self, entry_id: str) -> list[str]:
        """The entries that keep a comparison with the rows of this one."""
        try:
            return self._mentions.keepers(self.entry(entry_id))
        except StoreError:
            return []  # its damage is told where it is rendered

    def kept(self, entry: Entry) -> list[Answered]:
        """The comparisons that an entry keeps, with what they come to."""
        if entry.comparisons and entry.id not in self._kept:
            from logbook_agent.findings.comparisons.compare import kept

            self._kept[entry.id] = kept(self.book, entry, self._why_unsettled)
        return self._kept.get(entry.id, [])

    def _why_unsettled(self, entry: Entry) -> str:
        """Why nothing is settled by a comparison with an entry: it does not count, or is `blocked`; empty where it may
        be. (`claims.settled_claims` asks the same.)"""
        if why := self._mentions.standing(entry).why:
            return why
        state = self.book.record(entry.id).state
        return "" if settled(state) else state

    def compared(self, entry: Entry) -> list[str]:
        """The same as Markdown."""
        if not entry.comparisons:
            return []
        from logbook_agent.findings.comparisons.told import lines

        return [lines(one, entry.id) for one in self.kept(entry)]

    def verdicts(self, entry: Entry) -> list[dict[str, Any]]:
        """What its comparisons found to be no gain."""
        if not entry.comparisons:
            return []
        from logbook_agent.findings.tried.listed import verdicts

        return verdicts(self.book, entry, self.kept(entry), lambda: self.axes)
