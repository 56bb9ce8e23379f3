"""The first lines of a thread, which every reader begins with: what was asked, what was found and how sure that is,
what is open and what would settle it, what failed, what comes next."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from logbook_agent.findings.advice import Continuation, ab_afresh, ab_like, go_on, other_evaluator, replicate, show
from logbook_agent.findings.attempts import FAILURE, outcome_text
from logbook_agent.findings.best import BestCase, ReportedBest, bests, choices
from logbook_agent.findings.cases import cases, counting
from logbook_agent.findings.comparison.answer import Answer, Lacks, Outcome
from logbook_agent.findings.comparison.answers import needed, settled, unsettled
from logbook_agent.findings.comparison.synopsis import outcome, synopsis, why_open
from logbook_agent.findings.comparison.words import asked, is_practical, subject
from logbook_agent.findings.protocol import Records
from logbook_agent.findings.tables.frame import Item, frame_of, groups
from logbook_agent.findings.tables.frame import show as show_value
from logbook_agent.findings.thread import ENDED_BADLY, Thread
from logbook_agent.model.comparison import CODE_AXIS, Comparison, code_hash, code_name
from logbook_agent.model.entry import ABANDONED, VOID
from logbook_agent.model.gates import GATE, WITHHELD
from logbook_agent.model.record import GOING
from logbook_agent.model.summary import Summary
from logbook_agent.model.units import with_unit
from logbook_agent.model.values import varied
from logbook_agent.text.markdown import escape
from logbook_agent.text.phrases import counted, listed
from logbook_agent.text.shell_words import assignments

# So many sentences are shown where there is room for few.
SHOWN = 12
# And of what failed so many.
SHOWN_FAILED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Synopsis:
    """A comparison in one sentence (`text`), with its latest entry. Where a goal is open, `why` says why and what it
    needs, `lacks` the kind of that (`Continuation.lacks`), and `command` what to type for it, which adds up to so many
    `pairs`.
    `is_hopeless`: no practical number of pairs would settle it. `replicate`: what to type for a second sitting, where
    one settled all."""

    entry: str
    title: str
    text: str
    outcome: str
    is_settled: bool
    lacks: str = ""
    confidence: str = "exploratory"
    why: str = ""
    command: str = ""
    pairs: int = 0
    is_hopeless: bool = False
    replicate: str = ""

    @property
    def is_bold(self) -> bool:
        """Whether no goal is open, so that readers show the sentence in bold."""
        return self.is_settled and not self.why

    @property
    def to_add(self) -> str:
        """What the command does: `To add up to 8 pairs`."""
        return f"To {does(self.lacks, self.pairs)}"


def does(lacks: str, pairs: int) -> str:
    """What a command does for a comparison that lacks something."""
    if lacks == "entry":
        return f"ask it again, by up to {counted(pairs, 'pair')} of a new entry"
    return _DOES.get(lacks) or f"add up to {counted(pairs, 'pair')}"


_DOES = {
    "decision": "have it the same on both sides",
    "side": "measure with the other side's files",
    "run": "ask it again once what failed is mended",
    "commit": "see how the commit failed",
    "report": "see what its command prints",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InWords:
    """What a person wrote about the findings, as Markdown: a `conclusion` or `summary` of the thread, or the `decision`
    or `interpretation` of an `entry`. `before` names the comparisons that have newer runs."""

    kind: str
    text: str
    entry: str = ""
    before: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """Who says it, and whether results came after."""
        return f"written before the result of {listed(self.before, 2)}" if self.before else "in its author's words"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """An entry with a negative result, or whose runs failed: that result as Markdown, or how it failed."""

    entry: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The first lines of a thread. `answers` hold a sentence for each comparison: the settled ones in the header's
    order of metrics, then the open ones, the nearest to an answer first.

    `not_settled` says that nothing is settled, or was compared, and `command` what to type to compare something; both
    are empty where something is settled. `in_words` is what people wrote; `best` the best case, where nothing was
    compared and there was a choice. `failed` are the entries with runs that failed, `negative` the others that state a
    negative result; both have the latest first. `retries` are the comparisons without a pair that counts, as a side
    failed. `next` is the latest next action, of the entry `next_of`."""

    asked: str
    answers: tuple[Synopsis, ...] = ()
    not_settled: str = ""
    command: str = ""
    in_words: tuple[InWords, ...] = ()
    best: str = ""
    negative: tuple[Failed, ...] = ()
    failed: tuple[Failed, ...] = ()
    retries: tuple[Synopsis, ...] = ()
    next_of: str = ""
    next: str = ""

    @property
    def found(self) -> tuple[Synopsis, ...]:
        """The comparisons that settled something."""
        return tuple(one for one in self.answers if one.is_settled)

    @property
    def left(self) -> tuple[Synopsis, ...]:
        """The comparisons that settled nothing."""
        return tuple(one for one in self.answers if not one.is_settled)


