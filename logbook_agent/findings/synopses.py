"""The comparisons of a thread in a sentence each: what they settled and left open, what failed, and what to type
next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, structs

from logbook_agent.findings.advice import Continuation, ab_afresh, decide, go_on, other_evaluator, replicate
from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer, Lacks, Outcome
from logbook_agent.findings.comparison.answers import needed, settled, unsettled
from logbook_agent.findings.comparison.synopsis import outcome, synopsis, why_open
from logbook_agent.findings.protocol import Records, TypingPlace
from logbook_agent.findings.thread import Thread
from logbook_agent.model.code import Code
from logbook_agent.model.comparison import CODE_AXIS, MINIMUM_EFFECT, WORK, Comparison, code_hash, code_name
from logbook_agent.model.record import GOING, SETUP
from logbook_agent.text.phrases import counted, listed


class Synopsis(Struct, frozen=True, kw_only=True):
    """A comparison in one sentence (`text`), with its latest entry. Where a goal is open, `why` says why and what it
    needs, `lacks` the kind of that (`Continuation.lacks`), and `command` what to type for it, which adds up to so many
    `pairs`. `is_hopeless`: no practical number of pairs would settle it. `is_failed`: a side failed in every pair, so
    that it stands among the failures. `borne_out` says by what its `confidence` is. `replicate`: what to type for a
    second sitting, where one settled all; `decide`: for a decision on its code, where it waits for one."""

    entry: str
    title: str
    text: str
    outcome: str
    is_settled: bool
    lacks: str = ""
    confidence: str = "exploratory"
    borne_out: str = ""
    why: str = ""
    command: str = ""
    pairs: int = 0
    is_hopeless: bool = False
    is_failed: bool = False
    replicate: str = ""
    decide: str = ""

    @property
    def is_bold(self) -> bool:
        """Whether no goal is open, so that readers show the sentence in bold."""
        return self.is_settled and not self.why

    @property
    def to_add(self) -> str:
        """What the command does: `To make up to 8 more pairs`."""
        return f"To {does(self.lacks, self.pairs)}"


def does(lacks: str, pairs: int) -> str:
    """What a command does for a comparison that lacks something."""
    if lacks == "entry":
        return f"ask it again, by up to {counted(pairs, 'pair')} of a new entry"
    return _DOES.get(lacks) or f"make up to {counted(pairs, 'more pair')}"


_NO_PAIR = "no pair counts yet"
_DOES = {
    "decision": "have it the same on both sides",
    "side": "measure with the other side's files",
    "run": "ask it again",
    **dict.fromkeys(("mend", "gate"), "discard it"),
    "report": "see what its command prints",
    "setup": "ask it again with a setup",
}


def of_comparisons(
    records: Records, thread: Thread, answers: Sequence[Answer], now: datetime, here: TypingPlace
) -> tuple[Synopsis, ...]:
    """What the comparisons of a thread settled and left open, and those of which a side failed in every pair, the
    latest first; with the commands that would settle the rest, as they are typed `here`. Of those that somebody took
    back or discarded, nothing is said."""
    left = [a for a in answers if not thread.standing[a.entry].is_lost]
    kept = [a for a in answers if thread.standing[a.entry].withdrawn is None]
    larger = _for_larger_effects(records, [a for a in kept if thread.standing[a.entry].discarded_by is None])
    again = {e: a for a in kept for e in a.earlier} | larger
    # What an earlier entry left open is over once it was answered of other code or for larger effects, or discarded.
    over = {e for e, a in again.items() if a.is_settled and e in {*a.of_other_code, *larger}}
    over |= {e for e, a in again.items() if thread.standing[a.entry].discarded_by is not None}
    # What failed is over once it was asked again, of whatever code, or answered of the same.
    all_names = {a.entry: _all_names(a, records.entry(a.entry).comparison) for a in kept}
    last, found = {name: a.entry for a in kept for name in all_names[a.entry]}, {a.entry for a in kept if a.is_settled}
    failing = [a for a in reversed(left) if a.failure is not None]
    over |= {a.entry for a in failing if found & {*a.twins}}
    failed = [a for a in failing if {last[n] for n in all_names.get(a.entry, ())} == {a.entry} and a.entry not in over]
    shown = [a for a, _ in settled(left, [m.name for m in thread.header.metrics])]
    shown += [a for a, _ in unsettled([a for a in left if a.entry not in over])]
    shown += [a for a in reversed(left) if a.entry not in over and _is_begun(thread, a)]
    asked = _Asked(
        codes={_codes(a) for a in answers}, again=again, failed={a.entry for a in failed}, now=now, here=here
    )
    in_order = {a.entry: a for a in (*shown, *failed)}.values()
    named = Counter(_branches(a) for a in in_order)
    told = [structs.replace(a, is_namesake=bool(names := _branches(a)) and named[names] > 1) for a in in_order]
    made = [_synopsis(records, thread, a, asked) for a in told]
    return tuple(one for one in made if one.command or not one.is_failed)


def _is_begun(thread: Thread, answer: Answer) -> bool:
    """Whether runs of a comparison were made, of which none is part of a pair that counts, and none failed."""
    return not answer.findings and answer.failure is None and thread.by_id[answer.entry]["state"] == "finished"


class _Asked(Struct, frozen=True, kw_only=True):
    """Beside what a comparison stands: the codes of all of them; by the entry of each the later one that asks it
    `again`; the entries that `failed`, and were not asked again; the time, and where commands are typed."""

    codes: Container[tuple[str, ...]]
    again: Mapping[str, Answer]
    failed: Container[str]
    now: datetime
    here: TypingPlace


def _for_larger_effects(records: Records, answers: Sequence[Answer]) -> dict[str, Answer]:
    """By the entry of a comparison that is open the last one that asks the same for larger effects, of whatever
    code."""
    found: dict[str, list[Answer]] = {}
    for a in answers:
        stated, q = records.entry(a.entry).comparison, structs.replace(a.question, minimum_effect=MINIMUM_EFFECT)
        if stated is not None and stated.run is not None:
            found.setdefault(repr((q, stated.run.argv, stated.run.env)), []).append(a)
    return {
        a.entry: last
        for *before, last in found.values()
        for a in before
        if last.pairs and not a.is_settled and a.question.minimum_effect < last.question.minimum_effect
    }


def _branches(answer: Answer) -> tuple[str, ...]:
    """The names of the codes that an answer compares; empty for another axis, and where one is the working tree, which
    an entry has to itself."""
    names = tuple(map(code_name, answer.question.values)) if answer.question.axis == CODE_AXIS else ()
    return () if WORK in names else names


def _names(answer: Answer) -> tuple[str, ...]:
    """What an answer is about, with the codes that it compares by their names."""
    return answer.asks or answer.entry, *map(code_name, answer.question.values)


def _all_names(answer: Answer, stated: Comparison | None) -> list[tuple[str, ...]]:
    """What an answer is about, with each name of the code of its last side."""
    *asks, side = _names(answer)
    if stated is None or answer.question.axis != CODE_AXIS:
        return [(*asks, side)]
    return [(*asks, name) for name in stated.names_of(answer.question.values[-1])]


def asked_again(answers: Sequence[Answer], titles: Mapping[str, str]) -> set[str]:
    """The entries whose comparison failed, where a later one that asks the same has pairs. One idea of a working tree
    is told from the next by its title, as `titles` has it by entry."""

    def idea(a: Answer) -> tuple[str, ...]:
        return *_names(a), titles[a.entry] if a.question.axis == CODE_AXIS else ""

    places = {idea(a): place for place, a in enumerate(answers) if a.pairs}
    return {a.entry for n, a in enumerate(answers) if a.failure is not None and places.get(idea(a), n) > n}


def _codes(answer: Answer) -> tuple[str, ...]:
    """The codes that an answer compares, by their hashes; the values of another axis."""
    q = answer.question
    return (q.axis, *map(code_hash, q.values)) if q.axis == CODE_AXIS else (q.axis, *q.values)


def _synopsis(records: Records, thread: Thread, answer: Answer, asked: _Asked) -> Synopsis:
    """The synopsis of a comparison. Nothing more is made for what somebody decided, what is going on, or a later entry
    asks again: its decision is the question's."""
    later, state = asked.again.get(answer.entry), thread.by_id[answer.entry]["state"]
    is_over = later is not None or thread.is_given_up(answer.entry)
    lacks, stated = needed(answer), records.entry(answer.entry).comparison
    is_kept = bool(thread.standing[answer.entry].kept_by) and any(f.outcome is Outcome.BETTER for f in answer.goals)
    way, turned, what = Continuation(), "", lacks.what if lacks is not None else ""
    if lacks == Lacks("side", name=answer.question.base) and stated is not None and not is_over:
        axis, *codes = _codes(answer)
        turned = other_evaluator(answer.entry, stated) if (axis, *reversed(codes)) not in asked.codes else ""
    if turned:
        way = Continuation(command=turned, lacks="side")
    elif not is_over and (answer.failure is None or (state not in GOING and answer.entry in asked.failed)):
        is_open = lacks is not None or answer.failure is not None or _is_begun(thread, answer)
        way = go_on(records, answer, asked.here) if is_open else way
    is_failed = (not answer.findings and answer.failure is not None) or (
        answer.is_lost and what == "side" and state == "failed" and not turned
    )
    why = why_open(answer) if answer.findings or answer.failure is not None else _NO_PAIR
    why = f"{later.entry} asks it again" if later is not None and lacks is not None else why
    if answer.failure is not None and way.command and not turned:
        how = f"{words.subject(answer, answer.failure[0])} failed: {answer.failure[1]}"
        # What is lost says by itself how it failed.
        is_same = way.lacks in ("mend", "report", "setup")
        said = "" if answer.is_lost and is_same and not is_failed else how
        needs = "" if is_failed or not (answer.pairs or is_same) else why
        is_bare = way.build and answer.failure[0] != SETUP
        built = f"if it needs a build, give ab --like {answer.entry} a --setup" if is_bare else ""
        why = "; ".join(filter(None, [said, needs, built, "" if is_same and what == "gate" else way.first]))
    return Synopsis(
        entry=answer.entry,
        title=thread.by_id[answer.entry]["title"],
        text=synopsis(answer) if answer.findings else words.asked(answer),
        outcome=outcome(answer),
        is_settled=any(f.is_found for f in answer.findings),
        lacks=what if what == "gate" else way.lacks or what,
        confidence=answer.confidence,
        borne_out="; ".join(answer.reasons),
        why=why,
        command=way.command,
        pairs=way.pairs if way.command else 0,
        # One that is asked again is as near to an answer as the later one.
        is_hopeless=(answer if later is None else later).is_hopeless and (later is not None or not is_over),
        is_failed=is_failed,
        # What was kept is worth a second sitting; what was decided otherwise is not.
        replicate=replicate(records, answer, asked.now) if not is_over or (is_kept and later is None) else "",
        decide=decide(answer, stated, asked.here) if not is_over else "",
    )


