"""From the words a user typed to a command that can be started; everything that can be wrong with it is
found here, before an ID is taken."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct, field

from logbook_agent.features import needed_module
from logbook_agent.model.errors import CommandNotFound, NotExecutable, ToolError, UsageError
from logbook_agent.model.run import Launch
from logbook_agent.model.worker_report import Contention
from logbook_agent.running.executors import TYPED
from logbook_agent.running.launch.process import Inside
from logbook_agent.running.programs import resolve
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.commands.launchers import Launched, recognise
from logbook_agent.text.phrases import nearest
from logbook_agent.text.shell_words import command_line, split_env_word, split_env_words

T = TypeVar("T")
E = TypeVar("E", ToolError, UsageError)
_MOST_S = 3650 * 86400.0
_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|min|sec|s|m|h|d)\s*", re.IGNORECASE)
_SECONDS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
# The in-house benchmark, which is run with this Python.
PROGRAM = "bench-core"
# What it takes as its first word: another one would take an ID for nothing.
BENCHMARKS = ("hillclimb", "overlap", "compare", "check", "roofline")


class Command(Struct, frozen=True, kw_only=True):
    """A command ready to start. `argv` are its words as recorded, `executable` what argv[0] resolved to.

    `env` is set for the process; `far_env` is what a launcher sets on the other side; `planned` is the
    place of the planned command that this one executes. `executor` has it executed; None: this process, or a worker
    on this machine. `submits`: its launcher returns before it has ended; `syncs`: the launcher brings the files of this
    folder there, as far as is known. `read`: which file of a benchmark tool has its
    results, and in which format. `inside`: what is done in this process instead of starting one.
    """

    argv: tuple[str, ...]
    executable: str
    shell: bool = False
    label: str | None = None
    cwd: Path
    env: dict[str, str] = field(default_factory=dict)
    far_env: dict[str, str] = field(default_factory=dict)
    launch: Launch | None = None
    executor: str | None = None
    submits: bool = False
    syncs: bool = True
    planned: int | None = None
    read: str | None = None
    inside: Inside | None = None

    @property
    def is_carried(self) -> bool:
        """Whether a launcher carries it to another machine."""
        return self.launch is not None

    @property
    def runs_files(self) -> bool:
        """Whether it runs code from the files of this machine, as far as is known."""
        return self.syncs or not self.is_carried

    def contention_of(self, found: Contention) -> Contention:
        """What this command meets of the contention on this machine: nothing where it runs elsewhere."""
        return found if self.launch is None and self.executor is None else Contention()

    @property
    def words(self) -> tuple[str, ...]:
        """Its words without a launcher's prefix."""
        return self.argv if self.launch is None else self.launch.command

    def shown(self, env: Mapping[str, str] | None = None) -> str:
        """What is started, as one would type it: folder, variables (with `env`: these) and words."""
        line = command_line(self.argv, self.env if env is None else env, shell=self.shell)
        return f"cd {shlex.quote(str(self.cwd))} && {line}"


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
    timeout_s: float | None = None,
    read: str | None = None,
    is_built: bool = False,
) -> Command:
    """Check and resolve a command; from here on its secrets are hidden. Programs are looked for in the folder
    `search_first`, then on PATH; where a setup may build one (`is_built`), again when it is started. `timeout_s`: after
    which it is to be ended. Raises UsageError, CommandNotFound (127) or NotExecutable (126)."""
    folder = _folder(workspace, cwd)
    leading, words = ({}, (" ".join(argv),)) if shell else split_env_words(argv)
    if not " ".join(words).strip():
        raise UsageError(
            "no command to run",
            cause="nothing follows --",
            hint="add one: -- python bench.py --quant-mode none",
        )
    local, far, launch = {**env, **leading}, {}, None
    executor, launched = _carried(workspace, argv, words, local, on, shell=shell)
    if launched is not None and launched.submits and timeout_s is not None:
        raise no_timeout(UsageError, launched.launch.name, timeout_s)
    if launched is not None:
        words, far, launch = launched.argv, launched.remote_env, launched.launch
        local = {**launched.local_env, **(env if on is None else {})}
    if read is not None:
        _check_read(read, (*words, *local.values()), launched)
    is_elsewhere = executor is not None and launched is None
    found_in = {**workspace.environ, **local}
    if search_first is not None and launched is None:
        found_in["PATH"] = f"{search_first}{os.pathsep}{found_in.get('PATH', '')}"
    # On another machine it is looked for there.
    executable = "/bin/sh" if shell else ""
    with contextlib.suppress(*([CommandNotFound, NotExecutable] if is_built else [])):
        executable = executable or ("" if is_elsewhere else resolve(words, found_in, folder))
    workspace.learn_secrets({**local, **far}, words)
    return Command(
        argv=words,
        executable=executable,
        shell=shell,
        label=label,
        cwd=folder,
        env=local,
        far_env=far,
        launch=launch,
        executor=executor,
        submits=launched is not None and launched.submits,
        syncs=launched is None or launched.syncs,
        read=read,
    )


