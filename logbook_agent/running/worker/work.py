"""What a worker is asked to do, where it works, and whom it reports to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from logbook_agent.model.header import Metric
from logbook_agent.model.run import Code, Process, Scalar
from logbook_agent.model.work import Began
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.shapes import Rule

Stream = Literal["stdout", "stderr"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One execution of one command, with all that a worker needs to make it without the logbook.

    `executable` is what argv[0] resolved to (empty: the worker looks for it), `env` is set for the process.
    `is_carried`: a launcher's prefix carries the command to yet another machine, so the facts of the worker's machine
    do not apply. `root` is the folder of logbooks, which is not part of the code; `code` identifies the synced files,
    if the folder is not a repository. `metrics`, `case_keys` and `config` tell the result reader what a key is;
    `env_patterns` and `packages` name what is recorded beyond the defaults, `secret_names` and `secret_rules` what is
    hidden beyond them.

    `hidden`: the places whose values are secrets and left out (`argv.3`, `env.HF_TOKEN`), each with the variable that
    holds the value where the worker runs. So sealed work can be written to any disk.

    `spool` is the name of the run's spool, which marks the processes of the command.

    `tree`: the synced files that contain `cwd`; the worker makes a copy of them for this execution.

    `takes_turns`: the worker waits while another run uses a device that the command needs. `devices` are those of its
    machine; none: those that it finds.
    """

    format: int = 1
    entry: str
    run: int
    argv: tuple[str, ...]
    executable: str
    shell: bool = False
    cwd: str
    env: dict[str, str] = field(default_factory=dict)
    is_carried: bool = False
    syncs: bool = True
    timeout_s: float | None = None
    log_bytes: int
    root: str
    code: Code | None = None
    env_patterns: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    case_keys: tuple[str, ...] = ()
    config: dict[str, Scalar] = field(default_factory=dict)
    secret_names: tuple[str, ...] = ()
    secret_rules: tuple[Rule, ...] = ()
    hidden: dict[str, str] = field(default_factory=dict)
    spool: str = ""
    tree: str = ""
    takes_turns: bool = False
    devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Where a worker works: the environment and the clock there, the root of the file system that tells of the machine,
    what is hidden before it reaches a file, and the folder for its files, which stay `within` a folder above it.

    `keeps` are descriptors that the command inherits; `apart` are runs that cannot be made beside this one,
    `beside` those that go on. `problems` are known before it begins.
    """

    environ: Mapping[str, str]
    redactor: Redactor
    now: Callable[[], datetime]
    host_root: Path
    folder: Path
    within: Path
    keeps: tuple[int, ...] = ()
    apart: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class Watch(Protocol):
    """Whom a worker reports to while it works. What `began` and `started` raise ends the run; the command starts only
    after `began` has returned."""

    def began(self, facts: Began) -> None: ...

    def started(self, child: Process) -> None: ...

    def output(self, stream: Stream, data: bytes) -> None:
        """Bytes as they were read, not redacted."""

    def idle(self, last_result: str | None, log_bytes: int) -> None:
        """Nothing came for a moment; called again and again while nothing comes."""

    def done(self) -> None:
        """The command has ended, and its log is closed."""
