"""A run: the facts of one execution of one command, and the rows it measured.

Unknown is None, never 0. Durations are seconds, sizes bytes, times UTC ISO 8601.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field, structs

from logbook_agent.model.code import Code
from logbook_agent.model.comparison import Part
from logbook_agent.model.units import Direction
from logbook_agent.model.values import Scalar as Scalar
from logbook_agent.model.worker_report import (
    Artifact,
    Began,
    Contention,
    Device,
    Exit,
    Host,
    InputFile,
    Output,
    Problem,
)


class Measurement(Struct, frozen=True, kw_only=True):
    """All samples of one metric, in the order they were taken; summaries are derived, never stored."""

    samples: tuple[float, ...]
    unit: str | None = None
    direction: Direction | None = None


class Failure(Struct, frozen=True, kw_only=True):
    """Why a case of a run has no measurement."""

    reason: str
    message: str = ""

    def __str__(self) -> str:
        return f"{self.reason}: {' '.join(self.message.split())[:200]}" if self.message else self.reason


class Row(Struct, frozen=True, kw_only=True):
    """One measured case: config identifies it, metrics are its measurements.

    Observations are numbers that are neither declared metric nor config; labels are other words.
    """

    config: dict[str, Scalar] = field(default_factory=dict)
    metrics: dict[str, Measurement] = field(default_factory=dict)
    observations: dict[str, float | None] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    devices: tuple[Device, ...] = ()
    software: dict[str, str] = field(default_factory=dict)
    host: str | None = None
    failed: Failure | None = None


class Curve(Struct, frozen=True, kw_only=True):
    """The points of one metric of one case over its steps (`over` names them), in numbers; the points themselves lie
    beside the record. `first_step` and `last_step` are those of its `count` points, `best` the best finite value with
    its step, and `value` the `reduction` of the curve, which is its measurement; None where that is not finite.

    `not_finite` counts values that are nan or infinite, `replaced` points in whose place a later one was reported, at
    the same step or by a command that went back to an earlier one.
    """

    name: str
    over: str = "step"
    config: dict[str, Scalar] = field(default_factory=dict)
    count: int
    first_step: float
    last_step: float
    last: float | None = None
    best: float | None = None
    best_step: float | None = None
    reduction: str = "last"
    value: float | None = None
    unit: str | None = None
    direction: Direction | None = None
    not_finite: int = 0
    replaced: int = 0


class Launch(Struct, frozen=True, kw_only=True):
    """A prefix that carries the command to another machine; config and devices are that machine's.

    `prefix` are the words before the command, `name` the launcher, `target` the machine it was told.
    """

    name: str
    target: str | None = None
    prefix: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


class Env(Struct, frozen=True, kw_only=True):
    """`declared`: what this run set; `relevant`: what was set around it and matters to the result."""

    declared: dict[str, str] = field(default_factory=dict)
    relevant: dict[str, str] = field(default_factory=dict)

    @property
    def variables(self) -> dict[str, str]:
        """Both together, by name."""
        return dict(sorted((self.relevant | self.declared).items()))


# The exit codes of a command that cannot be executed, or is not there.
_NOT_STARTED = (126, 127)
# The executor that is a worker on this machine.
LOCAL = "local"


class Run(Struct, frozen=True, kw_only=True):
    """runs/NAME/run.json, written by the tool alone. `name` is the whole name of the entry and that of the run, which
    never changes; neither it nor `entry` and `run` stand in the file. `ended` None: still running, or cut off.

    `part`: which part it has in the entry's comparison. `discarded`: a warm-up, kept and never counted. `planned` is
    the place (from 0) of the entry's planned command that this run executed. `read`: the format and file of a benchmark
    tool whose results it has, as --read named them. `executor` names what started the worker;
    None: the tool made the run itself. `until`: its command stays until its series ends it, and was ready once its
    output matched this regular expression. `job` is what an engine or a launcher calls it. `pool`: the name of the
    machines, this one among them, that the user declared equal.
    """

    entry: str
    run: int
    name: str = ""
    label: str | None = None
    repeat: int | None = None
    part: Part | None = None
    discarded: bool = False
    planned: int | None = None
    argv: tuple[str, ...]
    shell: bool = False
    cwd: str | None = None
    timeout_s: float | None = None
    stall_s: float | None = None
    read: str | None = None
    until: str | None = None
    launcher: Launch | None = None
    executor: str | None = None
    pool: str | None = None
    job: str | None = None
    env: Env = field(default_factory=Env)
    config: dict[str, Scalar] = field(default_factory=dict)
    code: Code | None = None
    inputs: tuple[InputFile, ...] = ()
    host: Host = field(default_factory=Host)
    devices: tuple[Device, ...] = ()
    software: dict[str, str] = field(default_factory=dict)
    contention: Contention | None = None
    started: str
    ended: str | None = None
    duration_s: float | None = None
    exit: Exit | None = None
    peak_memory_bytes: int | None = None
    output: Output | None = None
    rows: tuple[Row, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    curves: tuple[Curve, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def last_words(self) -> str:
        """The line that says why the command failed; empty where there is none, as where Python only says that the
        time limit has ended it."""
        said = self.output.last_words if self.output is not None else ""
        if not said and self.exit is not None and self.exit.code in _NOT_STARTED and self.problems:
            return str(self.problems[-1])
        is_ended = self.exit is not None and self.exit.timeout and said.strip() == "KeyboardInterrupt"
        return "" if is_ended else said

    @property
    def through(self) -> str:
        """The launcher that carried the command to another machine, and which: `tpu on moe-dev`; empty without one."""
        if self.launcher is None:
            return ""
        return self.launcher.name + (f" on {self.launcher.target}" if self.launcher.target else "")

    @property
    def is_reported(self) -> bool:
        """Whether an imported source tells about it: this tool neither started nor measured it."""
        return self.exit is not None and self.exit.reported

    @property
    def carrier(self) -> str | None:
        """What carried the command to another machine: a launcher or an executor; None where it ran on this one."""
        return self.through or (self.executor if self.executor != LOCAL else None)

    @property
    def on(self) -> str | None:
        """What `--on` named: the launcher or the executor; None where the tool made the run itself."""
        return self.launcher.name if self.launcher is not None else self.executor

    @property
    def own_host(self) -> Host:
        """The machine that the command ran on; unknown behind a launcher: the record's is that of the launcher."""
        return self.host if self.launcher is None else Host()

    @property
    def own_devices(self) -> tuple[Device, ...]:
        """The devices that the command found there; unknown behind a launcher."""
        return self.devices if self.launcher is None else ()

    @property
    def was_code_looked_for(self) -> bool:
        """Whether a worker looked which code ran: none before a run has started, and none can behind a launcher."""
        return bool(self.software) and self.launcher is None

    @property
    def command(self) -> tuple[str, ...]:
        """What was executed, without a launcher's prefix."""
        return self.launcher.command if self.launcher is not None and self.launcher.command else self.argv


