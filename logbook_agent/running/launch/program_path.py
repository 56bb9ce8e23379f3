"""Where the program of a command is, found as the command itself would find it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from logbook_agent.model.errors import CommandNotFound, NotExecutable, UsageError

_SHELL_WORDS = frozenset(
    {"cd", "source", ".", "export", "alias", "for", "while", "if", "eval", "exec", "set", "ulimit", "unset"}
)


def resolve(argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> str:
    """The full path of `argv[0]`, found as the child would find it. Symbolic links are kept: a virtual
    environment's python is one.

    Raises UsageError (no command), CommandNotFound or NotExecutable.
    """
    if not argv or not argv[0]:
        raise UsageError("no command to run", cause="nothing follows --", hint="logbook run -- COMMAND ...")
    name = argv[0]
    if "/" in name:
        return _by_path(name, cwd)
    blocked: Path | None = None
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        path = cwd / (folder or ".") / name
        # Not Path.is_file: that fails where a folder of PATH may not be looked into.
        if os.path.isfile(path):  # noqa: PTH113
            if os.access(path, os.X_OK):
                return _absolute(path)
            blocked = blocked or path
    if blocked is not None:
        raise _not_executable(blocked)
    raise _not_found(name, argv, env, cwd)


def _by_path(name: str, cwd: Path) -> str:
    path = cwd / Path(name).expanduser() if name.startswith("~") else cwd / name
    if path.is_dir():
        raise NotExecutable(f"cannot run {name}", cause="it is a directory", hint=f"ls {name}")
    if not path.exists():
        where = "" if Path(name).is_absolute() else f" in {cwd}"
        hint = f"ls {os.path.dirname(name)}"  # noqa: PTH120 - as it was typed: an address is no path
        raise CommandNotFound(f"command not found: {name}", cause=f"no such file{where}", hint=hint)
    if not os.access(path, os.X_OK):
        raise _not_executable(path)
    return _absolute(path)


def _absolute(path: Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - `resolve` would follow links


def _not_executable(path: Path) -> NotExecutable:
    hint = f"python {path}" if path.suffix == ".py" else f"chmod +x {path}"
    return NotExecutable(f"cannot run {path}", cause="the file is not marked executable", hint=hint)


def _not_found(name: str, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> CommandNotFound:
    message = f"command not found: {name}"
    if len(argv) == 1 and " " in name:
        cause = "the whole command line was given as one word"
        return CommandNotFound(message, cause=cause, hint="leave out the quotes, or add --shell")
    if name in _SHELL_WORDS:
        rest = " ".join(argv)
        return CommandNotFound(message, cause="it is a word of the shell, not a program", hint=f"bash -lc {rest!r}")
    if (cwd / name).is_file():
        cause = "it is a file here, but . is not on PATH"
        return CommandNotFound(message, cause=cause, hint=f"./{name}")
    close = _close_names(name, env)
    hint = f"did you mean {' or '.join(close)}?" if close else f"install it, or check: command -v {name}"
    return CommandNotFound(message, cause="it is not on PATH", hint=hint)


def _close_names(name: str, env: Mapping[str, str]) -> list[str]:
    import difflib

    names: set[str] = set()
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        try:
            names.update(n for n in os.listdir(folder or ".") if abs(len(n) - len(name)) <= 2)  # noqa: PTH208
        except OSError:
            continue
    return difflib.get_close_matches(name, sorted(names), n=2, cutoff=0.75)
