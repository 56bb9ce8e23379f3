"""The comparisons of a thread: their answers, what these add to an entry, and what to type where nothing is settled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from logbook_agent.findings.advice import command_in, go_on
from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer, EntryPairs, Finding
from logbook_agent.findings.comparison.answers import answers, following, placed, settled, unsettled
from logbook_agent.findings.comparison.pairs import tried
from logbook_agent.findings.contrast import kept, settle_varied
from logbook_agent.findings.protocol import Records
from logbook_agent.findings.thread import Thread
from logbook_agent.findings.trust import Compared, Trust
from logbook_agent.model.comparison import CODE_AXIS
from logbook_agent.model.entry import VOID, Contrast, entry_of, parse_id
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record
from logbook_agent.model.summary import SaidByEntry, Summary
from logbook_agent.model.values import canonical
from logbook_agent.text.lists import axis_option
from logbook_agent.text.markdown import escape
from logbook_agent.text.phrases import bounded
from logbook_agent.text.shell_words import assignments

# Of one comparison, in lists of negative results.
_SHOWN_NEGATIVES = 3


# So many sentences are shown where there is room for few.
SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A finding of a comparison in one sentence (`text`), with its entry. Of an open one `to_settle` says what would
    settle it, and the first one of a comparison has the `command` to type for that."""

    entry: str
    title: str
    text: str
    outcome: str
    metric: str = ""
    side: str = ""
    case: str = ""
    is_goal: bool = True
    confidence: str = "exploratory"
    to_settle: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The first lines of a thread. `not_settled` says that nothing is settled, or was compared, and `command` what to
    type to compare something; both are empty where something is settled. `next` is the latest next action, of the entry
    `next_of`."""

    asked: str
    settled: tuple[Line, ...] = ()
    open: tuple[Line, ...] = ()
    not_settled: str = ""
    command: str = ""
    next_of: str = ""
    next: str = ""


# Of a thread whose entries state no comparison.
NO_ANSWERS = Opening(asked="")


class Comparisons:
    """The answers to the comparisons of a thread, from the `pairs` that each entry measured. `remember` keeps what the
    rule finds of a question."""

    def __init__(
        self, pairs: Sequence[EntryPairs], header: Header, remember: Callable[[str, str, Callable[[], str]], str]
    ) -> None:
        self._pairs, self._header, self._remember = pairs, header, remember

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The answer to every comparison, in the order of the latest entry of each."""
        return self._answers(self._pairs)

    def _answers(self, pairs: Sequence[EntryPairs]) -> tuple[Answer, ...]:
        found = answers(pairs, self._header.metrics, self._remember)
        return placed(found, [*self._pairs, *pairs], self._header.case_keys)

    def answer_of(self, entry_id: str) -> Answer | None:
        """The answer to the comparison that an entry states; None where it has no pair."""
        return next((a for a in reversed(self.answers) if entry_id in a.entries), None)

    def answer_with(self, record: Record) -> Answer | None:
        """The answer to the comparison of an entry as its record is now, with the pairs of other entries as they were
        read; None where it has no pair."""
        now = tried(record)
        if now is None:
            return None
        keys = {key for s in now.series for key in (s.key, s.asks)}
        others = {t.entry: t for t in self._pairs if any({s.key, s.asks} & keys for s in t.series)}
        order = sorted({**others, record.id: now}.items(), key=lambda item: parse_id(item[0]) or ("", 0))
        found = self._answers([one for _, one in order])
        return next((a for a in reversed(found) if record.id in a.entries), None)

    def following(self, changed: Collection[str]) -> set[str]:
        """The entries whose answers or sentences may change with the comparisons of the `changed` ones."""
        if all(one.entry not in changed for one in self._pairs):
            return set()
        return following(self._pairs, changed, self._header.case_keys)

    def sharing(self, entry_id: str) -> set[str]:
        """The entries that share the question of an entry, or that continue it without this one."""
        return {i for a in self.answers if entry_id in (*a.entries, *a.void) for i in a.entries}

    # -- what is said of an entry ------------------------------------------------------------------

    def compared(self, entry_id: str) -> Compared:
        """The lines, headline and confidence that its comparison gives to an entry."""
        answer = self.answer_of(entry_id)
        if answer is None:
            return Compared()
        return Compared(
            lines=tuple(words.entry_lines(answer, entry_id)),
            result=words.headline(answer, entry_id) if answer.findings else None,
            confidence=answer.confidence,
            reasons=answer.reasons,
        )

    def data(self, entry_id: str) -> dict[str, object] | None:
        """The answer to the comparison of an entry as plain data, and which later entry continues its question."""
        answer = self.answer_of(entry_id)
        return None if answer is None else {**words.data(answer), "continued_in": answer.continued_in(entry_id)}

    def in_summary(self, summary: Summary) -> Summary:
        """A summary whose result and confidence are those of the entry's comparison."""
        answer = self.answer_of(summary["id"])
        if answer is None or not answer.findings:
            return summary
        trust = Trust(computed=answer.confidence, reasons=answer.reasons, **summary["stated"])
        return {
            **summary,
            "negative": self.negative_of(summary),
            **words.line_data(answer, summary["id"]),
            "confidence": trust.word,
            "confidence_text": trust.text,
        }

    def negative_of(self, said: SaidByEntry) -> str | None:
        """The negative results of an entry, with those of its comparison if it is the latest that has its question."""
        answer = self.answer_of(said["id"])
        is_latest = answer is not None and answer.entry == said["id"]
        found = [escape(words.sentence(answer, f)) for f in answer.without_gain] if answer and is_latest else []
        shown = [said["negative"], *bounded(found, _SHOWN_NEGATIVES)]
        return "; ".join(filter(None, shown)) or None

    def first_lines(self, records: Records, titles: Mapping[str, str]) -> Opening:
        """The settled and the open findings of a thread, with the commands that would settle them. `titles` are those
        of the entries."""
        # Pairs that an entry made first, under other conditions, are not what its next pairs go on with.
        open_ones = [(a, f) for a, f in unsettled(self.answers) if self.answer_of(a.entry) is a]
        # The command stands once for each comparison; more pairs measure nothing of what no run reports.
        first = {id(answer): finding for answer, finding in reversed(open_ones)}
        metrics = [m.name for m in self._header.metrics]
        return Opening(
            asked="",
            settled=tuple(_line(a, f, titles) for a, f in settled(self.answers, metrics)),
            open=tuple(
                _line(a, f, titles, go_on(records, a) if f.lacks_pairs and first[id(a)] is f else "")
                for a, f in open_ones
            ),
        )


