"""The executors by name, and their kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.model.run import Run
from logbook_agent.running.executors.contract import Executor
from logbook_agent.running.executors.local import Local
from logbook_agent.running.prepare import LAUNCHES, TYPED
from logbook_agent.store.workspace import Workspace

if TYPE_CHECKING:
    from logbook_agent.running.executors.settings import Declared


def _typed(workspace: Workspace) -> Executor:
    from logbook_agent.running.executors.typed import Typed

    return Typed(workspace.environ)


# Those that need no settings.
EXECUTORS: dict[str, Callable[[Workspace], Executor]] = {
    "local": lambda workspace: Local(workspace.environ),
    TYPED: _typed,
}


def _ssh(workspace: Workspace, declared: Declared) -> Executor:
    from logbook_agent.running.executors.ssh import ssh

    return ssh(workspace, declared)


def _command(workspace: Workspace, declared: Declared) -> Executor:
    from logbook_agent.running.executors.command import submitter

    return submitter(workspace, declared)


def _slurm(workspace: Workspace, declared: Declared) -> Executor:
    from logbook_agent.running.executors.slurm import slurm

    return slurm(workspace, declared)


def _ray(workspace: Workspace, declared: Declared) -> Executor:
    from logbook_agent.running.executors.ray import ray

    return ray(workspace, declared)


_MADE = "the executor named"
# What `kind` may be in the settings.
KINDS: dict[str, Callable[[Workspace, Declared], Executor]] = {
    LAUNCHES: _command,
    "ssh": _ssh,
    "slurm": _slurm,
    "ray": _ray,
}


def executor_of(workspace: Workspace, run: Run) -> Executor:
    """The executor that made, or makes, a run. Raises StoreError where none did, or this version does not have it."""
    if run.executor is None:
        raise StoreError(
            f"{run.entry} run {run.run} was not made by a worker of its own", hint=f"logbook show {run.entry}"
        )
    return executor_named(workspace, run.executor)


def executor_named(workspace: Workspace, name: str) -> Executor:
    """The executor of this name. Raises UsageError for one that the settings do not have, or that is not confirmed."""
    if name in EXECUTORS:
        return EXECUTORS[name](workspace)
    from logbook_agent.running.executors.settings import named

    # One for all that is asked in an invocation: it remembers whether its machine answers.
    key = (_MADE, name)
    if key not in workspace.made:
        workspace.made[key] = made(workspace, named(workspace, name))
    found: Executor = workspace.made[key]
    return found


def pool_of(workspace: Workspace, name: str) -> str | None:
    """What the equal machines of an executor go by in records; None where they are not declared to be equal."""
    from logbook_agent.running.executors.settings import is_declared, named

    if not is_declared(workspace, name):
        return None
    return name if named(workspace, name).is_equivalent else None


def patience_of(workspace: Workspace, name: str) -> float:
    """For how many seconds a refused start is tried again on the executor of this name."""
    from logbook_agent.running.executors.settings import PATIENCE_S, is_declared, named

    return named(workspace, name).retry_start_s if is_declared(workspace, name) else PATIENCE_S


def made(workspace: Workspace, declared: Declared) -> Executor:
    """The executor of such settings. Raises UsageError for a kind that this version does not have."""
    make = KINDS.get(declared.kind)
    if make is None:
        raise UsageError(
            f"executor {declared.name!r}: unknown kind {declared.kind!r}",
            cause=f"this version knows {', '.join(KINDS)}",
            hint=f"correct it in {declared.file}",
        )
    return make(workspace, declared)
