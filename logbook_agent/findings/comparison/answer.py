"""The answer to a comparison as values: what every page shows, and what no page computes."""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from logbook_agent.model.codec import decode, encode
from logbook_agent.model.comparison import LOOKS, Question
from logbook_agent.model.entry import Confidence
from logbook_agent.model.units import Direction
from logbook_agent.model.values import Scalar

LEVEL = 0.95
SeriesOutcome = Literal["more", "less", "same", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSeries:
    """The pairs of one finding (metric, side, case) in the order in which they ran. `y` is log later - log earlier, or
    None without a ratio; `signs` is +1 where the side ran second, -1 where the base did; `entries` says which entry a
    pair is of. Series of equal `draws` share their coins. `steps` are the logs of the last printed digit at each look,
    as the values up to there show it; the last is that of later looks, too. A difference no larger than the step is
    none that the values show, and the step narrows the bounds of "the same"."""

    y: tuple[float | None, ...]
    signs: tuple[int, ...]
    entries: tuple[int, ...]
    draws: int = 0
    steps: tuple[float, ...] = ()

    def step(self, pairs: int) -> float:
        """The step at the last look that this many pairs have reached, else at the first; 0 without steps."""
        at = max(bisect_right(LOOKS, pairs) - 1, 0)
        return self.steps[min(at, len(self.steps) - 1)] if self.steps else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the rule finds of a series. `estimate`, `low` and `high` are logs of side/base; the interval holds at 95%
    over all looks. All are of the look that settled the series, else of the last look; `pairs` counts the pairs with
    a ratio up to there."""

    outcome: SeriesOutcome = "open"
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0


class Outcome(StrEnum):
    """What a comparison found of one metric of a side and a case."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference"
    OPEN = "open"


SETTLED = (Outcome.BETTER, Outcome.WORSE, Outcome.NO_DIFFERENCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The runs of one side in the pairs that count: their median, the lowest and highest, and all values in order."""

    median: float | None = None
    low: float | None = None
    high: float | None = None
    values: tuple[float, ...] = ()

    @property
    def runs(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The answer for one metric of a side and a case: `case` is what tells it from the others, `config` all that its
    rows report but the axis, `device` the kinds of its devices. `change`, `low` and `high` are fractions (other / base
    - 1), the interval that decided at `level` over all looks. `pairs` count those that have a ratio, of which the first
    `judged` were judged; `left_out` says why others do not count. `notes` stand beside the answer; `to_settle` is what
    would settle it, empty when it is settled. `is_replicated`: a second sitting settled it the same way; None: there
    was none that settled it."""

    metric: str
    unit: str | None
    direction: Direction | None
    is_watched: bool
    side: str
    case: Mapping[str, str]
    base: Side
    other: Side
    outcome: Outcome
    change: float | None
    low: float | None
    high: float | None
    pairs: int
    judged: int
    level: float = LEVEL
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    to_settle: str = ""
    is_replicated: bool | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    device: str = ""
    # The log ratio (later run over earlier) and the order of each pair, for the power of further pairs.
    series: PairSeries = field(repr=False, compare=False)

    @property
    def is_settled(self) -> bool:
        return self.outcome is not Outcome.OPEN

    @property
    def lacks_pairs(self) -> bool:
        """Whether more pairs may settle it."""
        return "more pair" in self.to_settle

    @property
    def setting(self) -> tuple[object, ...]:
        """The case as a key, which findings of one case in several comparisons share."""
        return self.device, *sorted(self.config.items())


class Apart(NamedTuple):
    """What is constant on each side, and differs between them; `case` names the case where there are several.
    `is_worse`: a declared metric that got worse; `is_label`: a checksum or another digest of the output, which leaves
    the answer open."""

    side: str
    case: str
    name: str
    base: str
    other: str
    is_worse: bool
    is_label: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one question. `entry` is the latest of the `entries` that share it; `earlier` asked the same of
    other code, `void` were taken back, and `left_out` says why pairs do not count in any metric. `names` are those that
    its entries gave to the sides and the base: one commit has several. `first` comes before all else, `notes` are
    problems of its runs, `apart` is what is constant on each side and differs, `failed` counts the pairs of which a
    side failed, by its name and the reason. `code` labels the code of each side, `times` are when each pair began and
    ended. Findings of goals come first, in the order of the metrics."""

    entry: str
    entries: tuple[str, ...]
    question: Question
    findings: tuple[Finding, ...]
    pairs: int
    sittings: int
    confidence: Confidence
    reasons: tuple[str, ...]
    code: Mapping[str, str]
    times: tuple[tuple[str, str], ...] = ()
    earlier: tuple[str, ...] = ()
    void: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    apart: tuple[Apart, ...] = ()
    failed: Mapping[str, Counter[str]] = field(default_factory=dict)

    @property
    def last(self) -> str:
        """When the last pair began; empty without one."""
        return self.times[-1][0] if self.times else ""

    def continued_in(self, entry_id: str) -> str | None:
        """The next entry that continues the question of `entry_id`; None for the last one."""
        at = self.entries.index(entry_id) + 1 if entry_id in self.entries else len(self.entries)
        return self.entries[at] if at < len(self.entries) else None

    @property
    def goals(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if not f.is_watched)

    @property
    def without_gain(self) -> tuple[Finding, ...]:
        """The goals that are worse, and those without a difference where no other goal of the same side and case is
        better."""
        gained = [(f.side, f.case) for f in self.goals if f.outcome is Outcome.BETTER]
        return tuple(
            f
            for f in self.goals
            if f.outcome is Outcome.WORSE or (f.outcome is Outcome.NO_DIFFERENCE and (f.side, f.case) not in gained)
        )

    @property
    def got_worse(self) -> bool:
        """Whether a metric that is watched, or that has no ratio, got worse."""
        return any(f.is_watched and f.outcome is Outcome.WORSE for f in self.findings) or any(
            one.is_worse for one in self.apart
        )

    @property
    def is_settled(self) -> bool:
        """Whether every goal is settled."""
        return bool(self.goals) and all(f.is_settled for f in self.goals)


class RunPair(NamedTuple):
    """The two runs of a pair: `sign` is +1 where the side ran second; `base` and `other` are their values, None without
    one; `runs` is what only these runs have, so that a copy of them in another record is known; None: not known."""

    started: str
    ended: str
    sign: int
    base: float | None
    other: float | None
    runs: str | None


@dataclass(slots=True, kw_only=True)
class EntrySeries:
    """The pairs of one side, case and metric of an entry, in the order of their first runs.

    Series of other entries with the same `key` belong to the same question; `asks` is the key without code, machine and
    packages, which earlier tries of the question share; of these `conditions` has a digest by name. `case` tells the
    case from others of the entry, `name` is that of the plan, `config` is what the rows report but the axis, `device`
    its kinds. `unit` and `direction` are as the rows say. `constants` are what the base and the side report beside
    their metrics in each of the pairs, by name, empty where it varies; `reports` counts these pairs. `failed` has a
    side and the reason for each pair that lacks it because it failed. `differs` names what else differs between the
    sides, `cautions` what the benchmark says that its figures cannot tell, and `left_out` how many pairs do not count,
    by reason. `code` labels the code of each side in its latest pair.
    """

    key: str
    asks: str
    side: str
    case: str
    name: str
    config: dict[str, Scalar]
    device: str = ""
    metric: str
    unit: str | None = None
    direction: Direction | None = None
    cautions: list[str] = field(default_factory=list)
    pairs: list[RunPair] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    failed: list[list[str]] = field(default_factory=list)
    constants: dict[str, list[str]] = field(default_factory=dict)
    reports: int = 0
    conditions: dict[str, str] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)

    def leave_out(self, why: str, failed: str = "") -> None:
        """Count a pair that does not count, as one of its sides `failed` or for another reason."""
        text = f"{failed} failed" if failed else why
        self.left_out[text] = self.left_out.get(text, 0) + 1
        self.failed += [[failed, why]] if failed else []


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPairs:
    """What an entry measured of its comparison. `void`: the entry was taken back, and its pairs count for nothing.
    `known` names what a gate mentions, or what may differ between the sides."""

    entry: str
    question: Question
    seed: int
    void: bool
    known: list[str] = field(default_factory=list)
    series: list[EntrySeries]

    def data(self) -> dict[str, object]:
        """The same as plain data, which the index keeps."""
        return {**dataclasses.asdict(self), "question": encode(self.question)}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> EntryPairs:
        """The inverse of `data`."""
        series = [EntrySeries(**{**s, "pairs": [RunPair(*p) for p in s["pairs"]]}) for s in data["series"]]
        return cls(**{**data, "question": decode(Question, data["question"]), "series": series})
