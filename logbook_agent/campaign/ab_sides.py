"""Where the sides of an A/B run: in place, in a copy of the code as it is, or in checkouts of commits and of recorded
code; with what is known of the code, and the command that prepares each folder."""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from logbook_agent.campaign.ab_axis import AbAxis, parse_axis, placed
from logbook_agent.campaign.ab_request import AbRequest, Sides, setup_of
from logbook_agent.campaign.checkouts import Tree, frozen, in_trees, placed_in
from logbook_agent.campaign.code_axis import sides_of_codes
from logbook_agent.campaign.code_guard import CodeGuard, looks_at
from logbook_agent.campaign.repeats import RunRequest, prepared
from logbook_agent.findings.advice import ab_afresh, ab_more
from logbook_agent.model.code import Code
from logbook_agent.model.comparison import Comparison
from logbook_agent.model.errors import LogbookError, UsageError
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
    if request.codes is not None:
        with sides_of_codes(workspace, book, request, display, stated) as sides:
            yield sides
        return
    axis = parse_axis(request.axis)
    run = dataclasses.replace(request.run, argv=placed(axis, request.run.argv, request.run.config))
    request = dataclasses.replace(request, run=run)
    recorded, here = stated.code.get(stated.question.base) if stated is not None else None, None
    try:
        here = _in_folder(workspace, book, request, run, axis)
    except LogbookError:
        # Its program or its folder may be gone here, and be in the recorded code.
        if recorded is None or recorded.commit is None:
            raise
    if stated is not None and recorded is not None and (here is None or _has_changed(recorded, here)):
        with _in_recorded(workspace, book, request, display, stated, axis, here) as sides:
            yield sides
    elif here is not None and run.frozen:
        with frozen(workspace, run, display) as copied:
            sides = _in_folder(workspace, book, request, copied, axis)
            yield dataclasses.replace(sides, argv=run.argv, needs=here.needs)
    elif here is not None:
        yield here


def _has_changed(recorded: Code, sides: Sides) -> bool:
    now = sides.code.get(sides.axis.keys[0])
    return now is not None and recorded.mark not in (None, now.code.mark)


def _in_folder(
    workspace: Workspace, book: Book, request: AbRequest, run: RunRequest, axis: AbAxis, trees: Sequence[Tree] = ()
) -> Sides:
    """The sides in the folder of a run, which is the user's own or in a checkout."""
    runs = [
        dataclasses.replace(run, argv=axis.words(run.argv, value), env={**run.env, **axis.env(value)})
        for value in axis.values
    ]
    commands = tuple(prepared(workspace, one, is_built=request.setup is not None) for one in runs)
    guard = CodeGuard(looks_at(workspace, book.root, commands), {tree.folder: tree.name for tree in trees})
    facts = guard.facts(commands[0])
    return Sides(
        axis=axis,
        argv=run.argv,
        commands=commands,
        guard=guard,
        code={axis.keys[0]: facts} if facts is not None else {},
        setup=setup_of(workspace, request, run),
        needs=_beside(workspace, commands[0], facts) if not trees else (),
    )


@contextlib.contextmanager
def _in_recorded(
    workspace: Workspace,
    book: Book,
    request: AbRequest,
    display: Display,
    stated: Comparison,
    axis: AbAxis,
    here: Sides | None,
) -> Iterator[Sides]:
    """The sides in a checkout of the code that was recorded. Raises UsageError where that cannot be had, or where files
    are not there that were, and no setup makes them."""
    run, entry_id = request.run, request.run.entry_id or ""
    afresh = ab_afresh(entry_id, new=False)
    folder = here.commands[0].cwd if here is not None else workspace.cwd / (run.cwd or ".")
    if repository_of(folder) is None:
        raise UsageError(
            f"the code of {entry_id} has changed, and nothing has it as it was",
            cause=f"{folder} is in no git repository",
            hint=f"to ask the same of the code as it is now: {afresh}",
        )
    codes = {"copy": stated.code[stated.question.base]}
    with in_trees(workspace, run, "--id", codes, display, book, afresh) as (checkout, [tree]):
        lacks = [name for name in stated.run.needs if not (tree.top / name).exists()] if stated.run else []
        if lacks and request.setup is None:
            again = ab_more(entry_id, request.max_pairs)
            raise UsageError(
                f"the code has changed, and a checkout of {tree.commit[:9]} lacks {listed(lacks, _SHOWN)}",
                cause="git does not hold them: a build made them, or they are data",
                hint=f"{again} --setup 'COMMAND THAT MAKES THEM', or --setup true where the command needs none of them",
            )
        there = placed_in(workspace, run, checkout, tree)
        sides = _in_folder(workspace, book, request, there, axis, [tree])
        if _has_changed(codes["copy"], sides):
            raise UsageError(
                f"the code of {entry_id} cannot be brought back as it was",
                cause="its record differs from it: a secret in its changes was replaced, a file lies outside of the"
                " repository, or git changes files when it checks them out",
                hint=f"to ask the same of the code as it is now: {afresh}",
            )
        yield dataclasses.replace(sides, argv=run.argv, code={})


# -- what git does not hold ----------------------------------------------------------------------------


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
    if place is None:
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
