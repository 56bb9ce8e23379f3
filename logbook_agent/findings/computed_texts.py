"""What the block of an entry says of its runs; and a run in brief, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from logbook_agent.findings import facts
from logbook_agent.findings.predictions import predicted_section
from logbook_agent.model.codec import encode
from logbook_agent.model.header import Metric
from logbook_agent.model.load import busy_text, contention_of
from logbook_agent.model.record import Record, RunStatus
from logbook_agent.model.run import PredictedRow, Row
from logbook_agent.model.stats import median
from logbook_agent.model.values import spelt
from logbook_agent.text import markdown as md
from logbook_agent.text.words import assignments


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedTexts:
    """The computed texts of an entry with runs: executed commands, config, predictions, results.
    `commands` are the first of those executed, and `more_commands` counts the others; `pending` are the places of the
    planned commands that none of these runs executed."""

    command: str
    config: str
    predicted: str
    result: str
    commands: tuple[facts.Executed, ...]
    more_commands: int
    runs: int
    pending: tuple[int, ...] = ()


def said_of(record: Record, metrics: Sequence[Metric], render: facts.RenderTable) -> ComputedTexts:
    """What the block of an entry says of its runs."""
    table = facts.table_of(record, metrics) if record.runs else None
    commands = facts.commands_of(record)
    return ComputedTexts(
        runs=len(record.runs),
        command=facts.command_section(record.id, commands),
        config=facts.config_section(record, table) if record.runs else "",
        predicted=predicted_section(record) if any(s.run.predictions for s in record.runs) else "",
        result=facts.result_section(record, table, render, facts.noise_notes(record, metrics)) if record.runs else "",
        commands=tuple(commands[: facts.SHOWN_COMMANDS]),
        more_commands=max(0, len(commands) - facts.SHOWN_COMMANDS),
        pending=record.pending,
    )


def brief_run(status: RunStatus, log_path: Callable[[str, int], object]) -> dict[str, Any]:
    """A run as an agent needs it to go on: command, outcome, rows as medians, end of the output. `log_path` tells where
    the log of a run of an entry is."""
    run = status.run
    output = run.output
    failed = status.state != "finished"
    return {
        "run": run.run,
        "label": run.label,
        "state": status.state,
        "discarded": run.discarded,
        "command": facts.executed(run),
        "started": run.started,
        "duration_s": run.duration_s,
        "exit": encode(run.exit) if run.exit is not None else None,
        "commit": run.code.commit if run.code is not None else None,
        "busy": busy_text([found]) or None if (found := contention_of(run)) is not None else None,
        "rows": [brief_row(row) for row in run.rows],
        "tail": list((output.error_tail if failed else ()) or output.tail)[-10:] if output is not None else [],
        **({"predictions": [brief_prediction(row) for row in run.predictions]} if run.predictions else {}),
        "problems": list(run.problems),
        "log": str(log_path(run.entry, run.run)),
    }


def brief_row(row: Row) -> dict[str, Any]:
    """A row with the median and the number of samples of each metric."""
    found: dict[str, Any] = {"config": row.config}
    if row.metrics:
        found["metrics"] = {
            name: {"median": median(m.samples), "n": len(m.samples), "unit": m.unit} for name, m in row.metrics.items()
        }
    if row.observations:
        found["observations"] = row.observations
    if row.labels:
        found["labels"] = row.labels
    if row.failed is not None:
        found["failed"] = encode(row.failed)
    return found


def brief_prediction(row: PredictedRow) -> dict[str, Any]:
    """A predicted row as it was printed."""
    found: dict[str, Any] = {"config": row.config, "prediction": row.prediction}
    return {**found, **({"labels": row.labels} if row.labels else {})}


# An observation with this beginning is a ratio to the row that the rest names; the ends of its interval have a name
# of their own.
_RATIO, _LOW, _HIGH = "ratio_to_", "_low", "_high"
_CROSSOVER, _PATH = "crossover", "path"
_SHOWN = 20


def conclusions(record: Record) -> list[str]:
    """`fused_ep topk=2: 0.641 times as fast as ref_dp (95% in one process: 0.462 to 0.825)`, then `crossover: ...`, in
    Markdown. Where several runs conclude something, each line names its run."""
    found = [(status.run.run, row) for status in record.runs if status.counts for row in status.run.rows]
    told = [(run, line) for lines in (_ratios(found), _crossovers(found)) for run, line in lines]
    apart = len({run for run, _ in told}) > 1
    left_out = len(told) - _SHOWN
    more = [f"and {left_out:,} more ratios and crossovers: `logbook show {record.id} --json`"] if left_out > 0 else []
    return [md.escape(md.one_line(f"run {run}, {line}" if apart else line)) for run, line in told[:_SHOWN]] + more


def _ratios(found: Sequence[tuple[int, Row]]) -> Iterator[tuple[int, str]]:
    own = [(run, row, name) for run, row in found for name in row.observations if _is_ratio(name)]
    keys = dict.fromkeys(key for _, row, _ in own for key in row.config if key != _PATH)
    varied = [key for key in keys if len({spelt(row.config.get(key)) for _, row, _ in own}) > 1]
    for run, row, name in own:
        ratio, low, high = (row.observations.get(name + end) for end in ("", _LOW, _HIGH))
        if ratio is None:
            continue
        case = assignments({key: spelt(row.config[key]) for key in varied if key in row.config})
        subject = " ".join(part for part in (_path(row), case) if part)
        ends = (
            f" (95% in one process: {low:.3g} to {high:.3g})"
            if low is not None and high is not None
            else ", without an interval"
        )
        yield run, f"{subject}: {ratio:.3g} times as fast as {name.removeprefix(_RATIO)}{ends}".removeprefix(": ")


def _crossovers(found: Sequence[tuple[int, Row]]) -> Iterator[tuple[int, str]]:
    for run, row in found:
        if (text := row.labels.get(_CROSSOVER)) is not None:
            yield run, f"{_CROSSOVER}: {_path(row)}: {text}" if _path(row) else f"{_CROSSOVER}: {text}"


def _is_ratio(name: str) -> bool:
    return name.startswith(_RATIO) and not name.endswith((_LOW, _HIGH))


def _path(row: Row) -> str:
    path = row.config.get(_PATH)
    return "" if path is None else spelt(path)
