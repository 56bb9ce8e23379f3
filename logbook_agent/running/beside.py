"""Other runs of logbooks that go on, and how busy that makes this machine, before a run is made on it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from logbook_agent.model.record import run_state
from logbook_agent.model.run import Contention, Run
from logbook_agent.running.provenance.load import host_root, load_now
from logbook_agent.store.book import Book
from logbook_agent.store.processes import this_host
from logbook_agent.store.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run of the logbook `topic` that goes on: with its tool, or without it. `has_begun`: its command is known to
    run."""

    topic: str
    run: Run
    state: Literal["running", "orphaned"]
    has_begun: bool

    @property
    def name(self) -> str:
        return f"{self.run.entry} run {self.run.run}"


def open_runs(workspace: Workspace, book: Book) -> list[OpenRun]:
    """The runs that go on now, of this logbook and of those beside it."""
    others = [other for other in workspace.books() if other.topic != book.topic]
    found = [(one, run, run_state(run, one.life)) for one in (book, *others) for run in one.open_runs()]
    return [
        OpenRun(topic=one.topic, run=run, state=state, has_begun=one.has_begun(run))
        for one, run, state in found
        if state == "running" or state == "orphaned"
    ]


def with_runs(found: Contention | None, runs: Sequence[OpenRun]) -> Contention | None:
    """Who else uses the machine, with the runs that go on there."""
    here = tuple(one.name for one in runs if one.run.is_on(this_host()))
    return replace(found, runs=here) if found is not None and here else found


def machine_now(workspace: Workspace, book: Book) -> Contention:
    """How busy this machine is now, the look at its accelerators left out."""
    runnable, load_1m = load_now(host_root(workspace.environ))
    found = Contention(cores=os.cpu_count(), runnable=runnable, load_1m=load_1m)
    return with_runs(found, open_runs(workspace, book)) or found
