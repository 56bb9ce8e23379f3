"""An A/B from what is recorded: taken up by its entry alone, or with the command of another run."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from logbook_agent.campaign.ab_prepare import AbRequest
from logbook_agent.campaign.repeats import RunRequest
from logbook_agent.findings.advice import ab_afresh, ab_more, sweep_more
from logbook_agent.findings.cases import typed_env
from logbook_agent.model.code import Code
from logbook_agent.model.comparison import BLOCK_PAIRS, CASE_AXIS, CODE_AXIS, Comparison, Invocation, code_hash
from logbook_agent.model.entry import Entry, is_withdrawn
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import is_own
from logbook_agent.model.run import Run
from logbook_agent.model.values import canonical
from logbook_agent.running.executors import LOCAL
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace, folder_of
from logbook_agent.text.commands.axis_words import with_place
from logbook_agent.text.lists import list_text
from logbook_agent.text.redaction.names import is_secret_name
from logbook_agent.text.shell_words import command_line

_HIDDEN = "[redacted:"
_SECRET = re.compile(r"(?P<before>(?:\S*=)?)\$(?P<name>[A-Za-z_]\w*)", re.ASCII)


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
    run, question = comparison.run, comparison.question
    if run is None or run.in_process:
        hint = sweep_more(entry.id) if entry.recipe is not None else f"logbook show {entry.id}"
        raise UsageError(f"{entry.id} states no command", cause="what made its pairs goes on with it", hint=hint)
    if _is_hidden(*question.values, run.setup or ""):
        raise _secret(entry.id)
    is_code = question.axis == CODE_AXIS
    return dataclasses.replace(
        request,
        axis="" if is_code else f"{question.axis}={list_text(run.values or question.values)}",
        codes=tuple(map(code_hash, question.values)) if is_code else None,  # type: ignore[arg-type]
        setup=request.setup if request.setup is not None else run.setup,
        minimum_effect=question.minimum_effect,
        metrics=question.metrics,
        run=_made_so(workspace, request.run, run, entry.id),
    ), comparison


def as_run(workspace: Workspace, book: Book, request: AbRequest) -> AbRequest:
    """The request with the command that --like names, `ID/RUN` or the one of `ID`, its folder, variables and options.
    Raises UsageError where it has no place for the axis, or cannot be run again."""
    reference, axis = request.like or "", request.axis.partition("=")[0]
    if request.run.argv:
        raise UsageError(
            "--like and a command cannot be used together",
            cause="--like takes the command of a run",
            hint="leave one of them out",
        )
    entry = book.entry(book.resolve(reference.partition("/")[0]))
    stated = entry.comparison.run if entry.comparison is not None and "/" not in reference else None
    run = _run_named(book, reference) if stated is None else None
    found = stated or _of_run(run, axis) if run is not None else stated
    if found is None or found.in_process:
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
    return dataclasses.replace(request, run=_made_so(workspace, request.run, found, reference))


def _of_run(run: Run, axis: str) -> Invocation:
    """How a run was made, without its value of an axis, and without the name of the side that it was."""
    names = {axis, CODE_AXIS, CASE_AXIS} if run.part is not None else {axis}
    return Invocation(
        argv=run.argv,
        shell=run.shell,
        env={name: value for name, value in typed_env(run).items() if f"env:{name}" != axis},
        config={name: value for name, value in run.config.items() if name not in names},
        on=run.on if run.on != LOCAL else None,
        read=run.read,
        cwd=run.cwd or ".",
        timeout_s=run.timeout_s,
        stall_s=run.stall_s,
    )


def _made_so(workspace: Workspace, given: RunRequest, made: Invocation, of: str) -> RunRequest:
    """A request for runs made as others; what is `given` beside comes first. Raises UsageError for a secret, which
    nobody recorded."""
    # A shell has the variables itself.
    argv = made.argv if made.shell else tuple(_filled(word, workspace.environ) for word in made.argv)
    env = {**{name: _filled(value, workspace.environ) for name, value in made.env.items()}, **given.env}
    if _is_hidden(*argv, *env.values()):
        raise _secret(of)
    return dataclasses.replace(
        given,
        argv=argv,
        shell=made.shell or given.shell,
        env=env,
        config={**made.config, **given.config},
        on=given.on or made.on,
        read=given.read or made.read,
        cwd=given.cwd or str(folder_of(made.cwd, workspace)),
        timeout_s=given.timeout_s or made.timeout_s,
        stall_s=given.stall_s or made.stall_s,
        keep=given.keep or made.keep,
        inputs=given.inputs or made.inputs,
    )


def _filled(text: str, environ: Mapping[str, str]) -> str:
    """A recorded text, in which a secret that is named by its variable has the value that it has here; marked where it
    has none."""
    match = _SECRET.fullmatch(text)
    if match is None or not is_secret_name(match["name"]):
        return text
    return match["before"] + environ.get(match["name"], f"{_HIDDEN}{match['name']}]")


def _is_hidden(*texts: str) -> bool:
    return any(_HIDDEN in text for text in texts)


def _secret(of: str) -> UsageError:
    return UsageError(
        f"the command of {of} holds a secret, which no record has",
        cause="it was replaced when it was recorded",
        hint="type the whole command, without --id and --like; pairs of the same question go to its entry",
    )


def _run_named(book: Book, reference: str) -> Run:
    """The run `ID/RUN`, or the last of `ID` that finished. Raises NotFound and UsageError."""
    entry, _, number = reference.partition("/")
    record = book.record(book.resolve(entry))
    named = book.run_named(record.id, number) if number else None
    runs = [s for s in record.runs if s.run.argv and not is_own(s.run)]
    found = [s.run for s in runs if (s.run.run == named if number else s.state == "finished")]
    if not found:
        raise UsageError(
            f"--like {reference}: no such run",
            cause="it is no command" if number else f"{entry} has no run that finished",
            hint=f"logbook show {entry}",
        )
    return found[-1]


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
