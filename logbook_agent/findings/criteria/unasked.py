"""What a criterion asks that no comparison answers: why, and the command that makes the pairs."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.findings.advice import ab_codes, ab_like, ab_with
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.criteria.evidence import Facts
from logbook_agent.findings.criteria.predicate import Config, SideBySide
from logbook_agent.findings.tables.frame import Item, show
from logbook_agent.model.comparison import CODE_AXIS, MINIMUM_EFFECT, OF_CODE, code_hash, code_name
from logbook_agent.model.values import canonical
from logbook_agent.text.commands.flags import ANY, flag_places
from logbook_agent.text.phrases import listed
from logbook_agent.text.shell_words import command_line

# So many branches are named.
_SHOWN = 3


def axes_of(base: Config, side: Config) -> list[str]:
    """The names in which a base and its side differ."""
    return [name for name, value in base.items() if canonical(side[name]) != canonical(value)]


def words(config: Config) -> str:
    """`topk=2 mlp_dim=1408`, as one types it."""
    return " ".join(f"{name}={show(value)}" for name, value in config.items())


def unasked(
    asked: SideBySide, facts: Facts, base: Config, side: Config, metric: str | None, before: Answer | None
) -> tuple[str, str]:
    """The text that no comparison asks this, and the command that makes one; empty where the sides differ in several
    keys. `metric`: one that it has to name; `before`: what asked it of codes that are others now."""
    axis, *more = axes_of(base, side)
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
    rows = [item for value in values for item in _usual(facts, {**rest, axis: value}, side)]
    # Else those of other cases, with the flags of this one.
    others = [
        (moved, item) for value in values for item in _usual(facts, {axis: value}, side) if (moved := _at(item, rest))
    ]
    if not rows and axis in OF_CODE:
        # Any command that was run can be run on other code.
        rows = _usual(facts, rest, side) or _usual(facts, {}, side)
    elif not rows and not others:
        # Else of a command with a flag of this name, which no row reports.
        rows = _usual(facts, rest, side, flag=axis)
    typed, sibling = (rows[0].case.command, rows[0]) if rows else others[0] if others else ((), None)
    # What no row reports, its flag alone does not tell.
    told = sibling.case.row.config if sibling is not None else rest
    unsaid = {n: v for n, v in rest.items() if not flag_places(typed, n) or n not in told}
    options = [word for n, v in unsaid.items() for word in ("--config", f"{n}={show(v)}")]
    # Pairs of the same code under another name would go to their entry.
    is_other = axis in OF_CODE and any(answer.question.axis == CODE_AXIS for answer in facts.answers)
    options += [*own, *(["--new"] if is_other else [])]
    folder = facts.here.folder(sibling.case.cwd or ".") if sibling is not None and not rows else "."
    options += ["--cwd", folder] if folder != "." else []
    command = ab_like(axis, values, rows, *options, here=facts.here) if rows else ab_with(axis, values, typed, *options)
    if is_other and rows and (built := _built(facts, typed)):
        command = ab_codes([*map(code_hash, values[:2])], built, command_line(options))
    return f"no comparison of {sides}{at}", "" if more else command


def _usual(facts: Facts, where: Config, side: Config, flag: str | None = None) -> list[Item]:
    """The row with these values that is most in use, if there is one: the latest of the baseline, else of the command
    that the most comparisons ran, else of all; `flag`: one of its command. Of an A/B of what is not named here they are
    those of its base."""
    base, questions = facts.baseline, {answer.entry: answer.question for answer in facts.answers}
    found, ran = list[Item](), dict[tuple[str, ...], set[str]]()
    for item in facts.rows.frame.having(where):
        case, of = item.case, questions.get(item.case.entry)
        if of is not None and case.part is not None:
            if case.part.side != of.base and of.axis not in (*side, *OF_CODE):
                continue
            ran.setdefault(case.command, set()).add(case.entry)
        found += [item] if flag is None or flag_places(case.command, flag) else []

    def use(item: Item) -> tuple[bool, int]:
        case = item.case
        return base is not None and base.is_of(case.entry, (case.run,)), len(ran.get(case.command, ()))

    return sorted(found, key=use)[-1:]


def _built(facts: Facts, command: Sequence[str]) -> str:
    """The last comparison of code whose setup made what this command needs; empty where there is none."""
    ran = (item.case for item in reversed(facts.rows.frame.items))
    return next((case.entry for case in ran if case.entry in facts.built and case.command == (*command,)), "")


def _not_there(facts: Facts, base: str, side: str) -> str:
    """Why no commits of two codes can be compared yet; empty where they can."""
    asked_in = {answer.entry for answer in facts.answers} - {*facts.discarded, *facts.kept}
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
