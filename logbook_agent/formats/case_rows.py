"""What the formats share: the config of a case, its samples, and a summary that has none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from logbook_agent.model.units import Direction, known
from logbook_agent.model.values import Key, Scalar, finite, parse_scalar, row_key

# The key that every case has, and the metric that every format reports.
BENCHMARK, TIME = "benchmark", "time_s"
# What tools call a summary's numbers, by the names that they have here.
SUMMARY = {"mean": "mean_s", "median": "median_s", "stddev": "stddev_s", "min": "min_s", "max": "max_s"}
# More of one case would make a record slow to read: then every second, third ... one is kept.
MOST_SAMPLES = 20_000
# How far the clock of a file may be behind.
_SLACK_S, _DAY_S = 60.0, 86_400.0
_CONTAINER = re.compile(r"[0-9a-f]{12}(?:[0-9a-f]{52})?")


class NotThisFormat(Exception):
    """The data is not what the format is; its text says why."""


class Occasion(Struct, frozen=True, kw_only=True):
    """The run in which a file was written: when its command began, in seconds since the epoch; the names of its host,
    its own first, and the commit of its code, as far as they are known; the data of a file beside it, where the format
    has one; and who is told of a problem, with its grade."""

    began: float
    problem: Callable[..., None]
    hosts: Sequence[str] = ()
    commit: str | None = None
    beside: Any = None

    def other_host(self, named: Any, written: Any = None) -> str | None:
        """The host that a file names, where it is another one. Its numbers are withheld, and so are those of a file
        that says that it was `written` before the command began. The ID of a container names no machine."""
        if (moment := _moment(written)) is not None and moment < self.began:
            self.problem(f"it says that it was written on {written}, before this run began", "withheld")
        host, *known = (str(name or "").lower().partition(".")[0] for name in (named, *self.hosts))
        if host in ("", "localhost", *known) or _CONTAINER.fullmatch(host):
            return None
        if known:
            self.problem(f"it names another machine, {named}; this run was on {self.hosts[0]}", "withheld")
        return str(named)


def _moment(written: Any) -> float | None:
    """A time in seconds since the epoch, at its latest: of what says no zone, the place may be anywhere."""
    try:
        moment = datetime.fromisoformat(str(written).replace("/", "-"))
    except ValueError:
        return None
    return moment.timestamp() + _SLACK_S if moment.tzinfo else moment.replace(tzinfo=UTC).timestamp() + _DAY_S


def told_apart(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, with a number in those of one config: what a tool measured twice under one name may be two things."""
    keys = [row_key(row["config"]) for row in rows]
    of_one, seen = Counter(keys), Counter[Key]()
    for row, key in zip(rows, keys, strict=True):
        seen[key] += 1
        row["config"] |= {"result": seen[key]} if of_one[key] > 1 else {}
    return rows


def case_config(name: str, params: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The config of a benchmark with these parameters. One that is called `benchmark` gets another name."""
    return {BENCHMARK: name, **{f"{key}_" if key == BENCHMARK else key: value for key, value in params.items()}}


def measured(
    name: str,
    samples: Sequence[Any],
    occasion: Occasion,
    *,
    unit: str | None = None,
    direction: Direction | None = None,
) -> dict[str, Any]:
    """A metric of a row, with all samples up to the limit; unit and direction are those of the table of units, if it
    has the name."""
    found, step = known(name), -(-len(samples) // MOST_SAMPLES) or 1
    if step > 1:
        occasion.problem(f"over {MOST_SAMPLES:,} samples of a benchmark: one of {step} is kept, evenly over its time")
    return {
        "samples": list(samples[::step]),
        "unit": found.unit or unit,
        "direction": found.direction or direction,
    }


def timed(samples: Sequence[Any], occasion: Occasion, *, name: str = TIME) -> dict[str, dict[str, Any]]:
    """A metric of times in seconds, by its name; what is no number stays as it is."""
    return {name: measured(name, samples, occasion, unit="s", direction="min")}


def summarised(summary: Mapping[str, Any]) -> dict[str, float]:
    """A summary of times as observations."""
    found = {ours: finite(summary.get(theirs)) for theirs, ours in SUMMARY.items()}
    return {name: value for name, value in found.items() if value is not None}


def listed_in(data: Any, key: str, *others: str) -> list[Any]:
    """The list under a key of the data. Raises NotThisFormat where there is none, or another of its keys is missing."""
    missing = [name for name in (key, *others) if not isinstance(data, dict) or name not in data]
    if missing or not isinstance(data[key], list):
        raise NotThisFormat(f"it has no {missing[0]!r}" if missing else f"{key!r} is not a list")
    return [item for item in data[key] if isinstance(item, dict)]


def as_scalar(value: Any) -> Scalar:
    """A parameter as a value of config: text as the value that it spells, what holds others as text."""
    if isinstance(value, str):
        return parse_scalar(value)
    return value if value is None or isinstance(value, int | float | bool) else str(value)
