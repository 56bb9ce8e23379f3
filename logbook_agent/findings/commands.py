"""What to type to settle a question: the command that adds pairs to a comparison, or makes a first one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from logbook_agent.findings.cases import cases
from logbook_agent.findings.tables.frame import frame_of
from logbook_agent.model.comparison import BUDGET_PAIRS, CODE_AXIS, Question, code_hash
from logbook_agent.model.entry import Contrast
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.record import COMPARISON
from logbook_agent.model.run import Run
from logbook_agent.model.values import canonical
from logbook_agent.text.lists import axis_option
from logbook_agent.text.words import command_line, sweep_command

if TYPE_CHECKING:
    from logbook_agent.findings.comparison.answers import Answer
    from logbook_agent.findings.records import Records


def settle_varied(records: Records, entry_id: str) -> str:
    """What would settle the rows of an entry that differ in one key alone."""
    from logbook_agent.findings.contrasts.contrast import contrast

    rows = [row for s in records.record(entry_id).runs if s.counts for row in s.run.rows]
    names = dict.fromkeys(name for row in rows for name in row.config)
    varied = [n for n in names if len({canonical(row.config.get(n)) for row in rows}) > 1]
    if len(varied) != 1:
        return ""
    try:
        return contrast(records, Contrast(references=(entry_id,), axis=varied[0])).settle
    except LogbookError:
        return ""


def go_on(records: Records, answer: Answer) -> str:
    """What to type to add pairs to a comparison, as many as would probably settle it."""
    from logbook_agent.findings.comparison.words import missing_pairs

    needed = max((missing_pairs(f) for f in answer.goals if not f.is_settled), default=math.inf)
    pairs = int(needed) if math.isfinite(needed) else BUDGET_PAIRS
    recipe = records.entry(answer.entry).recipe
    if recipe is not None:
        explored = any(run.label == COMPARISON for run in records.runs(answer.entry))
        if explored:
            return f"logbook sweep --resume {answer.entry} --set confirm={answer.pairs + pairs}"
        sets = (*(text for text in recipe.sets if not text.startswith("repeats=")), f"repeats={pairs}")
        return sweep_command(recipe.file or recipe.name, "--new", scale=recipe.scale, sets=sets, on=recipe.on)
    return ab_again(records, answer.entry, answer.question, f"--max-pairs {pairs}")


def ab_again(records: Records, entry_id: str, question: Question, more: str) -> str:
    """The command that adds pairs to the A/B of an entry, with `more` options: as it was run before, but for texts."""
    run = next((run for run in records.runs(entry_id) if run.part is not None), None)
    options = ["--id", entry_id, *more.split(), *(_options(run, question.axis) if run is not None else ())]
    return _asked_again(records, entry_id, question).replace("logbook ab", f"logbook ab {command_line(options)}", 1)


def _options(run: Run, axis: str) -> list[str]:
    """How a run of an A/B was made, as options."""
    # With --code, the tool sets where Python looks first.
    own = {axis.removeprefix("env:"), *(("PYTHONPATH",) if axis == CODE_AXIS else ())}
    env = [f"{k}={v}" for k, v in run.env.declared.items() if k not in own]
    config = [f"{k}={canonical(v)}" for k, v in run.config.items() if k != axis]
    return [
        *(word for text in env for word in ("--env", text)),
        *(word for text in config for word in ("--config", text)),
        *(("--timeout", f"{run.timeout_s:g}s") if run.timeout_s is not None else ()),
        *(("--on", run.on) if run.on is not None else ()),
    ]


def _asked_again(records: Records, entry_id: str, question: Question) -> str:
    """The command that asks a question of what the runs of an entry ran."""
    from logbook_agent.findings.comparison.sentences import code_name
    from logbook_agent.findings.contrasts.settle import settled_by

    # One row of each side says it.
    of = {item.case.part.side: item for item in frame_of(cases(records.record(entry_id))).items if item.case.part}
    items = [of[side] for side in question.values if side in of]
    axis = axis_option(question.axis, question.values)
    if question.axis == CODE_AXIS:
        # A hash stays what it is when a branch moves on.
        codes = [code_hash(value) if "@" in value else code_name(value) for value in question.values]
        axis = f"--code {' '.join(codes)}"
    if not items:
        return f"logbook ab {axis} -- COMMAND"
    text = settled_by(question.axis, question.values, items)
    return f"logbook ab {axis} -- {text.partition(' -- ')[2]}" if question.axis == CODE_AXIS else text


def command_in(settle: str) -> str:
    """The command in a text that says what would settle it; empty where there is none."""
    return settle[settle.find("logbook ab") :] if "logbook ab" in settle else ""