def without_code(one: Synopsis, stated: Comparison | None, gone: Collection[str], here: TypingPlace) -> Synopsis:
    """The synopsis of a comparison, of which code may be lost, as some commits are `gone`: it can be asked again, of
    the code as it is now, unless code is what it compares."""
    if stated is None or not (lost := _lost(stated, gone, here)):
        return one
    again = one.command if stated.question.axis != CODE_AXIS else ""
    why = f"{lost}, so no pair of that code can be made"
    return structs.replace(
        one,
        why="; ".join(filter(None, [one.why, why])) if one.command else one.why,
        command=again and ab_afresh(one.entry, one.pairs, new=False),
        replicate="",
    )


def _lost(stated: Comparison, gone: Collection[str], here: TypingPlace) -> str:
    if lacks := sorted({code.commit for code in stated.code.values() if code.commit} & {*gone}):
        return f"this clone lacks {listed([commit[:9] for commit in lacks], 2)}"
    changed = [code_name(side) for side, code in stated.code.items() if not _is_exact(code)]
    # What is in the working tree still needs no copy.
    is_asked = bool(changed) and (stated.question.axis == CODE_AXIS or here.another(stated, stated.question.base))
    return f"the changes of {listed(changed, 2)} were not kept as they ran" if is_asked else ""


def _is_exact(code: Code) -> bool:
    """Whether the diff that ran is the one that was kept, if there was one. A file is called by the digest of what it
    holds; one that was recorded without its secrets holds something else."""
    digest, kept = code.diff_sha256 or "", (code.diff_kept or "").rpartition("/")[2].partition(".")[0]
    return not digest or (bool(kept) and digest.startswith(kept))
