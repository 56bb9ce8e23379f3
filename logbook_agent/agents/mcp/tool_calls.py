"""A call of a tool: its command line, run with `--json` in a process of its own, and what that printed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
from msgspec import Struct

from logbook_agent.agents.mcp.answers import as_shown, cut
from logbook_agent.agents.mcp.tool_table import Tool, tools
from logbook_agent.cli.output import error_answer
from logbook_agent.model.errors import LogbookError, StoreError, UsageError
from logbook_agent.text.redaction.names import secrets_in
from logbook_agent.text.redaction.redactor import Redactor

if TYPE_CHECKING:
    from anyio.abc import ByteReceiveStream

# Until there is an answer: hosts give up a call after 60 s.
_LIMIT_S = 55.0


class Desk(Struct, frozen=True, kw_only=True):
    """Where a server answers: the folder of its commands, the root, the logbook, and whether it may start commands."""

    cwd: Path
    root: str
    logbook: str | None = None
    allow_run: bool = False


async def answered(desk: Desk, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a call; an error has the schema `logbook/error/1`. An argument that is null is not given."""
    try:
        tool = _offered(name, allow_run=desk.allow_run)
        stated = {key: value for key, value in given.items() if value is not None}
        known = {**({"logbook": desk.logbook} if desk.logbook is not None else {}), **stated}
        _check(tool, known)
        first, *rest = tool.words(known)
        words = [first, f"--root={desk.root}", "--json", *rest]
        answer = _parsed(*await printed(words, desk.cwd, may_end=tool.reads), first)
    except LogbookError as error:
        return error_answer(error, Redactor(secrets=secrets_in(os.environ)))
    return dict(as_shown(cut(answer, shlex.join(["logbook", *words]))))


def _offered(name: str, *, allow_run: bool) -> Tool:
    offered = {tool.name: tool for tool in tools(allow_run=allow_run)}
    if name in offered:
        return offered[name]
    cause, hint = f"the tools are {', '.join(offered)}", "call one of these"
    if name in {tool.name for tool in tools(allow_run=True)}:
        cause = "this server was started without --allow-run, which only the user can add"
        hint = "plan the command with plan; the user runs it, or starts: logbook mcp --allow-run"
    raise UsageError(f"no tool {name}", cause=cause, hint=hint)


def _check(tool: Tool, given: Mapping[str, Any]) -> None:
    """Raise UsageError for arguments that are not what the schema of the tool says."""
    from jsonschema import Draft202012Validator  # the first call needs it, the start of the server does not

    for error in Draft202012Validator(tool.listed()["inputSchema"]).iter_errors(given):
        where = ": ".join([tool.name, *filter(None, [error.json_path.removeprefix("$").removeprefix(".")])])
        cause = f"its arguments are {', '.join(tool.names)}"
        raise UsageError(f"{where}: {error.message}", cause=cause, hint=f"call {tool.name} again as its schema says")


async def printed(words: Sequence[str], cwd: Path, *, may_end: bool, err: int | None = None) -> tuple[bytes, int]:
    """What a command line of ours prints, and its exit code; its messages go where this server's go, or to `err`.
    `may_end`: nothing is lost where it is ended before it has answered."""
    argv = [sys.executable, "-P", "-m", "logbook_agent", *words]
    try:
        # In a session of its own: a host that ends this server and its group ends no run.
        process = await anyio.open_process(argv, stdin=subprocess.DEVNULL, stderr=err, cwd=cwd, start_new_session=True)
    except (ValueError, OSError) as error:
        raise UsageError("an argument fits in no command line", cause=str(error), hint="shorten it") from error
    stdout = cast("ByteReceiveStream", process.stdout)
    try:
        with anyio.fail_after(_LIMIT_S):
            out = b"".join([piece async for piece in stdout])
            return out, await process.wait()
    except TimeoutError:
        raise StoreError(
            f"no answer within {_LIMIT_S:.0f} s",
            cause="the machine is busy, or a launcher or a host takes its time",
            hint="call status: it shows what was done and what is running",
        ) from None
    finally:
        if may_end and process.returncode is None:
            process.kill()


def _parsed(out: bytes, code: int, command: str) -> dict[str, Any]:
    try:
        return dict(json.loads(out))
    except ValueError:
        raise StoreError(
            f"logbook {command} gave no answer",
            cause=f"it exited with {code}; its messages are in the log of this server",
            hint="logbook doctor",
        ) from None
