"""How far two columns of one table lie apart: what was realised against what was asked for, say."""

from __future__ import annotations

import math
from dataclasses import dataclass

from logbook_agent.findings.tables.frame import Frame, Item, is_number, unknown
from logbook_agent.findings.tables.grid import value_of
from logbook_agent.model.errors import UsageError
from logbook_agent.model.values import parse_scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberGap:
    """|first - second| over the `rows` that have both; `left_out` have not. In the unit of the numbers."""

    first: str
    second: str
    largest: float
    mean: float
    rows: int
    left_out: int = 0

    @property
    def text(self) -> str:
        """`|null_realized - null_route_frac|: at most 0.003, 0.000568 on average, over 10 rows`."""
        over = f"over {self.rows} row{'s' * (self.rows != 1)}"
        more = f" ({self.left_out} without both)" if self.left_out else ""
        name = f"|{self.first} - {self.second}|"
        return f"{name}: at most {self.largest:.3g}, {self.mean:.3g} on average, {over}{more}"


def difference(frame: Frame, names: tuple[str, str]) -> NumberGap:
    """Of two numbers of each row: metrics (their medians), observations or config. Raises UsageError for a name that no
    row has, and where no row has numbers of both."""
    found = []
    for item in frame.items:
        a, b = (_number(item, name) for name in names)
        if a is not None and b is not None:
            found.append(abs(a - b))
    if not found:
        for name in names:
            if all(_number(item, name) is None for item in frame.items):
                raise _no_number(frame, name)
        raise UsageError(
            f"no row has both {names[0]} and {names[1]}",
            cause="a difference is one of two numbers of a row",
            hint="choose rows that have both: --where K=V, or name their entries",
        )
    return NumberGap(
        first=names[0],
        second=names[1],
        largest=max(found),
        mean=math.fsum(found) / len(found),
        rows=len(found),
        left_out=len(frame.items) - len(found),
    )


def _number(item: Item, name: str) -> float | None:
    value = value_of(item, name)
    if value is None and is_number(said := item.place.get(name)):
        parsed = parse_scalar(said) if isinstance(said, str) else said
        value = float(parsed) if isinstance(parsed, int | float) else None
    return value if value is not None and math.isfinite(value) else None


def _no_number(frame: Frame, name: str) -> UsageError:
    there = [n for i in frame.items for n in (*i.row.metrics, *i.row.observations, *i.place)]
    numbers = [n for n in dict.fromkeys(there) if any(_number(i, n) is not None for i in frame.items)]
    if name in there:
        return UsageError(
            f"{name} is no number in these rows",
            cause="a difference is one of two numbers",
            hint=f"numbers are: {', '.join(numbers[:10])}",
        )
    return unknown("number", name, numbers, option="--difference")
