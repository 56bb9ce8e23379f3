"""An entry with its runs as `logbook show ID --json` tells it: what its runs share is said once, declared metrics as
medians, and samples, logs and what differs between many runs by reference. `--full` gives all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from logbook_agent.findings.queries import shown
from logbook_agent.findings.read import Findings
from logbook_agent.model.record import Record
from logbook_agent.model.values import Scalar

# At most so many bytes; runs that ended badly are kept first, then the newest ones.
LIMIT_BYTES = 8000
# Of so many rows, what a command reports beside metrics and config is shown even where it differs.
_FEW_ROWS = 3
# Of so many commands each is said once, and a run has its number, from 0.
_FEW_COMMANDS = 4
# The facts of a run, and the parts of its rows, that are said once where all have the same.
_OF_RUNS = ("label", "command", "exit", "commit", "busy", "discarded")
_OF_ROWS = ("config", "observations", "labels")


def entry_data(
    found: Findings, record: Record, log_path: Callable[[str, int], object], *, full: bool
) -> dict[str, Any]:
    """The answer of `show` for machines. `log_path` tells where the log of a run of an entry is."""
    data = shown(found, record, log_path, full=full)
    return data if full else brief(data, [m.name for m in found.header.metrics])


def brief(entry: Mapping[str, Any], metrics: Sequence[str]) -> dict[str, Any]:
    """The data of an entry (`queries.shown`) in brief. `metrics` are those that the logbook declares; where there are
    none, all are shown. `left_out` counts findings, runs, and numbers of runs; `shared` is what all runs have in
    common."""
    runs = entry["runs"]
    rows = [row for run in runs for row in run["rows"]]
    shared = _shared(runs, rows)
    lines = [_run(run, shared, metrics, has_all=len(rows) <= _FEW_ROWS) for run in runs]
    numbers = sum(left for _, left in lines)
    head, findings = _with_findings({k: v for k, v in entry.items() if v is not None and k != "runs"})
    shown = {"shared": shared} if shared else {}

    def answer(kept: Sequence[int]) -> dict[str, Any]:
        left_out = {"findings": findings, "runs": len(runs) - len(kept), "numbers": numbers}
        counts = {name: n for name, n in left_out.items() if n}
        told = [lines[n][0] for n in sorted(kept)]
        return {**head, **shown, "runs": told, **({"left_out": counts} if counts else {})}

    ranked = sorted(range(len(runs)), key=lambda n: (runs[n]["state"] == "finished", -n))
    return answer(ranked[: _most(len(ranked), lambda count: _size(answer(ranked[:count])) <= LIMIT_BYTES)])


def _with_findings(head: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """The entry with as many findings of its answer as leave room for runs, and how many are left out."""
    answer = head.get("answer")
    if answer is None:
        return head, 0
    found = answer["findings"]

    def first(count: int) -> dict[str, Any]:
        return {**head, "answer": {**answer, "findings": found[:count]}}

    count = _most(len(found), lambda count: _size(first(count)) <= 3 * LIMIT_BYTES // 4)
    return first(count), len(found) - count


def _most(count: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `count` that fits, and at least 1 where there is one."""
    low, high = min(1, count), count + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _size(data: object) -> int:
    whole = {"schema": "logbook/show/1", "data": data, "warnings": []}
    return len(json.dumps(whole, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")) + 1


def _shared(runs: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all runs and all rows have in common; nothing of a single one."""
    found: dict[str, Any] = {}
    if len(runs) > 1:
        alike = (name for name in _OF_RUNS if all(run[name] == runs[0][name] for run in runs))
        found = {name: runs[0][name] for name in alike if runs[0][name] not in (None, False)}
        commands = list(dict.fromkeys(run["command"] for run in runs))
        if 1 < len(commands) <= _FEW_COMMANDS:
            found["commands"] = commands
    if len(rows) > 1:
        found |= _of_metrics(rows)
        for part in _OF_ROWS:
            parts = [row.get(part, {}) for row in rows]
            same = {k: v for k, v in parts[0].items() if all(k in p and p[k] == v for p in parts)}
            found |= {part: same} if same else {}
    return found


def _of_metrics(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The unit of each metric that has one in all rows, and the number of samples of every number, if it is one."""
    measured = [(name, one) for row in rows for name, one in row.get("metrics", {}).items()]
    units = {name: {one["unit"] for other, one in measured if other == name} for name in dict(measured)}
    shared = {name: unit for name, (unit, *others) in units.items() if not others and unit is not None}
    counts = {one["n"] for _, one in measured}
    return {**({"units": shared} if shared else {}), **({"samples": counts.pop()} if len(counts) == 1 else {})}


def _run(
    run: Mapping[str, Any], shared: Mapping[str, Any], metrics: Sequence[str], *, has_all: bool
) -> tuple[dict[str, Any], int]:
    """A run without what is shared, and how many of its numbers are left out."""
    is_good = run["state"] == "finished"
    line = {k: v for k, v in run.items() if v is not None and v is not False and k not in ("rows", "log")}
    # How a command ended well is in its log.
    line = {k: v for k, v in line.items() if not (k in shared and v == shared[k]) and not (k == "tail" and is_good)}
    if "commands" in shared:
        line["command"] = shared["commands"].index(run["command"])
    told, left_out = [], 0
    for row in run["rows"]:
        kept, left = _row(row, shared, metrics, has_all=has_all)
        told.append(kept)
        left_out += left
    return {**line, "rows": told, **({} if is_good else {"log": run["log"]})}, left_out


def _row(
    row: Mapping[str, Any], shared: Mapping[str, Any], metrics: Sequence[str], *, has_all: bool
) -> tuple[dict[str, Any], int]:
    found = {k: v for k, v in row.items() if k not in (*_OF_ROWS, "metrics")}
    left_out = 0
    for part in _OF_ROWS:
        own: dict[str, Scalar] = {k: v for k, v in row.get(part, {}).items() if k not in shared.get(part, {})}
        if part == "config" or has_all:
            found |= {part: own} if own or part == "config" else {}
        else:
            left_out += len(own)
    measured = row.get("metrics", {})
    names = [name for name in measured if has_all or not metrics or name in metrics]
    left_out += len(measured) - len(names)
    if names:
        found["metrics"] = {name: _metric(name, measured[name], shared) for name in names}
    return found, left_out


def _metric(name: str, measured: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    own = {k: v for k, v in measured.items() if v is not None}
    if name in shared.get("units", {}):
        own.pop("unit", None)
    if "samples" in shared:
        del own["n"]
    return own
