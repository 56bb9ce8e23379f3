"""Unit, direction and format of the metrics the field reports; one row each, no formula.

A logbook's own declaration (`--metric NAME:max:UNIT`) always wins over this table.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal

from msgspec import Struct

Direction = Literal["max", "min"]
DIRECTIONS: tuple[Direction, ...] = ("max", "min")


class Quantity(Struct, frozen=True, kw_only=True):
    """How one metric is read: its unit, which way is better, and how many digits a table shows."""

    unit: str | None = None
    direction: Direction | None = None
    decimals: int | None = None


KNOWN: dict[str, Quantity] = {
    "tflops": Quantity(unit="TF/s", direction="max", decimals=3),
    "tflops_per_device": Quantity(unit="TF/s", direction="max", decimals=3),
    "tokens_per_s": Quantity(unit="tokens/s", direction="max", decimals=0),
    "tokens_per_s_per_device": Quantity(unit="tokens/s", direction="max", decimals=0),
    "time_s": Quantity(unit="s", direction="min", decimals=6),
    "latency_s": Quantity(unit="s", direction="min", decimals=6),
    "compile_s": Quantity(unit="s", direction="min", decimals=3),
    "duration_s": Quantity(unit="s", direction="min", decimals=3),
    "mfu": Quantity(unit=None, direction="max", decimals=4),
    "loss": Quantity(unit=None, direction="min", decimals=4),
    "accuracy": Quantity(unit=None, direction="max", decimals=4),
    "peak_memory_bytes": Quantity(unit="bytes", direction="min", decimals=0),
    "hbm_bytes": Quantity(unit="bytes", direction="min", decimals=0),
    "flops_inflation": Quantity(unit=None, direction="min", decimals=2),
}


TIMES = frozenset({"s", "ms", "us", "ns", "min", "h"})

# Units that may follow a metric's name without a direction between them; any unit with / or % may, too.
_COMMON = "s ms us ns min h bytes B KB MB GB TB KiB MiB GiB TiB W J K C Hz kHz MHz GHz tokens steps TF/s tokens/s"
UNITS = frozenset(_COMMON.split())


def known(name: str) -> Quantity:
    """The table's row for a metric name; an empty Quantity for a name it does not have."""
    return KNOWN.get(name, Quantity())


def is_timed(unit: str | None) -> bool:
    """Whether a clock measured it: a time, or a rate (`tokens/s`)."""
    return unit is not None and (unit in TIMES or unit.rpartition("/")[2] in TIMES)


def is_time(name: str, unit: str | None) -> bool:
    """Whether a metric is a time, by its unit, else by the end of its name: `step_ms`."""
    return unit in TIMES if unit else "_per_" not in name and name.rpartition("_")[2] in {*TIMES, "time"} - {"min", "h"}


def usual_direction(unit: str | None) -> Direction | None:
    """Which way is better in a unit of time (`s`, `ms/step`) or of a rate (`ops/s`); None for another unit."""
    of, _, per = (unit or "").partition("/")
    return "min" if of in TIMES else "max" if per in TIMES else None


def common(units: Collection[str | None], wanted: str | None) -> frozenset[str | None]:
    """The units, of some that values of one metric have, that are one scale; `wanted` is the declared one. A value that
    does not say its unit is in that of the others. Empty: they have several, and which one counts is not stated."""
    found = frozenset(wanted if unit is None else unit for unit in units)
    named = found - {None}
    if len(named) > 1 and wanted not in named:
        return frozenset()
    return frozenset(units) if len(named) < 2 else frozenset({wanted, None})


def format_value(value: float | None, *, decimals: int | None = None, spread: float | None = None) -> str:
    """A number as a table shows it: thousands separators, fixed decimals when known, else 6 digits.

    Fixed decimals that would leave fewer than three digits of a value are not used. `spread` is how far repeats of the
    value lie apart: decimals beyond the second digit of it say nothing, and are left out, but three digits of the value
    stay. Unknown (None) is shown as `?`, never as zero.
    """
    text = _formatted(value, decimals)
    if not value or not spread or not math.isfinite(spread) or "e" in text:
        return text
    most = max(0, 1 - math.floor(math.log10(spread)), 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{most}f}" if len(text.partition(".")[2]) > most else text


# Bytes are read in the largest of these units that the largest value reaches.
_BYTES = (("TiB", 2.0**40), ("GiB", 2.0**30), ("MiB", 2.0**20))


def with_unit(values: Sequence[float], unit: str | None, metric: str) -> tuple[list[str], str | None]:
    """Values of a metric as a sentence shows them, and their unit: many bytes in MiB, GiB or TiB."""
    most = max(map(abs, values), default=0.0)
    larger = next(((name, size) for name, size in _BYTES if unit == "bytes" and most >= size), None)
    if larger is not None:
        shown = [value / larger[1] for value in values]
        return [format_value(v, decimals=2) if abs(v) >= 1 else f"{v:.3g}" for v in shown], larger[0]
    return [format_value(value, decimals=known(metric).decimals) for value in values], unit


# From here on, a float cannot hold every whole number.
_MOST_FIXED = 1e15


def _formatted(value: float | None, decimals: int | None) -> str:
    if value is None:
        return "?"
    magnitude = abs(value)
    if isinstance(value, float) and not magnitude < _MOST_FIXED:
        return f"{value:.3e}"
    if decimals is not None and (value == 0 or magnitude >= 10.0 ** (2 - decimals)):
        return f"{value:,.{decimals}f}"
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}"
    if magnitude >= 1000:
        return f"{value:,.1f}"
    if magnitude >= 1e-3:
        return f"{value:.6g}"
    return f"{value:.3e}"


def format_delta(first: float | None, last: float | None) -> str:
    """The change from `first` to `last` in percent, signed; `?` where it cannot be said."""
    if first is None or last is None or first == 0:
        return "?"
    return f"{(last / first - 1) * 100:+.2f}%"
