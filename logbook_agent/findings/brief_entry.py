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

# At most so many bytes; runs that ended badly are kept first, then the newest ones.
LIMIT_BYTES = 8000
# So many findings leave room for runs.
_MOST_FINDINGS = 8
# Of so many rows, what a command reports beside metrics and config is shown even where it differs.
_FEW_ROWS = 3
# Of so many commands each is said once, and a run has its number, from 0.
_FEW_COMMANDS = 4
# The facts of a run that are said once where all runs have the same.
_OF_RUNS = ("label", "command", "exit", "commit", "busy", "discarded")


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
    lines = [_run(run, shared) for run in runs]
    numbers = sum(_leave_out(row, metrics) for line in lines for row in line["rows"]) if len(rows) > _FEW_ROWS else 0
    head = {k: v for k, v in entry.items() if v is not None and k != "runs"}
    found = head["answer"]["findings"] if "answer" in head else []
    head |= {"answer": {**head["answer"], "findings": found[:_MOST_FINDINGS]}} if found else {}
    shown = {"shared": shared} if shared else {}

    def answer(kept: Sequence[int]) -> dict[str, Any]:
        left_out = {"findings": max(0, len(found) - _MOST_FINDINGS), "runs": len(runs) - len(kept), "numbers": numbers}
        counts = {name: n for name, n in left_out.items() if n}
        told = [lines[n] for n in sorted(kept)]
        return {**head, **shown, "runs": told, **({"left_out": counts} if counts else {})}

    ranked = sorted(range(len(runs)), key=lambda n: (runs[n]["state"] == "finished", -n))
    return answer(ranked[: _most(len(ranked), lambda count: _size(answer(ranked[:count])) <= LIMIT_BYTES)])


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
    """What all runs and all rows have in common, but for medians; nothing of a single one."""
    facts = [{name: run[name] for name in _OF_RUNS if _is_news(run[name])} for run in runs]
    found = _common(facts) if len(runs) > 1 else {}
    commands = list(dict.fromkeys(run["command"] for run in runs))
    if 1 < len(commands) <= _FEW_COMMANDS:
        found["commands"] = commands
    return found | (_common(rows) if len(rows) > 1 else {})


def _is_news(value: object) -> bool:
    return value is not None and value is not False


def _common(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all of these have in common, also a part of a mapping that all have."""
    found = {}
    for name, value in parts[0].items():
        others = [part[name] for part in parts if name in part]
        if len(others) == len(parts) and all(isinstance(other, Mapping) for other in others):
            found[name] = _common(others)
        elif len(others) == len(parts) and name != "median" and all(other == value for other in others):
            found[name] = value
    return {name: value for name, value in found.items() if value != {}}


def _without(part: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """The part without what is shared."""
    own = {n: _without(v, shared.get(n, {})) if isinstance(v, Mapping) else v for n, v in part.items()}
    return {name: value for name, value in own.items() if name not in shared or value not in ({}, shared[name])}


def _run(run: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """A run without what is shared. How a command ended well is in its log."""
    left_out = ("rows", "tail", "log") if run["state"] == "finished" else ("rows",)
    line = {name: run[name] for name in run if _is_news(run[name]) and name not in left_out}
    line |= {"command": shared["commands"].index(run["command"])} if "commands" in shared else {}
    return {**_without(line, shared), "rows": [{"config": {}} | _without(row, shared) for row in run["rows"]]}


def _leave_out(row: dict[str, Any], metrics: Sequence[str]) -> int:
    """Take out of a row what neither is config nor was declared; returns how many numbers and words."""
    own = row.get("metrics", {})
    others = [name for name in own if metrics and name not in metrics]
    for name in others:
        del own[name]
    return len(others) + len(row.pop("observations", ())) + len(row.pop("labels", ()))
