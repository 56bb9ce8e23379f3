"""What `hyperfine --export-json` writes: each command with all its times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from logbook_agent.formats.case_rows import (
    BENCHMARK,
    Occasion,
    as_scalar,
    case_config,
    listed_in,
    measured,
    summarised,
    timed,
)
from logbook_agent.model.values import row_key

_MEMORY = "peak_memory_bytes"


def rows(data: Any, occasion: Occasion) -> Iterator[dict[str, Any]]:
    """A row for each command, told apart by its parameters, else by its name (`-n`) or text."""
    found = listed_in(data, "results")
    params = [{key: as_scalar(value) for key, value in (one.get("parameters") or {}).items()} for one in found]
    # The text of a command holds its parameters, and the value of an axis: as config it would make all of them unlike.
    is_told_apart = max(Counter(map(row_key, params)).values(), default=1) == 1
    for one, own in zip(found, params, strict=True):
        name, times = str(one.get("command")), one.get("times") or []
        row: dict[str, Any] = {"config": own, "labels": {BENCHMARK: name}} if is_told_apart else {}
        row = row or {"config": case_config(name, own)}
        times_of = {"user": "user_s", "system": "system_s"}
        row["observations"] = {ours: one[theirs] for theirs, ours in times_of.items() if theirs in one}
        if failures := _failures(one.get("exit_codes") or []):
            row["observations"]["failures"] = failures
            occasion.problem(f"{name}: {failures} of {len(one['exit_codes'])} runs ended with an error")
        if times:
            row["metrics"] = timed(times, occasion)
        else:
            row["observations"] |= summarised(one)
        if memory := one.get("memory_usage_byte"):
            row.setdefault("metrics", {})[_MEMORY] = measured(_MEMORY, memory, occasion)
        yield row


def _failures(codes: Sequence[Any]) -> int:
    return sum(code != 0 for code in codes)
