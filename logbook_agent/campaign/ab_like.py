"""What an A/B takes from the entry or the run that --like names: all that was asked there, or its command alone."""

from __future__ import annotations

import os

from msgspec import structs

from logbook_agent.campaign.ab_axis import DEFAULT_TITLE, axis_of
from logbook_agent.campaign.ab_request import (
    NONE,
    AbRequest,
    as_stated,
    check_sides,
    stated_command,
    with_question,
)
from logbook_agent.campaign.checkouts import COMMIT_CHARS
from logbook_agent.campaign.run_request import invocation_of, run_named
from logbook_agent.campaign.typing_place import typing_place
from logbook_agent.entries.edit import with_gates
from logbook_agent.findings.advice import ab_codes
from logbook_agent.findings.protocol import ELSEWHERE
from logbook_agent.findings.thread import ENDED_BADLY
from logbook_agent.model.comparison import (
    CASE_AXIS,
    CODE_AXIS,
    MINIMUM_EFFECT,
    Comparison,
    Invocation,
    Question,
    code_hash,
    code_name,
    code_typed,
)
from logbook_agent.model.entry import HYPOTHESIS, Entry
from logbook_agent.model.errors import exclusive
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record
from logbook_agent.model.run import Run
from logbook_agent.model.values import canonical
from logbook_agent.running.order import Display
from logbook_agent.running.provenance.same_code import is_same_code
from logbook_agent.running.provenance.worktrees import checkout_of
from logbook_agent.store.book import Book
from logbook_agent.store.places import repository_of
from logbook_agent.store.workspace import Workspace, folder_of
from logbook_agent.text.commands.flags import with_place
from logbook_agent.text.phrases import assignments
from logbook_agent.text.shell_words import command_line


def as_run(workspace: Workspace, book: Book, request: AbRequest, display: Display) -> AbRequest:
    """The request with the command that --like names, its folder, variables and options. `ID` alone, of an A/B with
    these sides, stands for all that was asked there, with its gates and the labels that may differ; else what the
    command alone leaves out is said. Raises UsageError where it has no place for the axis, or cannot be run again."""
    reference = request.like or ""
    exclusive({"--like": request.like, "a command": request.run.argv}, cause="--like takes the command of a run")
    entry_id, _, number = reference.partition("/")
    entry = book.entry(book.resolve(entry_id))
    if not number and _is_other_idea(workspace, book.record(entry.id), request):
        display.progress(f"WORK is other code than in {entry.id}, so its title, its text and --free are not taken")
        entry = structs.replace(entry, title=DEFAULT_TITLE, fields=(), free=())
    stated, left = entry.comparison, _own_options(book.header, entry, request)
    if stated is not None and stated.run is not None and not number:
        run = stated_command(entry, stated.run)
        if _is_of(request, stated):
            said = [_moved_on(workspace, entry, stated.question, run)] if not (request.axis or request.codes) else []
            for line in filter(None, [*said, left and f"as in {entry.id}: {left}"]):
                display.progress(line)
            judged = with_gates(entry, request.gates, request.free)
            asked = _as_asked(workspace, request, entry, stated, run)
            if book.record(entry.id).state in ENDED_BADLY and not request.run.prose.completes:
                # What failed is over once this is answered, under whatever title.
                prose = structs.replace(asked.run.prose, completes=entry.id)
                asked = structs.replace(asked, run=structs.replace(asked.run, prose=prose))
            return structs.replace(asked, gates=judged.gates, free=judged.free)
        run, at = _of_base(request, stated.question, run), {stated.question.axis: stated.question.base}
    else:
        check_sides(request)
        number = str(book.run_named(entry.id, number)) if number else ""
        found = run_named(book.record(entry.id), number)
        run = stated_command(entry, _with_place(request, found))
        at = {stated.question.axis: found.part.side} if stated is not None and found.part is not None else {}
    if at and not at.keys() & {CODE_AXIS, CASE_AXIS, request.axis and request.axis.name}:
        display.progress(f"{reference} was run with {assignments(at)}, and so are both sides here")
    if left:
        display.progress(f"only the command of {reference} is taken here, without {left} of {entry.id}")
    return as_stated(workspace, request, run, reference)


def _is_other_idea(workspace: Workspace, record: Record, request: AbRequest) -> bool:
    """Whether an entry measured WORK, and a request asks the same of a working tree that has other code now. What only
    failed was mended since."""
    stated = record.entry.comparison
    if stated is None or stated.question.axis != CODE_AXIS or not _is_of(request, stated):
        return False
    runs = [s.run for s in record.runs if s.run.part is not None and s.state == "finished"]
    work = {run.part.side for run in runs if run.part is not None and "@" not in run.part.side}
    return any(
        typing_place(workspace).held(stated, side, "HEAD") == ELSEWHERE for side in work & {*stated.question.values}
    )


