"""The result file of asv for one commit and environment, with `benchmarks.json` beside it, which names the parameters
and units. It holds samples where they were recorded (`asv run --record-samples`), else a summary. asv adds to a file
that exists, so what began before the command did is left out."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from logbook_agent.formats.case_rows import (
    TIME,
    NotThisFormat,
    Occasion,
    as_scalar,
    case_config,
    measured,
    summarised,
    timed,
)
from logbook_agent.model.units import Direction
from logbook_agent.model.values import Scalar, finite
from logbook_agent.text.phrases import counted

# The clocks of the two are the same; asv writes milliseconds.
_SLACK_S = 0.01
_MEMORY = "peak_memory_bytes"
# What a benchmark measures, by the first part of its name.
_KINDS = {"time": TIME, "timeraw": TIME, "peakmem": _MEMORY, "mem": "memory_bytes", "track": "value"}


def rows(data: Any, occasion: Occasion) -> Iterator[dict[str, Any]]:
    """A row for each benchmark and combination of parameters; those that asv skipped have none."""
    results, columns = _parts(data)
    commit, env = str(data.get("commit_hash")), str(data.get("env_name"))
    if occasion.commit is not None and not occasion.commit.startswith(commit):
        occasion.problem(f"asv measured commit {commit[:9]}, but the code of this run is {occasion.commit[:9]}")
    host = occasion.other_host((data.get("params") or {}).get("machine"))
    earlier = 0
    for name, values in results.items():
        found = dict(zip(columns, values, strict=False)) if isinstance(values, list) else {"result": values}
        began = finite(found.get("started_at"))
        if began is not None and began / 1000 < occasion.began - _SLACK_S:
            earlier += 1
            continue
        for row in _rows_of(name, found, occasion):
            yield {"labels": {"commit": commit, "environment": env}, "host": host, **row}
    if earlier:
        occasion.problem(f"{counted(earlier, 'benchmark')} of the file began before this run: left out")


def _parts(data: Any) -> tuple[Mapping[str, Any], Sequence[str]]:
    if not isinstance(data, dict) or not isinstance(data.get("results"), dict):
        raise NotThisFormat("it has no 'results' by benchmark")
    columns = data.get("result_columns")
    if not isinstance(columns, list):
        raise NotThisFormat("it has no 'result_columns'")
    return data["results"], [str(column) for column in columns]


def _rows_of(name: str, found: Mapping[str, Any], occasion: Occasion) -> Iterator[dict[str, Any]]:
    described = occasion.beside.get(name) if isinstance(occasion.beside, dict) else None
    described = described if isinstance(described, dict) else {}
    names, params = described.get("param_names") or [], found.get("params") or []
    combinations = [*itertools.product(*params)] if params else [()]
    for at, values in enumerate(combinations):
        keys = [str(names[i]) if i < len(names) else f"param{i + 1}" for i in range(len(values))]
        config = case_config(name, {key: _param(value) for key, value in zip(keys, values, strict=True)})
        result = _at(found.get("result"), at)
        if isinstance(result, float) and math.isnan(result):
            continue  # skipped: it does not apply
        if result is None:
            yield {"config": config, "failed": {"reason": "no result", "message": "asv could not measure it"}}
            continue
        yield {"config": config, **_measured(name, result, at, found, described, occasion)}


def _measured(
    name: str, result: Any, at: int, found: Mapping[str, Any], described: Mapping[str, Any], occasion: Occasion
) -> dict[str, Any]:
    """What it measured: times by their samples, else by a summary; of others the one value that asv takes."""
    kind = _KINDS.get(name.rpartition(".")[2].partition("_")[0], "value")
    if kind != TIME:
        unit = described.get("unit") if kind == "value" else "bytes"
        unit = unit if isinstance(unit, str) and unit != "unit" else None
        direction: Direction | None = "min" if kind != "value" else None
        return {"metrics": {kind: measured(kind, [result], occasion, unit=unit, direction=direction)}}
    samples = _at(found.get("samples"), at)
    if isinstance(samples, list) and samples:
        return {"metrics": timed(samples, occasion)}
    quartiles = {"q25_s": _at(found.get("stats_q_25"), at), "q75_s": _at(found.get("stats_q_75"), at)}
    known = {key: value for key, value in quartiles.items() if finite(value) is not None}
    return {"observations": {**summarised({"median": result}), **known}}


def _at(values: Any, at: int) -> Any:
    return values[at] if isinstance(values, list) and at < len(values) else None


def _param(text: Any) -> Scalar:
    """A parameter, which asv writes as Python shows it: `'up'`, `100`."""
    try:
        return as_scalar(ast.literal_eval(text)) if isinstance(text, str) else as_scalar(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return as_scalar(text)
