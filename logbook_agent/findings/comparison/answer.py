"""The answer to a comparison as values: what every page shows, and what no page computes. The cache keeps them as plain
data (`model.codec`)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import Struct, field

from logbook_agent.findings.comparison.rule import LEVEL
from logbook_agent.model.comparison import Question
from logbook_agent.model.entry import Confidence
from logbook_agent.model.units import Direction


class Outcome(StrEnum):
    """What a comparison found of one metric of a side and a case."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference"
    OPEN = "open"


SETTLED = (Outcome.BETTER, Outcome.WORSE, Outcome.NO_DIFFERENCE)


class Side(Struct, frozen=True, kw_only=True):
    """The runs of one side that count: their median, the lowest and highest, and how many there are; and the `values`
    of those in the pairs that count, in order."""

    median: float | None = None
    low: float | None = None
    high: float | None = None
    runs: int = 0
    values: tuple[float, ...] = ()


class Lacks(Struct, frozen=True):
    """What an open finding needs: so many more `pairs` (None: no practical number settles it); `values` of both
    sides above zero; the `direction` of its metric; a `decision` whether the label `name` may differ; or, as the `side`
    of that name failed in each pair, one that passes: by the `gate` alone that the label `name` is the same, also a
    decision."""

    what: Literal["pairs", "values", "direction", "decision", "side", "gate"]
    pairs: int | None = None
    name: str = ""


class Finding(Struct, frozen=True, kw_only=True):
    """The answer for one metric of a side and a case, which the plan calls `name`: `case` is what tells it from the
    others, `config` all that its rows report but the axis, `device` the kinds of its devices. `change`, `low` and
    `high` are fractions (other / base - 1), the interval that decided at `level` over all looks. `pairs` count those
    that have a ratio, of which the first `judged` were judged; `left_out` says why others do not count. `sittings` are
    those of the pairs that decided. `notes` stand beside the answer; `lacks` is what would settle it, None when it is
    settled. `is_replicated`: two sittings, each by itself, settled it the same way; False: one settled it otherwise;
    None: no second one did."""

    metric: str
    unit: str | None
    direction: Direction | None
    is_watched: bool
    side: str
    name: str = ""
    case: Mapping[str, str] = field(default_factory=dict)
    base: Side
    other: Side
    outcome: Outcome
    change: float | None
    low: float | None
    high: float | None
    pairs: int
    judged: int
    sittings: int = 0
    level: float = LEVEL
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    lacks: Lacks | None = None
    is_replicated: bool | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    device: str = ""

    @property
    def is_settled(self) -> bool:
        return self.outcome is not Outcome.OPEN

    @property
    def is_found(self) -> bool:
        """Whether it settled something; that a watched metric stayed the same answers no question."""
        return self.is_settled and not (self.is_watched and self.outcome is Outcome.NO_DIFFERENCE)

    @property
    def is_constant(self) -> bool:
        """Whether a watched metric was one number in all pairs, of which more would say no more."""
        return self.is_watched and not self.is_settled and len({*self.base.values, *self.other.values}) == 1

    @property
    def lacks_pairs(self) -> bool:
        """Whether more pairs may settle it."""
        return self.lacks is not None and self.lacks.what == "pairs"

    @property
    def failed_side(self) -> str:
        """The side that failed in each pair; empty where none did."""
        if self.lacks is None or self.lacks.what not in ("side", "gate"):
            return ""
        return self.lacks.name if self.lacks.what == "side" else self.side

    @property
    def is_practical(self) -> bool:
        """Whether a number of pairs that somebody would make probably settles it."""
        return self.lacks is not None and self.lacks.pairs is not None

    @property
    def most(self) -> float | None:
        """The largest change, up or down, that the interval holds, as a fraction; None without an interval."""
        return None if self.low is None or self.high is None else max(abs(self.low), abs(self.high))

    @property
    def setting(self) -> tuple[object, ...]:
        """The case as a key, which findings of one case in several comparisons share."""
        return self.device, *sorted(self.config.items())


