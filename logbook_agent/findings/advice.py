"""What to type to settle a question: the command that adds pairs to a comparison, or makes a first one."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from logbook_agent.findings.cases import cases, typed_env
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.answers import missing_pairs
from logbook_agent.findings.comparison.words import code_name
from logbook_agent.findings.protocol import Records
from logbook_agent.findings.tables.frame import ABSENT, Item, frame_of
from logbook_agent.model.comparison import BUDGET_PAIRS, CODE_AXIS, Question, code_hash
from logbook_agent.model.record import COMPARISON
from logbook_agent.model.run import Run
from logbook_agent.model.values import canonical
from logbook_agent.text.commands.flags import is_value, normal_name
from logbook_agent.text.lists import axis_option
from logbook_agent.text.shell_words import command_line, sweep_command


def pairs_to_add(answer: Answer) -> int:
    """How many more pairs of each case would probably settle a comparison; the usual budget where none would."""
    needed = max((missing_pairs(f) for f in answer.goals if not f.is_settled), default=math.inf)
    return int(needed) if math.isfinite(needed) else BUDGET_PAIRS


def go_on(records: Records, answer: Answer) -> str:
    """What to type to add pairs to a comparison, as many as would probably settle it."""
    pairs = pairs_to_add(answer)
    recipe = records.entry(answer.entry).recipe
    if recipe is not None:
        explored = any(run.label == COMPARISON for run in records.runs(answer.entry))
        if explored:
            return f"logbook sweep --resume {answer.entry} --set confirm={answer.pairs + pairs}"
        sets = (*(text for text in recipe.sets if not text.startswith("repeats=")), f"repeats={pairs}")
        return sweep_command(recipe.file or recipe.name, "--new", scale=recipe.scale, sets=sets, on=recipe.on)
    stated = records.entry(answer.entry).comparison
    if stated is not None and stated.design.fixed:
        return ab_again(records, answer.entry, answer.question, is_new=True)
    return ab_again(records, answer.entry, answer.question, f"--max-pairs {pairs}")


def _options(run: Run, axis: str) -> list[str]:
    """The options that make a run again: environment, config, time limit, executor."""
    env = [f"{k}={v}" for k, v in typed_env(run).items() if k != axis.removeprefix("env:")]
    config = [f"{k}={canonical(v)}" for k, v in run.config.items() if k != axis]
    return [
        *(word for text in env for word in ("--env", text)),
        *(word for text in config for word in ("--config", text)),
        *(("--timeout", f"{run.timeout_s:g}s") if run.timeout_s is not None else ()),
        *(("--stall", f"{run.stall_s:g}s") if run.stall_s is not None else ()),
        *(("--shell",) if run.shell else ()),
        *(("--read", run.read) if run.read is not None else ()),
        *(("--on", run.on) if run.on is not None else ()),
    ]


def ab_again(records: Records, entry_id: str, question: Question, more: str = "", *, is_new: bool = False) -> str:
    """The `logbook ab` command that adds pairs to the A/B of an entry, or asks the same in a new one: the command that
    its runs ran, with the options of its first run and `more`; prose is not repeated."""
    record = records.record(entry_id)
    run = next((status.run for status in record.runs if status.run.part is not None), None)
    id_option = () if is_new else ("--id", entry_id)
    given = [*id_option, *more.split(), *(_options(run, question.axis) if run is not None else ())]
    # One row of each side says it.
    of = {item.case.part.side: item for item in frame_of(cases(record)).items if item.case.part}
    items = [of[side] for side in question.values if side in of]
    axis = axis_option(question.axis, question.values)
    if question.axis == CODE_AXIS:
        # A hash stays what it is when a branch moves on.
        codes = [code_hash(value) if "@" in value else code_name(value) for value in question.values]
        axis = f"--code {' '.join(codes)}"
        if record.entry.comparison is not None and not record.entry.comparison.evaluator:
            given += ["--evaluator", "none"]
    if not items:
        return _with(given, f"logbook ab {axis} -- COMMAND")
    text = _settled_by(question.axis, question.values, items)
    words = text.partition(" -- ")[2]
    if run is not None and run.shell and (question.axis == CODE_AXIS or question.axis.startswith(_ENV)):
        text, words = text.replace(words, command_line(run.argv)), command_line(run.argv)
    return _with(given, f"logbook ab {axis} -- {words}" if question.axis == CODE_AXIS else text)


def _with(options: Sequence[str], command: str) -> str:
    """A `logbook ab` command with further options."""
    return command.replace("logbook ab", f"logbook ab {command_line(options)}", 1) if options else command


def command_in(settle: str) -> str:
    """The command in a text that says what would settle it; empty where there is none."""
    return settle[settle.find("logbook ab") :] if "logbook ab" in settle else ""


_COMMAND = "COMMAND"
_COMMAND_CHARS = 400
_ENV = "env:"
# What names a commit where it is typed; neither a commit with changes, `3f2a9c01d+`, nor none.
_REVISION = re.compile(r"(?!null$)\w[\w./-]*")


def settled_by(axis: str | None, values: Sequence[str], items: Sequence[Item]) -> str:
    """The `logbook ab` command that compares these values of an axis, the base first. `items` hold one case of each, as
    far as there are some; names stand for values that cannot be typed."""
    text = _settled_by(axis, values, items)
    read = next((item.case.read for item in items if item.case.read is not None), None)
    return _with(["--read", read] if read is not None else [], text)


def _settled_by(axis: str | None, values: Sequence[str], items: Sequence[Item]) -> str:
    first = _line(items[0].case.command if items else ())
    if axis in ("commit", CODE_AXIS):
        names = [code_hash(value) for value in values[:2]]
        codes = [
            text if _REVISION.fullmatch(text) else name for text, name in zip(names, ("BASE", "OTHER"), strict=True)
        ]
        return f"logbook ab --code {' '.join(codes)} -- {first}"
    if axis is not None and axis.startswith(_ENV):
        given = ["" if value == ABSENT else value for value in values]
        return f"logbook ab {axis_option(axis, given)} -- {first}"
    if axis is None or (items and axis not in items[0].row.config | items[-1].row.config):
        where = f", with NAME what sets {axis}" if axis is not None else ""
        return f"logbook ab --axis NAME=A,B -- {_COMMAND}{where}"
    typed = [words for item in items if (words := flagged(item.case.command, axis))]
    command = typed or [words for item in items if (words := _with_place(item, axis))]
    if not typed and ABSENT in values:
        values = ["A", "B"]
    given = [canonical(None) if value == ABSENT else value for value in values]
    return f"logbook ab {axis_option(axis, given)} -- {_line(command[0] if command else ())}"


def _line(words: Sequence[str]) -> str:
    """A command as one types it; `COMMAND` for one that is long or a script."""
    text = command_line(words)
    is_script = len(words) < 2 and any(map(str.isspace, text))
    return _COMMAND if not words or is_script or len(text) > _COMMAND_CHARS or "\n" in text else text


def flagged(command: Sequence[str], axis: str) -> Sequence[str]:
    """The command, if it has a flag of this name with a value, which `logbook ab` replaces; else nothing."""
    for at, word in enumerate(command[1:], start=1):
        name, equals, _ = word.partition("=")
        has_next = word.startswith("-") and at + 1 < len(command) and is_value(command[at + 1])
        if normal_name(name) == normal_name(axis) and (equals or has_next):
            return command
    return ()


def _with_place(item: Item, axis: str) -> Sequence[str]:
    """The command with `{axis}` in place of the one word, or part behind `=`, that is its value; else nothing."""
    words, value = item.case.command, item.key(axis)
    ends = [word.rpartition("=")[2] for word in words]
    places = [at for at, end in enumerate(ends) if at and canonical(end) == value]
    if len(places) != 1:
        return ()
    [at] = places
    return [*words[:at], f"{words[at].removesuffix(ends[at])}{{axis}}", *words[at + 1 :]]