# -- when a machine counts as busy during a run, and the text that says so
#
# Busy: others wanted every core (`BUSY`), the hypervisor took some of the time (`STOLEN`), a processor was slowed down
# for its heat, or another run of a logbook went on. The load of the last minute is also that of the runs just made
# here; so what others took while the run went on has the last word, where it is known (`IDLE`).

# Threads of others for each core, or the load for each core before the run, from which on a machine is busy.
BUSY = 1.0
# The part of the processors' time that the hypervisor may take, and the part that others may use, unmentioned.
STOLEN = 0.02
IDLE = 0.1
_SHOWN_RUNS = 3


def contention_of(run: Run) -> Contention | None:
    """The contention of a run with the cores of its machine, which earlier records state elsewhere; None if unknown."""
    found = run.contention
    return found if found is None or found.cores is not None else structs.replace(found, cores=run.host.cores)


def is_busy(found: Contention | None) -> bool | None:
    """Whether the machine was busy; None where nothing is told of it."""
    if found is None or (found.runnable, found.load_1m, found.stolen, found.throttled) == (None,) * 4:
        return True if found is not None and found.runs else None
    return _is_wanted(found) or bool(found.runs or found.throttled) or _is_stolen(found)


def busy_text(found: Iterable[Contention]) -> str:
    """`load 35 on 2 cores, 4% stolen`: why it was busy while one or several runs were made; empty where it was not."""
    busy = [one for one in found if is_busy(one)]
    wanted = [one for one in busy if _is_wanted(one)]
    loads = [one.load_1m for one in wanted if one.load_1m is not None and _is_loaded(one)]
    parts = []
    if wanted:
        what = f"load {_span(loads)}" if loads else f"{_span([_waiting(one) for one in wanted])} threads of others"
        parts.append(f"{what} on {_span([float(one.cores or 0) for one in wanted])} cores")
    runs = list(dict.fromkeys(run for one in busy for run in one.runs))
    if runs:
        more = f" and {len(runs) - _SHOWN_RUNS} more" if len(runs) > _SHOWN_RUNS else ""
        parts.append(f"beside {', '.join(runs[:_SHOWN_RUNS])}{more}")
    stolen = [100 * one.stolen for one in busy if one.stolen is not None and _is_stolen(one)]
    if stolen:
        parts.append(f"{_span(stolen, decimals=0)}% stolen")
    if any(one.throttled for one in busy):
        parts.append("throttled")
    return ", ".join(parts)


def machine_text(runs: Sequence[Run]) -> str:
    """`busy (load 35 on 2 cores)`, `busy in 2 of 5 runs (...)`; empty where the machine was quiet, or nobody knows."""
    found = [one for run in runs if (one := contention_of(run)) is not None]
    busy = [one for one in found if is_busy(one)]
    if not busy:
        return ""
    return f"busy{f' in {len(busy)} of {len(runs)} runs' if len(busy) < len(runs) else ''} ({busy_text(busy)})"


def _waiting(found: Contention) -> float:
    return max(found.runnable or 0, found.runnable_after or 0)


def _is_loaded(found: Contention) -> bool:
    return bool(found.cores) and (found.load_1m or 0.0) > BUSY * (found.cores or 1)


def _is_wanted(found: Contention) -> bool:
    """Whether others wanted every core."""
    if not found.cores or (found.others is not None and found.others < IDLE):
        return False
    return _is_loaded(found) or _waiting(found) >= BUSY * found.cores


def _is_stolen(found: Contention) -> bool:
    return found.stolen is not None and found.stolen >= STOLEN


def _span(values: Sequence[float], *, decimals: int = 1) -> str:
    low, high = (f"{value:.{decimals}f}".removesuffix(".0") for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def with_facts(run: Run, facts: Began) -> Run:
    """The record with what the worker found before the command started."""
    around = {name: value for name, value in facts.env.items() if name not in run.env.declared}
    return structs.replace(
        run,
        started=facts.started,
        env=structs.replace(run.env, relevant={**run.env.relevant, **around}),
        code=facts.code,
        inputs=facts.inputs,
        host=facts.host,
        devices=facts.devices,
        software=facts.software,
        contention=facts.contention,
        problems=tuple(dict.fromkeys((*run.problems, *facts.problems))),
    )
