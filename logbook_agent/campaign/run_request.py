"""What to run and how: a command as it was asked for, and as it is ready to start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from logbook_agent.entries.drafts import Prose
from logbook_agent.model.entry import PlannedCommand
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import TEARDOWN
from logbook_agent.model.run import Scalar
from logbook_agent.running.executors.table import executor_named_by
from logbook_agent.running.order import RunPlan
from logbook_agent.running.prepare import Command, own_benchmark, prepare
from logbook_agent.store.workspace import Workspace

# How often a command is run to measure noise, unless a number is given.
NOISE_RUNS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What to run and how to record it. Without `argv`, `entry_id`'s planned commands are executed.

    Before the `repeat` runs of each command (None: one, or as many as noise is measured with), `discard` more are made
    that warm up and never count. `noise`: a new entry is a measurement of noise. `detach`: a single run is submitted,
    and continues without this process. `frozen`: the runs are made in a checkout of the code as it is at the start.
    """

    argv: Sequence[str] = ()
    prose: Prose = field(default_factory=Prose)
    label: str | None = None
    config: Mapping[str, Scalar] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    repeat: int | None = None
    discard: int = 0
    timeout_s: float | None = None
    stall_s: float | None = None
    read: str | None = None
    cwd: str | None = None
    keep: Sequence[str] = ()
    inputs: Sequence[str] = ()
    on: str | None = None
    entry_id: str | None = None
    shell: bool = False
    noise: bool = False
    detach: bool = False
    frozen: bool = False

    @property
    def is_single(self) -> bool:
        """Whether it is one run, whatever the entry holds."""
        return bool(self.argv) and self.times == 1 and not self.discard

    @property
    def times(self) -> int:
        """How many runs of each command count."""
        return self.repeat if self.repeat is not None else NOISE_RUNS if self.noise else 1

    def plan(self, command: Command, entry_id: str) -> RunPlan:
        """One run of this request, of a command as it was prepared."""
        return RunPlan(
            command=command,
            entry_id=entry_id,
            timeout_s=self.timeout_s,
            stall_s=self.stall_s,
            config=dict(self.config),
            keep=tuple(self.keep),
            inputs=tuple(self.inputs),
        )


def check_count(option: str, count: int | None, *, least: int = 1) -> None:
    """Raises UsageError for a number of runs or pairs below 1, or another least one."""
    if count is not None and count < least:
        raise UsageError(
            f"{option} must be at least {least}", cause=f"it is {count}", hint=f"{option} {10 if least else 1}"
        )


def prepared(workspace: Workspace, request: RunRequest, *, is_built: bool = False) -> Command:
    """The command as the request wants it run; the benchmark is this Python's own. `is_built`: a setup may build its
    program."""
    _check_inputs(workspace, request)
    return prepare(
        workspace,
        request.argv,
        env=request.env,
        cwd=request.cwd,
        on=request.on,
        shell=request.shell,
        label=request.label,
        search_first=None if request.shell else own_benchmark(request.argv, request.on),
        timeout_s=request.timeout_s or request.stall_s,
        read=request.read,
        is_built=is_built,
    )


def _check_inputs(workspace: Workspace, request: RunRequest) -> None:
    """Raises UsageError for an input that is not there; on another machine nobody looks."""
    folder = workspace.cwd / (request.cwd or ".")
    for name in request.inputs if request.on is None else ():
        path = folder / Path(name).expanduser()
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise UsageError(
                f"--input {name}: a pipe or a device",
                cause="its digest cannot be recorded: what is read of it is gone, or has no end",
                hint="write its content to a file, and name that",
            )
        if not path.exists():
            raise UsageError(
                f"--input {name}: no such file or folder",
                cause=f"it is looked for in {folder}, where the command runs",
                hint="give its path from there, or a whole one",
            )


def setup_command(setup: str | None) -> tuple[PlannedCommand, ...]:
    """The command of the shell that --setup names, if there is one."""
    return (PlannedCommand(argv=(setup,), shell=True),) if setup is not None else ()  # noqa: S604 - as typed


def own_plans(
    workspace: Workspace, label: str, commands: Sequence[PlannedCommand], run: RunRequest, folder: str = ""
) -> tuple[RunPlan, ...]:
    """The commands of setup or teardown in the folder of a run, whose name is `folder` where there are several. Raises
    UsageError where the run is made elsewhere."""
    if not commands:
        return ()
    if run.on is not None and executor_named_by(workspace, run.on) is not None:
        raise UsageError(
            f"--setup and --on {run.on} cannot be used together",
            cause=f"what a setup builds in a folder of this machine does not come along to {run.on}",
            hint="build in the command itself: --shell -- 'make -s && ./prog {axis}'",
        )
    name, plans = f"{label}: {folder}" if folder else label, []
    for one in commands:
        made = RunRequest(argv=one.argv, label=name, shell=one.shell, env=run.env, cwd=run.cwd, on=run.on)
        plan = made.plan(prepared(workspace, made, is_built=True), run.entry_id or "")
        plans.append(replace(plan, until=one.until, always=label == TEARDOWN))
    return tuple(plans)
