"""Whether the sides of a criterion were compared: by the comparisons of the thread, or by rows that differ in nothing
else."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from logbook_agent.findings.advice import judge_met
from logbook_agent.findings.cases import Case, value_of
from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome
from logbook_agent.findings.comparison.answer_lines import SHORTLY, first_words
from logbook_agent.findings.comparison.words import label, more_pairs, ruled_out, sentence
from logbook_agent.findings.criteria.evidence import MET, Facts, every, met, unmet
from logbook_agent.findings.criteria.predicate import Config, SideBySide
from logbook_agent.findings.criteria.unasked import axes_of, unasked, words
from logbook_agent.findings.identity import identity, residue
from logbook_agent.findings.tables.frame import show
from logbook_agent.model.comparison import CODE_AXIS, OF_CODE, code_hash, code_name
from logbook_agent.model.header import Computed
from logbook_agent.model.values import Scalar, canonical
from logbook_agent.text.phrases import counted

# A finding keeps its change as a fraction, while the rule holds its logarithm against the bound.
_TINY = 1e-12
# Cases whose reasons are shown when all are met.
_SHOWN = 3
_LARGER = ", or give the criterion a larger min_effect, with a reason (logbook criteria --help)"


class CriterionAnswer(NamedTuple):
    """What a comparison found of a side, and what that is for the minimum effect of a criterion."""

    answer: Answer
    finding: Finding
    outcome: Outcome

    @property
    def is_open(self) -> bool:
        return self.outcome is Outcome.OPEN and not self.finding.is_settled


def compared(asked: SideBySide, facts: Facts, number: int) -> Computed:
    """Met when every side was compared with its base; else what the first one lacks. Where all that is lacking was
    settled before somebody discarded it, a person judges the criterion of this number (0: only a part of it)."""
    judge, decisions = _settled if asked.settled else _measured, {*facts.discarded.values()}
    found = [judge(asked, facts, base, side) for base, side in asked.sides()]
    lost = [one for one in found if one.state != MET and decisions & {*one.evidence}]
    result = every([one for one in found if one not in lost] + lost)
    if number and result in lost:
        return structs.replace(result, command=judge_met(number, result.evidence[0]))
    if result.state == MET and len(found) > _SHOWN:
        return structs.replace(result, reason=f"all {len(found)} cases were compared")
    return result


def _findings(
    asked: SideBySide, facts: Facts, base: Config, side: Config, metric: str | None
) -> Iterator[CriterionAnswer]:
    """What the comparisons found of a side and its base in a metric (None: any), in the order of their entries."""
    axes = axes_of(base, side)
    rest = {name: canonical(value) for name, value in side.items() if name not in axes}
    for answer, f in ((a, f) for a in facts.answers for f in a.findings):
        axis = next((n for n in axes if answer.question.axis in (n, CODE_AXIS if n == "commit" else n)), None)
        if axis is None or metric not in (None, f.metric):
            continue
        is_there = all(name in f.config and canonical(f.config[name]) == value for name, value in rest.items())
        on_device = (asked.device or "").casefold() in f.device.casefold()
        sides = ((base[axis], answer.question.base), (side[axis], f.side))
        if is_there and on_device and all(_is_named(facts, answer, name, value) for value, name in sides):
            yield CriterionAnswer(answer, f, _outcome(answer, f, asked.min_effect))


def _is_named(facts: Facts, answer: Answer, side: str, value: Scalar) -> bool:
    """Whether a value names a side; a code is named by its commit, of any length, also the one that keeps it, by a
    name that it was given, or by the branch that held it."""
    if answer.question.axis != CODE_AXIS:
        return canonical(value) == canonical(side)
    commit, text = code_hash(side), str(value)
    kept = facts.kept.get(answer.entry, "") if side != answer.question.base else ""
    names = {code_name(name) for name in answer.question.values if code_hash(name) == commit}
    if ("@" in side or kept) and text in facts.branches.get((answer.entry, side), ()):
        return True
    if kept and (kept.startswith(text) or text.startswith(kept)):
        return True
    return text in (side, *names) or text.startswith(commit) or commit.startswith(code_hash(text))


# -- settled by comparisons ----------------------------------------------------------------------------------


def _settled(asked: SideBySide, facts: Facts, base: Config, side: Config) -> Computed:
    """One side against its base. In each case the latest comparison that settled it decides: of all of them, else of
    those whose codes are as they are now."""
    primary = [m.name for m in facts.metrics if m.primary]
    metric = asked.metric or next(iter(primary), None)
    all_ = [*_findings(asked, facts, base, side, metric)]
    present = [one for one in all_ if _is_present(facts, one.answer, one.finding.side, base, side)]
    for found in (all_, present):
        latest = _latest(asked, facts, found)
        entries = [one.answer.entry for one in latest]
        good = [one for one in latest if one.outcome in asked.outcomes]
        if len(good) >= asked.cases:
            return met("; ".join(_said(one, asked.min_effect) for one in good[: asked.cases]), entries)
    count = f"{len(good)} of {asked.cases} cases are settled; " if asked.cases > 1 else ""
    named = metric if metric not in primary else None
    others = sorted((one for one in latest if one not in good), key=lambda one: not one.is_open)
    for answer in _asked(facts, base, side) if not others else ():
        if (by := facts.discarded.get(answer.entry)) is not None:
            had_met = any(one.answer is answer and one.outcome in asked.outcomes for one in all_)
            return unmet(f"{count}{answer.entry} was discarded by {by}", [by] if had_met else [])
        if (failed := answer.failure) is not None or not (answer.pairs or _is_coarse(answer, asked)):
            why = f": {label(answer, failed[0])} failed: {failed[1]}" if failed is not None else " has no pair yet"
            way = facts.go_on(answer)
            command = "" if way.lacks == "mend" else way.command
            return unmet(f"{count}{answer.entry}{why}", entries, command=command)
    if not others:
        before = all_[-1].answer if all_ and not present else None
        why, command = unasked(asked, facts, base, side, named, before)
        return unmet(count + why, entries, command=command)
    answer, finding, _ = others[0]
    said = count + _said(others[0], asked.min_effect)
    if not others[0].is_open:
        wanted = f"; wanted {' or '.join(asked.outcomes)} from {100 * asked.min_effect:g}% on"
        command = unasked(asked, facts, base, side, named, None)[1] if _is_coarse(answer, asked) else ""
        return unmet(said + wanted, entries, command=command)
    way = facts.go_on(answer)
    # No criterion is met by a discard.
    command = "" if way.lacks == "mend" else way.command
    needs = way.first or (f"it needs {more_pairs(finding)}{_LARGER}" if finding.lacks_pairs else "")
    larger = [one.answer for one in all_ if one.finding.is_settled and _is_coarse(one.answer, asked)][-1:]
    wanted = f"or more, and the criterion asks for effects from {100 * asked.min_effect:g}% on"
    other = [f"{a.entry} settles it for effects of {100 * a.question.minimum_effect:g}% {wanted}" for a in larger]
    return unmet("; ".join(filter(None, [said, "" if command else needs, *other])), entries, command=command)


def _is_coarse(answer: Answer, asked: SideBySide) -> bool:
    """Whether a comparison asks for larger effects than a criterion does."""
    return answer.question.minimum_effect > asked.min_effect


def _latest(asked: SideBySide, facts: Facts, found: Sequence[CriterionAnswer]) -> list[CriterionAnswer]:
    """Of each case the latest comparison that settled it, else the latest that asks for effects as small as the
    criterion does, else the latest; without those that were discarded."""
    latest: dict[object, tuple[tuple[bool, bool], CriterionAnswer]] = {}
    for one in found:
        is_settled = one.outcome is not Outcome.OPEN
        rank = is_settled, is_settled or one.answer.question.minimum_effect <= asked.min_effect
        if one.answer.entry not in facts.discarded and rank >= latest.get(one.finding.setting, (rank,))[0]:
            latest[one.finding.setting] = rank, one
    return [one for _, one in latest.values()]


def _asked(facts: Facts, base: Config, side: Config) -> Iterator[Answer]:
    """The comparisons of these values, codes as they are now, from the latest on; those that have no number, too, and
    those that failed and nobody discarded, of whatever codes."""
    axis, *more = axes_of(base, side)
    rest = {name: canonical(value) for name, value in side.items() if name not in (axis, *more)}
    for answer in reversed(facts.answers):
        asked, known = answer.question, [f.config for f in answer.findings]
        is_asked = asked.axis == (CODE_AXIS if axis in OF_CODE else axis) and _is_named(
            facts, answer, asked.base, base[axis]
        )
        is_else = any(name in of and canonical(of[name]) != value for name, value in rest.items() for of in known)
        tested = [name for name in asked.sides if is_asked and _is_named(facts, answer, name, side[axis])]
        is_lost = answer.failure is not None and answer.entry not in facts.discarded
        if not is_else and any(is_lost or _is_present(facts, answer, name, base, side) for name in tested):
            yield answer


def _is_present(facts: Facts, answer: Answer, tested: str, base: Config, side: Config) -> bool:
    """Whether the codes of a comparison are those that the names of a criterion have now, as far as git knows them. Of
    one that was discarded, the side that was tested."""
    axis = next(name for name, value in base.items() if canonical(side[name]) != canonical(value))
    if answer.question.axis != CODE_AXIS:
        return True
    kept = facts.kept.get(answer.entry, "")
    codes = [(side[axis], tested, kept)]
    codes += [(base[axis], answer.question.base, "")] if answer.entry not in facts.discarded else []
    compared = [(show(value), at or (code_hash(code) if "@" in code else "")) for value, code, at in codes]
    return all(not code or not facts.here.of(name) or facts.here.code(name, code) for name, code in compared)


def _outcome(answer: Answer, finding: Finding, minimum_effect: float) -> Outcome:
    """The outcome for another minimum effect: an effect below it is no difference if the interval says so, also that of
    an open question, else open."""
    is_same = finding.outcome is Outcome.NO_DIFFERENCE
    is_beyond = abs(math.log1p(finding.change or 0.0)) >= math.log1p(minimum_effect) - _TINY
    if finding.is_settled and (answer.question.minimum_effect <= minimum_effect if is_same else is_beyond):
        return finding.outcome
    is_small = finding.most is not None and finding.most <= minimum_effect
    return Outcome.NO_DIFFERENCE if is_small and (finding.is_settled or finding.lacks_pairs) else Outcome.OPEN


def _said(found: CriterionAnswer, minimum_effect: float) -> str:
    """The answer in a sentence, after what it says of this minimum effect where it is open for smaller ones; of codes
    that it calls by a name that moves on, with their commits."""
    answer, finding, outcome = found
    is_coarser = outcome is Outcome.NO_DIFFERENCE and not finding.is_settled
    coarse = f"no effect of {100 * minimum_effect:g}% or more" if is_coarser else ""
    codes = [code for code in (answer.question.base, finding.side) if answer.question.axis == CODE_AXIS and "@" in code]
    named = [f"{name} was {code_hash(code)}" for code in codes if (name := label(answer, code)) == code_name(code)]
    parts = [coarse, *first_words(answer, SHORTLY), sentence(answer, finding), ruled_out(finding), *named]
    return f"{answer.entry}: {'; '.join(filter(None, parts))}"


# -- measured side by side -----------------------------------------------------------------------------------


def _measured(asked: SideBySide, facts: Facts, base: Config, side: Config) -> Computed:
    """Met when enough cases of a side and its base differ in nothing but their axes and what is implied: those of a
    comparison, or rows that have a metric each."""
    made = [(f.setting, a.entry) for a, f, _ in _findings(asked, facts, base, side, asked.metric) if f.pairs]
    pairs = {setting: entry for setting, entry in made if entry not in facts.discarded}
    if len(pairs) >= asked.cases:
        return met(f"{words(side)}: compared in pairs", pairs.values())
    if (missing := facts.rows.missing(side)) is not None:
        by = [f"{entry} was discarded by {facts.discarded[entry]}" for _, entry in made if entry in facts.discarded]
        return unmet(by[-1]) if by else missing
    sides = [facts.rows.choose(place, asked.device) for place in (base, side)]
    for place, rows in zip((base, side), sides, strict=True):
        if not rows:
            return unmet(f"{words(place)} was not measured")
    metrics = [asked.metric] if asked.metric else [m.name for m in facts.metrics if m.primary]
    ignored = {*axes_of(base, side), *asked.implied}
    names = {name for rows in sides for case in rows for name in case.row.config}

    def alike(rows: Sequence[Case]) -> Mapping[Hashable, list[Case]]:
        found: dict[Hashable, list[Case]] = {}
        for case in rows:
            if any(value_of(case.row, name) is not None for name in metrics or case.row.metrics):
                found.setdefault(frozenset(identity(case, ignored, names).items()), []).append(case)
        return found

    first, last = map(alike, sides)
    both = [first[key] + last[key] for key in first if key in last]
    text = f"{words(side)}: {counted(len(both), 'pair')} may be compared"
    if len(both) >= asked.cases:
        return met(text, (case.entry for pair in both for case in pair))
    unlike = residue([*sides[0], *sides[1]], ignored)
    why = f"; others differ in {', '.join(unlike)}" if unlike else ""
    return unmet(f"{text}, {asked.cases} wanted{why}")
