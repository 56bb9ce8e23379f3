"""What to type to settle a question: the command that adds pairs to a comparison, or makes a first one."""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Sequence
from datetime import datetime

from logbook_agent.findings.cases import typed_env
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.answers import needed
from logbook_agent.findings.protocol import Records
from logbook_agent.findings.tables.frame import ABSENT, Item
from logbook_agent.model.comparison import (
    APART_S,
    BLOCK_PAIRS,
    BUDGET_PAIRS,
    CODE_AXIS,
    Comparison,
    code_hash,
    code_typed,
)
from logbook_agent.model.entry import entry_of, parse_id
from logbook_agent.model.gates import SAME
from logbook_agent.model.record import COMPARISON, SETUP, Record
from logbook_agent.model.run import Exit
from logbook_agent.model.values import canonical
from logbook_agent.text.commands.axis_words import with_place
from logbook_agent.text.lists import axis_option
from logbook_agent.text.phrases import listed
from logbook_agent.text.shell_words import command_line, sweep_command


def pairs_to_add(answer: Answer) -> int:
    """How many more pairs of each case would probably settle a comparison; the usual budget before its first pair, 0
    where no number would."""
    lacks = needed(answer)
    if lacks is None:
        return BUDGET_PAIRS
    return int(lacks.pairs) if math.isfinite(lacks.pairs) else 0


def go_on(records: Records, answer: Answer) -> str:
    """What to type to settle a comparison: pairs, as many as would probably do, or a decision on a label; empty where
    neither would."""
    lacks, pairs, entry = needed(answer), pairs_to_add(answer), records.entry(answer.entry)
    recipe, stated = entry.recipe, entry.comparison
    if lacks is not None and lacks.what == "decision":
        return _line(f"logbook edit {answer.entry}", command_line(["--gate", f"{SAME} {lacks.name}"]))
    if not pairs:
        return ""
    if recipe is not None:
        explored = any(run.label == COMPARISON for run in records.runs(answer.entry))
        if explored:
            return sweep_more(answer.entry, f"--set confirm={answer.pairs + pairs}")
        sets = (*(text for text in recipe.sets if not text.startswith("repeats=")), f"repeats={pairs}")
        return sweep_command(recipe.file or recipe.name, "--new", scale=recipe.scale, sets=sets, on=recipe.on)
    if stated is None or not _has_command(stated):
        return ""
    return ab_again(answer.entry, stated, pairs if lacks is not None else None)


def replicate(records: Records, answer: Answer, now: datetime) -> str:
    """What to type for a second sitting of a comparison that one has settled; empty where there is nothing to gain, or
    pairs made now would belong to the first."""
    stated = records.entry(answer.entry).comparison
    if stated is None or not _has_command(stated) or stated.design.fixed:
        return ""
    last = max((ended for _, ended in answer.times), default="")
    is_apart = bool(last) and (now - datetime.fromisoformat(last)).total_seconds() > APART_S
    is_due = answer.is_settled and answer.confidence == "exploratory" and answer.sittings < 2 and is_apart
    return ab_again(answer.entry, stated, BLOCK_PAIRS) if is_due else ""


def measure(record: Record, *, times: int = 1) -> str:
    """What to type to make the runs that an entry states: its sweep, its pairs, its planned commands; else its last
    command again, so many `times`. An entry that makes no runs is shown."""
    entry, stated = record.entry, record.entry.comparison
    if entry.kind != "experiment":
        return show(entry.id)
    if entry.recipe is not None:
        return sweep_more(entry.id, "--retry-failed" if record.runs else "")
    if stated is not None and _has_command(stated):
        return ab_again(entry.id, stated)
    if record.pending:
        return f"logbook run --id {entry.id}"
    last = next((s.run for s in reversed(record.runs) if s.run.argv), None)
    if last is None:
        return f"logbook run --id {entry.id} -- COMMAND"
    command = command_line(last.argv, typed_env(last))
    repeat, label = f"--repeat {times}" if times > 1 else "", f"--label {shlex.quote(last.label)}" if last.label else ""
    return _line(f"logbook run --id {entry.id}", repeat, label, "--shell" if last.shell else "", "--", command)


def retry(records: Records, answer: Answer, side: str) -> str:
    """What to type once the cause is mended for which a side failed: the question again, of the code as it is then. A
    commit fails again: its output is shown; a setup of commits gives way to another one."""
    entry, stated = records.entry(answer.entry), records.entry(answer.entry).comparison
    if entry.recipe is not None:
        return sweep_more(entry.id, "--retry-failed")
    if stated is None or not _has_command(stated):
        return show(entry.id)
    if side == SETUP and stated.question.axis == CODE_AXIS:
        return other_setup(entry.id)
    if is_commit(stated, side):
        last = max((run.run for run in records.runs(entry.id) if run.part and run.part.side == side), default=None)
        return show(f"{entry.id}/{last} --log" if last is not None else entry.id)
    return ab_retry(records.record(entry.id), stated)


def ab_retry(record: Record, stated: Comparison) -> str:
    """What to type to ask an A/B again, of the code as it is then; in a new entry where the pairs of this one were
    made, and failed a gate: they would be judged with it."""
    made = {s.run.part.side for s in record.runs if s.run.part is not None and s.counts and s.run.exit == Exit(code=0)}
    return ab_afresh(record.id, new=made >= {*stated.question.values})


