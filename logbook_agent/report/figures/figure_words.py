"""The words of a figure: keys, names of series, numbers as they are said of a point."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.units import format_value, known
from logbook_agent.report.figures.figure import PlotAxis
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.phrases import assignments, counted

# What XML cannot hold, and what shows nothing or turns the order of other text around.
_UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_BLANKS = re.compile(r"\s+")
_SUFFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"))


def plain(text: str) -> str:
    """Text on one line in which every character is seen and stands where it is read."""
    return _BLANKS.sub(" ", _UNSHOWN.sub("\ufffd", text.replace("\n", " ").replace("\t", " "))).strip()


def cut(text: str, characters: int) -> str:
    """As much of a text as there is room for; the end says more than the middle, which is left out."""
    text = plain(text)
    if len(text) <= characters:
        return text
    end = characters // 3
    return f"{text[: characters - end - 1]}…{text[-end:]}"


def ticks(values: Sequence[float]) -> list[str]:
    """The numbers on an axis, with as many digits as tell them apart: `12.5`, `40,000`, `1.2G`."""
    return [_tick(v, min((abs(v - other) for other in values if other != v), default=0.0)) for v in values]


def _tick(value: float, step: float) -> str:
    size = abs(value)
    if not size:
        return "0"
    needed = math.floor(math.log10(size)) - math.floor(math.log10(step)) + 1 if step else 0
    for least, suffix in _SUFFIXES if needed < 6 else ():
        if size >= least:
            return f"{value / least:,.{max(4, needed)}g}{suffix}" if size < 1e18 else f"{value:.{max(3, needed)}g}"
    return f"{value:,.{max(6, needed)}g}" if size >= 1e-4 else f"{value:.{max(3, needed)}g}"


def exact(value: float | str) -> str:
    """A value as an attribute holds it: reading it gives the same number."""
    return plain(value) if isinstance(value, str) else repr(float(value))


# A name that is longer says no more to a reader of a legend.
NAME_CHARS = 60
# From this ratio of the largest to the smallest value on, an axis is logarithmic.
_DECADE = 10.0


def name_of(values: Mapping[str, object]) -> str:
    """`topk=2 quant_mode=int8`, cut where it would get too long."""
    return cut_line(assignments(values), NAME_CHARS)


def metric_axis(name: str, declared: Iterable[Metric], unit: str | None, values: Sequence[float]) -> PlotAxis:
    """The axis of a metric, in the unit in which it was measured, else in the declared or usual one."""
    return PlotAxis(
        name=cut_line(name, NAME_CHARS),
        unit=unit or metric_named(name, declared).unit or "",
        log=is_wide(values),
    )


def number_axis(name: str, values: Sequence[float]) -> PlotAxis:
    return PlotAxis(name=cut_line(name, NAME_CHARS), log=is_wide(values))


def is_wide(values: Sequence[float]) -> bool:
    """Whether values are better told apart on a logarithmic axis, which needs all of them to be above zero."""
    return bool(values) and min(values) > 0 and max(values) / min(values) >= _DECADE


def shown(value: float, metric: str = "", unit: str = "", low: float | None = None, high: float | None = None) -> str:
    """`183.2 TF/s [181.0, 185.1]`."""
    decimals = known(metric).decimals
    spread = None if low is None or high is None else high - low
    text = format_value(value, decimals=decimals, spread=spread) + (f" {unit}" if unit else "")
    if low is None or high is None:
        return text
    ends = ", ".join(format_value(end, decimals=decimals, spread=spread) for end in (low, high))
    return f"{text} [{ends}]"


def span_of(counts: Iterable[int], noun: str) -> str:
    """`3 runs`, or `1 to 3 runs` where they differ."""
    found = sorted({*counts})
    if not found:
        return counted(0, noun)
    return counted(found[0], noun) if len(found) == 1 else f"{found[0]:,} to {counted(found[-1], noun)}"
