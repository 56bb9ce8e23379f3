"""From the words a user typed to a command that can be started; everything that can be wrong with it is
found here, before an ID is taken."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from logbook_agent.model.errors import UsageError
from logbook_agent.model.run import Launch
from logbook_agent.running.commands.launchers import Launched, launchers_from, recognise, wrap
from logbook_agent.running.launch import resolve
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.words import split_env_words

_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m|min|h|d)?")
_SECONDS = {None: 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command ready to start. `argv` are its words as recorded, `executable` what argv[0] resolved to.

    `env` is set for the process; `far_env` is what a launcher sets on the other side; `planned` is the
    place of the planned command that this one executes.
    """

    argv: tuple[str, ...]
    executable: str
    shell: bool = False
    label: str | None = None
    cwd: Path
    env: dict[str, str] = field(default_factory=dict)
    far_env: dict[str, str] = field(default_factory=dict)
    launch: Launch | None = None
    planned: int | None = None


def prepare(
    workspace: Workspace,
    argv: Sequence[str],
    *,
    env: Mapping[str, str] = MappingProxyType({}),
    cwd: str | None = None,
    on: str | None = None,
    shell: bool = False,
    label: str | None = None,
    search_first: Path | None = None,
) -> Command:
    """Check and resolve a command; from here on its secrets are hidden. Programs are looked for in the folder
    `search_first`, then on PATH. Raises UsageError, CommandNotFound (127) or NotExecutable (126)."""
    folder = _folder(workspace, cwd)
    leading, words = ({}, (" ".join(argv),)) if shell else split_env_words(argv)
    if shell and on is not None:
        raise UsageError(
            "--shell and --on cannot be combined",
            cause="a launcher takes words, not shell text",
            hint="write the shell out: --on NAME -- bash -lc '...'",
        )
    if not " ".join(words).strip():
        raise UsageError(
            "no command to run",
            cause="nothing follows --",
            hint="add one: -- python bench.py --quant-mode none",
        )
    local, far, launch = {**env, **leading}, {}, None
    launched = None if shell else _launched(workspace, argv, words, local, on)
    if launched is not None:
        words, far, launch = launched.argv, launched.remote_env, launched.launch
        local = {**launched.local_env, **(env if on is None else {})}
    found_in = {**workspace.environ, **local}
    if search_first is not None and launched is None:
        found_in["PATH"] = f"{search_first}{os.pathsep}{found_in.get('PATH', '')}"
    executable = "/bin/sh" if shell else resolve(words, found_in, folder)
    workspace.learn_secrets({**local, **far}, words)
    return Command(
        argv=words, executable=executable, shell=shell, label=label, cwd=folder, env=local, far_env=far, launch=launch
    )


def _launched(
    workspace: Workspace, argv: Sequence[str], words: Sequence[str], env: Mapping[str, str], on: str | None
) -> Launched | None:
    launchers = launchers_from({"launchers": workspace.config.launchers})
    if on is None:
        return recognise(argv, launchers)
    name, _, target = on.partition(":")
    if name not in launchers:
        raise UsageError(
            f"no launcher {name!r}",
            cause=f"configured launchers: {', '.join(launchers) or 'none'}",
            hint="describe it in logbook.toml: docs/how-to/launchers.md",
        )
    return wrap(launchers[name], words, env, target or None)


def _folder(workspace: Workspace, cwd: str | None) -> Path:
    folder = (workspace.cwd / cwd).absolute() if cwd else workspace.cwd
    if not folder.is_dir():
        raise UsageError(f"--cwd {cwd} is not a folder", cause="no such folder, seen from here", hint=f"mkdir -p {cwd}")
    return folder


def parse_duration(text: str, option: str = "--timeout") -> float:
    """Seconds of `90`, `30s`, `30m`, `1.5h`, `2d`. Raises UsageError for anything else."""
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match["number"]) * _SECONDS[match["unit"]] if match else 0.0
    if seconds <= 0:
        raise UsageError(
            f"{option} {text!r} is not a length of time",
            cause="expected a number above zero with s, m, h or d",
            hint=f"write: {option} 30m",
        )
    return seconds


def parse_env(texts: Sequence[str]) -> dict[str, str]:
    """`K=V` options as variables. Raises UsageError for a name the shell would not take."""
    found = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not _NAME.fullmatch(name):
            raise UsageError(
                f"--env {text!r} is not NAME=VALUE",
                cause="the = is missing, or the name is not valid",
                hint="write: --env XLA_FLAGS=--xla_force_host_platform_device_count=8",
            )
        found[name] = value
    return found
