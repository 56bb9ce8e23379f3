"""What to type to settle a question: the command that adds pairs to a comparison, or makes a first one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from logbook_agent.findings.cases import cases
from logbook_agent.findings.tables.frame import frame_of
from logbook_agent.model.comparison import BUDGET_PAIRS, CODE_AXIS
from logbook_agent.model.entry import Contrast
from logbook_agent.model.errors import LogbookError
from logbook_agent.model.record import COMPARISON
from logbook_agent.model.values import canonical
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import sweep_command
from logbook_agent.text.lists import axis_option

if TYPE_CHECKING:
    from logbook_agent.findings.comparison.answers import Answer


def settle_varied(book: Book, entry_id: str) -> str:
    """What would settle the rows of an entry that differ in one key alone."""
    from logbook_agent.findings.contrasts.contrast import contrast

    rows = [row for s in book.record(entry_id).runs if s.counts for row in s.run.rows]
    names = dict.fromkeys(name for row in rows for name in row.config)
    varied = [n for n in names if len({canonical(row.config.get(n)) for row in rows}) > 1]
    if len(varied) != 1:
        return ""
    try:
        return contrast(book, Contrast(references=(entry_id,), axis=varied[0])).settle
    except LogbookError:
        return ""


def go_on(book: Book, answer: Answer) -> str:
    """What to type to add pairs to a comparison, as many as would probably settle it."""
    from logbook_agent.findings.comparison.words import missing_pairs

    needed = max((missing_pairs(f) for f in answer.goals if not f.is_settled), default=math.inf)
    pairs = int(needed) if math.isfinite(needed) else BUDGET_PAIRS
    recipe = book.entry(answer.entry).recipe
    if recipe is not None:
        explored = any(run.label == COMPARISON for run in book.runs(answer.entry))
        if explored:
            return f"logbook sweep --resume {answer.entry} --set confirm={answer.pairs + pairs}"
        sets = (*(text for text in recipe.sets if not text.startswith("repeats=")), f"repeats={pairs}")
        return sweep_command(recipe.file or recipe.name, "--new", scale=recipe.scale, sets=sets, on=recipe.on)
    return _again(book, answer).replace("logbook ab", f"logbook ab --id {answer.entry} --max-pairs {pairs}", 1)


def _again(book: Book, answer: Answer) -> str:
    """The command that made a comparison."""
    from logbook_agent.findings.comparison.sentences import code_name
    from logbook_agent.findings.contrasts.settle import settled_by

    question = answer.question
    # One row of each side says it.
    of = {item.case.part.side: item for item in frame_of(cases(book.record(answer.entry))).items if item.case.part}
    items = [of[side] for side in question.values if side in of]
    axis = axis_option(question.axis, question.values)
    if question.axis == CODE_AXIS:
        axis = f"--code {' '.join(map(code_name, question.values))}"
    if not items:
        return f"logbook ab {axis} -- COMMAND"
    text = settled_by(question.axis, question.values, items)
    return f"logbook ab {axis} -- {text.partition(' -- ')[2]}" if question.axis == CODE_AXIS else text


def command_in(settle: str) -> str:
    """The command in a text that says what would settle it; empty where there is none."""
    return settle[settle.find("logbook ab") :] if "logbook ab" in settle else ""
