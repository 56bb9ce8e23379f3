"""The question of an A/B with its command and its code: as the entry states it, and found again when it is typed
again."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

from logbook_agent.campaign.ab_prepare import AbRequest, Sides
from logbook_agent.findings.comparison.pairs import plain_words
from logbook_agent.findings.read import read
from logbook_agent.model.codec import decode, encode
from logbook_agent.model.comparison import CODE_AXIS, Comparison, Invocation
from logbook_agent.model.entry import Entry, is_withdrawn
from logbook_agent.running.provenance.git import CodeFacts
from logbook_agent.running.worker.perform import keep_code
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace, place_of
from logbook_agent.text.commands.axis_words import ANY
from logbook_agent.text.redaction.plain import redacted


def invocation(workspace: Workspace, request: AbRequest, sides: Sides) -> Invocation:
    """How the runs of a request are made, without secrets."""
    run, axis = request.run, sides.axis
    found = Invocation(
        argv=workspace.redactor.argv(sides.argv),
        values=axis.values if axis.values != axis.keys else (),
        shell=run.shell,
        env=dict(run.env),
        config=dict(run.config),
        on=run.on,
        read=run.read,
        cwd=place_of(Path(os.path.realpath(workspace.cwd / (run.cwd or "."))), workspace),
        timeout_s=run.timeout_s,
        stall_s=run.stall_s,
        keep=tuple(run.keep),
        inputs=tuple(run.inputs),
        setup=request.setup,
        needs=sides.needs,
        in_process=sides.in_process,
    )
    return decode(Invocation, redacted(encode(found), workspace.redactor))


def stated(comparison: Comparison, run: Invocation, code: Mapping[str, CodeFacts]) -> Comparison:
    """The comparison with its command and its code."""
    return dataclasses.replace(comparison, run=run, code={side: facts.code for side, facts in code.items()})


def keeping(workspace: Workspace, book: Book, comparison: Comparison, code: Mapping[str, CodeFacts]) -> Comparison:
    """The comparison, after what its code has beside a commit was written into the logbook."""
    kept = {
        side: keep_code(facts, files=book.files.below(book.topic), redactor=workspace.redactor)
        for side, facts in code.items()
    }
    return dataclasses.replace(comparison, code=kept)


# -- typed again ---------------------------------------------------------------------------------------


def asked_before(workspace: Workspace, book: Book, asked: Comparison) -> Entry | None:
    """The latest entry that asks the same of the same code; None where there is none."""
    for entry_id in read(workspace, book).comparisons.asking(asked.question.axis):
        entry = book.entry(entry_id)
        if entry.comparison is not None and not is_withdrawn(entry.state) and _is_same(entry.comparison, asked):
            return entry
    return None


def _is_same(one: Comparison, other: Comparison) -> bool:
    """Whether two comparisons ask the same of the same code, with the same command."""
    if one.run is None or other.run is None or one.evaluator != other.evaluator:
        return False
    if other.run.setup not in (None, one.run.setup):
        return False  # what is built differs
    axis = one.question.axis
    return _question(one) == _question(other) and _asked(one.run, axis) == _asked(other.run, axis)


def _question(one: Comparison) -> object:
    """The question with its code. Where code is compared, any file tells two sides apart, and their names do not
    matter."""
    question, is_axis = one.question, one.question.axis == CODE_AXIS
    codes = [one.code[side] for side in question.values if side in one.code]
    marks = [code.identity if is_axis else code.mark for code in codes]
    if is_axis:
        question = dataclasses.replace(question, base="", sides=tuple(map(str, range(len(question.sides)))))
    return question, marks


def _asked(run: Invocation, axis: str) -> object:
    inputs = tuple(sorted(run.inputs))
    plain = dataclasses.replace(
        run, argv=(), timeout_s=None, stall_s=None, keep=(), setup=None, needs=(), inputs=inputs
    )
    return plain, [word.replace(f"{{{axis}}}", ANY) for word in plain_words(run.argv)]