def _line(answer: Answer, finding: Finding, titles: Mapping[str, str], command: str = "") -> Line:
    return Line(
        entry=answer.entry,
        title=titles[answer.entry],
        text=words.sentence(answer, finding),
        outcome=finding.outcome.value,
        metric=finding.metric,
        side=words.label(answer, finding.side),
        case=assignments(finding.case),
        is_goal=not finding.is_guard,
        confidence=answer.confidence,
        to_settle=finding.to_settle,
        command=command,
    )


# -- which comparison answers a question ------------------------------------------------------------------


def designed(answers: Sequence[Answer], records: Records, asked: Contrast) -> Answer | None:
    """The answer of the comparison that holds the sides of a contrast, with the metrics and cases that are asked for;
    None where no comparison does. Its base is the one that the comparison states."""
    if any(records.entry(entry).comparison is None for entry in asked.entries):
        return None
    own = {entry: records.record(entry) for entry in asked.entries}
    for answer in reversed(answers):
        if {*asked.entries} <= {*answer.entries} and _is_about(answer, asked) and _holds(asked, own):
            found = tuple(
                f
                for f in answer.findings
                if (not asked.metrics or f.metric in asked.metrics)
                and all(canonical(f.case.get(k)) == canonical(v) for k, v in asked.where.items())
            )
            if {*asked.metrics} <= {f.metric for f in found} and (found or not asked.where):
                return replace(answer, findings=found)
    return None


def _is_about(answer: Answer, asked: Contrast) -> bool:
    """Whether an answer is about the axis of a contrast, and has its base."""
    question, base = answer.question, asked.base_value
    if asked.axis not in (None, question.axis) and (asked.axis, question.axis) != ("commit", CODE_AXIS):
        return False
    names = question.values if len(question.sides) == 1 else (question.base,)
    return base is None or base in names or canonical(base) in names


def _holds(asked: Contrast, records: Mapping[str, Record]) -> bool:
    """Whether the runs that a contrast names, if any, are runs of the comparison, of different sides."""
    sides: list[set[str]] = []
    for reference in asked.references:
        record = records[entry_of(reference)]
        rest = reference[len(record.id) :]
        of = [
            s.run for s in record.runs if rest in ("", f"/{s.run.run}", f":{s.run.label}") and s.run.rows and s.counts
        ]
        if rest and not all(run.part for run in of):
            return False
        sides.append({run.part.side for run in of if run.part})
    if all(reference in records for reference in asked.references):
        return True
    if asked.axis is None and len(sides) == 2:
        return sides[0].isdisjoint(sides[1]) and all(sides)
    return len(set().union(*sides)) > 1


# Of entries with several rows, where a command is looked for.
_LOOKED_AT = 3


def nothing_settled(
    records: Records, thread: Thread, answers: Sequence[Answer], unsettled: Sequence[Line]
) -> tuple[str, str]:
    """Why nothing is settled, and the command that compares something."""
    if unsettled:
        return "No comparison is settled yet.", ""
    stated = [a for a in answers if thread.by_id[a.entry]["state"] != VOID]
    if stated:
        why = f"No comparison is settled yet: {stated[-1].entry} has no pair that counts."
        return why, go_on(records, stated[-1])
    counted = thread.counted
    if any(s["rows"] for s in counted):
        why = "No comparison was made: the runs here are numbers alone, which settle nothing."
    elif any(s["predicted"] for s in counted):
        why = "Nothing was measured: every number here is a prediction."
    else:
        why = "Nothing was measured yet."
    return why, _first_comparison(records, thread)


def _first_comparison(records: Records, thread: Thread) -> str:
    """The command that makes a first comparison: of the latest rows that differ in one key, else of an axis of the
    matrix."""
    latest = [s for s in reversed(thread.counted) if s["contrasts"] or s["rows"] > 1]
    shown = (one.settle for s in latest if s["contrasts"] for one in kept(records, records.entry(s["id"]), {}))
    varied = (settle_varied(records, s["id"]) for s in latest[:_LOOKED_AT])
    axes = [axis_option(axis.axis, axis.values) for axis in thread.header.matrix if len(axis.values) > 1]
    otherwise = f"logbook ab {axes[0] if axes else '--axis NAME=A,B'} -- COMMAND"
    return next((text for settle in chain(shown, varied) if (text := command_in(settle))), otherwise)
