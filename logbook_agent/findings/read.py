"""One reading of a logbook: all answers from its records, which every command, page and issue formats.

A part is made when it is asked for, at most once, from the book and its index. What was read stays as it was read:
after a change a logbook is read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from msgspec import structs

from logbook_agent.findings.advice import ab_more, addressed, needed_setup, with_setup
from logbook_agent.findings.attempts import FAILURE, discards, failed_sides, without_gain
from logbook_agent.findings.best import best_reported
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.answer_lines import failures as failed_pairs
from logbook_agent.findings.comparisons import Comparisons
from logbook_agent.findings.open_steps import has_command, next_step, unmet
from logbook_agent.findings.opening import (
    NO_ANSWERS,
    Opening,
    best_of,
    best_text,
    failures,
    in_words,
    nothing_settled,
    reported_text,
)
from logbook_agent.findings.protocol import Clock, Records, TypingPlace
from logbook_agent.findings.summaries import summary_of
from logbook_agent.findings.synopses import Synopsis, asked_again, of_comparisons, without_code
from logbook_agent.findings.thread import Standing, Thread, discarded_by, said_by, standings
from logbook_agent.model.codec import decode
from logbook_agent.model.comparison import Comparison
from logbook_agent.model.entry import Entry, id_number
from logbook_agent.model.errors import StoreError
from logbook_agent.model.gates import fails
from logbook_agent.model.header import NO_BUDGET, Criterion, Header
from logbook_agent.model.record import Contents, Record, Summaries, spent
from logbook_agent.model.summary import Summary, TriedItem
from logbook_agent.text.markdown import escape
from logbook_agent.text.phrases import counted

_UNKNOWN = TypingPlace()
# What is found in records without the words of people.
_WITHOUT_WORDS = ("header", "_standings", "_answers", "comparisons", "contents", "counting", "_known", "_entries")


def read(clock: Clock, records: Records, naming: Sequence[str] = (), here: TypingPlace = _UNKNOWN) -> Findings:
    """The findings of a logbook as it is now. `naming`: what names this logbook in commands that need it; `here` is
    where they are typed."""
    # A process may go on for days; meanwhile others change the header.
    records.reread_header()
    return Findings(records.outgoing(), clock.now, naming, here)


class Findings:
    """The answers that view, issue, `status`, `list`, `show`, `table` and `criteria` have in common. Secrets
    are taken out of what they say."""

    def __init__(
        self,
        records: Records,
        now: Callable[[], datetime],
        naming: Sequence[str] = (),
        here: TypingPlace = _UNKNOWN,
    ) -> None:
        self.records = records
        self.naming = naming
        self.here = here
        self._now = now
        self._entries: dict[str, Entry] = {}
        # Those that were read for their summaries.
        self._known: dict[str, Record] = {}

    def saying(self, fill: Callable[[str], str]) -> Findings:
        """The same findings, with the words of people as `fill` shows them."""
        other, entries = Findings(self.records, self._now, self.naming, self.here), self._summarised.entries
        vars(other).update({name: vars(self)[name] for name in _WITHOUT_WORDS if name in vars(self)})
        said = (_filled({**s, "comparison": None}, fill) | {"comparison": s["comparison"]} for s in entries)
        other._summarised = structs.replace(self._summarised, entries=tuple(said))
        return other

    # -- the thread ------------------------------------------------------------------------------

    @cached_property
    def header(self) -> Header:
        """The header with the state of its criteria. Without predicates, no record but the evidence of judgements is
        read."""
        header = self.records.header
        criteria = tuple(structs.replace(c, doubt=self._doubt(c)) for c in header.stop_criteria)
        if header.has_predicates:
            from logbook_agent.findings.criteria.evaluate import checked  # for those who have some
            from logbook_agent.findings.criteria.evidence import facts_of

            answers = [a for a in self.comparisons.answers if self._standings[a.entry].withdrawn is None]
            facts = facts_of(self.records, self.contents.records, self.counting, answers, self._now(), self.here)
            found = (checked(number, criterion, facts) for number, criterion in enumerate(criteria, 1))
            criteria = tuple(map(self._addressed_criterion, found))
        return structs.replace(header, stop_criteria=criteria)

    def _addressed_criterion(self, criterion: Criterion) -> Criterion:
        computed = criterion.computed
        if computed is None:
            return criterion
        command = self.typed(computed.command)
        return structs.replace(criterion, computed=structs.replace(computed, command=command))

    @property
    def budget(self) -> str:
        """`budget: 2 of 2 runs spent`; empty where none is stated."""
        limits = self.records.header.limits
        return "" if limits == NO_BUDGET else f"budget: {limits.text(*spent(self.contents.records, self._now()))}"

    def typed(self, command: str) -> str:
        """A command as it is typed here; empty for one that makes runs where the budget allows none."""
        limits = self.records.header.limits
        makes_runs = command.split()[1:2] in (["ab"], ["run"], ["sweep"])
        is_spent = makes_runs and limits != NO_BUDGET and limits.is_spent(*spent(self.contents.records, self._now()))
        return "" if is_spent else addressed(command, self.naming)

    def _doubt(self, criterion: Criterion) -> str | None:
        """Why the judgement of a criterion is in doubt: its evidence is withdrawn; None where it is not."""
        evidence = criterion.judgement.evidence if criterion.judgement is not None else ""
        if id_number(evidence, self.records.header.prefix) is None:
            return None
        standing = self._standings.get(evidence)
        lost = standing.why if standing is not None and standing.is_lost else self._gone(evidence)
        return f"rests on {evidence}, which is {lost}" if lost else None

    def _gone(self, entry_id: str) -> str:
        """The text that an entry is no longer there; empty where it is, also where it cannot be read."""
        return "" if entry_id in self._standings or entry_id in self.order else "no longer there"

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
        # What an answer says in the place of a result includes the decision.
        return [self._with_decision(s) if (said := self.comparisons.in_summary(s)) is s else said for s in found]

    def _with_doubt(self, summary: Summary) -> Summary:
        """A summary; that of a decision to keep code whose comparison has lost its answer says so."""
        decided = summary["decides"]
        answer = self.comparisons.answer_of(decided) if decided is not None and summary["kept"] else None
        if answer is None or not answer.is_lost:
            return summary
        doubt = f"in doubt: {decided} has no answer now, as {'; '.join(map(escape, failed_pairs(answer)))}"
        return {**summary, "decision": "; ".join(filter(None, (summary["decision"], doubt)))}

    def _with_decision(self, summary: Summary) -> Summary:
        summary = self._with_doubt(summary)
        by = self.discarded.get(summary["id"])
        return (
            {**summary, "result": "; ".join(filter(None, (f"discarded by {by}", summary["result"])))} if by else summary
        )

    @cached_property
    def discarded(self) -> dict[str, str]:
        """The entries that somebody discarded, with the decision that says so."""
        return discarded_by(self._summarised.entries)

    @cached_property
    def _standings(self) -> dict[str, Standing]:
        """The standing of every entry."""
        return standings(self._summarised.entries)

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
    def _answers(self) -> list[Answer]:
        """The answer that each entry has by itself to the comparison that it states, in the order of the entries."""
        return [decode(Answer, s["comparison"]) for s in self._summarised.entries if s["comparison"] is not None]

    @property
    def states_comparisons(self) -> bool:
        """Whether an entry states a comparison."""
        return bool(self._answers)

    @cached_property
    def comparisons(self) -> Comparisons:
        """The comparisons of the thread, with their answers."""
        return Comparisons(self._answers, self.records.header, self.discarded)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """What the comparisons of the thread found, but for those that somebody took back or discarded."""
        answers = self.comparisons.answers if self.states_comparisons else ()
        return tuple(answer for answer in answers if not self._standings[answer.entry].is_lost)

    @cached_property
    def answered(self) -> Opening:
        """The opening of a thread that states comparisons, without what people wrote: the part that needs no record
        but those of its comparisons."""
        return self._opening() if any(not one.is_failed for one in self.synopses) else NO_ANSWERS

    @cached_property
    def synopses(self) -> tuple[Synopsis, ...]:
        """The comparisons in a sentence each. The state of the criteria, which takes all records, is not needed."""
        thread = Thread(self.records.header, self.summaries)
        given = self.records, thread, self.comparisons.answers, self._now(), self.here
        found = of_comparisons(*given) if self.answers else ()
        return tuple(map(self._within_budget, self._with_code(found)))

    def _with_code(self, found: Sequence[Synopsis]) -> list[Synopsis]:
        """Synopses; of one whose pairs nobody can add to, as its code is gone from the repository or was not kept as it
        ran, that is said; the command of one that needs a setup on the code as it is now has a place for it."""
        of = {
            s.entry: self.entry(s.entry).comparison for s in found if ab_more(s.entry) in f"{s.command} {s.replicate}"
        }
        code = {entry: {c.commit for c in stated.code.values() if c.commit} for entry, stated in of.items() if stated}
        gone = {*self.here.gone({commit for own in code.values() for commit in own})} if code else set()
        return [self._with_setup(without_code(s, of.get(s.entry), gone, self.here), of.get(s.entry)) for s in found]

    def _with_setup(self, one: Synopsis, stated: Comparison | None) -> Synopsis:
        if stated is None or not needed_setup(stated) or not self.here.another(stated, stated.question.base):
            return one
        command, replicate = (text and with_setup(text) for text in (one.command, one.replicate))
        return structs.replace(one, command=command, replicate=replicate)

    def _within_budget(self, one: Synopsis) -> Synopsis:
        """A synopsis; of a command that makes more runs than the budget leaves, that says so."""
        most, answer = self.records.header.limits.runs, self.comparisons.answer_of(one.entry)
        if most is None or answer is None or not one.command:
            return one
        left = most - spent(self.contents.records, self._now())[0]
        if not 0 < left < one.pairs * len(answer.question.values):
            return one
        return structs.replace(one, why=f"{one.why}; the budget leaves {counted(left, 'run')}")

    def _opening(self) -> Opening:
        """What comparisons say, with what was asked, what failed, and what comes next."""
        header, thread, answers = self.records.header, self.thread, self.synopses
        stated = {s["id"]: s["negative"] for s in self._summarised.entries}
        asked = [a for a in self.comparisons.answers if self.states_comparisons and not a.is_void]
        told = {one.entry for one in answers if one.is_settled} | asked_again(
            asked, {entry: s["title"] for entry, s in thread.by_id.items()}
        )
        failed, negative = failures(thread, stated, told)
        next_of, step = next_step(thread, answers)
        return Opening(
            asked=header.goal or header.title,
            answers=answers,
            negative=negative,
            failed=failed,
            next_of=next_of,
            next=step,
        )

    @cached_property
    def opening(self) -> Opening:
        """The first lines of the thread, which every reader begins with."""
        found, thread = self.answered if self.answered.answers else self._opening(), self.thread
        not_settled, command, best = "", "", None
        if not found.found:
            retried = {one.entry for one in found.answers if one.is_failed}
            asked = [a for a in self.answers if a.failure is None or a.entry in retried]
            is_open = bool(found.left) or any(a.pairs for a in asked)
            is_discarded = any(a.is_discarded and a.pairs for a in self.comparisons.answers)
            given = self.records, thread, asked, self.here
            not_settled, command = nothing_settled(*given, is_open=is_open, is_discarded=is_discarded)
            # A help is no advice where a whole command stands.
            is_help = command.endswith(" --help")
            command = "" if is_help and any(map(has_command, unmet(thread.header))) else command
            best = best_of(thread, self.answers)
        reported = [reported_text(one) for one in best_reported(thread)[:1]]
        return structs.replace(
            found,
            not_settled=not_settled,
            command=self.typed(command),
            in_words=in_words(thread, self.answers, best),
            best="" if found.found or found.left else best_text(best) if best is not None else "".join(reported),
        )

    @property
    def tried(self) -> list[TriedItem]:
        """Everything that was tried and did not work out: failures, marked and discarded entries, comparisons without a
        gain. Each entry is there once for each reason."""
        found, answers = [item for s in self.summaries for item in s["tried"]], self.comparisons.answers
        failed = {item["entry"] for item in found if item["kind"] == FAILURE}
        found += [item for item in failed_sides(answers, self.summaries) if item["entry"] not in failed]
        return [*found, *without_gain(answers), *discards(self.summaries, self.discarded)]

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
        baseline = self.records.header.baseline
        if baseline is None or baseline.entry is None:
            return []
        standing = self._standings.get(baseline.entry, Standing())
        lost = standing.why or self._gone(baseline.entry) or self._baseline_failed(baseline.entry, baseline.runs)
        text = f"the baseline is {baseline.entry}, which is {lost}; move it by --entry: logbook baseline --help"
        return [text] if lost else []

    def _baseline_failed(self, entry_id: str, numbers: Sequence[int]) -> str:
        """Why no row of the baseline's runs counts; empty where one does."""
        try:
            runs = [s.run for s in self.records.record(entry_id).runs if not numbers or s.run.run in numbers]
        except StoreError:
            return ""
        failures = [fails(run) for run in runs if run.rows]
        return f"no measurement that counts: {failures[0]}" if failures and all(failures) else ""

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
        return [r for r in self.contents.records if self.standing(r.entry).counts]

    @cached_property
    def listed(self) -> Thread:
        """The decisions and negative results below a view, in full."""
        found: list[Summary] = []
        for summary in self._summarised.entries:
            if summary["decision"] is not None or summary["negative"] or summary["comparison"] is not None:
                summary = {**summary, **said_by(self.entry(summary["id"])), "state": summary["state"]}
                summary["negative"] = self.comparisons.negative_of(summary)
            found.append(self._with_doubt(summary))
        return Thread(self.records.header, found)

    # -- one entry -------------------------------------------------------------------------------

    @cached_property
    def order(self) -> list[str]:
        """The IDs of all entries."""
        return self.records.entry_ids()

    def record(self, entry_id: str) -> Record:
        """An entry with its runs, read once where its summary was made. Raises NotFound and StoreError."""
        return self._known.get(entry_id) or self.records.record(entry_id)

    def entry(self, entry_id: str) -> Entry:
        """One entry. Raises NotFound and StoreError."""
        if entry_id not in self._entries:
            self._entries[entry_id] = self.records.entry(entry_id)
        return self._entries[entry_id]

    def standing(self, entry: Entry) -> Standing:
        """Whether an entry counts, and which later ones complete or supersede it."""
        return self._standings.get(entry.id, Standing())

    def later(self, entry_id: str) -> dict[str, list[str]]:
        """The entries that complete or supersede this one, where there are some: from summaries alone."""
        return self._standings.get(entry_id, Standing()).later

    def answer_of(self, entry: Entry) -> Answer | None:
        """The answer to the comparison that an entry states; None where it states none."""
        return self.comparisons.answer_of(entry.id) if entry.comparison is not None else None


def _filled(value: Any, fill: Callable[[str], str]) -> Any:
    """Plain data with each text as `fill` shows it."""
    match value:
        case str():
            return fill(value)
        case list():
            return [_filled(one, fill) for one in value]
        case dict():
            return {name: _filled(one, fill) for name, one in value.items()}
    return value
