"""`logbook agents`."""

from __future__ import annotations

from pathlib import Path

from logbook_agent.agents.installing import HOSTS, install
from logbook_agent.cli.options import Common, argument, option
from logbook_agent.model.errors import UsageError


def agents_command(
    *,
    action: str = argument("ACTION", "install.", ...),
    project: str = option("--project DIR", "The project. [the current folder]", "."),
    common: Common,
) -> None:
    """Write the skill for coding agents into a project.

    It writes the skill to .agents/skills and .claude/skills, and a marked block to AGENTS.md. It prints how to
    start the MCP server in your agent's host, and changes nothing in your home.

    Example: logbook agents install
    """
    if action != "install":
        raise UsageError(f"unknown action {action!r}", cause="the action is install", hint="logbook agents install")
    folder = Path(project).absolute()
    if not folder.is_dir():
        raise UsageError(
            f"{project} is not a folder", cause="--project names the folder of a project", hint="--project DIR"
        )
    states = {path: "written" if written else "unchanged" for path, written in install(folder).items()}
    lines = [
        *(f"{state} {path}" for path, state in states.items()),
        "",
        "To start the MCP server in your agent's host (add --allow-run where agents may execute commands):",
        *(f"  {name}: {command}" for name, command in HOSTS.items()),
    ]
    data = {
        "project": str(folder),
        "files": [{"path": path, "state": state} for path, state in states.items()],
        "hosts": [{"name": name, "command": command} for name, command in HOSTS.items()],
    }
    common.emit("agents", data, "\n".join(lines))
