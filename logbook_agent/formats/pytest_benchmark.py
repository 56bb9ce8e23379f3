"""The JSON report of pytest-benchmark: `--benchmark-json`, which has all samples, or a saved run, which has none unless
`--benchmark-save-data` was given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from logbook_agent.formats.case_rows import Occasion, as_scalar, case_config, listed_in, summarised, timed
from logbook_agent.model.values import Scalar, is_number

# How it writes a parameter that JSON cannot hold: with an address, which differs between runs.
_UNSERIALIZABLE = "UNSERIALIZABLE["
# The options that change what is measured, with their usual values, which are no config.
_CHANGES = {"disable_gc": False, "timer": "perf_counter", "warmup": False}


def rows(data: Any, occasion: Occasion) -> Iterator[dict[str, Any]]:
    """A row for each benchmark; `extra_info` becomes observations and labels."""
    found = listed_in(data, "benchmarks", "machine_info")
    software = {"pytest-benchmark": data["version"]} if isinstance(data.get("version"), str) else {}
    host = occasion.other_host((data["machine_info"] or {}).get("node"), data.get("datetime"))
    for one in found:
        stats, extra = one.get("stats") or {}, one.get("extra_info") or {}
        samples = stats.get("data") or []
        given = one.get("options") or {}
        options = {key: given[key] for key, usual in _CHANGES.items() if given.get(key) not in (None, usual)}
        row: dict[str, Any] = {"config": _config(one) | options, "software": software, "host": host}
        if one.get("has_error") or not stats:
            yield {**row, "failed": {"reason": "error", "message": one.get("error") or "it ended without a result"}}
            continue
        row["observations"] = {key: value for key, value in extra.items() if is_number(value)}
        row["labels"] = {key: value for key, value in extra.items() if not is_number(value)}
        if samples:
            row["metrics"] = timed(samples, occasion)
        else:
            row["observations"] |= summarised(stats)
        yield row


def _config(one: dict[str, Any]) -> dict[str, Scalar]:
    """The test without its parameters, and these; their ID, where JSON cannot hold the value of one."""
    name, params, given = str(one.get("fullname") or one.get("name")), one.get("params") or {}, one.get("param")
    if given is not None:
        name = name.removesuffix(f"[{given}]")
    if any(isinstance(value, str) and value.startswith(_UNSERIALIZABLE) for value in params.values()):
        return case_config(name, {"param": as_scalar(given)})
    return case_config(name, {key: as_scalar(value) for key, value in params.items()})
