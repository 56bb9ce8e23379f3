"""What a worker reports of one execution: its facts before the command starts, and its end."""

from __future__ import annotations

from dataclasses import dataclass, field

from logbook_agent.model.code import Code
from logbook_agent.model.run import (
    Artifact,
    Contention,
    Curve,
    Device,
    Exit,
    Host,
    InputFile,
    Output,
    Problem,
    Row,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """What the worker finds just before the command starts, at the time `started`: `env` are the variables around the
    command that matter. `apart` are runs (`MOE-I8-003 run 1`) that need the same devices, so that none of them was made
    beside this one."""

    format: int = 1
    started: str
    host: Host = field(default_factory=Host)
    devices: tuple[Device, ...] = ()
    software: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    contention: Contention | None = None
    code: Code | None = None
    inputs: tuple[InputFile, ...] = ()
    apart: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a command ended, what it printed, measured and left as files. `problems` are all of the worker's,
    those of its facts first. `contention` covers the time from the facts to the end. `output` is None where no command
    was started. `duration_s` is None where only a launcher saw the end, and does not say."""

    format: int = 1
    ended: str
    duration_s: float | None
    exit: Exit
    peak_memory_bytes: int | None = None
    contention: Contention | None = None
    output: Output | None = None
    rows: tuple[Row, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    curves: tuple[Curve, ...] = ()
    problems: tuple[Problem, ...] = ()