# Of a thread whose entries state no comparison.
NO_ANSWERS = Opening(asked="")


# -- comparisons -------------------------------------------------------------------------------------------


def of_comparisons(records: Records, thread: Thread, answers: Sequence[Answer], now: datetime) -> tuple[Synopsis, ...]:
    """What the comparisons of a thread settled and left open, with the commands that would settle the rest. Of those
    that somebody took back or discarded, nothing is said."""
    left = [a for a in answers if not thread.standing[a.entry].is_lost]
    again = {e: a for a in answers if thread.standing[a.entry].withdrawn is None for e in a.earlier}
    # What an earlier entry left open is over once it was answered of other code, or discarded there.
    answered = {e for e, a in again.items() if a.is_settled and _is_other_code(records, a.entry, e)}
    over = answered | {e for e, a in again.items() if thread.standing[a.entry].discarded_by is not None}
    open_ones = unsettled([a for a in left if a.entry not in over])
    found = settled(left, [m.name for m in thread.header.metrics])
    in_order = {id(a): a for a, _ in (*found, *open_ones)}
    codes = {_codes(a) for a in answers}
    made = (_synopsis(records, thread, a, now, codes, again) for a in in_order.values())
    # `Opening.failed` has those that failed in each pair.
    return tuple(
        one for one in made if one.command or one.lacks != "side" or thread.by_id[one.entry]["state"] != "failed"
    )


def _is_other_code(records: Records, entry_id: str, other_id: str) -> bool:
    """Whether two entries that ask the same state other code."""
    stated = [records.entry(one).comparison for one in (entry_id, other_id)]
    first, second = ([code.mark for code in one.code.values()] if one is not None else [] for one in stated)
    return bool(first and second) and first != second


def _codes(answer: Answer) -> tuple[str, ...]:
    """The codes that an answer compares, by their hashes; the values of another axis."""
    q = answer.question
    return (q.axis, *map(code_hash, q.values)) if q.axis == CODE_AXIS else (q.axis, *q.values)


def _synopsis(
    records: Records,
    thread: Thread,
    answer: Answer,
    now: datetime,
    asked: Container[tuple[str, ...]],
    again: Mapping[str, Answer],
) -> Synopsis:
    """The synopsis of a comparison, beside those that were `asked`: the codes of each. Nothing more is made for what
    somebody decided, or a later entry asks `again`: its decision is the question's."""
    later = again.get(answer.entry)
    is_over = later is not None or thread.is_given_up(answer.entry)
    lacks, stated = needed(answer), records.entry(answer.entry).comparison
    is_kept = bool(thread.standing[answer.entry].kept_by) and any(f.outcome is Outcome.BETTER for f in answer.goals)
    way = go_on(records, answer) if lacks is not None and not is_over else Continuation()
    if lacks == Lacks("side", name=answer.question.base) and stated is not None and not is_over:
        axis, *codes = _codes(answer)
        turned = other_evaluator(answer.entry, stated) if (axis, *reversed(codes)) not in asked else ""
        way = Continuation(command=turned, lacks="side")
    elif answer.is_lost:
        # `Opening.retries` has those of which a side failed in each pair.
        way = Continuation(lacks=lacks.what if lacks is not None else "")
    why = f"{later.entry} asks it again" if later is not None and lacks is not None else why_open(answer)
    if answer.stopped and way.command:
        why = "; ".join(filter(None, [_how(answer, way), why]))
    return Synopsis(
        entry=answer.entry,
        title=thread.by_id[answer.entry]["title"],
        text=synopsis(answer),
        outcome=outcome(answer),
        is_settled=any(f.is_found for f in answer.findings),
        lacks=way.lacks or (lacks.what if lacks is not None else ""),
        confidence=answer.confidence,
        why=why,
        command=way.command,
        pairs=way.pairs if way.command else 0,
        is_hopeless=any(f.lacks_pairs for f in answer.goals) and not (is_over or any(map(is_practical, answer.goals))),
        # What was kept is worth a second sitting; what was decided otherwise is not.
        replicate=replicate(records, answer, now) if not is_over or (is_kept and later is None) else "",
    )


def without_code(one: Synopsis, stated: Comparison | None, gone: Collection[str]) -> Synopsis:
    """The synopsis of a comparison of which some commits are `gone`: it can be asked again, of the code as it is now,
    unless code is what it compares."""
    again = one.command if stated is not None and stated.question.axis != CODE_AXIS else ""
    why = f"this clone lacks {listed([commit[:9] for commit in sorted(gone)], 2)}, so no pair of that code can be made"
    return replace(
        one,
        why="; ".join(filter(None, [one.why, why])) if one.command else one.why,
        command=again and ab_afresh(one.entry, one.pairs, new=False),
        replicate="",
    )


