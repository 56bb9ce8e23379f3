"""What a worker reports of one execution: its facts before the command starts, and its end."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from logbook_agent.model.code import Code
from logbook_agent.model.run import (
    Artifact,
    Contention,
    Device,
    Exit,
    Host,
    InputFile,
    Output,
    Problem,
)

# How far a run is that has no end in the record. sent: its command has not begun yet. orphaned: its command outlived
# its worker. lost: both are gone without an end; gone: so are those of a run in the foreground. elsewhere: another
# host knows.
Stage = Literal["sent", "running", "ended", "orphaned", "lost", "gone", "never-started", "elsewhere"]
OVER: frozenset[Stage] = frozenset({"ended", "lost", "never-started"})


class Began(Struct, frozen=True, kw_only=True):
    """What the worker finds just before the command starts, at the time `started`: `env` are the variables around the
    command that matter."""

    format: int = 1
    started: str
    host: Host = field(default_factory=Host)
    devices: tuple[Device, ...] = ()
    software: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    contention: Contention | None = None
    code: Code | None = None
    inputs: tuple[InputFile, ...] = ()
    problems: tuple[Problem, ...] = ()


class WrittenFacts(Struct, frozen=True, kw_only=True):
    """The file that a benchmark tool writes, after its command: when that `began` (seconds since the epoch), how many
    such files were `found` and `written` by it, and of the last one the `name`, whether its time is older, and why it
    could not be copied."""

    began: float
    found: int = 0
    written: int = 0
    name: str = ""
    is_old: bool = False
    error: str | None = None


class End(Struct, frozen=True, kw_only=True):
    """How a command ended, what it printed and left as files. What it measured is read when the run is taken in, also
    from the `unlogged` lines, which the log could not hold (then it has whole lines up to `whole_bytes`), and from the
    file of a benchmark tool (`read`). At `breaks`, in bytes of the log, a line of one stream was broken off by the
    other. `problems` are all of the worker's, those of its facts first. `contention` covers the time from the facts to
    the end. `output` is None where no command was started. `duration_s` is None where only a launcher saw the end, and
    does not say."""

    format: int = 1
    ended: str
    duration_s: float | None
    exit: Exit
    peak_memory_bytes: int | None = None
    contention: Contention | None = None
    output: Output | None = None
    breaks: tuple[int, ...] = ()
    whole_bytes: int | None = None
    unlogged: tuple[str, ...] = ()
    read: WrittenFacts | None = None
    artifacts: tuple[Artifact, ...] = ()
    problems: tuple[Problem, ...] = ()
