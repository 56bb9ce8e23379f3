"""The question of an A/B with its command and its code: as the entry states it, and found again when it is typed
again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from logbook_agent.campaign.ab_axis import AbAxis, described
from logbook_agent.campaign.ab_request import AbRequest, check_pairs
from logbook_agent.campaign.recorded_command import OPTIONS
from logbook_agent.campaign.sides import Sides
from logbook_agent.entries.drafts import check_required, create_entry, draft_entry, is_stated, with_relations
from logbook_agent.entries.judging import check_gates, with_gates
from logbook_agent.findings.comparison.conditions import plain_words
from logbook_agent.findings.read import read
from logbook_agent.model.code import Code
from logbook_agent.model.codec import decode, encode
from logbook_agent.model.comparison import (
    CODE_AXIS,
    MINIMUM_EFFECT,
    Comparison,
    Design,
    Invocation,
    Question,
    drawn,
)
from logbook_agent.model.entry import Entry, is_withdrawn
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Header
from logbook_agent.model.record import digest
from logbook_agent.running.order import Display, check_budget
from logbook_agent.running.provenance.git import CodeFacts
from logbook_agent.running.worker.perform import keep_code
from logbook_agent.store.book import Book
from logbook_agent.store.processes import this_host
from logbook_agent.store.workspace import Workspace, place_of
from logbook_agent.text.commands.axis_words import ANY
from logbook_agent.text.redaction.plain import redacted


def comparison_of(workspace: Workspace, header: Header, request: AbRequest, axis: AbAxis) -> Comparison:
    """The comparison of an axis that is asked for. Metrics that are not named are the primary ones of the
    logbook."""
    names = tuple(redacted(key, workspace.redactor) for key in axis.keys)
    if len(set(names)) < len(names):
        raise UsageError(
            f"two values of {axis.name} are the same text after secrets are redacted",
            cause="sides are told apart by their values, and the record holds no secrets",
            hint="name the values by something else: a variable that the command reads them from",
        )
    question = Question(
        axis=axis.name,
        base=names[0],
        sides=names[1:],
        metrics=request.metrics or tuple(m.name for m in header.metrics if m.primary),
        minimum_effect=MINIMUM_EFFECT if request.minimum_effect is None else request.minimum_effect,
    )
    seed = int.from_bytes(drawn(workspace.moment())[:4]) if request.seed is None else request.seed
    design = Design(seed=seed, budget_pairs=request.pairs, fixed=request.fixed is not None, copy=copy_of(workspace))
    return Comparison(question=question, design=design, evaluator=axis.evaluator)


def copy_of(workspace: Workspace) -> str:
    """What tells this working copy from clones and worktrees."""
    return digest(this_host(), str(workspace.root))[:5]


def asked_entry(workspace: Workspace, book: Book, request: AbRequest, sides: Sides, display: Display) -> Entry:
    """The latest entry that asks the same of the same code, else a new one that states the comparison. Raises
    UsageError for an entry whose number of pairs is fixed, and made."""
    asked = replace(
        comparison_of(workspace, book.header, request, sides.axis),
        # Of several cases no one command makes more.
        run=_invocation(workspace, request, sides) if not request.cases else None,
        code={side: facts.code for side, facts in sides.code.items()},
        branches=dict(sides.branches),
    )
    # Of two that begin at once, one makes it for both.
    with book.lock():
        before = _asked_before(workspace, book, asked) if not request.new else None
        if before is None or before.comparison is None:
            return _new_entry(workspace, book, request, sides, asked)
        pairs = {(run.part.copy, run.part.pair) for run in book.runs(before.id) if run.part is not None}
        check_pairs(before, before.comparison, request, len(pairs))
        check_gates(book.record(before.id), request.gates)
    display.progress(f"{before.id} asks the same; for another entry: --new")
    if not is_stated(before, request.run.prose):
        workspace.warnings.append(f"the text of {before.id} stays as it is; logbook edit changes it")
    return before


def _new_entry(workspace: Workspace, book: Book, request: AbRequest, sides: Sides, asked: Comparison) -> Entry:
    prose = request.run.prose
    if sides.lines:
        prose = replace(prose, fields=("Code=" + "\n".join(sides.lines), *prose.fields))
    # What the code has beside a commit is written into the logbook.
    asked = replace(asked, code=_kept(workspace, book, sides.code))
    check_budget(workspace, book)
    prose = with_relations(book, prose)
    check_required(workspace, prose, request.run.label)
    draft = draft_entry(workspace, prose, title=prose.title or described(sides.axis))
    return create_entry(workspace, book, replace(draft, comparison=asked))


def _kept(workspace: Workspace, book: Book, code: Mapping[str, CodeFacts]) -> dict[str, Code]:
    files = book.files.below(book.topic)
    return {side: keep_code(facts, files=files, redactor=workspace.redactor) for side, facts in code.items()}


def _invocation(workspace: Workspace, request: AbRequest, sides: Sides) -> Invocation:
    """How the runs of a request are made, without secrets."""
    run, axis = request.run, sides.axis
    found = Invocation(
        argv=workspace.redactor.argv(sides.argv),
        values=axis.values if axis.values != axis.keys else (),
        env=dict(run.env),
        config=dict(run.config),
        cwd=place_of(Path(os.path.realpath(workspace.cwd / (run.cwd or "."))), workspace),
        setup=request.setup,
        needs=sides.needs,
        in_process=sides.in_process,
        **{name: getattr(run, name) for name in OPTIONS},
    )
    return decode(Invocation, redacted(encode(found), workspace.redactor))


# -- more of it ----------------------------------------------------------------------------------------


def with_judging(book: Book, entry: Entry, request: AbRequest) -> Entry:
    """The entry with the gates and free labels of the request beside its own."""
    return book.change_entry(entry.id, lambda now: with_gates(now, request.gates, request.free))


def with_pairs(book: Book, entry: Entry, budget_pairs: int) -> Entry:
    """The entry, written with so many pairs in its design."""

    def change(now: Entry) -> Entry:
        if now.comparison is None:
            return now
        design = replace(now.comparison.design, budget_pairs=budget_pairs)
        return replace(now, comparison=replace(now.comparison, design=design))

    return book.change_entry(entry.id, change)


def with_setup(workspace: Workspace, book: Book, entry: Entry, setup: str) -> None:
    """Keep a setup after which a pair was made, so that later pairs have it, too."""

    def change(now: Entry) -> Entry:
        if now.comparison is None or now.comparison.run is None:
            return now
        run = replace(now.comparison.run, setup=redacted(setup, workspace.redactor))
        return replace(now, comparison=replace(now.comparison, run=run))

    book.change_entry(entry.id, change)


# -- typed again ---------------------------------------------------------------------------------------


def _asked_before(workspace: Workspace, book: Book, asked: Comparison) -> Entry | None:
    """The latest entry that asks the same of the same code; None where there is none."""
    entries = map(book.entry, read(workspace, book).comparisons.asking(asked.question.axis))
    return next(
        (
            e
            for e in entries
            if e.comparison is not None and not is_withdrawn(e.state) and _is_same(e.comparison, asked)
        ),
        None,
    )


def _is_same(one: Comparison, other: Comparison) -> bool:
    """Whether two comparisons ask the same of the same code, with the same command. Where both state a build, it is
    the same, too."""
    if one.run is None or other.run is None or one.evaluator != other.evaluator:
        return False
    axis, is_built_alike = one.question.axis, other.run.setup in (None, one.run.setup)
    return is_built_alike and _question(one) == _question(other) and _asked(one.run, axis) == _asked(other.run, axis)


def _question(one: Comparison) -> object:
    """The question with its code. Where code is compared, any file tells two sides apart, and their names do not
    matter."""
    question, is_axis = one.question, one.question.axis == CODE_AXIS
    codes = [one.code[side] for side in question.values if side in one.code]
    marks = [code.identity if is_axis else code.mark for code in codes]
    if is_axis:
        question = replace(question, base="", sides=tuple(map(str, range(len(question.sides)))))
    return question, marks


def _asked(run: Invocation, axis: str) -> object:
    # How often, how long and where are no part of the question.
    how = (run.shell, run.env, run.config, run.on, run.read, run.cwd, run.values, sorted(run.inputs), run.in_process)
    return how, [word.replace(f"{{{axis}}}", ANY) for word in plain_words(run.argv)]