def retries(
    records: Records, thread: Thread, answers: Sequence[Answer], commands: Container[str] = ()
) -> tuple[Synopsis, ...]:
    """The comparisons of which no pair counts because a side failed, the latest first, each with what to type once the
    cause is mended. Those that have `commands`, that somebody decided, or that a later entry asks again are left
    out."""
    found, later = list[Synopsis](), list[Comparison]()
    for a in reversed(answers):
        stated = records.entry(a.entry).comparison
        is_left = thread.by_id[a.entry]["state"] not in GOING and not thread.is_given_up(a.entry)
        is_left = is_left and a.failure is not None and a.entry not in commands
        if stated is not None and is_left and not any(_asks_again(other, stated) for other in later):
            way = go_on(records, a)
            found.append(
                Synopsis(
                    entry=a.entry,
                    title=thread.by_id[a.entry]["title"],
                    text=asked(a),
                    outcome="open",
                    is_settled=False,
                    lacks=way.lacks,
                    why=_how(a, way),
                    command=way.command,
                )
            )
        later += [stated] if stated is not None and thread.standing[a.entry].withdrawn is None else []
    return tuple(found)


def _how(answer: Answer, way: Continuation) -> str:
    """How a comparison failed, and what to do before it goes on."""
    failed = f"{subject(answer, answer.failure[0])} failed: {answer.failure[1]}" if answer.failure is not None else ""
    return "; ".join(filter(None, [failed, way.first]))


def _asks_again(later: Comparison, earlier: Comparison) -> bool:
    """Whether a later comparison asks what an earlier one did, by the same command, of any code."""
    one, other = later.question, earlier.question
    names = [[*map(code_name, q.values)] if q.axis == CODE_AXIS else [*q.values] for q in (one, other)]
    argv = [c.run.argv if c.run is not None else None for c in (later, earlier)]
    return (one.axis, one.metrics, names[0], argv[0]) == (other.axis, other.metrics, names[1], argv[1])


# Of entries with several rows, where a command is looked for, and of rows of an entry that are looked at in pairs.
_LOOKED_AT, _PAIRED_ROWS = 3, 12


def nothing_settled(records: Records, thread: Thread, answers: Sequence[Answer], *, is_open: bool) -> tuple[str, str]:
    """Why nothing is settled, and the command that compares something. `is_open`: a comparison is open."""
    if is_open:
        return "No comparison is settled yet.", ""
    if answers:
        last, way = answers[-1], go_on(records, answers[-1])
        why = f"No comparison is settled yet: {last.entry} has no pair that counts."
        first = f" {way.first[:1].upper()}{way.first[1:]}." if way.first else ""
        return why + first, way.command or show(last.entry)
    if any(s["rows"] for s in thread.counted):
        why = "No two cases were compared in pairs, so no difference between them is settled."
    elif any(s["rows"] for s in thread.summaries):
        why = "No result counts: all were discarded, superseded or declared void."
    else:
        return "Nothing was measured yet.", "logbook run --help"
    return why, _first_comparison(records, thread)


def _first_comparison(records: Records, thread: Thread) -> str:
    """The command that makes a first comparison: of the latest rows that differ in one key, else of an axis of the
    matrix; else the one that says how."""
    latest = [s["id"] for s in reversed(thread.counted) if s["rows"]][:_LOOKED_AT]
    items = frame_of(counting(cases(*map(records.record, latest)))).items
    good = [item for item in items if item.row.failed is None]
    rows = (_of_rows([item for item in good if item.case.entry == entry]) for entry in latest)
    axes = (ab_like(axis.axis, axis.values, items) for axis in thread.header.matrix if len(axis.values) > 1)
    # A run of changed code can be compared with its commit, also once the change is committed.
    changed = (i for i in reversed(good) if "+" in i.case.facts.get("commit", ""))
    codes = (ab_like(CODE_AXIS, [i.case.facts["commit"].partition("+")[0], "WORK"], [i]) for i in changed)
    return next(filter(None, itertools.chain(rows, axes, codes)), "logbook ab --help")


def _of_rows(rows: Sequence[Item]) -> str:
    """The command that compares rows that differ in one key alone, else the first two of them that do; empty where none
    do."""
    for group in (rows, *itertools.combinations(rows[:_PAIRED_ROWS], 2)):
        if len(names := varied(item.row.config for item in group)) == 1:
            firsts = [items[0] for items in groups(group, names)]
            if command := ab_like(names[0], [show_value(item.place.get(names[0])) for item in firsts], firsts):
                return command
    return ""


# -- what people wrote, and the best case ------------------------------------------------------------------


