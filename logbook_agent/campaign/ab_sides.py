"""Where the sides of an A/B run: in place, in a copy of the code as it is, or in checkouts of commits and of recorded
code; with what is known of the code, and the command that prepares each folder."""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from logbook_agent.campaign.ab_axis import AbAxis, parse_axis, placed
from logbook_agent.campaign.ab_prepare import AbRequest, Sides, command
from logbook_agent.campaign.ab_recorded import recorded_code
from logbook_agent.campaign.code_axis import CodeSides, checked_out, command_in, frozen, in_trees, placed_in
from logbook_agent.campaign.repeats import RunRequest, prepared
from logbook_agent.campaign.trees import CodeGuard, Tree, WatchedTrees
from logbook_agent.findings.advice import ab_afresh, ab_more
from logbook_agent.model.code import Code
from logbook_agent.model.comparison import Comparison
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.record import SETUP
from logbook_agent.running.order import Display
from logbook_agent.running.prepare import Command
from logbook_agent.running.provenance.git import CodeFacts
from logbook_agent.running.provenance.worktrees import Checkout, checkout_of
from logbook_agent.store.book import Book
from logbook_agent.store.repository import repository_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import listed

_SHOWN = 3
# What tools and editors leave, which no command needs.
_CACHES = (
    *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints"),
    *(".tox", ".nox", ".idea", ".vscode", ".DS_Store", ".coverage", ".lock", "*.pyc", "*.egg-info", "*.swp", "*~"),
)
_ENVIRONMENT = "pyvenv.cfg"


@contextlib.contextmanager
def sides_of(
    workspace: Workspace, book: Book, request: AbRequest, display: Display, stated: Comparison | None
) -> Iterator[Sides]:
    """The sides that are asked for, while their folders are there; those of an entry with the code that it `stated`,
    in place where that is the code that is there. Raises UsageError where it cannot be had."""
    with contextlib.ExitStack() as stack:
        if request.codes is not None:
            yield _of_codes(
                workspace, request, stack.enter_context(checked_out(workspace, book, request, display, stated))
            )
            return
        axis = parse_axis(request.axis)
        argv = placed(axis, request.run.argv, request.run.config)
        run = dataclasses.replace(request.run, argv=argv)
        recorded, here = recorded_code(stated) if stated is not None else None, None
        try:
            here = _in_place(workspace, book, request, run, axis)
        except LogbookError:
            # Its program or its folder may be gone here, and be in the recorded code.
            if recorded is None or recorded.commit is None:
                raise
        now = here.code.get(axis.keys[0]) if here is not None else None
        if stated is not None and recorded is not None and (here is None or _has_changed(recorded, now)):
            afresh = ab_afresh(run.entry_id or "", stated, new=False)
            folder = here.commands[0].cwd if here is not None else workspace.cwd / (run.cwd or ".")
            if repository_of(folder) is None:
                raise UsageError(
                    f"the code of {run.entry_id} has changed, and nothing has it as it was",
                    cause=f"{folder} is in no git repository",
                    hint=f"to ask the same of the code as it is now: {afresh}",
                )
            codes = {"copy": recorded}
            checkout, trees = stack.enter_context(in_trees(workspace, run, "--id", codes, display, book, afresh))
            sides = _in_tree(workspace, request, run, axis, checkout, trees[0], stated)
            back = CodeGuard(workspace, book.root, sides.commands).facts(sides.commands[0])
            if _has_changed(recorded, back):
                raise UsageError(
                    f"the code of {run.entry_id} cannot be brought back as it was",
                    cause="its record differs from it: a secret in its changes was replaced, a file lies outside of the"
                    " repository, or git changes files when it checks them out",
                    hint=f"to ask the same of the code as it is now: {afresh}",
                )
            yield sides
        elif here is not None and run.frozen:
            copied = stack.enter_context(frozen(workspace, run, display))
            yield dataclasses.replace(_in_place(workspace, book, request, copied, axis), argv=argv, needs=here.needs)
        elif here is not None:
            yield here


def _has_changed(recorded: Code, now: CodeFacts | None) -> bool:
    return now is not None and recorded.mark not in (None, now.code.mark)