def _is_of(request: AbRequest, stated: Comparison) -> bool:
    """Whether the sides of a request are those of a comparison, whatever commits its codes are now; also where it names
    none."""
    question = stated.question
    if request.codes is not None:
        return question.axis == CODE_AXIS and all(
            code in stated.names_of(label) or ("@" in label and code.startswith(code_hash(label)))
            for code, label in zip(request.codes, question.values, strict=True)
        )
    if request.axis is not None:
        return request.axis.name == question.axis and request.axis.keys == question.values
    return True


def _moved_on(workspace: Workspace, entry: Entry, question: Question, run: Invocation) -> str:
    """That the names of the codes that an entry compares name other commits now, and what compares these; empty where
    none does."""
    if question.axis != CODE_AXIS:
        return ""
    checkout = checkout_of(workspace.cwd / folder_of(run.cwd, workspace), workspace.environ)
    now = {value: checkout.commit_of(code_name(value)) or "" for value in question.values if "@" in value}
    moved = {value: commit for value, commit in now.items() if commit and not commit.startswith(code_hash(value))}
    if not moved:
        return ""
    names, then = " and ".join(map(code_name, moved)), " and ".join(map(code_hash, moved))
    text = f"{names} {'has' if len(moved) == 1 else 'have'} moved on; this compares {then}, as before"
    repository, rules = repository_of(checkout.top), workspace.config.code
    commits = [commit or code_hash(value) for value, commit in now.items()]  # without that of the working tree
    if repository is None or is_same_code(repository, workspace.root, rules, workspace.environ, *commits):
        return text
    codes = [code_name(value) if now.get(value) else code_typed(value) for value in question.values]
    newer = " and ".join(commit[:COMMIT_CHARS] for commit in moved.values())
    return f"{text}; for {newer}: {ab_codes(codes, entry.id)}"


def _own_options(header: Header, entry: Entry, request: AbRequest) -> str:
    """What an entry states beside its sides, and a request does not, as one types it."""
    words: list[str] = []
    if entry.comparison is not None:
        asked = entry.comparison.question
        if request.minimum_effect is None and asked.minimum_effect != MINIMUM_EFFECT:
            words += ["--min-effect", f"{100 * asked.minimum_effect:g}%"]
        if not request.metrics and {*asked.metrics} != {m.name for m in header.metrics if m.primary}:
            words += [w for metric in asked.metrics for w in ("--metric", metric)]
    words += [w for gate in entry.gates if gate not in request.gates for w in ("--gate", gate)]
    words += [w for label in entry.free if label not in request.free for w in ("--free", label)]
    return command_line(words)


def _of_base(request: AbRequest, question: Question, run: Invocation) -> Invocation:
    """How the runs of the base are made, for another axis; for other values of the same one, with its place."""
    if question.axis in (CODE_AXIS, request.axis and request.axis.name):
        return run
    axis = axis_of(question.axis, run.values or question.values)
    base = axis.values[0]
    argv, env, config = axis.words(run.argv, base), axis.env(base), axis.config(base)
    return structs.replace(run, argv=tuple(argv), values=(), env={**run.env, **env}, config={**run.config, **config})


def _as_asked(workspace: Workspace, request: AbRequest, entry: Entry, stated: Comparison, run: Invocation) -> AbRequest:
    """The request with what an A/B asks, and with the number of its pairs; what is given takes precedence."""
    design, prose = stated.design, request.run.prose
    title = None if entry.title.startswith(DEFAULT_TITLE) else entry.title
    prose = structs.replace(prose, title=prose.title or title, hypothesis=prose.hypothesis or entry.text(HYPOTHESIS))
    if request.fixed is None and request.max_pairs is None:
        fixed, most = (design.budget_pairs, None) if design.fixed else (None, design.budget_pairs)
        request = structs.replace(request, fixed=fixed, max_pairs=most)
    evaluator = request.evaluator
    if stated.question.axis == CODE_AXIS:
        # Where each code had its own benchmark, it has again.
        evaluator = evaluator or tuple(os.path.relpath(one.path, run.cwd) for one in stated.evaluator) or (NONE,)
    request = structs.replace(request, evaluator=evaluator, run=structs.replace(request.run, prose=prose))
    return with_question(workspace, request, entry, stated.question, run)


def _with_place(request: AbRequest, run: Run) -> Invocation:
    """How a run was made, with the place of the axis in its command."""
    axis = request.axis.name if request.axis is not None else ""
    found = invocation_of(run, axis)
    if request.axis is None or request.axis.variable is not None:
        return found
    value = next((canonical(row.config[axis]) for row in run.rows if axis in row.config), None)
    # Where it has no one place, that is said once the command is made.
    return structs.replace(found, argv=with_place(found.argv, axis, value) or found.argv)
