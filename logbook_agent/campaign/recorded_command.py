"""The command of a record as it is run again: with its folder, its variables, its options, and the secrets that it
names by their variables."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from logbook_agent.campaign.run_request import RunRequest
from logbook_agent.findings.cases import typed_env
from logbook_agent.model.comparison import CASE_AXIS, CODE_AXIS, Invocation
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import Record, is_own
from logbook_agent.model.run import Run
from logbook_agent.running.executors import LOCAL
from logbook_agent.store.repository import repository_of
from logbook_agent.store.workspace import Workspace, folder_of
from logbook_agent.text.phrases import listed
from logbook_agent.text.redaction.names import is_secret_name

_HIDDEN = "[redacted:"
_VARIABLE = re.compile(r"(?<![\\$])\$(?:(?P<bare>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})", re.ASCII)
_SHELL, _SCRIPT_FLAG = re.compile(r"(?:.*/)?(?:ba|da|z|k)?sh"), re.compile(r"-[a-z]*c")
# A working tree that was made for a run, and removed when it had ended.
_CHECKOUT = re.compile(r"/(?:[^\s:/]+/)*logbook-checkouts-\d+/[^/\s:]+/\d+/\w+")


def run_named(record: Record, number: str) -> Run:
    """The run with a number, or without one the last that finished. Raises UsageError."""
    if number:
        found = [s.run for s in record.runs if str(s.run.run) == number]
    else:
        found = [s.run for s in record.runs if s.counts and s.state == "finished" and not is_own(s.run)]
    if found and found[-1].is_reported:
        raise UsageError(
            f"the command of {record.id} was imported, and is not executed by itself",
            cause="nobody here has seen it run",
            hint=f"logbook show {record.id} quotes it; to run it, type it: logbook run --id {record.id} -- COMMAND",
        )
    if found:
        return found[-1]
    ended = [str(s.run.run) for s in record.runs if s.run.exit is not None]
    raise UsageError(
        f"{record.id} has no run {number}" if number else f"{record.id} has no run that finished",
        cause=f"its runs that have ended: {listed(ended)}" if ended else "none of its runs has ended",
        hint=f"logbook show {record.id}",
    )


def invocation_of(run: Run, axis: str = "") -> Invocation:
    """How a run was made, without its value of an axis, and without the name of the side that it was."""
    names = {axis, CODE_AXIS, CASE_AXIS} if run.part is not None else {axis}
    return Invocation(
        argv=run.argv,
        shell=run.shell,
        env={name: value for name, value in typed_env(run).items() if f"env:{name}" != axis},
        config={name: value for name, value in run.config.items() if name not in names},
        on=run.on if run.on != LOCAL else None,
        read=run.read,
        cwd=run.cwd or ".",
        timeout_s=run.timeout_s,
        stall_s=run.stall_s,
    )


# What a request and a recorded invocation state alike.
OPTIONS = ("shell", "on", "read", "timeout_s", "stall_s", "keep", "inputs", "discard", "frozen")


def as_made(workspace: Workspace, given: RunRequest, made: Invocation, of: str) -> RunRequest:
    """A request for runs that are made like others; what is `given` takes precedence. Raises UsageError for a secret
    that has no value here."""
    words, environ = enumerate(made.argv), workspace.environ
    argv = [word if is_script(made.argv, made.shell, at) else _filled(word, environ) for at, word in words]
    env = {**{name: _filled(value, environ) for name, value in made.env.items()}, **given.env}
    check_secrets(of, *argv, *env.values())
    repository = repository_of(workspace.cwd)
    if repository is not None:
        argv = [in_repository(word, repository.top) for word in argv]
        env = {name: in_repository(value, repository.top) for name, value in env.items()}
    options = {name: getattr(given, name) or getattr(made, name) for name in OPTIONS}
    cwd, config = given.cwd or str(folder_of(made.cwd, workspace)), {**made.config, **given.config}
    return dataclasses.replace(given, argv=argv, env=env, config=config, cwd=cwd, **options)


def check_secrets(of: str, *texts: str) -> None:
    """Raises UsageError where a text of a command lacks a secret."""
    if is_hidden(*texts):
        raise UsageError(
            f"the command of {of} holds a secret, which no record has",
            cause="it was replaced when it was recorded",
            hint="type the whole command, without --id and --like; pairs of the same question go to its entry",
        )


def is_hidden(*texts: str) -> bool:
    """Whether the record holds a mark in the place of a secret."""
    return any(_HIDDEN in text for text in texts)


def is_secret(value: str) -> bool:
    """Whether the record has a mark, or the name of a variable, in the place of a value."""
    return is_hidden(value) or _VARIABLE.fullmatch(value) is not None


def is_script(argv: Sequence[str], shell: bool, at: int) -> bool:
    """Whether a word of a command is a script, whose variables a shell expands."""
    return shell or (at > 0 and bool(_SCRIPT_FLAG.fullmatch(argv[at - 1])) and bool(_SHELL.fullmatch(argv[0])))


def _filled(text: str, environ: Mapping[str, str]) -> str:
    """A recorded text with the value that each secret variable has here, with a mark where it has none."""

    def value(match: re.Match[str]) -> str:
        name = match["bare"] or match["braced"]
        return environ.get(name, f"{_HIDDEN}{name}]") if is_secret_name(name) else match[0]

    return _VARIABLE.sub(value, text)


def in_repository(text: str, top: Path) -> str:
    """A recorded text with the repository in the place of a working tree that was removed."""
    return _CHECKOUT.sub(lambda _: str(top), text)
