"""What to run, where it reports to, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from logbook_agent.model.run import Exit

Stream = Literal["stdout", "stderr"]

TIMEOUT_STATUS = 124
FAILED_STATUS = 125
INTERRUPTED_STATUS = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One command with all of its environment. `argv[0]` is resolved; a shell job is one word, a script."""

    argv: tuple[str, ...]
    shell: bool = False
    cwd: Path
    env: Mapping[str, str]
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Graces:
    """How long a process group may take to end after each signal, and how long left-over output is read."""

    interrupt_s: float = 5.0
    terminate_s: float = 5.0
    kill_s: float = 2.0
    drain_s: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`duration_s` ends when the command does. `peak_memory_bytes`: of its largest process; None: unknown."""

    exit: Exit
    duration_s: float
    peak_memory_bytes: int | None = None
    problems: tuple[str, ...] = ()


class Sinks(Protocol):
    """Where a run reports to, in the thread that executes it. What a sink raises ends the command."""

    def started(self, pid: int, create_time: float | None) -> None:
        """The command runs; `create_time` (seconds since the epoch) and `pid` name its process for good."""

    def output(self, stream: Stream, data: bytes) -> None:
        """Bytes as they were read."""

    def idle(self) -> None:
        """Nothing came for a moment; called again and again while nothing comes."""


def exit_status(exit: Exit) -> int:
    """What the tool exits with: the command's code, 128 + n for a signal, 124 timeout, 130 interrupted."""
    if exit.timeout:
        return TIMEOUT_STATUS
    if exit.interrupted:
        return INTERRUPTED_STATUS
    if exit.code is not None:
        return exit.code
    return FAILED_STATUS if exit.signal is None else 128 + signal_number(exit.signal)


def signal_number(name: str) -> int:
    import signal

    return int(name[3:]) if name[3:].isdigit() else int(signal.Signals[name])
