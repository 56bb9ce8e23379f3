"""How far the model's estimates of the published rows are off. Pure."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

from seed_rows import SeedRow, parts_of, terms_of_row

from bench_core.accounting.prediction import DECIDES
from bench_core.predict.calibration import Calibration
from bench_core.predict.model import bound
from bench_core.predict.slice import SliceRates


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A row with its estimate, collectives' part of that, and lower bound, in seconds."""

    row: SeedRow
    time_s: float
    estimate_s: float
    send_s: float
    bound_s: float

    @property
    def error(self) -> float:
        """Of the estimate, relative to the measurement."""
        return self.estimate_s / self.time_s - 1


def compare_rows(
    rows: Iterable[SeedRow], document: Mapping[str, Any], fitted: Calibration, rates: SliceRates
) -> list[Compared]:
    found = []
    for row in rows:
        terms, parts = terms_of_row(document, row), parts_of(document, row, rates)
        found.append(
            Compared(
                row=row,
                time_s=row.time_s,
                estimate_s=fitted.estimate(parts),
                send_s=parts.send,
                bound_s=bound(terms, rates),
            )
        )
    return found


GROUPS: Mapping[str, Callable[[frozenset[str]], bool]] = {
    "expert parallelism over four chips": lambda marks: "ep" in marks and "null" not in marks,
    "the same with null routing": lambda marks: "null" in marks,
    "one chip": lambda marks: "one" in marks,
    "all of these": lambda marks: bool({"ep", "one"} & marks),
}
"""Kinds of rows that the targets are about, by their marks."""


def unseen(rows: Sequence[SeedRow]) -> list[SeedRow]:
    """Rows that test the model: of no case that the factors were fitted on, not of the study whose code nobody knows,
    and without ragged_dot, which today's libtpu compiles otherwise."""
    fitted = {row.case for row in rows if "fit" in row.marks}
    return [
        row
        for row in rows
        if row.case not in fitted and "dp_study" not in row.marks and row.case.backend != "ragged_dot"
    ]


def likely(compared: Sequence[Compared]) -> tuple[float, float]:
    """What nine in ten measurements are of their estimates, at the least and at the most."""
    ratios = quantiles([one.time_s / one.estimate_s for one in compared], n=20, method="inclusive")
    return ratios[0], ratios[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Of a group of rows. `claimed` are its pairs with a predicted ratio from which a direction is claimed, `right`
    those of them with that direction."""

    rows: int
    cases: int
    rank_correlation: float
    median: float
    largest: float
    bias: float
    claimed: int
    right: int


def errors(compared: Sequence[Compared]) -> Errors:
    found = [one.error for one in compared]
    claimed = [(a, b) for a, b in itertools.combinations(compared, 2) if _ratio(a, b) >= DECIDES]
    return Errors(
        rows=len(compared),
        cases=len(once(compared)),
        rank_correlation=spearman([one.estimate_s for one in compared], [one.time_s for one in compared]),
        median=median(map(abs, found)),
        largest=max(map(abs, found)),
        bias=median(found),
        claimed=len(claimed),
        right=sum((a.estimate_s > b.estimate_s) == (a.time_s > b.time_s) for a, b in claimed),
    )


def once(compared: Sequence[Compared]) -> list[Compared]:
    """Each case by its first row, however its options are written."""
    return list({one.row.case: one for one in reversed(compared)}.values())[::-1]


def _ratio(a: Compared, b: Compared) -> float:
    return max(a.estimate_s, b.estimate_s) / min(a.estimate_s, b.estimate_s)


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's rank correlation; equal values share their mean rank."""
    a, b = _ranks(one), _ranks(other)
    middle = (len(a) - 1) / 2
    products = sum((x - middle) * (y - middle) for x, y in zip(a, b, strict=True))
    squares = [sum((x - middle) ** 2 for x in ranks) for ranks in (a, b)]
    return float(products / (squares[0] * squares[1]) ** 0.5)


def _ranks(values: Sequence[float]) -> list[float]:
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values)):
        places.setdefault(value, []).append(place)
    return [sum(places[value]) / len(places[value]) for value in values]
