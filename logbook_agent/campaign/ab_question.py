"""The question of an A/B with its command and its code: as the entry states it, and found again when it is typed
again."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import structs

from logbook_agent.campaign.ab_axis import AbAxis, Sides, described
from logbook_agent.campaign.ab_request import AbRequest, check_pairs
from logbook_agent.campaign.run_request import OPTIONS
from logbook_agent.entries.edit import check_gates
from logbook_agent.entries.new_entry import check_required, create_entry, draft_entry, is_stated, with_relations
from logbook_agent.findings.comparison.conditions import asks, codes_of
from logbook_agent.findings.read import read
from logbook_agent.model.codec import decode, encode
from logbook_agent.model.comparison import (
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
from logbook_agent.running.worker.perform import keep_code
from logbook_agent.store.book import Book
from logbook_agent.store.processes import this_host
from logbook_agent.store.workspace import Workspace, place_of
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
    asked = structs.replace(
        comparison_of(workspace, book.header, request, sides.axis),
        # Of several cases no one command makes more.
        run=_invocation(workspace, request, sides) if not request.cases else None,
        code={side: facts.code for side, facts in sides.code.items()},
        branches=dict(sides.branches),
    )
    # Of two that begin at once, one makes it for both.
    with book.lock():
        before = _asked_before(workspace, book, asked)
        if request.new and before is not None:
            display.progress(f"{before.id} asks the same of the same code")
        if request.new or before is None or before.comparison is None:
            return _new_entry(workspace, book, request, sides, asked)
        pairs = {(run.part.copy, run.part.pair) for run in book.runs(before.id) if run.part is not None}
        check_pairs(before, before.comparison, request, len(pairs))
        check_gates(book.record(before.id), request.gates)
    display.progress(f"{before.id} asks the same; for another entry: --new")
    prose = request.run.prose
    if not is_stated(before, structs.replace(prose, completes=None) if prose.completes == before.id else prose):
        workspace.warnings.append(f"the text of {before.id} stays as it is; logbook edit changes it")
    return before


def _new_entry(workspace: Workspace, book: Book, request: AbRequest, sides: Sides, asked: Comparison) -> Entry:
    prose = request.run.prose
    if sides.lines:
        prose = structs.replace(prose, fields=("Code=" + "\n".join(sides.lines), *prose.fields))
    # What the code has beside a commit is written into the logbook.
    files, values = book.files.below(book.topic), workspace.redactor
    kept = {side: keep_code(facts, files=files, values=values) for side, facts in sides.code.items()}
    check_budget(workspace, book)
    prose = with_relations(book, prose)
    check_required(workspace, prose, request.run.label)
    draft = draft_entry(workspace, prose, title=prose.title or described(sides.axis))
    return create_entry(workspace, book, structs.replace(draft, comparison=structs.replace(asked, code=kept)))


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


# -- typed again ---------------------------------------------------------------------------------------


def _asked_before(workspace: Workspace, book: Book, asked: Comparison) -> Entry | None:
    """The latest entry that asks the same of the same code; None where there is none."""
    for entry in map(book.entry, read(workspace, book).comparisons.asking(asked.question.axis)):
        if entry.comparison is not None and not is_withdrawn(entry.state) and _is_same(entry.comparison, asked):
            return entry
    return None


def _is_same(one: Comparison, other: Comparison) -> bool:
    """Whether two comparisons ask the same of the same code, with the same command. Where both state a build, it is
    the same, too."""
    if one.run is None or other.run is None or one.evaluator != other.evaluator:
        return False
    is_built_alike = other.run.setup in (None, one.run.setup)
    return is_built_alike and asks(one) == asks(other) and codes_of(one) == codes_of(other)
