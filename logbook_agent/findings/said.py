"""What the block of an entry says of its runs; and a run in brief, as data.

A block follows from all runs, so that one more may change any part of it. That of a long entry therefore has two parts:
the first covers the runs up to the last multiple of the step, stays the same while runs are added, and can be kept; the
other covers the few runs after it. How many runs the first part covers follows from their number alone, so that a block
that is rendered again says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from logbook_agent.findings import facts
from logbook_agent.findings.predictions import predicted_section
from logbook_agent.model.codec import encode
from logbook_agent.model.header import Metric
from logbook_agent.model.load import busy_text, contention_of
from logbook_agent.model.record import Record, RunStatus
from logbook_agent.model.run import PredictedRow, Row
from logbook_agent.model.stats import median

# From so many runs on, the block of an entry has two parts; the first covers a multiple of the step.
LONG, STEP = 1000, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
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


def is_long(runs: int) -> bool:
    """Whether an entry with so many runs has a block in two parts."""
    return runs >= LONG


def first_part(runs: int) -> int:
    """How many of this many runs the first part of a block covers: all, unless the entry is long."""
    return runs - runs % STEP if is_long(runs) else runs


def said_of(record: Record, metrics: Sequence[Metric], render: facts.RenderTable) -> Said:
    """What is said of all the runs of a record, in one part."""
    table = facts.table_of(record, metrics) if record.runs else None
    commands = facts.commands_of(record)
    return Said(
        runs=len(record.runs),
        command=facts.command_section(record.id, commands),
        config=facts.config_section(record, table) if record.runs else "",
        predicted=predicted_section(record) if any(s.run.predictions for s in record.runs) else "",
        result=facts.result_section(record, table, render, facts.noise_notes(record, metrics)) if record.runs else "",
        commands=tuple(commands[: facts.SHOWN_COMMANDS]),
        more_commands=max(0, len(commands) - facts.SHOWN_COMMANDS),
        pending=record.pending,
    )


def with_rest(first: Said, rest: Record, metrics: Sequence[Metric], render: facts.RenderTable) -> Said:
    """With what is said of the runs after the first part, which are those of `rest`."""
    if not rest.runs:
        return first
    numbers = [status.run.run for status in rest.runs]
    which = f"Run {numbers[0]}" if len(numbers) == 1 else f"Runs {numbers[0]} to {numbers[-1]}"
    more = said_of(rest, metrics, render)
    commands, more_commands = _all_commands(first, more)
    return replace(
        first,
        commands=commands,
        more_commands=more_commands,
        runs=first.runs + more.runs,
        command=_joined(first.command, more.command, which),
        config=_joined(first.config, more.config, which),
        predicted=_joined(first.predicted, more.predicted, which),
        result=_joined(first.result, more.result, which),
        pending=tuple(place for place in first.pending if place in more.pending),
    )


def said_in_parts(record: Record, metrics: Sequence[Metric], render: facts.RenderTable) -> Said:
    """What the block of an entry says of its runs."""
    count = first_part(len(record.runs))
    if count == len(record.runs):
        return said_of(record, metrics, render)
    first = said_of(replace(record, runs=record.runs[:count]), metrics, render)
    return with_rest(first, replace(record, runs=record.runs[count:]), metrics, render)


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


def _all_commands(first: Said, rest: Said) -> tuple[tuple[facts.Executed, ...], int]:
    """The commands of both parts, those of the first counted on. One of the first that is not kept counts again."""
    found = facts.counted([*first.commands, *rest.commands])
    shown = tuple(found[: facts.SHOWN_COMMANDS])
    return shown, first.more_commands + rest.more_commands + len(found) - len(shown)


def _joined(first: str, rest: str, which: str) -> str:
    """A text that holds for the later runs, too, is said once."""
    return first if rest in ("", first) else f"{first}\n\n{which}:\n\n{rest}" if first else rest