def _in_place(workspace: Workspace, book: Book, request: AbRequest, run: RunRequest, axis: AbAxis) -> Sides:
    commands = tuple(command(workspace, run, axis, value) for value in axis.values)
    guard = CodeGuard(workspace, book.root, commands)
    facts = guard.facts(commands[0])
    return Sides(
        axis=axis,
        argv=run.argv,
        commands=commands,
        around=guard.measuring,
        code={axis.keys[0]: facts} if facts is not None else {},
        setup=(_setup(workspace, request, run),) if request.setup is not None else (),
        around_setup=guard.preparing,
        needs=_beside(workspace, commands[0], facts),
    )


def _in_tree(
    workspace: Workspace,
    request: AbRequest,
    run: RunRequest,
    axis: AbAxis,
    checkout: Checkout,
    tree: Tree,
    stated: Comparison | None,
) -> Sides:
    """The sides in a checkout of recorded code. Raises UsageError where files are not there that were, and no setup
    makes them."""
    needs = stated.run.needs if stated is not None and stated.run is not None else ()
    lacking = [name for name in needs if not (tree.top / name).exists()]
    if lacking and request.setup is None:
        again = ab_more(run.entry_id or "", request.max_pairs)
        raise UsageError(
            f"the code has changed, and a checkout of {tree.commit[:9]} lacks {listed(lacking, _SHOWN)}",
            cause="git does not hold them: a build made them, or they are data",
            hint=f"{again} --setup 'COMMAND THAT MAKES THEM', or --setup true where the command needs none of them",
        )
    there = placed_in(workspace, run, checkout, tree)
    commands = tuple(command(workspace, there, axis, value) for value in axis.values)
    watched = WatchedTrees(checkout, [tree])
    return Sides(
        axis=axis,
        argv=run.argv,
        commands=commands,
        around=watched.measuring,
        code={},
        setup=(_setup(workspace, request, there),) if request.setup is not None else (),
        around_setup=watched.preparing,
    )


def _of_codes(workspace: Workspace, request: AbRequest, found: CodeSides) -> Sides:
    checkout, trees = found.checkout, found.trees
    watched = WatchedTrees(checkout, trees)
    setup = [_setup(workspace, request, placed_in(workspace, request.run, checkout, tree)) for tree in trees]
    return Sides(
        axis=found.axis,
        argv=request.run.argv,
        commands=tuple(command_in(workspace, request.run, checkout, tree) for tree in trees),
        around=watched.measuring,
        code=found.code,
        setup=tuple(setup) if request.setup is not None else (),
        around_setup=watched.preparing,
        lines=found.lines,
    )


def _setup(workspace: Workspace, request: AbRequest, run: RunRequest) -> Command:
    """The command that prepares the folder of a run."""
    words = [request.setup or "true"] if run.shell else shlex.split(request.setup or "true")
    return prepared(workspace, dataclasses.replace(run, read=None, timeout_s=None, stall_s=None), words, SETUP)


def _beside(workspace: Workspace, of: Command, facts: CodeFacts | None) -> tuple[str, ...]:
    """The files and folders in the checkout of a command that git does not hold and the record does not keep."""
    if repository_of(of.cwd) is None or facts is None or not of.runs_files or facts.code.commit is None:
        return ()
    kept = {file.path for file in facts.code.untracked}
    checkout = checkout_of(of.cwd, workspace.environ)
    return tuple(name for name in _not_held(workspace, checkout) if name.rstrip("/") not in kept)


def lacking(workspace: Workspace, request: AbRequest, of: Command) -> list[str]:
    """The files and folders beside the code that git does not hold, and that the checkout of a command lacks."""
    place = repository_of(of.cwd)
    if request.codes is None or place is None:
        return []
    here = checkout_of((workspace.cwd / (request.run.cwd or ".")).absolute(), workspace.environ)
    return [name for name in _not_held(workspace, here) if not (place.top / name).exists()]


def _not_held(workspace: Workspace, checkout: Checkout) -> Iterator[str]:
    """The files and folders in a checkout that git does not hold, by their path from its top; without caches, virtual
    environments and the logbooks."""
    root = Path(os.path.realpath(workspace.root))
    for name in checkout.untracked():
        is_cache = any(fnmatch.fnmatch(part, cache) for part in Path(name).parts for cache in _CACHES)
        place = checkout.top / name
        if not (
            is_cache or (place / _ENVIRONMENT).exists() or root.is_relative_to(place) or place.is_relative_to(root)
        ):
            yield name
