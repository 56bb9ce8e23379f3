"""The two commands whose pairs compare the best case of a sweep with its base, on the code of the first pair."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.campaign.checkouts import Tree, in_trees, placed_in
from logbook_agent.campaign.code_guard import CodeGuard, looks_at
from logbook_agent.campaign.recipes.expand import PlannedRun
from logbook_agent.campaign.repeats import RunRequest, prepared
from logbook_agent.campaign.sweep_progress import Progress
from logbook_agent.campaign.sweep_request import SweepRequest, onward, request_of
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import COMPARISON
from logbook_agent.running.order import Display
from logbook_agent.running.prepare import Command
from logbook_agent.store.repository import repository_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCommands:
    """The commands of both sides, the base first, with the guard of their code, and the folder in which they run."""

    commands: tuple[Command, ...]
    guard: CodeGuard
    cwd: Path


@contextlib.contextmanager
def pair_commands(
    progress: Progress, request: SweepRequest, planned: Sequence[PlannedRun], display: Display
) -> Iterator[PairCommands]:
    """The commands of the two runs that are compared, while their folder is there: here where the code is that of the
    pairs which were made, else in a checkout of that. Raises UsageError where it cannot be had."""
    workspace, book, recipe = progress.workspace, progress.book, progress.chosen.recipe
    if book is None or progress.entry is None:
        raise AssertionError("no sweep has begun")
    runs = [
        dataclasses.replace(request_of(recipe), argv=p.argv, env=p.env, on=request.on, label=COMPARISON)
        for p in planned
    ]

    def commands(placed: Sequence[RunRequest], trees: Sequence[Tree] = ()) -> PairCommands:
        found = tuple(prepared(workspace, r, is_built=bool(recipe.setup)) for r in placed)
        guard = CodeGuard(looks_at(workspace, book.root, found), {tree.folder: tree.name for tree in trees})
        return PairCommands(commands=found, guard=guard, cwd=trees[0].folder if trees else workspace.cwd)

    here = commands(runs)
    recorded = next((run.code for run in progress.runs if run.label == COMPARISON and run.part is not None), None)
    now = here.guard.facts(here.commands[0])
    if recorded is None or now is None or recorded.mark in (None, now.code.mark):
        yield here
        return
    afresh = f"start a new sweep, of the code as it is now: {onward(workspace, request, book, '--new')}"
    if repository_of(workspace.cwd) is None:
        raise UsageError(
            f"the code of {progress.entry.id} has changed, and nothing has it as it was",
            cause=f"{workspace.cwd} is in no git repository",
            hint=afresh,
        )
    with in_trees(workspace, runs[0], "--id", {"copy": recorded}, display, book, afresh) as (checkout, trees):
        yield commands([placed_in(workspace, run, checkout, trees[0]) for run in runs], trees)
