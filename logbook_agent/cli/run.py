"""`logbook run` and `logbook bench`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from logbook_agent.cli.display import LiveDisplay
from logbook_agent.cli.options import (
    CompletesOption,
    ContinuesOption,
    FieldOption,
    HypothesisOption,
    InterpretationOption,
    JsonOption,
    LogbookOption,
    NextOption,
    RootOption,
    SupersedesOption,
    TitleOption,
    read_prose,
    workspace,
)
from logbook_agent.cli.output import emit, say
from logbook_agent.entries.entries import Prose
from logbook_agent.entries.run import RunRequest, RunResult, run
from logbook_agent.model.pairs import parse_value
from logbook_agent.model.units import format_value, known
from logbook_agent.running.bench import bench_argv, bench_folder
from logbook_agent.running.prepare import parse_duration, parse_env

_SHOWN_ROWS = 12

LabelOption = Annotated[
    str | None,
    typer.Option("--label", metavar="LABEL", help="What this run is: Baseline, Int8, Negative control."),
]
ConfigOption = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="K=V", help="Config that the command does not report itself; repeatable."),
]
EnvOption = Annotated[
    list[str] | None, typer.Option("--env", metavar="K=V", help="Set a variable for the command; repeatable.")
]
RepeatOption = Annotated[int, typer.Option("--repeat", metavar="N", help="Run it N times; each is a run.")]
TimeoutOption = Annotated[
    str | None, typer.Option("--timeout", metavar="TIME", help="End it after 90s, 30m, 2h (INT, TERM, KILL).")
]
CwdOption = Annotated[str | None, typer.Option("--cwd", metavar="DIR", help="Run it in this folder.")]
OnOption = Annotated[
    str | None,
    typer.Option("--on", metavar="LAUNCHER[:TARGET]", help="Run it through a configured launcher."),
]
IdOption = Annotated[
    str | None, typer.Option("--id", metavar="ID", help="Add to this entry, or execute its planned commands.")
]
ShellOption = Annotated[bool, typer.Option("--shell", help="Pass the command to /bin/sh as one string.")]


def run_command(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- [K=V...] CMD...", help="The command, after --.")
    ] = None,
    title: TitleOption = None,
    hypothesis: HypothesisOption = None,
    interpretation: InterpretationOption = None,
    next_action: NextOption = None,
    field: FieldOption = None,
    label: LabelOption = None,
    config: ConfigOption = None,
    env: EnvOption = None,
    repeat: RepeatOption = 1,
    timeout: TimeoutOption = None,
    cwd: CwdOption = None,
    on: OnOption = None,
    entry_id: IdOption = None,
    shell: ShellOption = False,
    continues: ContinuesOption = None,
    completes: CompletesOption = None,
    supersedes: SupersedesOption = None,
    logbook: LogbookOption = None,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> int:
    """Run a command as an experiment.

    Output is passed through live, and the exit code is that of the command. Lines that start with RESULT, METRIC or
    RESULT_JSON become rows. Example: logbook run --label Baseline -- python bench.py --quant-mode none
    """
    words = read_prose(
        title=title,
        hypothesis=hypothesis,
        interpretation=interpretation,
        next_action=next_action,
        fields=field,
        continues=continues,
        completes=completes,
        supersedes=supersedes,
    )
    request = _request(command or (), words, label, config, env, repeat, timeout, cwd, entry_id)
    return _run("run", dataclasses.replace(request, on=on, shell=shell), logbook, root, as_json)


def bench_command(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- BENCHMARK [ITS OPTIONS]", help="After --: hillclimb ..."),
    ] = None,
    title: TitleOption = None,
    hypothesis: HypothesisOption = None,
    interpretation: InterpretationOption = None,
    next_action: NextOption = None,
    field: FieldOption = None,
    label: LabelOption = None,
    config: ConfigOption = None,
    env: EnvOption = None,
    repeat: RepeatOption = 1,
    timeout: TimeoutOption = None,
    cwd: CwdOption = None,
    entry_id: IdOption = None,
    continues: ContinuesOption = None,
    completes: CompletesOption = None,
    supersedes: SupersedesOption = None,
    logbook: LogbookOption = None,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> int:
    """Run the in-house MoE benchmark as an experiment.

    The same as `logbook run`, with this Python's bench_core.
    Example: logbook bench --label Int8 -- hillclimb --tokens 128 --quant-mode int8
    """
    argv = bench_argv(command or (), adds_run=entry_id is not None)
    words = read_prose(
        title=title,
        hypothesis=hypothesis,
        interpretation=interpretation,
        next_action=next_action,
        fields=field,
        continues=continues,
        completes=completes,
        supersedes=supersedes,
    )
    request = _request(argv, words, label, config, env, repeat, timeout, cwd, entry_id)
    return _run("bench", dataclasses.replace(request, search_first=bench_folder()), logbook, root, as_json)


def _request(
    argv: Sequence[str],
    words: Prose,
    label: str | None,
    config: Sequence[str] | None,
    env: Sequence[str] | None,
    repeat: int,
    timeout: str | None,
    cwd: str | None,
    entry_id: str | None,
) -> RunRequest:
    """The options that `run` and `bench` share, read."""
    return RunRequest(
        argv=argv,
        prose=words,
        label=label,
        config=dict(parse_value(c, "--config") for c in config or ()),
        env=parse_env(env or ()),
        repeat=repeat,
        timeout_s=parse_duration(timeout) if timeout is not None else None,
        cwd=cwd,
        entry_id=entry_id,
    )


def _run(name: str, request: RunRequest, logbook: str | None, root: str | None, as_json: bool) -> int:
    space = workspace(logbook, root)
    result = run(space, request, LiveDisplay(all_to_stderr=as_json), tell=None if as_json else _tell)
    data = result.data()
    if as_json:
        emit(name, data, "", as_json=True, warnings=space.warnings)
    else:
        # The command's own output has stdout; what we say of it goes to stderr.
        for line in [*_summary(result, data), *(f"warning: {w}" for w in space.warnings)]:
            say(line)
    return result.exit_status


def _tell(line: str) -> None:
    say(line)


def _summary(result: RunResult, data: dict[str, Any]) -> list[str]:
    """What was recorded, a line per run and row."""
    lines = []
    for run_data in data["runs"]:
        label = f" [{run_data['label']}]" if run_data["label"] else ""
        count = len(run_data["rows"])
        took = f" in {run_data['duration_s']:.2f} s" if run_data["duration_s"] is not None else ""
        lines.append(
            f"{data['id']} run {run_data['run']}{label}: {run_data['state']}{took},"
            f" {count} row{'' if count == 1 else 's'}"
        )
        varied = _varied(run_data["rows"])
        lines += [f"  {_row_text(row, varied)}" for row in run_data["rows"][:_SHOWN_ROWS]]
        if count > _SHOWN_ROWS:
            lines.append(f"  and {count - _SHOWN_ROWS} more rows: logbook table {data['id']}")
        lines += [f"  problem: {p}" for p in run_data["problems"][:3]]
    lines.append(f"recorded in {result.book.view_path}")
    return lines


def _varied(rows: list[dict[str, Any]]) -> list[str]:
    """The config keys that tell the rows of a run apart."""
    keys = dict.fromkeys(key for row in rows for key in row["config"])
    return [key for key in keys if len({repr(row["config"].get(key)) for row in rows}) > 1]


def _row_text(row: dict[str, Any], varied: list[str]) -> str:
    case = " ".join(f"{key}={row['config'][key]}" for key in varied if key in row["config"])
    said = f"{case}: " if case else ""
    if "failed" in row:
        return f"{said}failed: {row['failed']['reason']}"
    metrics: dict[str, dict[str, Any]] = row.get("metrics", {})
    texts = [
        f"{name} {format_value(m['median'], decimals=known(name).decimals)}" + (f" {m['unit']}" if m["unit"] else "")
        for name, m in metrics.items()
    ]
    return said + (", ".join(texts) or "no metric")
