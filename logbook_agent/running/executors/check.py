"""Whether an executor can be used: it is asked for what a run would need."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.running.executors.contract import Installs, PruneCount, Prunes
from logbook_agent.running.executors.settings import LOCAL, Declared, is_confirmed
from logbook_agent.running.executors.table import executor_named, made
from logbook_agent.store.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What an executor answered. `is_ready` None: it was not asked. `version` is that of the code that measures there,
    `python` what it runs in."""

    name: str
    kind: str
    file: str | None = None
    is_confirmed: bool = True
    is_ready: bool | None = None
    host: str | None = None
    python: str | None = None
    version: str | None = None
    devices: tuple[dict[str, Any], ...] = ()
    problem: str | None = None
    hint: str | None = None

    def data(self) -> dict[str, Any]:
        """All of it, for machines."""
        return asdict(self)


def check(workspace: Workspace, name: str, declared: Declared | None, *, offline: bool = False) -> Checked:
    """Ask an executor, but not one that the user has not confirmed; None: this machine."""
    known: dict[str, Any] = {"name": name, "kind": LOCAL}
    if declared is not None:
        may_be_used = is_confirmed(workspace, declared)
        known |= {"kind": declared.kind, "file": str(declared.file), "is_confirmed": may_be_used}
        if not may_be_used or offline:
            return Checked(**known)
    try:
        executor = executor_named(workspace, name) if declared is None else made(workspace, declared)
        answer = executor.hello()
    except LogbookError as error:
        problem = error.message + (f" ({error.cause})" if error.cause else "")
        return Checked(**known, is_ready=False, problem=problem, hint=error.hint)
    return Checked(
        **known,
        is_ready=True,
        host=answer.get("host", {}).get("name"),
        python=answer.get("python"),
        version=answer.get("version"),
        devices=tuple(answer.get("devices", ())),
    )


def install_on(workspace: Workspace, name: str) -> None:
    """Make an environment for the workers of an executor. Raises ToolError, and UsageError where it has none."""
    executor = executor_named(workspace, name)
    if not isinstance(executor, Installs):
        raise UsageError(
            f"nothing can be installed on {name}",
            cause="it runs on this machine, or its launcher decides what is there",
            hint="leave --install out",
        )
    executor.install()


def prune_on(workspace: Workspace, name: str) -> PruneCount:
    """Remove what no run needs on the machine of an executor; as `Prunes.prune`. Raises ToolError, and UsageError where
    nothing is ever left."""
    executor = executor_named(workspace, name)
    if not isinstance(executor, Prunes):
        raise UsageError(
            f"nothing to prune on {name}",
            cause="logbook keeps no files of runs there",
            hint="leave --prune out",
        )
    return executor.prune()