def no_timeout(error: type[E], place: str, timeout_s: float) -> E:
    """The error that a launcher which submits cannot end a job; the caller raises it."""
    return error(
        f"{place} cannot end a job after {timeout_s:g} s",
        cause="--timeout and --stall work only where a worker of logbook watches the command",
        hint="leave it out, or set a limit of the launcher's own in its options",
    )


def _check_read(read: str, words: Sequence[str], launched: Launched | None) -> None:
    """Raises UsageError where the results of a benchmark tool could not be read."""
    formats = needed_module("reads", "--read", hint="leave --read out")
    formats.check(read, words, elsewhere=launched.launch.name if launched is not None else None)


def _carried(
    workspace: Workspace,
    argv: Sequence[str],
    words: Sequence[str],
    env: Mapping[str, str],
    on: str | None,
    *,
    shell: bool,
) -> tuple[str | None, Launched | None]:
    """The executor that `--on` names, or that a typed submission needs, and the launcher that carries the command."""
    if on is None:
        launched = None if shell else recognise(argv)
        return TYPED if launched is not None and launched.submits else None, launched
    # Most commands name none.
    from logbook_agent.running.executors.table import carried_on

    return carried_on(workspace, words, env, on, shell=shell)


def _folder(workspace: Workspace, cwd: str | None) -> Path:
    folder = (workspace.cwd / cwd).absolute() if cwd else workspace.cwd
    if not folder.is_dir():
        raise UsageError(f"--cwd {cwd} is not a folder", cause="no such folder, seen from here", hint=f"mkdir -p {cwd}")
    # One folder has one name, unless `..` leads out of a link.
    plain = Path(os.path.normpath(folder))
    return plain if plain.is_dir() and plain.samefile(folder) else folder


def parse_duration(text: str, option: str = "--timeout") -> float:
    """Seconds of `90`, `30s`, `30m`, `1.5h`, `1h30m`, `2d`. Raises UsageError for anything else."""
    left = text.strip()
    left += "s" * left.replace(".", "", 1).isdecimal()
    seconds = 0.0
    while match := _DURATION.match(left):
        seconds += float(match["number"]) * _SECONDS[match["unit"].lower()]
        left = left[match.end() :]
    seconds = 0.0 if left else seconds
    if not 0 < seconds <= _MOST_S:
        raise UsageError(
            f"{option} {text!r} is not a length of time",
            cause="expected a number above zero with s, m, h or d"
            if seconds <= 0
            else f"it is longer than {_MOST_S / 86400:.0f} days",
            hint=f"write: {option} 30m",
        )
    return seconds


def parse_env(texts: Sequence[str]) -> dict[str, str]:
    """`K=V` options as variables. Raises UsageError for a name the shell would not take."""
    found = {}
    for text in texts:
        pair = split_env_word(text)
        if pair is None:
            raise UsageError(
                f"--env {text!r} is not NAME=VALUE",
                cause="the = is missing, or the name is not valid",
                hint="write: --env XLA_FLAGS=--xla_force_host_platform_device_count=8",
            )
        found[pair[0]] = pair[1]
    return found


# -- the in-house benchmark ------------------------------------------------------------------------


def check_installed(package: str, extra: str) -> None:
    """Raises UsageError where this Python lacks a package that the benchmark needs; `extra` brings it."""
    if importlib.util.find_spec(package) is None:
        raise UsageError(
            f"the benchmark needs {package}, which this Python does not have",
            cause=f"{sys.executable} was installed without the extra `{extra}`",
            hint=f"pip install 'logbook-agent[{extra}]'",
        )


def own_benchmark(argv: Sequence[str], on: str | None) -> Path | None:
    """The folder to look in first for a command that means this Python's benchmark; None for any other command, and on
    another machine. Raises UsageError for a benchmark that does not exist, and when its packages are not installed."""
    if list(argv[:1]) != [PROGRAM] or on is not None:
        return None
    if len(argv) == 1:
        raise UsageError(
            "no benchmark named",
            cause=f"nothing follows {PROGRAM}",
            hint=f"{PROGRAM} hillclimb --tokens 128 --hidden 64 --mlp-dim 32 --experts 4 --topk 2",
        )
    if not argv[1].startswith("-") and argv[1] not in BENCHMARKS:
        raise UsageError(
            f"no benchmark {argv[1]!r}",
            cause=f"the benchmarks are {', '.join(BENCHMARKS)}",
            hint=f"{PROGRAM} {nearest(argv[1], BENCHMARKS) or BENCHMARKS[0]} ...",
        )
    check_installed("jax", "bench")
    return Path(sys.executable).parent
