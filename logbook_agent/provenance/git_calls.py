"""One git command at a time: cleaned environment, no prompt, a limit of time, and its words when it fails."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.errors import StoreError

TIMEOUT_S = 20.0
# Time to remove its lock files once it was told to stop.
_STOP_S = 5.0
# A hook's GIT_DIR or GIT_INDEX_FILE would point a command at something else.
_KEPT = ("GIT_CONFIG", "GIT_EXEC_PATH", "GIT_SSH", "GIT_TRACE", "GIT_ALLOW", "GIT_TEST")
_IDENTITY = ("GIT_AUTHOR_", "GIT_COMMITTER_")
_READING = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    # A partial clone would ask the network for what it does not hold.
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GitAnswer:
    code: int
    out: bytes
    words: str

    def lines(self) -> list[str]:
        return os.fsdecode(self.out).splitlines()


def read_git(top: Path, words: Sequence[str], environ: Mapping[str, str], *, stdin: bytes = b"") -> GitAnswer:
    """A command that writes nothing. Raises StoreError when git cannot be started or takes too long."""
    env = _cleaned(environ, _KEPT) | _READING
    return _call(top, ["-c", "core.fsmonitor=false", *words], env, stdin=stdin, timeout_s=TIMEOUT_S)


def write_git(top: Path, words: Sequence[str], environ: Mapping[str, str], *, timeout_s: float) -> GitAnswer:
    """A command that writes, under the user's identity and with their hooks; its messages are in English."""
    return _call(top, words, _cleaned(environ, _KEPT + _IDENTITY) | {"LANGUAGE": "C"}, stdin=b"", timeout_s=timeout_s)


def _cleaned(environ: Mapping[str, str], kept: tuple[str, ...]) -> dict[str, str]:
    env = {k: v for k, v in environ.items() if not k.startswith("GIT_") or k.startswith(kept)}
    return env | {"GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


def _call(top: Path, words: Sequence[str], env: dict[str, str], *, stdin: bytes, timeout_s: float) -> GitAnswer:
    try:
        process = subprocess.Popen(
            ["git", "-C", str(top), *words],
            env=env,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise StoreError(
            f"git could not be started: {error.strerror}",
            cause="git is not on PATH, or the folder is gone",
            hint="git --version",
        ) from None
    try:
        out, err = process.communicate(stdin or None, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _stop(process)
        raise StoreError(
            f"git {_verb(words)} took longer than {timeout_s:g} s and was stopped",
            cause="a slow disk, a hook, or a program that waits for an answer",
            hint=f"try it by hand: git -C {shlex.quote(str(top))} status",
        ) from None
    except BaseException:
        _stop(process)
        raise
    return GitAnswer(code=process.returncode, out=out, words=err.decode("utf-8", "replace").strip())


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    # Not read to the end: a hook that lives on may hold them open.
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _verb(words: Sequence[str]) -> str:
    return next((w for w in words if not w.startswith("-") and "=" not in w), "")
