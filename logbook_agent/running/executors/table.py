"""The executors by name."""

from __future__ import annotations

from collections.abc import Callable

from logbook_agent.model.errors import StoreError
from logbook_agent.model.run import Run
from logbook_agent.running.executors.contract import Executor
from logbook_agent.running.executors.local import Local
from logbook_agent.store.workspace import Workspace

EXECUTORS: dict[str, Callable[[Workspace], Executor]] = {
    "local": lambda workspace: Local(workspace.environ),
}


def executor_of(workspace: Workspace, run: Run) -> Executor:
    """The executor that made, or makes, a run. Raises StoreError where none did, or this version does not have it."""
    if run.executor is None:
        raise StoreError(
            f"{run.entry} run {run.run} was not made by a worker of its own", hint=f"logbook show {run.entry}"
        )
    return executor_named(workspace, run.executor)


def executor_named(workspace: Workspace, name: str) -> Executor:
    """The executor that a record names. Raises StoreError for one that this version does not have."""
    make = EXECUTORS.get(name)
    if make is None:
        raise StoreError(
            f"no executor {name!r}",
            cause=f"a record names it; this version has {', '.join(EXECUTORS)}",
            hint="upgrade with: pip install --upgrade logbook-agent",
        )
    return make(workspace)
