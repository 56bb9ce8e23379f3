"""A recorded run made again: its code in a working tree of its own, its command, its variables; nothing is recorded.

The working tree is made from the repository in which the command is typed, and is removed in the end. The user's own
tree, index and references stay as they are.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from msgspec import structs

from logbook_agent.agents.recorded_run import lacking, unlike
from logbook_agent.agents.reproduced_numbers import Reproduction, held_against
from logbook_agent.campaign import checkouts
from logbook_agent.campaign.checkouts import Tree, in_trees, placed_in
from logbook_agent.campaign.run_request import (
    RunRequest,
    as_made,
    check_secrets,
    in_repository,
    invocation_of,
    is_secret,
    own_plans,
    prepared,
    run_named,
    setup_command,
)
from logbook_agent.findings.advice import with_setup
from logbook_agent.model.comparison import Invocation
from logbook_agent.model.errors import CommandNotFound, NotExecutable, UsageError
from logbook_agent.model.record import SETUP, Record
from logbook_agent.model.run import Run
from logbook_agent.running.execution import Shown
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.order import Display, work_of
from logbook_agent.running.provenance.software import relevant_env
from logbook_agent.running.provenance.worktrees import bring, checkout_of
from logbook_agent.running.reading import read_left
from logbook_agent.running.worker.perform import code_now, facts_now, perform
from logbook_agent.running.worker.work import Workplace
from logbook_agent.store.book import Book
from logbook_agent.store.folder import Folder
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed

_NAME = "recorded"  # the working tree of the code that is
# Of the files that a checkout lacks.
_SHOWN = 3


class _Missing(Exception):
    """What a run lacks here, so that it cannot be made again like its record."""


def reproduce(workspace: Workspace, reference: str, setup: str | None, display: Display) -> Reproduction:
    """A run made again, compared with its record: `ID/RUN`, or of an entry the last run that finished; after this
    `setup`, or the recorded one. Raises NotFound, and UsageError for an entry without such a run."""
    entry_id, _, number = reference.partition("/")
    book = workspace.book(entry_id)
    record = book.record(book.resolve(entry_id))
    run = run_named(record, str(book.run_named(record.id, number)) if number else "")
    if run.exit is None:
        raise UsageError(
            f"{record.id}/{run.run} has not ended",
            cause="its numbers are not known yet",
            hint=f"logbook wait {record.id}",
        )
    try:
        made = _made_again(workspace, book, run, _stated(record, run, setup), display)
    except _Missing as missing:
        return Reproduction(id=run.entry, run=run.run, outcome="cannot", missing=missing.args)
    primary = [metric.name for metric in book.header.metrics]
    return held_against(record, run, made, primary=primary, alone=bool(number))


def _stated(record: Record, run: Run, setup: str | None) -> Invocation:
    """How a run is made of which a comparison may state the setup, if there is no other `setup`, and what it needs."""
    stated = record.entry.comparison.run if record.entry.comparison is not None and run.part is not None else None
    found = stated if stated is not None else Invocation(argv=run.argv)
    return structs.replace(found, setup=setup if setup is not None else found.setup)


def _made_again(workspace: Workspace, book: Book, run: Run, stated: Invocation, display: Display) -> Run:
    """The run as it ended when its command was executed again, in a checkout of its code, after its setup. Raises
    _Missing."""
    setup = stated.setup
    missing, code = [*lacking(run, workspace.environ)], run.code
    if missing or code is None:
        raise _Missing(*missing)
    values = _variables(workspace, run)
    unset = relevant_env(workspace.environ, workspace.config.env).keys() - values.keys()
    around = {name: value for name, value in workspace.environ.items() if name not in unset} | values
    space = structs.replace(workspace, environ=around)
    given = RunRequest(label=run.label, config=run.config, env={name: around[name] for name in run.env.declared})
    with contextlib.ExitStack() as stack:
        try:
            request = as_made(space, given, invocation_of(run), f"{run.entry}/{run.run}")
            if request.on is not None:
                raise _Missing(f"it ran on {request.on}, and is made again on this machine alone")
            codes = {_NAME: code}
            [tree] = stack.enter_context(in_trees(space, request, "reproduce", codes, display, book))
            for file in run.inputs:
                _bring_input(file.path, tree)
            placed = placed_in(space, request, tree, is_set_up=setup is not None)
            command = prepared(space, placed, is_built=setup is not None)
            check_secrets(f"{run.entry}/{run.run}", setup or "")
            first = own_plans(space, SETUP, setup_command(setup), structs.replace(placed, entry_id=run.entry))
        except (CommandNotFound, NotExecutable, UsageError) as error:
            raise _Missing(error.said) from error
        plan = structs.replace(request.plan(command, run.entry), inputs=tuple(file.path for file in run.inputs))
        work = structs.replace(work_of(space, book, plan, run.run), keep=())
        # Its log and the diff of its code are removed with the tree.
        place = Workplace(environ=around, values=space.redactor.values, now=space.now, files=_made(tree, "results"))
        stops = stack.enter_context(StopRequests())
        if missing := [*unlike(run, facts_now(work, place, code_now(work, place)))]:
            raise _Missing(*missing)
        for one in first:
            display.progress(f"{SETUP}: {one.command.shown()}")
            own = structs.replace(place, files=_made(tree, SETUP))
            if perform(work_of(space, book, one, run.run), own, Shown(display), stops).exit.code != 0:
                raise _Missing(f"its setup, which failed: {setup}")
        changed = {name: value for name, value in values.items() if workspace.environ.get(name) != value}
        display.progress(f"repeating {run.entry}/{run.run}: {command.shown(changed)}")
        end = perform(work, place, Shown(display), stops)
        found = read_left(run, book.header, space.redactor, place.files, place.files, end)
        files = (*stated.needs, *checkouts.lacking(workspace, request, command)) if setup is None else ()
        lacks = [name for name in dict.fromkeys(files) if not (tree.top / name).exists()]
    if end.exit.is_cut_off:
        raise _Missing("an end: it was interrupted")
    if lacks and end.exit.code not in (0, run.exit.code if run.exit is not None else 0):
        again = with_setup(f"logbook reproduce {run.entry}/{run.run}")
        raise _Missing(f"{listed(lacks, _SHOWN)}: git does not hold it, so its checkout lacks it: {again}")
    return structs.replace(run, exit=end.exit, rows=found.rows)


def _variables(workspace: Workspace, run: Run) -> dict[str, str]:
    """The variables of a run, with the paths and the secrets of this machine."""
    top = checkout_of(workspace.cwd, workspace.environ).top
    return {
        name: in_repository(workspace.environ.get(name, value) if is_secret(value) else value, top)
        for name, value in run.env.variables.items()
    }


def _made(tree: Tree, name: str) -> Folder:
    """A folder beside a tree, which is removed with it."""
    above = tree.top.parent
    Folder(above).make(above / name)
    return Folder(above / name, above)


def _bring_input(name: str, tree: Tree) -> None:
    """Bring an input that git does not track into the tree. Its digest tells later what it was."""
    top, target = tree.checkout.top, Path(os.path.normpath(tree.folder / name))
    source = (top / tree.checkout.inside / name).resolve()
    is_inside = source.is_relative_to(top.resolve()) and target.is_relative_to(tree.top)
    if is_inside and source.exists() and not target.exists():
        with contextlib.suppress(OSError):
            bring(source, target)
