"""What to run and how: a command as it was asked for, as it was recorded, and as it is ready to start."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field, structs

from logbook_agent.entries.new_entry import Prose
from logbook_agent.findings.cases import typed_env
from logbook_agent.model.code import CHECKOUT
from logbook_agent.model.comparison import CASE_AXIS, CODE_AXIS, Invocation
from logbook_agent.model.entry import PlannedCommand
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import TEARDOWN, Record, is_own
from logbook_agent.model.run import Run, Scalar
from logbook_agent.running.executors import LOCAL
from logbook_agent.running.order import RunPlan
from logbook_agent.running.prepare import Command, own_benchmark, prepare
from logbook_agent.store.places import repository_of
from logbook_agent.store.workspace import Workspace, folder_of
from logbook_agent.text.phrases import listed
from logbook_agent.text.redaction.names import is_secret_name

# How often a command is run to measure noise, unless a number is given.
NOISE_RUNS = 12


class RunRequest(Struct, frozen=True, kw_only=True):
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
        if not (path.is_file() or path.is_dir()):
            raise UsageError(
                f"--input {name}: not a file or a folder",
                cause=f"it is looked for in {folder}, where the command runs; pipes and devices have no digest",
                hint="give its path from there, or a whole one",
            )


def setup_command(setup: str | None) -> tuple[PlannedCommand, ...]:
    """The command of the shell that --setup names, if there is one."""
    return (PlannedCommand(argv=(setup,), shell=True),) if setup is not None else ()  # noqa: S604 - as typed


def own_plans(
    workspace: Workspace,
    label: str,
    commands: Sequence[PlannedCommand],
    run: RunRequest,
    *,
    folder: str = "",
    is_built: bool = True,
) -> tuple[RunPlan, ...]:
    """The commands of setup or teardown in the folder of a run, whose name is `folder` where there are several."""
    plans = []
    for one in commands:
        name = ": ".join(filter(None, (label, folder or one.label)))
        made = RunRequest(argv=one.argv, label=name, shell=one.shell, env=run.env, cwd=run.cwd, on=run.on)
        plan = made.plan(prepared(workspace, made, is_built=is_built), run.entry_id or "")
        plans.append(structs.replace(plan, until=one.until, always=label == TEARDOWN))
    return tuple(plans)


_HIDDEN = "[redacted:"
_VARIABLE = re.compile(r"(?<![\\$])\$(?:(?P<bare>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})", re.ASCII)
_SHELL, _SCRIPT_FLAG = re.compile(r"(?:.*/)?(?:ba|da|z|k)?sh"), re.compile(r"-[a-z]*c")


def run_named(record: Record, number: str) -> Run:
    """The run with a number, or without one the last that finished. Raises UsageError."""
    if number:
        found = [s.run for s in record.runs if str(s.run.run) == number]
    else:
        found = [s.run for s in record.runs if s.counts and s.state == "finished" and not is_own(s.run)]
    if found and found[-1].is_reported:
        raise UsageError(
            f"the command of {record.id} was imported, and is not executed by itself",
            cause="nobody here has seen it run",
            hint=f"logbook show {record.id} quotes it; to run it, type it: logbook run --id {record.id} -- COMMAND",
        )
    if found:
        return found[-1]
    ended = [str(s.run.run) for s in record.runs if s.run.exit is not None]
    raise UsageError(
        f"{record.id} has no run {number}" if number else f"{record.id} has no run that finished",
        cause=f"its runs that have ended: {listed(ended)}" if ended else "none of its runs has ended",
        hint=f"logbook show {record.id}",
    )


def invocation_of(run: Run, axis: str = "") -> Invocation:
    """How a run was made, without its value of an axis, and without the name of the side that it was."""
    names = {axis, CODE_AXIS, CASE_AXIS} if run.part is not None else {axis}
    return Invocation(
        env={name: value for name, value in typed_env(run).items() if f"env:{name}" != axis},
        config={name: value for name, value in run.config.items() if name not in names},
        on=run.on if run.on != LOCAL else None,
        cwd=run.cwd or ".",
        **{name: getattr(run, name) for name in ("argv", "shell", "read", "timeout_s", "stall_s")},
    )


# What a request and a recorded invocation state alike.
OPTIONS = ("shell", "on", "read", "timeout_s", "stall_s", "keep", "inputs", "discard", "frozen")


def as_made(workspace: Workspace, given: RunRequest, made: Invocation, of: str) -> RunRequest:
    """A request for runs that are made like others; what is `given` takes precedence. Raises UsageError for a secret
    that has no value here."""
    words, environ = enumerate(made.argv), workspace.environ
    argv = [word if is_script(made.argv, made.shell, at) else _filled(word, environ) for at, word in words]
    env = {**{name: _filled(value, environ) for name, value in made.env.items()}, **given.env}
    check_secrets(of, *argv, *env.values())
    repository = repository_of(workspace.cwd)
    if repository is not None:
        argv = [in_repository(word, repository.top) for word in argv]
        env = {name: in_repository(value, repository.top) for name, value in env.items()}
    options = {name: getattr(given, name) or getattr(made, name) for name in OPTIONS}
    cwd, config = given.cwd or str(folder_of(made.cwd, workspace)), {**made.config, **given.config}
    return structs.replace(given, argv=argv, env=env, config=config, cwd=cwd, **options)


def check_secrets(of: str, *texts: str) -> None:
    """Raises UsageError where a text of a command lacks a secret."""
    if is_hidden(*texts):
        raise UsageError(
            f"the command of {of} holds a secret, which no record has",
            cause="it was replaced when it was recorded",
            hint="type the whole command, without --id and --like; pairs of the same question go to its entry",
        )


def is_hidden(*texts: str) -> bool:
    """Whether the record holds a mark in the place of a secret."""
    return any(_HIDDEN in text for text in texts)


def is_secret(value: str) -> bool:
    """Whether the record has a mark, or the name of a variable, in the place of a value."""
    return is_hidden(value) or _VARIABLE.fullmatch(value) is not None


def is_script(argv: Sequence[str], shell: bool, at: int) -> bool:
    """Whether a word of a command is a script, whose variables a shell expands."""
    return shell or (at > 0 and bool(_SCRIPT_FLAG.fullmatch(argv[at - 1])) and bool(_SHELL.fullmatch(argv[0])))


def _filled(text: str, environ: Mapping[str, str]) -> str:
    """A recorded text with the value that each secret variable has here, with a mark where it has none."""

    def value(match: re.Match[str]) -> str:
        name = match["bare"] or match["braced"]
        return environ.get(name, f"{_HIDDEN}{name}]") if is_secret_name(name) else match[0]

    return _VARIABLE.sub(value, text)


def in_repository(text: str, top: Path) -> str:
    """A recorded text with the repository in the place of a working tree that was removed."""
    return CHECKOUT.sub(lambda _: str(top), text)
