"""`logbook run`, and with --noise what the scatter of its runs says."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from logbook_agent.campaign.repeats import NOISE_RUNS, NoiseResult, RunData, RunRequest, RunResult, run
from logbook_agent.campaign.repeats import noise as noise_of_runs
from logbook_agent.cli.detach import carried_out, started
from logbook_agent.cli.displays import run_display
from logbook_agent.cli.options import Common, DetachOption, Text, Texts, Words
from logbook_agent.cli.output import LineDisplay, emit, say
from logbook_agent.entries.drafts import Prose
from logbook_agent.findings.case_repeats import noise_lines
from logbook_agent.findings.queries import BriefRow
from logbook_agent.model.gates import WITHHELD
from logbook_agent.model.header import STEP
from logbook_agent.model.record import WARM_UP
from logbook_agent.model.units import format_value, known
from logbook_agent.model.values import parse_value, varied
from logbook_agent.running.executors import LOCAL
from logbook_agent.running.order import Display
from logbook_agent.running.prepare import parse_duration, parse_env
from logbook_agent.running.results.curve_points import KnownKeys, PointRules
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import counted, listed

_SHOWN_ROWS, _SHOWN_FILES = 12, 5

EnvOption = Annotated[Texts, Option("--env", metavar="K=V", help="Set a variable for the command; repeatable.")]
TimeoutOption = Annotated[
    Text, Option("--timeout", metavar="TIME", help="End the command after 90s, 30m, 2h (INT, TERM, KILL).")
]
ReadOption = Annotated[
    Text,
    Option(
        "--read",
        metavar="FORMAT[:FILE]",
        help="Read the results that pytest-benchmark, hyperfine, google-benchmark or asv writes to FILE; without FILE,"
        " write {file} in the command where it takes the name of a file.",
    ),
]
KeepOption = Annotated[
    Texts,
    Option(
        "--keep",
        metavar="PATTERN",
        help="Keep files of its working folder that match, such as 'out/*.png'; repeatable.",
    ),
]
OnOption = Annotated[
    Text, Option("--on", metavar="NAME", help="Run the command on this executor or launcher; see `logbook executors`.")
]


@dataclass(frozen=True, kw_only=True)
class How:
    """How a command is run, in the options that `run` and `ab` share."""

    config: Annotated[
        Texts, Option("--config", metavar="K=V", help="Config that the command does not report itself; repeatable.")
    ] = None
    env: EnvOption = None
    timeout: TimeoutOption = None
    stall: Annotated[
        Text,
        Option(
            "--stall", metavar="TIME", help="End the command once it has printed nothing for this long: 90s, 30m, 2h."
        ),
    ] = None
    cwd: Annotated[Text, Option("--cwd", metavar="DIR", help="Run the command in this folder.")] = None
    shell: Annotated[
        bool,
        Option("--shell", help="Pass the command to the shell as one string; a pipe fails if any command in it fails."),
    ] = False
    read: ReadOption = None
    keep: KeepOption = None
    input: Annotated[
        Texts,
        Option(
            "--input", metavar="PATH", help="Record the digest of a file or folder that the command reads; repeatable."
        ),
    ] = None
    frozen: Annotated[
        bool,
        Option(
            "--frozen",
            help="Run in a copy of the code as it is now, so that you can edit it meanwhile, as after --detach.",
        ),
    ] = False

    def request(self, argv: Sequence[str], prose: Prose, entry_id: str | None) -> RunRequest:
        """What is asked for, the options read."""
        return RunRequest(
            argv=argv,
            prose=prose,
            config=dict(parse_value(c, "--config") for c in self.config or ()),
            env=parse_env(self.env or ()),
            timeout_s=parse_duration(self.timeout) if self.timeout is not None else None,
            stall_s=parse_duration(self.stall, "--stall") if self.stall is not None else None,
            cwd=self.cwd,
            shell=self.shell,
            read=self.read,
            keep=tuple(self.keep or ()),
            inputs=tuple(self.input or ()),
            frozen=self.frozen,
            entry_id=entry_id,
        )


@dataclass(frozen=True, kw_only=True)
class RepeatOptions:
    """How often a command is run, and what for, as options."""

    label: Annotated[
        Text, Option("--label", metavar="LABEL", help="What this run is: Baseline, Int8, Negative control.")
    ] = None
    repeat: Annotated[
        int | None, Option("--repeat", metavar="N", help="Run the command N times. [1; with --noise 12, at least 6]")
    ] = None
    discard: Annotated[
        int, Option("--discard", metavar="N", help="First run N times to warm up; these runs never count.")
    ] = 0
    noise: Annotated[
        bool, Option("--noise", help="Say how much the runs vary, and which effects an A/B of this command would show.")
    ] = False

    def of(self, request: RunRequest) -> RunRequest:
        """The request for as many runs."""
        repeat = self.repeat if self.repeat is not None else NOISE_RUNS if self.noise else 1
        return dataclasses.replace(request, label=self.label, repeat=repeat, discard=self.discard, noise=self.noise)


def run_command(
    *,
    command: Annotated[Texts, Argument(metavar="-- [K=V...] CMD...", help="The command, after --.")] = None,
    words: Words,
    how: How,
    runs: RepeatOptions,
    on: OnOption = None,
    entry_id: Annotated[
        Text,
        Option("--id", metavar="ID", help="Add a run to this entry; without a command, execute its planned commands."),
    ] = None,
    detach: DetachOption = False,
    common: Common,
) -> int:
    """Run a command as an experiment.

    Output is passed through live, and the exit code is that of the command. Lines that start with RESULT, METRIC or
    RESULT_JSON become rows; bench-core, the benchmark that comes with logbook, prints such lines.

    Example: logbook run --label Baseline -- python bench.py --quant-mode none
    """
    request = runs.of(how.request(command or (), words.read(), entry_id))
    request = dataclasses.replace(request, on=on, detach=detach)
    space = common.space()
    if request.noise:
        return _noise(space, request, common)
    if detach:
        return _detached(space, request, common)
    with (
        run_display(all_to_stderr=common.as_json, folds_steps=_folds_steps(space, request)) as display,
        _placed(space, request, display) as request,
    ):
        result = run(space, request, display, tell=None if common.as_json else say)
    if common.as_json:
        emit("run", result.data(), "", as_json=True, warnings=space.warnings)
        return result.exit_status
    # The command's own output has stdout; what we say of it goes to stderr.
    return _finish(space, result)


def _placed(space: Workspace, request: RunRequest, display: Display) -> AbstractContextManager[RunRequest]:
    """What is asked for, with --frozen in a checkout that is there as long."""
    if not request.frozen:
        return nullcontext(request)
    from logbook_agent.campaign.code_axis import frozen  # few runs are

    return frozen(space, request, display)


def _folds_steps(space: Workspace, request: RunRequest) -> bool:
    """Whether a step is no config of the run: what has one is a point of a curve."""
    header = space.book(request.entry_id).header
    known = KnownKeys(declared=header.metrics, axes=header.case_keys, config=request.config, argv=request.argv)
    return STEP in PointRules.of(known).step_keys()


def _noise(space: Workspace, request: RunRequest, common: Common) -> int:
    """Run the command several times and print what the scatter says. What the command prints goes to stderr."""

    def body(display: Display) -> int:
        with _placed(space, dataclasses.replace(request, detach=False), display) as placed:
            result = noise_of_runs(space, placed, display)
        text = "" if common.as_json else _noise_text(result)
        emit("noise", result.data(), text, as_json=common.as_json, warnings=space.warnings)
        return result.made.exit_status

    if request.detach:
        return carried_out(space, "noise", body, detach=True, as_json=common.as_json)
    with run_display(all_to_stderr=True) as display:
        return body(display)


def _noise_text(result: NoiseResult) -> str:
    entry, count = result.made.entry, len(result.made.runs)
    nothing = f"nothing was measured: no finished run has a row with a metric; see logbook show {entry.id}"
    lines = noise_lines(result.found) or [nothing]
    return "\n".join([f"{entry.id}: {counted(count, 'run')}", *lines])


def _detached(space: Workspace, request: RunRequest, common: Common) -> int:
    """A single run is submitted; several are a series of their own."""
    if not request.is_single or request.frozen:
        alone = dataclasses.replace(request, detach=False)

        def body(display: Display) -> int:
            with _placed(space, alone, display) as placed:
                return _finish(space, run(space, placed, display))

        return carried_out(space, "run", body, detach=True, as_json=common.as_json)
    space.executor = LOCAL
    result = run(space, request, LineDisplay(), tell=None if common.as_json else say)
    status, sent = result.exit_status, result.runs[0]
    if sent.exit is not None:  # it could not be started
        space.warnings.append(f"{sent.entry} run {sent.run}: {sent.problems[-1] if sent.problems else 'never started'}")
    started(space, "run", sent.entry, sent, as_json=common.as_json, is_going=sent.exit is None)
    return status


def _finish(space: Workspace, result: RunResult) -> int:
    for line in [*_summary(result, result.data()), *(f"warning: {w}" for w in space.warnings)]:
        say(line)
    return result.exit_status


def _summary(result: RunResult, data: RunData) -> list[str]:
    """What was recorded, a line per run and row."""
    lines = []
    for run_data in data["runs"]:
        label = f" [{run_data['label']}]" if run_data["label"] else ""
        count = len(run_data["rows"])
        if run_data["state"] == "submitted":
            wait = f"to wait for it: logbook wait {data['id']}; to see its output: logbook wait {data['id']} --follow"
            lines.append(f"{data['id']} run {run_data['run']}{label}: submitted; {wait}")
            continue
        warm = f", {WARM_UP}" if run_data["discarded"] else ""
        took = f" in {run_data['duration_s']:.2f} s" if run_data["duration_s"] is not None else ""
        lines.append(
            f"{data['id']} run {run_data['run']}{label}: {run_data['state']}{warm}{took}, {counted(count, 'row')}"
        )
        keys = varied(row["config"] for row in run_data["rows"])
        lines += [f"  {_row_text(row, keys)}" for row in run_data["rows"][:_SHOWN_ROWS]]
        if count > _SHOWN_ROWS:
            lines.append(f"  and {count - _SHOWN_ROWS} more rows: logbook table {data['id']}")
        if kept := [str(artifact["name"]) for artifact in run_data.get("artifacts", [])]:
            lines.append(f"  kept: {listed(kept, _SHOWN_FILES)}")
        lines += [f"  {p['grade']}: {p['text']}" for p in run_data["problems"][:3]]
        if any(p["grade"] == WITHHELD for p in run_data["problems"]):
            lines.append(f"  withheld numbers do not count; to accept them: logbook edit {data['id']} --accept WHY")
    lines.append(f"recorded in {result.book.view_path}")
    return lines


def _row_text(row: BriefRow, keys: list[str]) -> str:
    case = " ".join(f"{key}={row['config'][key]}" for key in keys if key in row["config"])
    said = f"{case}: " if case else ""
    if "failed" in row:
        return f"{said}failed: {row['failed']['reason']}"
    texts = [
        f"{name} {format_value(m['median'], decimals=known(name).decimals)}" + (f" {m['unit']}" if m["unit"] else "")
        for name, m in row.get("metrics", {}).items()
    ]
    return said + (", ".join(texts) or "no metric")
