"""The JSON of Google Benchmark. The samples of a benchmark are its repetitions; aggregates of them are a summary, and
count for nothing where the repetitions stand beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from logbook_agent.formats.case_rows import (
    SUMMARY,
    NotThisFormat,
    Occasion,
    as_scalar,
    case_config,
    listed_in,
    measured,
    summarised,
    timed,
)
from logbook_agent.model.units import Direction
from logbook_agent.model.values import Scalar, finite, is_number

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_CPU = "cpu_time_s"
_RATES: dict[str, tuple[str, Direction]] = {
    "bytes_per_second": ("bytes/s", "max"),
    "items_per_second": ("items/s", "max"),
}
_WORDS = """
name family_index per_family_instance_index run_name run_type repetitions repetition_index threads iterations real_time
cpu_time time_unit label error_occurred error_message skipped skip_message aggregate_name aggregate_unit
"""
_OWN = frozenset(_WORDS.split())
# What it fits to all sizes of a benchmark: no measurement of one.
_FITTED = ("BigO", "RMS")
_ARGUMENT = re.compile(r"(?:(?P<key>[A-Za-z_][\w.-]*):)?(?P<value>-?[\w.+-]+)")


def rows(data: Any, occasion: Occasion) -> Iterator[dict[str, Any]]:
    """A row for each benchmark with its arguments, with a sample for each of its repetitions."""
    found = listed_in(data, "benchmarks", "context")
    context = data["context"] if isinstance(data["context"], dict) else {}
    version = context.get("library_version")
    software = {"google-benchmark": version.removeprefix("v")} if isinstance(version, str) else {}
    if context.get("library_build_type") == "debug":
        occasion.problem("Google Benchmark itself was built in debug mode, which may affect its times")
        software = {"google-benchmark": f"{software.get('google-benchmark', '')} debug".strip()}
    host = occasion.other_host(context.get("host_name"), context.get("date"))
    of_name: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in (one for one in found if one.get("aggregate_name") not in _FITTED):
        place = one.get("family_index"), one.get("per_family_instance_index")
        of_name.setdefault((str(one.get("run_name") or one.get("name")), *place), []).append(one)
    for (name, *_), reports in of_name.items():
        yield {"config": _config(name), "software": software, "host": host, **_row(name, reports, occasion)}


def _row(name: str, reports: Sequence[dict[str, Any]], occasion: Occasion) -> dict[str, Any]:
    runs = [one for one in reports if one.get("run_type", "iteration") == "iteration"]
    failed = [one for one in reports if one.get("error_occurred") or one.get("skipped")]
    made = [one for one in runs if one not in failed]
    if failed and not made:
        message = failed[0].get("error_message") or failed[0].get("skip_message")
        return {"failed": {"reason": "error" if failed[0].get("error_occurred") else "skipped", "message": message}}
    if failed:
        occasion.problem(f"{name}: {len(failed)} of {len(runs)} runs ended with an error")
    labels = {"label": reports[0]["label"]} if reports[0].get("label") else {}
    if not made:
        summary = {one.get("aggregate_name"): one for one in reports}
        names = {name: _time(summary[name], "real_time") for name in SUMMARY if name in summary}
        return {"observations": summarised(names), "labels": labels}
    metrics = timed([_time(one, "real_time") for one in made], occasion)
    metrics |= timed([_time(one, "cpu_time") for one in made], occasion, name=_CPU)
    for name, (of, direction) in _RATES.items():
        if rates := [one[name] for one in made if finite(one.get(name)) is not None]:
            metrics[name] = measured(name, rates, occasion, unit=of, direction=direction)
    counters = {k: v for k, v in made[0].items() if k not in _OWN and k not in _RATES and is_number(v)}
    return {"metrics": metrics, "observations": counters, "labels": labels}


def _time(report: dict[str, Any], key: str) -> Any:
    """A time of a report in seconds. Benchmarks of one name may be registered in several units."""
    unit = report.get("time_unit", "ns")
    if unit not in _UNITS:
        raise NotThisFormat(f"{unit!r} is not a unit of time that it knows")
    value = report.get(key)
    return value if (number := finite(value)) is None else number * _UNITS[unit]


def _config(name: str) -> dict[str, Scalar]:
    """`BM_copy/64/threads:4` as `BM_copy` with arg1=64 and threads=4. A word such as `real_time` stays in the name."""
    first, *pieces = name.split("/")
    own, params, count = [first], {}, 0
    for piece in pieces:
        found = _ARGUMENT.fullmatch(piece)
        if found is not None and found["key"]:
            params[found["key"]] = as_scalar(found["value"])
        elif found is not None and is_number(as_scalar(piece)):
            count += 1
            params[f"arg{count}"] = as_scalar(piece)
        else:
            own.append(piece)
    return case_config("/".join(own), params)
