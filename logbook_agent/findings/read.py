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

from logbook_agent.findings.records import Clock, Records
from logbook_agent.findings.thread import Mentions, Standing, Summary, Thread, said_by, standings
from logbook_agent.findings.trust import Compared, trust_of
from logbook_agent.model.entry import Entry, id_number, is_withdrawn, parse_id, settled
from logbook_agent.model.errors import NotFound, StoreError
from logbook_agent.model.header import Criterion, Header
from logbook_agent.model.record import Contents, Summaries, only_predicts
from logbook_agent.text import marked
from logbook_agent.text.markdown import escape

if TYPE_CHECKING:
    from logbook_agent.findings.comparison.answers import Answer
    from logbook_agent.findings.comparison.pairs import Tried
    from logbook_agent.findings.contrasts.contrast import Contrasted
    from logbook_agent.findings.criteria.evidence import Facts
    from logbook_agent.model.record import Record


# Of one comparison, in lists of negative results.
_SHOWN_NEGATIVES = 3


def read(clock: Clock, records: Records) -> Findings:
    """What a logbook amounts to as it stands now."""
    # A process may go on for days; meanwhile others change the header.
    records.reread_header()
    return Findings(records, clock.now)


class Findings:
    """The answers that view, issue, `status`, `list`, `show`, `table`, `criteria` and `tried` have in common."""

    def __init__(self, records: Records, now: Callable[[], datetime]) -> None:
        self.records = records
        self._now = now
        self._entries: dict[str, Entry] = {}
        # Those that were read for their summaries.
        self._known: dict[str, Record] = {}

    # -- the thread ------------------------------------------------------------------------------

    @cached_property
    def header(self) -> Header:
        """The header, its predicates held against the records, and judgements against the state of their evidence.
        Without predicates no record is read but that evidence."""
        header = self.records.header
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
        if id_number(evidence, self.records.header.prefix) is None:
            return None
        lost = self._lost(evidence)
        return f"rests on {evidence}, which is {lost}" if lost is not None else None

    def _facts(self) -> Facts:
        from logbook_agent.findings.cases import cases
        from logbook_agent.findings.commands import go_on
        from logbook_agent.findings.criteria.evidence import Facts, Rows

        # That something was predicted is no run of an experiment, and takes no time on a device.
        runs = [s for record in self.contents.records for s in record.runs if not only_predicts(record.entry, s.run)]
        return Facts(
            rows=Rows(cases(*(r for r in self.counting if settled(r.state)))),
            metrics=self.records.header.metrics,
            now=self._now(),
            runs=sum(status.counts for status in runs),
            hours=sum(status.run.duration_s or 0.0 for status in runs) / 3600,
            answers=self.answers,
            go_on=lambda answer: go_on(self.records, answer),
        )

    @cached_property
    def _summarised(self) -> Summaries:
        from logbook_agent.findings.summaries import summary_of

        header = self.records.header

        def summarise(record: Record) -> dict[str, Any]:
            self._known[record.id] = record
            return summary_of(record, header)

        return self.records.summaries(summarise)

    @cached_property
    def summaries(self) -> Sequence[Summary]:
        """A summary of every entry that can be read, from the index where it can be, with the answer to the comparison
        that it states; in order."""
        return [self._with_answer(s) if s["comparison"] is not None else s for s in self._summarised.entries]

    def _with_answer(self, summary: dict[str, Any]) -> Summary:
        """A summary whose result and confidence are those of the entry's comparison."""
        from logbook_agent.findings.comparison.words import line_data

        answer = self.answer_of(summary["id"])
        if answer is None or not answer.findings:
            return summary
        found = {**self._with_negatives(summary), **line_data(answer, summary["id"])}
        if summary["confidence_stated"]:
            compared = Compared(confidence=answer.confidence, reasons=answer.reasons)
            trust = trust_of(self.entry(summary["id"]), summary["runs"], compared)
            return {**found, "confidence_text": trust.text if trust is not None else None}
        text = f"{answer.confidence} (computed: {'; '.join(answer.reasons)})"
        return {**found, "confidence": answer.confidence, "confidence_text": text}

    def _with_negatives(self, summary: dict[str, Any]) -> dict[str, Any]:
        """A summary with the negative results of the entry's comparison; they stand with the latest of its entries."""
        from logbook_agent.findings.comparison.words import negatives

        answer = self.answer_of(summary["id"])
        found = negatives(answer) if answer is not None and answer.entry == summary["id"] else []
        more = [f"and {len(found) - _SHOWN_NEGATIVES} more"] if len(found) > _SHOWN_NEGATIVES else []
        shown = [summary["negative"], *map(escape, found[:_SHOWN_NEGATIVES]), *more]
        return {**summary, "negative": "; ".join(filter(None, shown)) or None}

    @property
    def unreadable(self) -> list[str]:
        """What is wrong with each of the other entries."""
        return [error.message for error in self._summarised.damaged]

    @cached_property
    def thread(self) -> Thread:
        """What the summaries say together."""
        return Thread(self.header, self.summaries)

    # -- comparisons -----------------------------------------------------------------------------

    @cached_property
    def tried_pairs(self) -> list[Tried]:
        """The pairs that each entry measured for the comparison that it states, in the order of the entries."""
        return [s["comparison"] for s in self._summarised.entries if s["comparison"] is not None]

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The answer to every comparison of the thread, in the order of the latest entry of each."""
        return self._answers(self.tried_pairs)

    def answer_of(self, entry_id: str) -> Answer | None:
        """The answer to the comparison that an entry states; None where it states none or has no pair."""
        return next((a for a in reversed(self.answers) if entry_id in a.entries), None)

    def sharing(self, entry_id: str) -> set[str]:
        """The entries that share the question of an entry, those included that go on without it."""
        return {i for a in self.answers if entry_id in (*a.entries, *a.void) for i in a.entries}

    def following(self, changed: Collection[str]) -> set[str]:
        """The entries whose answers, or the words of them, may have changed with the comparisons of these."""
        if all(one["entry"] not in changed for one in self.tried_pairs):
            return set()
        from logbook_agent.findings.comparison.scope import following

        return following(self.tried_pairs, changed, self.records.header.case_keys)

    def answer_with(self, record: Record) -> Answer | None:
        """The answer to the comparison of an entry as its record is now, with the pairs of other entries as they were
        read."""
        from logbook_agent.findings.comparison.pairs import tried

        now = tried(record)
        others = {one["entry"]: one for one in self.tried_pairs}
        if now is None:
            return None
        keys = {s["key"] for s in now["series"]} | {s["asks"] for s in now["series"]}
        others = {i: t for i, t in others.items() if any({s["key"], s["asks"]} & keys for s in t["series"])}
        order = sorted({**others, record.id: now}.items(), key=lambda item: parse_id(item[0]) or ("", 0))
        found = self._answers([one for _, one in order])
        return next((a for a in reversed(found) if record.id in a.entries), None)

    def _answers(self, pairs: Sequence[Tried]) -> tuple[Answer, ...]:
        if not pairs:
            return ()
        # Statistics are loaded for those that need them.
        from logbook_agent.findings.comparison.answers import answers
        from logbook_agent.findings.comparison.scope import placed

        header = self.records.header
        found = answers(pairs, header.metrics, self.records.remember)
        return placed(found, [*self.tried_pairs, *pairs], header.case_keys)

    @cached_property
    def tried(self) -> list[dict[str, Any]]:
        """Everything that was tried and did not work out: failures, what was marked, comparisons without a gain."""
        from logbook_agent.findings.tried.listed import without_gain

        return [item for s in self.summaries for item in s["tried"]] + without_gain(self.answers)

    @property
    def doubts(self) -> list[str]:
        """What rests on an entry that does not stand any more: the baseline, and judgements of stop criteria."""
        doubtful = [(n, doubt) for n, c in enumerate(self.records.header.stop_criteria, 1) if (doubt := self._doubt(c))]
        return self.baseline_doubts + [
            f"stop criterion {n} {doubt}: logbook criteria --met {n} --evidence ID, or --unmet, judges it again"
            for n, doubt in doubtful
        ]

    @property
    def baseline_doubts(self) -> list[str]:
        """That the baseline was measured by an entry that does not count any more; nothing where it does."""
        entry_id = self.records.header.baseline.entry if self.records.header.baseline is not None else None
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

    # -- records ---------------------------------------------------------------------------------

    @cached_property
    def contents(self) -> Contents:
        """All records. Their entries are not read again."""
        found = self.records.contents(self._known)
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
        text = self.records.read_view()
        if text is None or marked.has_conflict(text):
            return []
        return [block.name for block in marked.parse(text, []).values() if block.edited(text)]

    @cached_property
    def listed(self) -> Thread:
        """The decisions and negative results of the thread. Only comparisons need more than the files of entries."""
        said = [(entry, said_by(entry)) for entry in self._mentions.entries()]
        return Thread(
            self.records.header,
            [self._with_negatives(one) if entry.comparison is not None else one for entry, one in said],
        )

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

    def keepers(self, entry_id: str) -> list[str]:
        """The entries that keep a comparison with the rows of this one."""
        try:
            return self._mentions.keepers(self.entry(entry_id))
        except StoreError:
            return []  # its damage is told where it is rendered

    def contrasts(self, entry: Entry) -> list[Contrasted]:
        """The rows that an entry shows beside each other, with the entries that do not count."""
        if not entry.contrasts:
            return []
        from logbook_agent.findings.contrasts.contrast import kept

        lost = {e: self._uncounted(e) for c in entry.contrasts for e in c.entries if e != entry.id}
        return [
            dataclasses.replace(one, uncounted=tuple(f"{e} is {lost[e]}" for e in one.asked.entries if lost.get(e)))
            for one in kept(self.records, entry)
        ]

    def compared(self, entry: Entry) -> Compared:
        """What the comparison and the contrasts of an entry say, and how far its answer is borne out."""
        answer = self.answer_of(entry.id) if entry.comparison is not None else None
        lines: list[str] = []
        result = None
        if answer is not None:
            from logbook_agent.findings.comparison.words import entry_lines, headline

            lines += entry_lines(answer, entry.id)
            result = headline(answer, entry.id) if answer.findings else None
        if entry.contrasts:
            from logbook_agent.findings.contrasts.contrast import markdown

            lines += [markdown(one, entry.id) for one in self.contrasts(entry)]
        if answer is None:
            return Compared(lines=tuple(lines))
        return Compared(lines=tuple(lines), result=result, confidence=answer.confidence, reasons=answer.reasons)
