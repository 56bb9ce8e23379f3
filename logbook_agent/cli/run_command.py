"""`logbook run`, and with --noise what the scatter of its runs says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Annotated, Any

from msgspec import structs

from logbook_agent.campaign.repeats import RunResult, run
from logbook_agent.campaign.run_request import RunRequest
from logbook_agent.cli.detach import carried_out, started
from logbook_agent.cli.displays import run_display
from logbook_agent.cli.options import (
    DETACH,
    Common,
    Words,
    arguments,
    duration,
    flag,
    number,
    option,
    repeated,
    typed_pairs,
)
from logbook_agent.cli.output import LineDisplay, say
from logbook_agent.entries.new_entry import Prose
from logbook_agent.findings.case_repeats import Noise, noise_lines
from logbook_agent.model.codec import encode
from logbook_agent.model.gates import WITHHELD
from logbook_agent.model.record import WARM_UP
from logbook_agent.model.units import format_value, known
from logbook_agent.model.values import varied
from logbook_agent.running.executors import LOCAL
from logbook_agent.running.order import Display
from logbook_agent.running.prepare import parse_env
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.phrases import counted, listed

_SHOWN_ROWS, _SHOWN_FILES = 12, 5

ENV = repeated("--env K=V", "Set a variable for the command; repeatable.", read=parse_env)
TIMEOUT = duration("--timeout TIME", "End the command after 90s, 30m, 2h (INT, TERM, KILL).")
READ = option(
    "--read FORMAT[:FILE]",
    "Read the results that pytest-benchmark, hyperfine, google-benchmark or asv writes to FILE; without FILE, write"
    " {file} in the command where it takes the name of a file.",
)
KEEP = repeated("--keep PATTERN", "Keep files of its working folder that match, such as 'out/*.png'; repeatable.")
ON = option("--on NAME", "Run the command on this executor or launcher; see `logbook executors`.")


class How:
    """How a command is run: what `run` and `ab` share of a `RunRequest`."""

    config = repeated(
        "--config K=V",
        "Config that the command does not report itself; repeatable.",
        read=partial(typed_pairs, name="--config"),
    )
    env = ENV
    timeout_s = TIMEOUT
    stall_s = duration("--stall TIME", "End the command once it has printed nothing for this long: 90s, 30m, 2h.")
    cwd = option("--cwd DIR", "Run the command in this folder.")
    shell = flag("--shell", "Pass the command to the shell as one string; a pipe fails if any command in it fails.")
    read = READ
    keep = KEEP
    inputs = repeated("--input PATH", "Record the digest of a file or folder that the command reads; repeatable.")
    frozen = flag(
        "--frozen", "Run in a copy of the code as it is now, so that you can edit it meanwhile, as after --detach."
    )


class RunOptions(How):
    """How a command is run, how often, and what for: a `RunRequest`."""

    label = option("--label LABEL", "What this run is: Baseline, Int8, Negative control.")
    repeat = number("--repeat N", "Run the command N times. [1; with --noise 12, at least 6]")
    discard = number("--discard N", "First run N times to warm up; these runs never count.", 0)
    noise = flag("--noise", "Say how much the runs vary, and which effects an A/B of this command would show.")
    on = ON
    entry_id = option("--id ID", "Add a run to this entry; without a command, execute its planned commands.")
    detach = DETACH


def run_command(
    *,
    command: Sequence[str] = arguments("-- [K=V...] CMD...", "The command, after --."),
    words: Annotated[Prose, Words],
    request: Annotated[RunRequest, RunOptions],
    common: Common,
) -> int:
    """Run a command as an experiment.

    Output is passed through live, and the exit code is that of the command. Lines that start with RESULT, METRIC or
    RESULT_JSON become rows; bench-core, the benchmark that comes with logbook, prints such lines.

    Example: logbook run --label Baseline -- python bench.py --quant-mode none
    """
    request = structs.replace(request, argv=command, prose=words)
    space = common.space()
    if request.detach and request.is_single and not (request.noise or request.frozen):
        return _submitted(space, request, common)
    here = structs.replace(request, detach=False)

    def carry_out(display: LineDisplay) -> int:
        with _placed(space, here, display) as placed:
            result = run(space, placed, display, tell=None if common.as_json else say)
        if request.noise:
            found = result.noise
            data = {**result.data(), "noise": [encode(one) for one in found]}
            common.emit("noise", data, lambda: _noise_text(result, found))
        elif common.as_json:
            common.emit("run", result.data())
        else:
            # The command's own output has stdout; what we say of it goes to stderr.
            for line in [*_summary(result, result.data()), *(f"warning: {w}" for w in space.warnings)]:
                say(line)
        return result.exit_status

    display = run_display(all_to_stderr=common.as_json or request.noise)
    name = "noise" if request.noise else "run"
    return carried_out(common, name, carry_out, detach=request.detach, display=display)


def _placed(space: Workspace, request: RunRequest, display: Display) -> AbstractContextManager[RunRequest]:
    """What is asked for, with --frozen in a checkout that is there as long."""
    if not request.frozen:
        return nullcontext(request)
    from logbook_agent.campaign.checkouts import frozen  # few runs are

    return frozen(space, request, display)


def _noise_text(result: RunResult, found: Sequence[Noise]) -> str:
    entry_id = result.entry.id
    nothing = f"nothing was measured: no finished run has a row with a metric; see logbook show {entry_id}"
    return "\n".join([f"{entry_id}: {counted(len(result.runs), 'run')}", *(noise_lines(found) or [nothing])])


def _submitted(space: Workspace, request: RunRequest, common: Common) -> int:
    """Start a single run in the background; several are a series of their own."""
    space.executor = LOCAL
    result = run(space, request, LineDisplay(), tell=None if common.as_json else say)
    sent = result.runs[0]
    if sent.exit is not None:  # it could not be started
        space.warnings.append(f"{sent.entry} run {sent.run}: {sent.problems[-1] if sent.problems else 'never started'}")
    started(common, "run", sent.entry, sent, is_going=sent.exit is None)
    return result.exit_status


def _summary(result: RunResult, data: Mapping[str, Any]) -> list[str]:
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


def _row_text(row: Mapping[str, Any], keys: list[str]) -> str:
    case = " ".join(f"{key}={row['config'][key]}" for key in keys if key in row["config"])
    said = f"{case}: " if case else ""
    if "failed" in row:
        return f"{said}failed: {row['failed']['reason']}"
    texts = [
        f"{name} {format_value(m['median'], decimals=known(name).decimals)}" + (f" {m['unit']}" if m["unit"] else "")
        for name, m in row.get("metrics", {}).items()
    ]
    return said + (", ".join(texts) or "no metric")