def is_commit(stated: Comparison, side: str) -> bool:
    """Whether a side is a commit, which nobody can mend."""
    return stated.question.axis == CODE_AXIS and "@" in side


def show(entry_id: str) -> str:
    """What to type to see an entry with its runs, such as how they failed."""
    return f"logbook show {entry_id}"


def sweep_more(entry_id: str, *options: str) -> str:
    """What to type to go on with a sweep."""
    return _line(f"logbook sweep --id {entry_id}", *options)


def _has_command(stated: Comparison) -> bool:
    """Whether a comparison can be continued by typing something."""
    return stated.run is not None and not stated.run.in_process


def ab_again(entry_id: str, stated: Comparison, pairs: int | None = None) -> str:
    """What to type to go on with an A/B by its entry. Where its pairs are judged once, a new entry takes them; where no
    commit holds its code, the question is typed again, which is right for the code as it is then."""
    if stated.design.fixed:
        return ab_afresh(entry_id, pairs)
    code = stated.code.get(stated.question.base)
    if code is not None and code.commit is None and code.mark is not None:
        return ab_afresh(entry_id, pairs, new=False)
    return ab_more(entry_id, pairs)


def ab_more(entry_id: str, pairs: int | None = None) -> str:
    """What to type to go on with an A/B: its budget, or so many `pairs` more."""
    return f"logbook ab --id {entry_id}" + (f" --max-pairs {pairs}" if pairs is not None else "")


def needed_setup(stated: Comparison | None) -> str:
    """What a comparison needs where its code is another one now; empty where it needs nothing."""
    run = stated.run if stated is not None else None
    if run is None or not run.needs or run.setup is not None:
        return ""
    return f"on other code, add --setup COMMAND, which makes {listed(run.needs, 3)}: git does not hold it"


def other_setup(entry_id: str) -> str:
    """What to type to go on with an A/B after another setup than the one that failed."""
    return f"{ab_more(entry_id)} --setup 'COMMAND'"


def ab_afresh(entry_id: str, pairs: int | None = None, *, new: bool = True) -> str:
    """What to type to ask what the A/B of an entry asks once more, in a `new` entry; without that, of the code as it is
    now. `pairs`: at most so many, else as many as it had."""
    more = f"--max-pairs {pairs}" if pairs is not None else ""
    return _line("logbook ab", "--new" if new else "", f"--like {entry_id}", more)


def other_evaluator(entry_id: str, stated: Comparison) -> str:
    """What to type to compare the two codes of an entry the other way round, measured with the files of the side; empty
    where it has the files of the base, or is in no commit."""
    question = stated.question
    is_other = len(question.sides) == 1 and "@" in question.sides[0] and any(one.differed for one in stated.evaluator)
    if not is_other or not _has_command(stated):
        return ""
    return f"logbook ab --code {' '.join(map(code_typed, (question.sides[0], question.base)))} --like {entry_id}"


_ENV, _REDACTED = "env:", "[redacted:"
# What names a commit where it is typed; neither a commit with changes, `3f2a9c01d+`, nor none.
_REVISION = re.compile(r"(?!null$)\w[\w./-]*")


def ab_like(axis: str | None, values: Sequence[str], items: Sequence[Item], *more: str) -> str:
    """What to type to compare these values of an axis, the base first, by the command of a run that there is. `items`
    hold one case of each, as far as there are some. Empty where no command of theirs can do that."""
    of = next((item for item in items if _is_typed(axis, item)), None)
    if axis is None or of is None:
        return ""
    like = f"--like {of.case.entry}/{of.case.run}"
    options = command_line(more)
    if axis in ("commit", CODE_AXIS):
        codes = [code_hash(value) for value in values[:2]]
        if len({*codes}) < 2 or not all(map(_REVISION.fullmatch, codes)):
            return ""
        return _line(f"logbook ab --code {' '.join(codes)}", like, options)
    absent = "" if axis.startswith(_ENV) else canonical(None)
    return _line(f"logbook ab {axis_option(axis, [absent if v == ABSENT else v for v in values])}", like, options)


def ab_with(axis: str, values: Sequence[str], words: Sequence[str], *more: str) -> str:
    """What to type to compare values of an axis by a command that nobody has run yet; empty where it has no place for
    them."""
    has_place = with_place(words, axis, None) is not None
    return _line(f"logbook ab {axis_option(axis, values)}", command_line([*more, "--", *words])) if has_place else ""


def _is_typed(axis: str | None, item: Item) -> bool:
    """Whether the command of a case can be run again with other values of an axis."""
    words = item.case.command
    if axis is None or any(_REDACTED in word for word in words):
        return False
    if axis in ("commit", CODE_AXIS) or axis.startswith(_ENV):
        return bool(words)
    return with_place(words, axis, item.key(axis) if axis in item.row.config else None) is not None


def addressed(command: str, naming: Sequence[str]) -> str:
    """The command with `naming` (`-L TOPIC`), unless it names a logbook or an entry before its `--`."""
    if not naming or not command.startswith("logbook "):
        return command
    options = itertools.takewhile(lambda word: word != "--", shlex.split(command))
    if any(word in ("-L", "--logbook") or parse_id(entry_of(word)) is not None for word in options):
        return command
    return f"logbook {shlex.join(naming)} {command.removeprefix('logbook ')}"


def _line(command: str, *options: str) -> str:
    return " ".join([command, *filter(None, options)])
