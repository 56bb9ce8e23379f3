"""One reading of a logbook: all answers from its records, which every command, page and issue formats.

A part is made when it is asked for, at most once, from the book and its index. What was read stays as it was read:
after a change a logbook is read anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property

from logbook_agent.findings.advice import addressed
from logbook_agent.findings.attempts import without_gain
from logbook_agent.findings.comparison.answer import Answer, EntryPairs
from logbook_agent.findings.comparisons import Comparisons
from logbook_agent.findings.open_steps import is_given_up, next_step
from logbook_agent.findings.opening import (
    NO_ANSWERS,
    Opening,
    best_of,
    best_text,
    failures,
    in_words,
    negatives,
    nothing_settled,
)
from logbook_agent.findings.protocol import Clock, Records
from logbook_agent.findings.summaries import summary_of
from logbook_agent.findings.thread import Mentions, Standing, Statements, Thread, discarded_by, said_by, standings
from logbook_agent.findings.trust import NOT_COMPARED, Compared
from logbook_agent.model.budget import NO_BUDGET
from logbook_agent.model.entry import Entry, id_number, is_withdrawn
from logbook_agent.model.errors import NotFound, StoreError
from logbook_agent.model.gates import fails
from logbook_agent.model.header import Criterion, Header
from logbook_agent.model.record import Contents, Record, Summaries, spent
from logbook_agent.model.summary import SaidByEntry, Summary, TriedItem


def read(clock: Clock, records: Records, naming: Sequence[str] = ()) -> Findings:
    """The findings of a logbook as it is now. `naming`: what names this logbook in commands that need it."""
    # A process may go on for days; meanwhile others change the header.
    records.reread_header()
    return Findings(records.outgoing(), clock.now, naming)


class Findings:
    """The answers that view, issue, `status`, `list`, `show`, `table` and `criteria` have in common. Secrets
    are taken out of what they say."""

    def __init__(self, records: Records, now: Callable[[], datetime], naming: Sequence[str] = ()) -> None:
        self.records = records
        self.naming = naming
        self._now = now
        self._entries: dict[str, Entry] = {}
        # Those that were read for their summaries.
        self._known: dict[str, Record] = {}

    # -- the thread ------------------------------------------------------------------------------

    @cached_property
    def header(self) -> Header:
        """The header with the state of its criteria. Without predicates, no record but the evidence of judgements is
        read."""
        header = self.records.header
        criteria = tuple(dataclasses.replace(c, doubt=self._doubt(c)) for c in header.stop_criteria)
        if header.has_predicates:
            from logbook_agent.findings.criteria.evaluate import checked  # for those who have some

            counting = self.contents.records, self.counting
            criteria = checked(criteria, self.records, *counting, self.comparisons.answers, self._now())
            criteria = tuple(map(self._addressed_criterion, criteria))
        return dataclasses.replace(header, stop_criteria=criteria)

    def _addressed_criterion(self, criterion: Criterion) -> Criterion:
        computed = criterion.computed
        if computed is None:
            return criterion
        command = self.typed(computed.command)
        return dataclasses.replace(criterion, computed=dataclasses.replace(computed, command=command))

    @property
    def budget(self) -> str:
        """`budget: 2 of 2 runs spent`; empty where none is stated."""
        limits = self.records.header.limits
        return "" if limits == NO_BUDGET else f"budget: {limits.text(*spent(self.contents.records, self._now()))}"

    def typed(self, command: str) -> str:
        """A command that makes runs, as it is typed here; empty where the budget allows none."""
        limits = self.records.header.limits
        is_spent = limits != NO_BUDGET and limits.is_spent(*spent(self.contents.records, self._now()))
        return "" if is_spent else addressed(command, self.naming)

    def _doubt(self, criterion: Criterion) -> str | None:
        """Why the judgement of a criterion is in doubt: its evidence is withdrawn; None where it is not."""
        evidence = criterion.judgement.evidence if criterion.judgement is not None else ""
        if id_number(evidence, self.records.header.prefix) is None:
            return None
        lost = self._lost(evidence) or self._discarded(evidence)
        return f"rests on {evidence}, which is {lost}" if lost else None

    @cached_property
    def _summarised(self) -> Summaries:
        header = self.records.header

        def summarise(record: Record) -> Summary:
            self._known[record.id] = record
            return summary_of(record, header)

        return self.records.summaries(summarise)

    @cached_property
    def summaries(self) -> Sequence[Summary]:
        """A summary of every entry that can be read, in order, from the index where it can be, with the answer to the
        comparison that it states."""
        found = self._summarised.entries
        return [self._with_decision(s) if s["comparison"] is None else self.comparisons.in_summary(s) for s in found]

    def _with_decision(self, summary: Summary) -> Summary:
        by = self.discarded.get(summary["id"])
        return (
            {**summary, "result": "; ".join(filter(None, (f"discarded by {by}", summary["result"])))} if by else summary
        )

    @cached_property
    def discarded(self) -> dict[str, str]:
        """The entries that somebody discarded, with the decision that says so."""
        return discarded_by(self._summarised.entries)

    @property
    def unreadable(self) -> list[str]:
        """What is wrong with each entry that cannot be read."""
        return [error.message for error in self._summarised.damaged]

    @cached_property
    def thread(self) -> Thread:
        """The thread of all summaries."""
        return Thread(self.header, self.summaries)

    # -- comparisons -----------------------------------------------------------------------------

    @cached_property
    def _pairs(self) -> list[EntryPairs]:
        """The pairs that each entry measured for the comparison that it states, in the order of the entries."""
        return [EntryPairs.of(s["comparison"]) for s in self._summarised.entries if s["comparison"] is not None]

    @property
    def states_comparisons(self) -> bool:
        """Whether an entry states a comparison."""
        return bool(self._pairs)

    @cached_property
    def comparisons(self) -> Comparisons:
        """The comparisons of the thread, with their answers."""
        return Comparisons(self._pairs, self.records.header, self.discarded)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """What the comparisons of the thread found, but for those that somebody discarded."""
        return self.comparisons.counting if self.states_comparisons else ()

    @cached_property
    def answered(self) -> Opening:
        """The opening of a thread that states comparisons, without what people wrote: the part that needs no record
        but those of its comparisons."""
        if not self.states_comparisons:
            return NO_ANSWERS
        found = self.comparisons.first_lines(
            self.records, {s["id"]: s["title"] for s in self._summarised.entries}, self._now()
        )
        return self._with_the_rest(found) if found.answers else found

    def _with_the_rest(self, found: Opening) -> Opening:
        """What comparisons say, with what was asked, what failed, and what comes next."""
        header, thread = self.records.header, self.thread
        stated = {s["id"]: s["negative"] for s in self._summarised.entries}
        given_up = [is_given_up(thread, one.entry) for one in found.answers]
        answers = tuple(
            dataclasses.replace(one, command="", replicate="") if is_over else one
            for one, is_over in zip(found.answers, given_up, strict=True)
        )
        next_of, step = next_step(thread, answers)
        return dataclasses.replace(
            found,
            answers=answers,
            asked=header.goal or header.title,
            negative=negatives(thread, stated),
            failed=failures(thread, stated),
            next_of=next_of,
            next=step,
        )

    @cached_property
    def opening(self) -> Opening:
        """The first lines of the thread, which every reader begins with."""
        found, thread = self.answered, self.thread
        not_settled, command, best = "", "", None
        if not found.found:
            not_settled, command = nothing_settled(self.records, thread, self.answers, is_open=bool(found.left))
            best = best_of(thread, self.answers)
        return dataclasses.replace(
            found if found.answers else self._with_the_rest(found),
            not_settled=not_settled,
            command=self.typed(command),
            in_words=in_words(thread, self.answers, best),
            best=best_text(best) if best is not None and not found.answers else "",
        )

    @property
    def tried(self) -> list[TriedItem]:
        """Everything that was tried and did not work out: failures, marked entries, comparisons without a gain."""
        return [*(item for s in self.summaries for item in s["tried"]), *without_gain(self.comparisons.answers)]

    @property
    def doubts(self) -> list[str]:
        """What rests on a withdrawn entry: the baseline, and judgements of stop criteria."""
        doubtful = [(n, doubt) for n, c in enumerate(self.records.header.stop_criteria, 1) if (doubt := self._doubt(c))]
        return self.baseline_doubts + [
            f"stop criterion {n} {doubt}; judge it again by --met {n} or --unmet {n}: logbook criteria --help"
            for n, doubt in doubtful
        ]

    @property
    def baseline_doubts(self) -> list[str]:
        """That the entry of the baseline does not count any more; nothing where it does."""
        entry_id = self.records.header.baseline.entry if self.records.header.baseline is not None else None
        lost = self._uncounted(entry_id) if entry_id is not None else None
        if entry_id is not None and not lost:
            lost = self._baseline_failed(entry_id)
        if not lost:
            return []
        return [f"the baseline is {entry_id}, which is {lost}; move it by --entry: logbook baseline --help"]

    def _baseline_failed(self, entry_id: str) -> str | None:
        """Why no row of the baseline's runs counts; None where one does."""
        numbers = self.records.header.baseline.runs if self.records.header.baseline is not None else ()
        try:
            runs = [s.run for s in self.records.record(entry_id).runs if not numbers or s.run.run in numbers]
        except StoreError:
            return None
        failures = [fails(run) for run in runs if run.rows]
        return str(failures[0]) if failures and all(failures) else None

    def _lost(self, entry_id: str) -> str | None:
        """Why an entry is withdrawn or gone: `void`; None where it is not, and where it cannot be read, which is
        reported elsewhere."""
        try:
            state = self.entry(entry_id).state
        except NotFound:
            return "no longer there"
        except StoreError:
            return None
        return state if is_withdrawn(state) else None

    def _discarded(self, entry_id: str) -> str:
        try:
            by = self._mentions.standing(self.entry(entry_id)).discarded_by
        except (NotFound, StoreError):
            return ""
        return f"discarded by {by}" if by else ""

    def _uncounted(self, entry_id: str) -> str | None:
        """Why an entry does not count, superseded ones included; None where it does."""
        lost = self._lost(entry_id)
        if lost is not None:
            return lost
        try:
            return self._mentions.standing(self.entry(entry_id)).why
        except StoreError:
            return None

    # -- records ---------------------------------------------------------------------------------

    @cached_property
    def contents(self) -> Contents:
        """All records. Entries that were read before are not read again."""
        found = self.records.contents(self._known)
        self._entries.update((record.id, record.entry) for record in found.records if record.id not in self._entries)
        return found

    @cached_property
    def counting(self) -> list[Record]:
        """The records of the entries that count."""
        records = self.contents.records
        standing = standings(said_by(r.entry) for r in records)
        return [r for r in records if standing[r.id].counts]

    @cached_property
    def listed(self) -> Statements[SaidByEntry]:
        """The decisions and negative results below a view. Only comparisons need more than the files of entries."""
        said = [said_by(entry) for entry in self._mentions.entries()]
        for entry, one in zip(self._mentions.entries(), said, strict=True):
            if entry.comparison is not None:
                one["negative"] = self.comparisons.negative_of(one)
        return Statements(self.records.header, said)

    # -- one entry -------------------------------------------------------------------------------

    @cached_property
    def order(self) -> list[str]:
        """The IDs of all entries."""
        return self.records.entry_ids()

    def entry(self, entry_id: str) -> Entry:
        """One entry. Raises NotFound and StoreError."""
        if entry_id not in self._entries:
            self._entries[entry_id] = self.records.entry(entry_id)
        return self._entries[entry_id]

    @cached_property
    def _mentions(self) -> Mentions:
        return Mentions(self.records, self.order, self.entry)

    def standing(self, entry: Entry) -> Standing:
        """Whether an entry counts, and which later ones complete or supersede it."""
        return self._mentions.standing(entry)

    def later(self, entry: Entry) -> dict[str, list[str]]:
        """The entries that complete or supersede this one, where there are some."""
        return self.standing(entry).later

    def compared(self, entry: Entry) -> Compared:
        """The lines, result and confidence that its comparison gives to an entry."""
        return self.comparisons.compared(entry.id) if entry.comparison is not None else NOT_COMPARED
