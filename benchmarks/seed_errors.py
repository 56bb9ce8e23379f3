"""How far predictions of the published rows are off. Pure."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from seed_rows import SeedRow, config_of, predicted, read_rows

from bench_core.accounting import count_flops
from bench_core.accounting.prediction import Prediction, Word, outcome
from bench_core.predict.model import Accuracy, Calibration


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A row with what is predicted of it. `estimate_s` is the prediction's, or that of another sum."""

    row: SeedRow
    said: Prediction
    estimate_s: float

    @property
    def time_s(self) -> float:
        return self.row.time_s

    @property
    def error(self) -> float:
        """Of the estimate, relative to the measurement."""
        return self.estimate_s / self.time_s - 1

    @property
    def inside(self) -> bool:
        """Whether the measurement lies in the range that is printed."""
        return (
            self.said.low is not None and self.said.high is not None and self.said.low <= self.time_s <= self.said.high
        )


def scored_rows(*, unseen: bool) -> list[SeedRow]:
    """Rows that test the model: not of the study whose code nobody knows, and without ragged_dot, which today's libtpu
    compiles otherwise. `unseen`: of no case that the factors were fitted on."""
    fitted = {row.case for row in read_rows() if unseen and "fit" in row.marks}
    return [
        row
        for row in read_rows()
        if row.case not in fitted and "dp_study" not in row.marks and row.case.backend != "ragged_dot"
    ]


def compared(rows: Iterable[SeedRow], form: str, fitted: Calibration | None = None) -> list[Compared]:
    found = []
    for row in rows:
        said = predicted(row, form, fitted)
        assert said.estimate is not None, (row.source, said.refused)
        found.append(Compared(row=row, said=said, estimate_s=said.estimate))
    return found


def without_move(some: Sequence[Compared]) -> list[Compared]:
    """The same without the term `move_arguments`."""
    return [
        Compared(row=one.row, said=one.said, estimate_s=one.estimate_s - one.said.terms.get("move_arguments", 0.0))
        for one in some
    ]


GROUPS: Mapping[str, Callable[[frozenset[str]], bool]] = {
    "expert parallelism over four chips": lambda marks: "ep" in marks and "null" not in marks,
    "the same with null routing": lambda marks: "null" in marks,
    "one chip": lambda marks: "one" in marks,
    "all of these": lambda marks: bool({"ep", "one"} & marks),
}
"""Kinds of rows that the targets are about, by their marks."""


def likely(some: Sequence[Compared]) -> tuple[float, float]:
    """What nine in ten measurements are of their estimates, at the least and at the most."""
    ratios = quantiles([one.time_s / one.estimate_s for one in some], n=20, method="inclusive")
    return ratios[0], ratios[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Of a group of rows. `claimed` are its pairs of as many devices of which a direction is claimed, `right` those of
    them with that direction; `one_claimed` and `one_right` are those that differ in one option."""

    rows: int
    rank_correlation: float
    median: float
    largest: float
    bias: float
    inside: int
    claimed: int
    right: int
    one_claimed: int
    one_right: int

    @property
    def accuracy(self) -> Accuracy:
        return Accuracy(
            rows=self.rows,
            rank_correlation=round(self.rank_correlation, 3),
            median_error=round(self.median, 4),
            inside=self.inside,
        )


def errors(some: Sequence[Compared]) -> Errors:
    found = [one.error for one in some]
    pairs = [(a, b) for a, b in itertools.combinations(some, 2) if a.said.devices == b.said.devices]
    claims = [right for a, b in pairs for right in _claim(a, b)]
    of_one = [right for a, b in pairs if _differ_in_one(a.row, b.row) for right in _claim(a, b)]
    return Errors(
        rows=len(some),
        rank_correlation=spearman([one.estimate_s for one in some], [one.time_s for one in some]),
        median=median(map(abs, found)),
        largest=max(map(abs, found)),
        bias=median(found),
        inside=sum(one.inside for one in some),
        claimed=len(claims),
        right=sum(claims),
        one_claimed=len(of_one),
        one_right=sum(of_one),
    )


def _claim(a: Compared, b: Compared) -> Iterator[bool]:
    """Whether the direction that is claimed of a pair is right; nothing where none is claimed."""
    word = outcome(a.said, b.said).word
    if word in (Word.WINS, Word.LOSES):
        yield (word is Word.WINS) == (b.time_s < a.time_s)


def _differ_in_one(a: SeedRow, b: SeedRow) -> bool:
    one, other = config_of(a.options), config_of(b.options)
    return sum(one.get(key) != other.get(key) for key in one.keys() | other.keys()) == 1


def against_one_device(some: Sequence[Compared]) -> list[tuple[Compared, Compared]]:
    """Pairs of one case on one device and with expert parallelism, one device first."""
    one = [c for c in some if c.said.devices == 1]
    spread = [c for c in some if c.said.devices > 1]
    return [(a, b) for a in one for b in spread if _same_work(a.row, b.row)]


def _same_work(a: SeedRow, b: SeedRow) -> bool:
    def words(row: SeedRow) -> frozenset[str]:
        case = row.case
        return frozenset(
            map(str, (case.shape, case.routing, case.bench_pass, case.remat_mode, case.queue_mode, case.shared_fused))
        )

    return words(a) == words(b)


def flops_alone(some: Sequence[Compared]) -> float:
    """The rank correlation of the model's FLOPs of a device with the measured times."""
    work = [count_flops(c.row.case.shape, c.row.case.bench_pass).total / c.said.devices for c in some]
    return spearman(work, [one.time_s for one in some])


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
