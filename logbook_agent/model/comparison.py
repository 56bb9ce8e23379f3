"""A comparison: the question, the design of its runs, and the part that each run has in it. The answer is computed from
the runs wherever it is shown (`findings.comparison`)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

MINIMUM_EFFECT = 0.01
BUDGET_PAIRS = 20
# After so many pairs a comparison is judged.
LOOKS = (8, 10, 12, 14, 16, 18, 20, 24, 30, 38, 48, 60, 76, 96, *(round(96 * 1.25**k) for k in range(1, 21)))
FIRST_LOOK = LOOKS[0]
# Runs that lie further apart in time belong to two sittings.
APART_S = 600.0
# The name of an axis whose sides are versions of the code, and of one whose sides are whole configs.
CODE_AXIS, CASE_AXIS = "code", "case"


def code_hash(label: str) -> str:
    """What names a code for good: `3f2a9c01d` of `main@3f2a9c01d`, and `WORK+a1b2c3d`."""
    return label.rpartition("@")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: each of `sides` against `base`, two or more values of `axis`, in `metrics` (empty: those that the
    rows report). An effect below `minimum_effect`, a fraction, does not matter. Raises ValueError for a minimum effect
    outside of 0 to 1, and for a side that is given twice."""

    axis: str
    base: str
    sides: tuple[str, ...]
    metrics: tuple[str, ...] = ()
    minimum_effect: float = MINIMUM_EFFECT

    def __post_init__(self) -> None:
        if not 0 <= self.minimum_effect < 1:
            raise ValueError(f"minimum_effect is {self.minimum_effect}, expected a fraction from 0 up to 1")
        if len(set(self.values)) < len(self.values):
            raise ValueError(f"a side of {self.axis} is given twice: {', '.join(self.values)}")

    @property
    def values(self) -> tuple[str, ...]:
        """All sides, the base first."""
        return (self.base, *self.sides)

    def decides(self, metric: str) -> bool:
        """Whether a metric decides; one that does not is watched."""
        return not self.metrics or metric in self.metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Who drew the order of the runs, and how many pairs may be made. `drawn`: the tool did, by `seed`; which run of a
    pair comes first is a fair coin."""

    order: Literal["drawn"] = "drawn"
    seed: int
    budget_pairs: int = BUDGET_PAIRS


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluator:
    """A file or folder of the base's code, by its path from the top of the repository, that measured all sides of a
    comparison of code. `differed`: a side has another one, or none."""

    path: str
    sha256: str
    differed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A question with its design, stated in the entry before the first run."""

    question: Question
    design: Design
    evaluator: tuple[Evaluator, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The part of a run in its entry's comparison: pair (from 1), side and case. One pair has a run of each side."""

    pair: int
    side: str
    case: str = ""


def drawn(text: str) -> bytes:
    """A sort key that puts things named `SEED NAME` into a random order, the same in every Python."""
    return hashlib.sha256(text.encode()).digest()


def order_of_round(seed: int, number: int, count: int) -> list[int]:
    """In which order `count` values (from 0) are run in a round, by a fair draw of its own for each round (from 1)."""
    return sorted(range(count), key=lambda value: drawn(f"{seed} {number} {value}"))
