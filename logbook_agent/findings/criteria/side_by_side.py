"""Whether the sides of a criterion were compared: by the comparisons of the thread, or by rows that differ in nothing
else."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import structs

from logbook_agent.findings.advice import ab_like, ab_with
from logbook_agent.findings.cases import Case, value_of
from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome
from logbook_agent.findings.comparison.answer_lines import SHORTLY, first_words
from logbook_agent.findings.comparison.words import label, more_pairs, sentence
from logbook_agent.findings.criteria.evidence import MET, Facts, every, met, unmet
from logbook_agent.findings.criteria.predicate import Config, SideBySide
from logbook_agent.findings.identity import identity, residue
from logbook_agent.findings.tables.frame import Item, show
from logbook_agent.model.comparison import CODE_AXIS, MINIMUM_EFFECT, OF_CODE, code_hash, code_name
from logbook_agent.model.header import Computed
from logbook_agent.model.values import Scalar, canonical
from logbook_agent.text.commands.flags import ANY, flag_places
from logbook_agent.text.phrases import counted, listed
from logbook_agent.text.shell_words import command_line

Found: TypeAlias = tuple[Answer, Finding]
# A finding keeps its change as a fraction, while the rule holds its logarithm against the bound.
_TINY = 1e-12
# Cases whose reasons are shown when all are met.
_SHOWN = 3


def compared(asked: SideBySide, facts: Facts) -> Computed:
    """Met when every side was compared with its base; else what the first one lacks."""
    judge = _settled if asked.settled else _measured
    found = [judge(asked, facts, base, side) for base, side in asked.sides()]
    result = every(found)
    if result.state == MET and len(found) > _SHOWN:
        return structs.replace(result, reason=f"all {len(found)} cases were compared")
    return result


def _axes(base: Config, side: Config) -> list[str]:
    """The names in which a base and its side differ."""
    return [name for name, value in base.items() if canonical(side[name]) != canonical(value)]


def _findings(asked: SideBySide, facts: Facts, base: Config, side: Config, metric: str | None) -> Iterator[Found]:
    """What the comparisons found of a side and its base in a metric (None: any), in the order of their entries."""
    axes = _axes(base, side)
    rest = {name: canonical(value) for name, value in side.items() if name not in axes}
    for answer, f in ((a, f) for a in facts.answers for f in a.findings):
        axis = next((n for n in axes if answer.question.axis in (n, CODE_AXIS if n == "commit" else n)), None)
        if axis is None or metric not in (None, f.metric):
            continue
        is_there = all(name in f.config and canonical(f.config[name]) == value for name, value in rest.items())
        on_device = (asked.device or "").casefold() in f.device.casefold()
        sides = ((base[axis], answer.question.base), (side[axis], f.side))
        if is_there and on_device and all(_is_named(facts, answer, name, value) for value, name in sides):
            yield answer, f


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
    present = [(a, f) for a, f in all_ if _is_present(facts, a, f.side, base, side)]
    for found in (all_, present):
        latest = _latest(asked, facts, found)
        entries = [answer.entry for answer, _ in latest]
        good = [one for one in latest if _outcome(*one, asked.min_effect) in asked.outcomes]
        if len(good) >= asked.cases:
            return met("; ".join(map(_said, good[: asked.cases])), entries)
    count = f"{len(good)} of {asked.cases} cases are settled; " if asked.cases > 1 else ""
    named = metric if metric not in primary else None
    others = sorted((one for one in latest if one not in good), key=lambda one: one[1].is_settled)
    for answer in _asked(facts, base, side) if not others else ():
        if (by := facts.discarded.get(answer.entry)) is not None:
            return unmet(f"{count}{answer.entry} was discarded by {by}")
        if answer.failure is not None:
            name, why = answer.failure
            way = facts.go_on(answer)
            command = "" if way.lacks == "mend" else way.command
            return unmet(f"{count}{answer.entry}: {label(answer, name)} failed: {why}", entries, command=command)
    if not others:
        before = all_[-1][0] if all_ and not present else None
        why, command = _missing(asked, facts, base, side, named, before)
        return unmet(count + why, entries, command=command)
    answer, finding = others[0]
    if finding.is_settled:
        wanted = f"; wanted {' or '.join(asked.outcomes)} from {100 * asked.min_effect:g}% on"
        is_coarse = answer.question.minimum_effect > asked.min_effect
        command = _missing(asked, facts, base, side, named, None)[1] if is_coarse else ""
        return unmet(count + _said(others[0]) + wanted, entries, command=command)
    way = facts.go_on(answer)
    # No criterion is met by a discard.
    command = "" if way.lacks == "mend" else way.command
    needs = (
        ""
        if command
        else way.first or (f"it needs {more_pairs(finding, is_bound=True)}" if finding.lacks_pairs else "")
    )
    return unmet("; ".join(filter(None, [count + _said(others[0]), needs])), entries, command=command)


def _latest(asked: SideBySide, facts: Facts, found: Sequence[Found]) -> list[Found]:
    """Of each case the latest comparison that settled it, else the latest that asks for effects as small as the
    criterion does, else the latest; without those that were discarded."""
    latest: dict[object, tuple[tuple[bool, bool], Found]] = {}
    for answer, f in found:
        is_settled = _outcome(answer, f, asked.min_effect) is not Outcome.OPEN
        rank = is_settled, is_settled or answer.question.minimum_effect <= asked.min_effect
        if answer.entry not in facts.discarded and rank >= latest.get(f.setting, (rank,))[0]:
            latest[f.setting] = rank, (answer, f)
    return [one for _, one in latest.values()]


def _asked(facts: Facts, base: Config, side: Config) -> Iterator[Answer]:
    """The comparisons of these values, codes as they are now, from the latest on; those that have no number, too."""
    axis, *more = _axes(base, side)
    rest = {name: canonical(value) for name, value in side.items() if name not in (axis, *more)}
    for answer in reversed(facts.answers):
        asked, known = answer.question, [f.config for f in answer.findings]
        is_asked = asked.axis == (CODE_AXIS if axis in OF_CODE else axis) and _is_named(
            facts, answer, asked.base, base[axis]
        )
        is_else = any(name in of and canonical(of[name]) != value for name, value in rest.items() for of in known)
        tested = [name for name in asked.sides if is_asked and _is_named(facts, answer, name, side[axis])]
        if not is_else and any(_is_present(facts, answer, name, base, side) for name in tested):
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
    """The outcome for another minimum effect: an effect below it is no difference if the interval says so, else
    open."""
    is_same = finding.outcome is Outcome.NO_DIFFERENCE
    is_beyond = abs(math.log1p(finding.change or 0.0)) >= math.log1p(minimum_effect) - _TINY
    if not finding.is_settled or (answer.question.minimum_effect <= minimum_effect if is_same else is_beyond):
        return finding.outcome
    is_small = max(abs(finding.low or 0.0), abs(finding.high or 0.0)) <= minimum_effect
    return Outcome.NO_DIFFERENCE if is_small else Outcome.OPEN


def _said(found: Found) -> str:
    """The answer in a sentence; of codes that it calls by a name that moves on, with their commits."""
    answer, finding = found
    codes = [code for code in (answer.question.base, finding.side) if answer.question.axis == CODE_AXIS and "@" in code]
    named = [f"{name} was {code_hash(code)}" for code in codes if (name := label(answer, code)) == code_name(code)]
    return f"{answer.entry}: {'; '.join([*first_words(answer, SHORTLY), sentence(*found), *named])}"


def _missing(
    asked: SideBySide, facts: Facts, base: Config, side: Config, metric: str | None, before: Answer | None
) -> tuple[str, str]:
    """The text that no comparison asks this, and the command that makes one; empty where the sides differ in several
    keys. `metric`: one that it has to name; `before`: what asked it of codes that are others now."""
    axis, *more = _axes(base, side)
    rest = {name: value for name, value in side.items() if name not in (axis, *more)}
    sides = f"{axis}={show(side[axis])} with {show(base[axis])}"
    at = f" at {words(rest)}" if rest else ""
    values = [show(value) for value in ((base[axis], side[axis]) if asked.controls else asked.values)]
    if axis in OF_CODE and (why := _not_there(facts, show(base[axis]), show(side[axis]))):
        return f"no comparison of {sides}{at}: {why}", ""
    effect = before.question.minimum_effect if before is not None else MINIMUM_EFFECT
    own = ["--metric", metric] if metric is not None else []
    own += ["--min-effect", f"{asked.min_effect:g}"] if asked.min_effect != effect else []
    if before is not None:
        codes = [show(base[axis]), show(side[axis])]
        then = ", ".join(f"{code_name(code)} was {code_hash(code)}" for code in before.question.values if "@" in code)
        command = command_line(["logbook", "ab", "--code", *codes, "--like", before.entry, *own])
        return f"no comparison of {sides}{at} as they are now: {then} in {before.entry}", command
    questions = {answer.entry: answer.question for answer in facts.answers}

    def having(where: Config) -> list[Item]:
        """The rows with these values. Of an A/B of what is not named here they are those of its base."""
        found = [(item, questions.get(item.case.entry)) for item in facts.rows.frame.having(where)]
        return [
            item
            for item, of in found
            if of is None or item.case.part is None or item.case.part.side == of.base or of.axis in (*side, *OF_CODE)
        ]

    rows = [item for value in values for item in having({**rest, axis: value})[:1]]
    # Else those of other cases, with the flags of this one.
    others = [(moved, item) for value in values for item in having({axis: value})[:1] if (moved := _at(item, rest))]
    if not rows and axis in OF_CODE:
        # Any command that was run can be run on other code.
        rows = (having(rest) or having({}))[-1:]
    elif not rows and not others:
        # Else of a command with a flag of this name, which no row reports.
        rows = [item for item in having(rest) if flag_places(item.case.command, axis)][-1:]
    typed, sibling = (rows[0].case.command, rows[0]) if rows else others[0] if others else ((), None)
    # What no row reports, its flag alone does not tell.
    told = sibling.case.row.config if sibling is not None else rest
    unsaid = {n: v for n, v in rest.items() if not flag_places(typed, n) or n not in told}
    options = [word for n, v in unsaid.items() for word in ("--config", f"{n}={show(v)}")]
    # Pairs of the same code under another name would go to their entry.
    is_other = axis in OF_CODE and any(question.axis == CODE_AXIS for question in questions.values())
    options += [*own, *(["--new"] if is_other else [])]
    folder = facts.here.folder(sibling.case.cwd or ".") if sibling is not None and not rows else "."
    options += ["--cwd", folder] if folder != "." else []
    command = ab_like(axis, values, rows, *options) if rows else ab_with(axis, values, typed, *options)
    return f"no comparison of {sides}{at}", "" if more else command


def _not_there(facts: Facts, base: str, side: str) -> str:
    """Why no commits of two codes can be compared yet; empty where they can."""
    asked_in = {answer.entry for answer in facts.answers if answer.entry not in facts.discarded}
    for (entry, tested), branches in facts.branches.items():
        if side in branches and "@" not in tested and entry in asked_in:
            return f"{entry} compared changes on {side}; once they are committed: logbook keep {entry}"
    if unknown := [name for name in (base, side) if not facts.here.knows(name)]:
        return f"there is no branch {listed(unknown, _SHOWN)} yet"
    commit = facts.here.code(base, side)
    return f"both are the same code, commit {commit}" if commit is not None else ""


def _at(item: Item, config: Config) -> Sequence[str]:
    """The command of a row with the flags of another case; empty where it has no flag for one of its names."""
    words = item.case.command
    for name, value in config.items():
        places = flag_places(words, name)
        if len(places) != 1:
            return ()
        [(at, word)] = places
        words = (*words[:at], word.replace(ANY, show(value)), *words[at + 1 :])
    return words


# -- measured side by side -----------------------------------------------------------------------------------


def _measured(asked: SideBySide, facts: Facts, base: Config, side: Config) -> Computed:
    """Met when enough cases of a side and its base differ in nothing but their axes and what is implied: those of a
    comparison, or rows that have a metric each."""
    pairs = {
        f.setting: answer.entry
        for answer, f in _findings(asked, facts, base, side, asked.metric)
        if f.pairs and answer.entry not in facts.discarded
    }
    if len(pairs) >= asked.cases:
        return met(f"{words(side)}: compared in pairs", pairs.values())
    if (missing := facts.rows.missing(side)) is not None:
        return missing
    sides = [facts.rows.choose(place, asked.device) for place in (base, side)]
    for place, rows in zip((base, side), sides, strict=True):
        if not rows:
            return unmet(f"{words(place)} was not measured")
    metrics = [asked.metric] if asked.metric else [m.name for m in facts.metrics if m.primary]
    ignored = {*_axes(base, side), *asked.implied}
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


def words(config: Config) -> str:
    """`topk=2 mlp_dim=1408`, as one types it."""
    return " ".join(f"{name}={show(value)}" for name, value in config.items())
