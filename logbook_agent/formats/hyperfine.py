"""What `hyperfine --export-json` writes: each command with all its times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from logbook_agent.formats.case_rows import (
    BENCHMARK,
    TIME,
    Occasion,
    as_scalar,
    case_config,
    listed_in,
    measured,
    summarised,
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
        codes, memory = one.get("exit_codes") or [], one.get("memory_usage_byte") or []
        if failures := sum(code != 0 for code in codes):
            # What is summed up over all runs is no number of those that worked.
            row["observations"] = {"failures": failures}
            message = f"{failures} of {len(codes)} runs ended with an error"
            occasion.problem(f"{name}: {message}")
            if failures == len(codes) or not times:
                yield {**row, "failed": {"reason": "error", "message": f"{message} (exit code {max(codes, key=bool)})"}}
                continue
        elif not times:
            row["observations"] |= summarised(one)
        for metric, samples in ((TIME, times), (_MEMORY, memory)):
            ended = codes or [0] * len(samples)
            if good := [one for one, code in zip(samples, ended, strict=bool(samples)) if code == 0]:
                row.setdefault("metrics", {})[metric] = measured(metric, good, occasion)
        yield row