def in_words(thread: Thread, answers: Sequence[Answer], best: BestCase | None) -> tuple[InWords, ...]:
    """The conclusion and the summary of a thread. Where there is neither, the latest decision for something; and where
    nothing is settled, an interpretation: that of the best case, else the latest."""
    closing, summary = thread.header.closing, thread.header.summary

    def since(at: str | None) -> tuple[str, ...]:
        return tuple(a.entry for a in answers if a.findings and at and _last_run(thread.by_id[a.entry]) > at)

    said = []
    if closing is not None:
        said.append(InWords(kind="conclusion", text=closing.conclusion, before=since(closing.at)))
    if summary:
        said.append(InWords(kind="summary", text=summary, before=since(thread.header.summary_at)))
    if said:
        return tuple(said)
    # Why something was discarded is no finding.
    decided = [
        s for s in thread.decisions if s["decision"] and s["kept"] is not False and thread.standing[s["id"]].counts
    ]
    if decided:
        said.append(InWords(kind="decision", text=decided[-1]["decision"] or "", entry=decided[-1]["id"]))
    if any(f.is_found for a in answers for f in a.findings):
        return tuple(said)
    read = [s for s in thread.summaries if s["interpretation"] and thread.standing[s["id"]].counts]
    own = [s for s in read if best is not None and s["id"] in best.entries] or read
    if own:
        said.append(InWords(kind="interpretation", text=own[-1]["interpretation"] or "", entry=own[-1]["id"]))
    return tuple(said)


def _last_run(summary: Summary) -> str:
    """When the last run of an entry that finished began, else when it was opened."""
    return max((at for _, at in summary["finished"].values()), default=summary["opened"])


def best_of(thread: Thread, answers: Sequence[Answer]) -> BestCase | None:
    """The best case by the first metric for which there was a choice; None where there was none."""
    # The baseline's problem comes first.
    return next(iter(choices(bests(thread, answers))), None)


def best_text(best: BestCase) -> str:
    """`Best time_s so far: 0.208 s (6 runs, 0.199 to 0.238) in MOE-CPU-008, one operation: not compared with the
    baseline`."""
    (value, low, high), unit = with_unit((best.value, best.low, best.high), best.unit, best.metric)
    unit = f" {unit}" if unit else ""
    runs = f"{counted(best.runs, 'run')}, {low} to {high}" if best.runs > 1 else "1 run"
    case = " ".join(filter(None, [best.label or "", assignments({**best.problem, **best.flags, **best.apart})]))
    place = f"in {listed(best.entries, 3)}" + (f", {case}" if case else "")
    caveat = "it is the baseline" if best.is_baseline else best.against or "no comparison settles whether it is better"
    problems = f"; {listed(best.problems, 1)}" if best.problems else ""
    return f"Best {best.metric} so far: {value}{unit} ({runs}) {place}: {caveat}{problems}"


def reported_text(best: ReportedBest) -> str:
    """`Reported, not measured here: at best val_bpb 0.9932 in RESULTS-001`."""
    (value,), unit = with_unit((best.value,), best.unit, best.metric)
    return f"Reported, not measured here: at best {best.metric} {value}{f' {unit}' if unit else ''} in {best.entry}"


# -- what failed ----------------------------------------------------------------------------------------


def failures(
    thread: Thread, stated: Mapping[str, str | None], found: Container[str] = ()
) -> tuple[tuple[Failed, ...], tuple[Failed, ...]]:
    """The entries with a run that failed: how it failed, or the negative result in `stated`, which says more; and the
    others that state a negative result. The latest come first. An abandoned or superseded entry asks nothing of its
    failure. What a
    comparison adds stands with the answers, and failed pairs beside an answer that was `found` with it."""
    failed, negative = list[Failed](), list[Failed]()
    for s in reversed(thread.summaries):
        is_told = s["id"] in found or s["state"] == ABANDONED or thread.superseded_by(s["id"])
        how = "" if is_told else _how_it_failed(s)
        text = stated.get(s["id"])
        if s["state"] != VOID and (how or text) and not thread.is_over(s):
            (failed if how else negative).append(Failed(entry=s["id"], title=s["title"], text=text or how))
    return tuple(failed), tuple(negative)


def _how_it_failed(summary: Summary) -> str:
    """The last failure of an entry and how many there were, else what its author says of it; empty where it did not
    fail."""
    reasons = [item for item in summary["tried"] if item["kind"] == FAILURE]
    if reasons:
        last, more = reasons[-1], len(reasons) - 1
        is_judged = last["outcome"] == WITHHELD or last["outcome"].startswith(GATE)
        said = outcome_text(last) if is_judged else last["reason"] or last["outcome"]
        return escape(said) + (f" (and {counted(more, 'other failure')})" if more else "")
    if summary["state"] not in ENDED_BADLY:
        return ""
    return ": ".join(filter(None, [summary["state"], summary["interpretation"]]))