ApartKind: TypeAlias = Literal["worse", "label", "free", ""]


class Apart(Struct, frozen=True):
    """What is constant on each side, and differs between them; `case` names the case where there are several.
    `kind`: a declared metric that got `worse`; the `label` of an output, such as its checksum, which leaves the answer
    open; what is `free` to differ, as somebody said; or none of these."""

    side: str
    case: str
    name: str
    base: str
    other: str
    kind: ApartKind


class Answer(Struct, frozen=True, kw_only=True):
    """The answer to the question of an `entry`. `earlier` entries asked the same, those in `of_other_code` of another
    one, and `twins`, earlier or later, have an answer of the same code; `is_void`: this one was taken back,
    and its pairs count for nothing. `left_out` says why pairs do not count in any metric. `first` comes before all
    else, `notes` are problems of its runs, `evaluator` names the files of the base that measured both sides and that
    another side has otherwise, `stopped` has the side and the reason of a failure after which no pair was made,
    `apart` is what is constant on each side and differs, `failed` counts the pairs of which a side failed, by its name
    and the reason. `asks` is a digest of the question with its command, of any code, and `codes` tells that of each
    side from others. `is_typed`: `ab --id` makes further pairs; `fixed`: so many are judged once;
    `is_namesake`: it stands beside another one of the same branches; `is_discarded`: nobody wants to settle it.
    `code` labels the code of each side, `last` and `ended` are when the last pair began and ended. Findings of goals
    come first, in the order of the metrics."""

    entry: str
    question: Question
    findings: tuple[Finding, ...]
    pairs: int
    sittings: int
    confidence: Confidence
    reasons: tuple[str, ...]
    code: Mapping[str, str]
    last: str = ""
    ended: str = ""
    is_typed: bool = False
    fixed: int = 0
    earlier: tuple[str, ...] = ()
    of_other_code: tuple[str, ...] = ()
    is_void: bool = False
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    evaluator: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    apart: tuple[Apart, ...] = ()
    failed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    asks: str = ""
    codes: tuple[str, ...] = ()
    twins: tuple[str, ...] = ()
    is_namesake: bool = False
    is_discarded: bool = False

    @property
    def goals(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if not f.is_watched)

    @property
    def without_gain(self) -> tuple[Finding, ...]:
        """The goals that are worse, and those without a difference where no other goal of the same side and case is
        better, or may be."""
        gained = [(f.side, f.case) for f in self.goals if f.outcome in (Outcome.BETTER, Outcome.OPEN)]
        return tuple(
            f
            for f in self.goals
            if f.outcome is Outcome.WORSE or (f.outcome is Outcome.NO_DIFFERENCE and (f.side, f.case) not in gained)
        )

    @property
    def got_worse(self) -> bool:
        """Whether a metric that is watched, or that has no ratio, got worse."""
        return any(f.is_watched and f.outcome is Outcome.WORSE for f in self.findings) or any(
            one.kind == "worse" for one in self.apart
        )

    @property
    def is_settled(self) -> bool:
        """Whether every goal is settled."""
        return bool(self.goals) and all(f.is_settled for f in self.goals)

    @property
    def is_hopeless(self) -> bool:
        """Whether no practical number of pairs would settle what is open."""
        return any(f.lacks_pairs for f in self.goals) and not any(f.is_practical for f in self.goals)

    @property
    def is_lost(self) -> bool:
        """Whether a side failed in each pair of every goal."""
        return bool(self.goals) and all(f.failed_side for f in self.goals)

    @property
    def failure(self) -> tuple[str, str] | None:
        """The side that failed, or `setup`, and why, where that stopped the pairs, or leaves none that counts."""
        if self.stopped and not self.is_settled:
            return self.stopped[0], self.stopped[1]
        if not self.is_lost or not self.failed:
            return None
        side = next(side for side in (self.question.base, *self.question.sides) if side in self.failed)
        return side, self.how_failed(side)

    def how_failed(self, side: str) -> str:
        """The most frequent reason of which a side failed."""
        return max(self.failed[side], key=self.failed[side].__getitem__)
