"""`logbook agents`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from logbook_agent.agents.installing import HOSTS, InstalledFile, install, uninstall
from logbook_agent.cli.options import Common
from logbook_agent.cli.output import emit
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import UsageError

_OWN_BRANCH = "logbook start TOPIC --own-branch logbooks ..."


def agents_command(
    *,
    action: Annotated[str, Argument(metavar="ACTION", help="install or uninstall.")],
    project: Annotated[Path, Option("--project", metavar="DIR", help="The project. [the current folder]")] = Path(),
    common: Common,
) -> None:
    """Write the skill for coding agents into a project, or remove it.

    `install` writes the skill to .agents/skills and .claude/skills, and a marked block to AGENTS.md. It prints how to
    start the MCP server in your agent's host, and changes nothing in your home.

    Example: logbook agents install
    """
    if action not in ("install", "uninstall"):
        raise UsageError(
            f"unknown action {action!r}", cause="actions: install, uninstall", hint="logbook agents install"
        )
    folder = project.absolute()
    if not folder.is_dir():
        raise UsageError(
            f"{project} is not a folder", cause="--project names the folder of a project", hint="--project DIR"
        )
    changes = install(folder) if action == "install" else uninstall(folder)
    data: dict[str, object] = {"project": str(folder), "files": [encode(change) for change in changes]}
    lines = [_line(change) for change in changes] or ["nothing to remove"]
    if action == "install":
        data |= {"hosts": [encode(host) for host in HOSTS], "root": _OWN_BRANCH}
        lines += [
            "",
            "To start the MCP server in your agent's host (add --allow-run where agents may execute commands):",
        ]
        lines += [f"  {host.name}: {host.command}" for host in HOSTS]
        lines += ["", f"To keep the records out of the way of reverts and checkouts: {_OWN_BRANCH}"]
    emit("agents", data, "\n".join(lines), as_json=common.as_json)


def _line(change: InstalledFile) -> str:
    return f"{change.state} {change.path}" + (f": {change.why}" if change.why else "")
