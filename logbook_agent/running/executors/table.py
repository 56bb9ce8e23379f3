"""The executors by name. What makes those of the settings is found in the table of features, by their kind."""

from __future__ import annotations

from collections.abc import Callable

from logbook_agent.features import FEATURES, present, provided
from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.model.run import Run
from logbook_agent.running.executors.contract import Executor
from logbook_agent.running.executors.local import Local
from logbook_agent.running.executors.settings import LOCAL, PATIENCE_S, TYPED, Declared, is_declared, named
from logbook_agent.store.workspace import Workspace

# Those that need no settings.
EXECUTORS: dict[str, Callable[[Workspace], Executor]] = {LOCAL: lambda workspace: Local(workspace.environ)}
_MADE = "the executor named"


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
    # One for all that is asked in an invocation: it remembers whether its machine answers.
    key = (_MADE, name)
    if key not in workspace.made:
        declared = Declared(name=TYPED, kind=TYPED, table={}) if name == TYPED else named(workspace, name)
        workspace.made[key] = made(workspace, declared)
    found: Executor = workspace.made[key]
    return found


def pool_of(workspace: Workspace, name: str) -> str | None:
    """What the equal machines of an executor go by in records; None where they are not declared to be equal."""
    return name if is_declared(workspace, name) and named(workspace, name).is_equivalent else None


def patience_of(workspace: Workspace, name: str) -> float:
    """For how many seconds a refused start is tried again on the executor of this name."""
    return named(workspace, name).retry_start_s if is_declared(workspace, name) else PATIENCE_S


def made(workspace: Workspace, declared: Declared) -> Executor:
    """The executor of such settings. Raises UsageError for a kind that this version does not have."""
    feature = next((feature for feature in FEATURES if declared.kind in feature.executors), None)
    if feature is None:
        kinds = [kind for feature in FEATURES for kind in feature.executors if kind != TYPED]
        raise UsageError(
            f"executor {declared.name!r}: unknown kind {declared.kind!r}",
            cause=f"this version knows {', '.join(kinds)}",
            hint=f"correct it in {declared.file}",
        )
    if feature not in present():
        raise UsageError(
            f"executor {declared.name!r}: the feature {feature.name!r} is missing from this installation",
            cause=f"executors of kind {declared.kind!r} belong to it",
            hint="install logbook-agent with all of its features, or leave --on out",
        )
    found: Executor = provided(feature.executors[declared.kind])(workspace, declared)
    return found
