"""`logbook mcp`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path

from logbook_agent.agents.mcp.tool_table import tools
from logbook_agent.cli.options import Common, flag
from logbook_agent.model.errors import UsageError
from logbook_agent.store.config import load_user_config, user_config_file
from logbook_agent.store.workspace import Workspace

MCP_EXTRA = "mcp"


def mcp_command(
    *,
    allow_run: bool = flag(
        "--allow-run", "Also offer run and cancel, for a folder of logbooks that your settings name."
    ),
    common: Common,
) -> None:
    """Serve the logbook to a coding agent, by the Model Context Protocol on stdin and stdout.

    Your agent's host starts it. Without --allow-run, no tool starts or ends a command. With --json, print the tools
    instead.

    Example: logbook mcp --root ~/work/logbooks
    """
    space = common.space()
    if allow_run:
        check_allowed(space)
    if common.as_json:
        common.emit("mcp", {"tools": [tool.listed() for tool in tools(allow_run=allow_run)]})
        return
    if importlib.util.find_spec("mcp") is None:
        raise UsageError(
            "logbook mcp needs the package mcp, which this Python does not have",
            cause=f"{sys.executable} was installed without the extra `{MCP_EXTRA}`",
            hint=f"pip install 'logbook-agent[{MCP_EXTRA}]'",
        )
    # With the SDK, which takes a second to import.
    server = importlib.import_module("logbook_agent.agents.mcp.stdio_server")
    server.serve(
        server.Desk(cwd=space.cwd, root=str(space.root), logbook=common.logbook, allow_run=allow_run),
    )


def check_allowed(space: Workspace) -> None:
    """Raises UsageError where the user's settings do not name the root: no file of a project can."""
    root = os.path.realpath(space.root)
    named = [os.path.realpath(Path(folder).expanduser()) for folder in load_user_config(space.environ).allow_run]
    if root not in named:
        file = user_config_file(space.environ)
        raise UsageError(
            f"commands may not be started for {root}",
            cause=f"allow_run in {file} does not name it" if file else "there is no home",
            hint=f'if you want that, write into {file}: allow_run = ["{root}"]',
        )
