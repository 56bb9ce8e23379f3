"""The one place that starts git: cleaned environment, no prompt, limits of time and output.

A repository's configuration may name programs: fsmonitor, hooks, external diffs, text conversion, pagers, transports.
What reads starts none of them. What writes runs the user's hooks and signs as the user
configured. Filters (LFS, git-crypt, nbstripout) run in both: they define what the content
of a file is, and a diff without them would show what they are there to hide.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from logbook_agent.model.errors import StoreError
from logbook_agent.running.programs import (
    TooMuchOutput,
    absolute_path,
    close_pipes,
    collect,
    find_program,
    kill_group,
    signal_group,
)

TIMEOUT_S = 20.0
MOST_BYTES = 256 * 2**20
# Time to remove its lock files once it was told to stop.
_STOP_S = 5.0
# A hook's GIT_DIR or GIT_INDEX_FILE would point a command at something else.
_KEPT = ("GIT_CONFIG", "GIT_EXEC_PATH", "GIT_SSH", "GIT_TRACE", "GIT_ALLOW", "GIT_TEST")
_IDENTITY = ("GIT_AUTHOR_", "GIT_COMMITTER_")
_ALWAYS = {"GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_READING = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    # A partial clone would ask the network for what it does not hold.
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
# They hold in submodules, too: git hands them on.
_CONFIG = {
    "core.fsmonitor": "false",
    "core.pager": "cat",
    # A bare repository among the files of a branch brings a configuration along.
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
}
_READING_CONFIG = {
    **_CONFIG,
    "core.hooksPath": os.devnull,
    "protocol.allow": "never",
    # `git diff` would write the index that it refreshed, whatever GIT_OPTIONAL_LOCKS says.
    "diff.autoRefreshIndex": "false",
    "log.showSignature": "false",
}
# Options of the commands that compare contents, whatever attributes and configuration say.
DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--no-color")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitAnswer:
    code: int
    out: bytes
    words: str

    def lines(self) -> list[str]:
        return os.fsdecode(self.out).splitlines()


class GitError(Exception):
    """Git could not be started, or took too long."""


def read_git(top: Path, words: Sequence[str], environ: Mapping[str, str]) -> GitAnswer:
    """Run a git command that writes nothing. Raises StoreError when git cannot be started or exceeds a limit."""
    return _call(top, words, environ, writes=False, timeout_s=TIMEOUT_S)


def try_git(top: Path, words: Sequence[str], environ: Mapping[str, str]) -> bytes | None:
    """What a command that writes nothing prints; None when git is not there, exceeds a limit, or fails."""
    try:
        answer = read_git(top, words, environ)
    except StoreError:
        return None
    return answer.out if answer.code == 0 else None


def write_git(top: Path, words: Sequence[str], environ: Mapping[str, str], *, timeout_s: float) -> GitAnswer:
    """Run a git command that writes, under the user's identity and with their hooks; its messages are in English."""
    return _call(top, words, environ, writes=True, timeout_s=timeout_s)


def piped(stream: IO[bytes] | None) -> IO[bytes]:
    """A pipe of a process that was started with it."""
    assert stream is not None  # noqa: S101
    return stream


class GitProcesses:
    """Git commands that read and run at the same time, with one time limit for all of them."""

    def __init__(self, environ: Mapping[str, str], config: Mapping[str, str], timeout_s: float) -> None:
        self._environ = environ
        self._config = config
        self._timeout_s = timeout_s
        self._running: list[subprocess.Popen[bytes]] = []
        self._late = False
        self._timer = threading.Timer(timeout_s, self._stop)
        self._timer.daemon = True
        self._timer.start()

    def start(self, top: Path, words: Sequence[str], *, stdin: bool = False) -> subprocess.Popen[bytes]:
        """Start a command. Only one with `stdin` has a pipe for its errors: a pipe that nobody empties would block
        it."""
        process = _start(top, words, self._environ, config=self._config, stdin=stdin, stderr=stdin)
        self._running.append(process)
        return process

    def finish(self) -> str:
        """Wait for all commands; what went wrong, or nothing."""
        codes = [process.wait() for process in self._running]
        if self._late:
            raise GitError(f"git took longer than {self._timeout_s:g} s")
        return "git failed" if any(codes) else ""

    def _stop(self) -> None:
        self._late = True
        for process in self._running:
            signal_group(process)

    def close(self) -> None:
        self._timer.cancel()
        for process in self._running:
            kill_group(process)


def _start(
    top: Path,
    words: Sequence[str],
    environ: Mapping[str, str],
    *,
    writes: bool = False,
    config: Mapping[str, str] | None = None,
    stdin: bool = False,
    stderr: bool = True,
) -> subprocess.Popen[bytes]:
    """Git in `top`, which it takes for the top of a repository or for none: it does not look further up."""
    kept = _KEPT + _IDENTITY if writes else _KEPT
    env = {k: v for k, v in environ.items() if not k.startswith("GIT_") or k.startswith(kept)}
    env |= {**_ALWAYS, **({"LANGUAGE": "C"} if writes else _READING)}
    env |= {"PATH": absolute_path(environ), "GIT_CEILING_DIRECTORIES": str(top.parent)}
    settings = {**(_CONFIG if writes else _READING_CONFIG), **(config or {})}
    program = find_program("git", environ)
    if program is None:
        raise GitError(f"git could not be started: {os.strerror(2)}")
    try:
        return subprocess.Popen(
            [program, "-C", str(top), *(w for k, v in settings.items() for w in ("-c", f"{k}={v}")), *words],
            env=env,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if stderr else subprocess.DEVNULL,
            # A hook or a program that signs may ask on the terminal, which a group of its own could not.
            process_group=None if writes else 0,
        )
    except OSError as error:
        raise GitError(f"git could not be started: {error.strerror}") from None


def _call(top: Path, words: Sequence[str], environ: Mapping[str, str], *, writes: bool, timeout_s: float) -> GitAnswer:
    by_hand = f"try it by hand: git -C {shlex.quote(str(top))} status"
    try:
        process = _start(top, words, environ, writes=writes)
    except GitError as error:
        raise StoreError(str(error), cause="git is not on PATH, or the folder is gone", hint="git --version") from None
    try:
        found = collect(process, timeout_s=timeout_s, most_bytes=MOST_BYTES)
    except subprocess.TimeoutExpired:
        raise StoreError(
            f"git {_verb(words)} took longer than {timeout_s:g} s and was stopped",
            cause="a slow disk, a hook, or a program that waits for an answer",
            hint=by_hand,
        ) from None
    except TooMuchOutput:
        raise StoreError(
            f"git {_verb(words)} printed more than {MOST_BYTES >> 20} MiB and was stopped",
            cause="a very large file in the repository, or very many files",
            hint=by_hand,
        ) from None
    finally:
        _stop(process, writes=writes)
    return GitAnswer(code=process.returncode, out=found.out, words=found.err.decode("utf-8", "replace").strip())


def _stop(process: subprocess.Popen[bytes], *, writes: bool) -> None:
    """End what still runs. What writes has time to remove its lock files."""
    if process.poll() is None and writes:
        process.terminate()
        try:
            process.wait(timeout=_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.returncode is None:
        kill_group(process)
    close_pipes(process)


def _verb(words: Sequence[str]) -> str:
    return next((w for w in words if not w.startswith("-") and "=" not in w), "")
