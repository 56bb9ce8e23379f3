"""What a command itself concludes from its rows, beside what it measured: ratios to another row, and crossovers.

`bench-core overlap` says of each path how many times as fast as the base it is, and where their order changes. The
calls that it compares were made in turn in one process, so its ratio says more than two medians in a table. Its
interval has a level of 95%.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from logbook_agent.model.record import Record
from logbook_agent.model.run import Row
from logbook_agent.model.values import spelt
from logbook_agent.text import markdown as md
from logbook_agent.text.words import assignments

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
