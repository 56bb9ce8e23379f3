"""The workspace of this process, as a command gets it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from logbook_agent.cli.output import redact_by
from logbook_agent.model.errors import UsageError
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace, checkouts_folder, utc_now

# The clock and sleep that waits go by; empty: this machine's. Tests put their own here.
timing: dict[str, Callable[..., Any]] = {}


def workspace(logbook: str | None, root: str | None) -> Workspace:
    """The workspace of this process."""
    if sys.platform not in ("linux", "darwin"):
        raise UsageError(
            f"{sys.platform} is not supported",
            cause="logbook needs process groups to end runs and flock to lock logbooks",
            hint="use Linux, macOS, or WSL",
        )
    space = Workspace(
        cwd=Path.cwd(),
        environ=os.environ,
        root_option=root,
        logbook_option=logbook,
        now=utc_now,
        timing=timing,
        arrive=collect,
    )
    redact_by(lambda: space.redactor)
    _SPACES.append(space)
    return space


# Those of the command that is being carried out.
_SPACES: list[Workspace] = []


def take_spaces() -> list[Workspace]:
    """The workspaces that were made since this was asked last."""
    found = [*_SPACES]
    _SPACES.clear()
    return found


def collect(space: Workspace, book: Book) -> None:
    """Whatever is asked for, runs that have ended meanwhile are part of the answer, and what a killed process left in
    the folder of checkouts is removed."""
    if book.spools():
        from logbook_agent.campaign.detached_runs import collect_ended

        collect_ended(space, book)
    if os.path.isdir(above := checkouts_folder(space.environ)):  # noqa: PTH112 - costs less, on every command
        from logbook_agent.running.provenance.worktrees import clean

        clean(above, space.environ)
