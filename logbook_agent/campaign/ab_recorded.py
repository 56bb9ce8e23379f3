"""An A/B from what is recorded: taken up by its entry alone, or with the command of another run."""

from __future__ import annotations

import dataclasses

from logbook_agent.campaign.ab_prepare import AbRequest
from logbook_agent.campaign.code_axis import NONE
from logbook_agent.campaign.recorded_command import as_made, check_secrets, invocation_of, run_named
from logbook_agent.campaign.repeats import RunRequest
from logbook_agent.entries.judging import check_gates, with_gates
from logbook_agent.findings.advice import ab_afresh, ab_more, sweep_more
from logbook_agent.model.code import Code
from logbook_agent.model.comparison import BLOCK_PAIRS, CODE_AXIS, Comparison, code_hash
from logbook_agent.model.entry import Entry, is_withdrawn
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.model.values import canonical
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.commands.axis_words import with_place
from logbook_agent.text.lists import list_text
from logbook_agent.text.shell_words import command_line


def taken_up(workspace: Workspace, book: Book, request: AbRequest) -> tuple[AbRequest, Comparison]:
    """The request with the question, the command and the options that the entry of --id states. Raises UsageError where
    it states none, or where they cannot be run from here."""
    entry = book.entry(request.run.entry_id or "")
    comparison = entry.comparison
    _check_typed(entry, request)
    if is_withdrawn(entry.state):
        raise UsageError(
            f"{entry.id} is {entry.state}",
            cause="it was taken back, so its pairs count for nothing",
            hint=f"logbook edit {entry.id} --state computed, if that was a mistake",
        )
    if comparison is None:
        raise UsageError(f"{entry.id} is not an A/B", cause="it states no comparison", hint=f"logbook show {entry.id}")
    check_gates(book.record(entry.id), request.gates)
    run, question = comparison.run, comparison.question
    if run is None or run.in_process:
        hint = sweep_more(entry.id) if entry.recipe is not None else f"logbook show {entry.id}"
        raise UsageError(f"{entry.id} states no command", cause="what made its pairs goes on with it", hint=hint)
    check_secrets(entry.id, *question.values, run.setup or "")
    is_code = question.axis == CODE_AXIS
    return dataclasses.replace(
        request,
        axis="" if is_code else f"{question.axis}={list_text(run.values or question.values)}",
        codes=tuple(map(code_hash, question.values)) if is_code else None,  # type: ignore[arg-type]
        setup=request.setup if request.setup is not None else run.setup,
        minimum_effect=question.minimum_effect,
        metrics=question.metrics,
        run=as_made(workspace, request.run, run, entry.id),
    ), comparison


def as_run(workspace: Workspace, book: Book, request: AbRequest) -> AbRequest:
    """The request with the command that --like names, `ID/RUN` or the one of `ID`, its folder, variables and options,
    and with the gates of its entry and the labels that may differ there. Raises UsageError where it has no place for
    the axis, or cannot be run again."""
    reference, axis = request.like or "", request.axis.partition("=")[0]
    exclusive({"--like": request.like, "a command": request.run.argv}, cause="--like takes the command of a run")
    entry_id, _, number = reference.partition("/")
    entry = book.entry(book.resolve(entry_id))
    command = entry.comparison.run if entry.comparison is not None and not number else None
    number = str(book.run_named(entry.id, number)) if number else ""
    run = run_named(book.record(entry.id), number) if command is None else None
    found = invocation_of(run, axis) if run is not None else command
    if found is None or found.in_process or not found.argv:
        raise UsageError(
            f"{entry.id} states no command", cause="its runs are no commands", hint=f"logbook show {entry.id}"
        )
    if run is not None and axis and not axis.startswith("env:"):
        value = next((canonical(row.config[axis]) for row in run.rows if axis in row.config), None)
        argv = with_place(found.argv, axis, value)
        if argv is None:
            raise UsageError(
                f"the command of {reference} has no one place for {axis}",
                cause=f"it is {command_line(found.argv)}",
                hint=f"type it, with {{axis}} in place of the value: logbook ab --axis {request.axis} -- COMMAND",
            )
        found = dataclasses.replace(found, argv=argv)
    prepared = entry.comparison.run.setup if entry.comparison is not None and entry.comparison.run is not None else None
    made = as_made(workspace, request.run, found, reference)
    judged, stated = with_gates(entry, request.gates, request.free), entry.comparison
    is_of_code = request.codes is not None and stated is not None and stated.question.axis == CODE_AXIS
    is_own = is_of_code and stated is not None and not stated.evaluator
    return dataclasses.replace(
        request,
        run=made,
        setup=request.setup or prepared,
        gates=judged.gates,
        free=judged.free,
        # Where each code had its own benchmark, it has again.
        evaluator=request.evaluator or ((NONE,) if is_own else ()),
    )


def _check_typed(entry: Entry, request: AbRequest) -> None:
    """Raises UsageError for what the entry states already."""
    run = request.run
    own = RunRequest(
        entry_id=run.entry_id,
        env=run.env,
        discard=run.discard,
        frozen=run.frozen,
        timeout_s=run.timeout_s,
        stall_s=run.stall_s,
    )
    asks = request.axis or request.codes or request.evaluator or request.metrics or request.minimum_effect is not None
    if asks or run != own or request.seed is not None or request.new:
        raise UsageError(
            f"{entry.id} states its question, its command and its text",
            cause="--id takes all of them from the entry",
            hint=f"logbook ab --id {entry.id}; to ask something else, leave --id out",
        )
    if entry.comparison is not None:
        check_pairs(entry, entry.comparison, request)


def check_pairs(entry: Entry, stated: Comparison, request: AbRequest, made: int = 0) -> None:
    """Raises UsageError where the pairs that are asked for are not those of the design: it is fixed, and so many were
    `made`, or another number is asked for; or a fixed number is asked for, and it has none."""
    design, is_in_process = stated.design, stated.run is not None and stated.run.in_process
    is_other = request.max_pairs is not None or request.fixed not in (None, design.budget_pairs)
    if design.fixed and (is_other or made >= design.budget_pairs):
        raise UsageError(
            f"{entry.id} was stated with {design.budget_pairs} pairs, which are judged once",
            cause="looking again after more pairs would make a false difference more likely than 5%",
            hint="ab(book, ..., new=True)" if is_in_process else ab_afresh(entry.id, stated),
        )
    if request.fixed is not None and not design.fixed:
        more = f"ab(book, ..., max_pairs={request.fixed})" if is_in_process else ab_more(entry.id, request.fixed)
        raise UsageError(
            f"{entry.id} asks this, and its pairs are judged after each {BLOCK_PAIRS}, not once",
            cause="how the pairs of an entry are judged is stated before its first run",
            hint=f"to add {request.fixed} pairs: {more}",
        )


def recorded_code(comparison: Comparison) -> Code | None:
    """The code that all sides of a comparison have; None where code is the axis, or nothing is known."""
    return comparison.code.get(comparison.question.base) if comparison.question.axis != CODE_AXIS else None
