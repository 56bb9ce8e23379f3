"""The summary of an entry as the index keeps it: small plain data that stays the same as long as its files do."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from logbook_agent.model.entry import Confidence, State
from logbook_agent.model.values import Scalar


class SaidByEntry(TypedDict):
    """The part of a summary that an entry's own file gives. `state` is its own here, `decision` None for what is none,
    and empty for one whose title says it all; `kept` and `commit` are those of a decision on code."""

    id: str
    opened: str
    kind: str
    state: State
    title: str
    continues: str | None
    completes: str | None
    supersedes: str | None
    decides: str | None
    kept: bool | None
    commit: str | None
    decision: str | None
    negative: str | None


class EntryLine(TypedDict):
    """The line of `list` about an entry."""

    id: str
    opened: str
    kind: str
    state: State
    confidence: Confidence | None
    confidence_text: str | None
    title: str
    runs: int
    result: str | None


class Trial(TypedDict):
    """One case that an entry measured, as the index keeps it: the `values` of its `runs` (by number), `side` and `case`
    in the comparison of the entry, `config`, and `apart`, what else tells it from the other cases of the entry; `words`
    are those of its command that no config explains, `accepted`: somebody let its runs count, `problems` are those of
    the runs."""

    key: str
    unit: str | None
    values: list[float]
    runs: list[int]
    side: str | None
    case: str
    label: str | None
    config: dict[str, str]
    apart: dict[str, str]
    words: str
    accepted: bool
    problems: list[str]


class MeasuredMetric(TypedDict, total=False):
    """What an entry measured of a metric: `low`, `high`, `unit`, number of `cases`, and these as `trials`. Where no run
    that measured it finished, and where an import reported the values, there are `states` in place of trials; where the
    values have no common scale, `units` alone."""

    low: float
    high: float
    unit: str | None
    cases: int
    states: list[str]
    trials: list[Trial]
    units: list[str]


class TriedItem(TypedDict):
    """One thing that was tried and did not work out: in which `run` (None: none) and all `runs` that came out so, its
    `outcome` and why, the words of the `command`, and the part of the `config` that tells it from others as `case`.

    The keys from `metric` on are of a comparison, and `since` is a later run of the same command that finished; `also`:
    what the entry of the command was marked with."""

    entry: str
    run: int | str | None
    at: str
    kind: str
    outcome: str
    reason: str
    command: list[str]
    case: dict[str, Scalar]
    config: dict[str, Scalar]
    env: dict[str, str]
    commit: str | None
    runs: NotRequired[list[int | str]]
    metric: NotRequired[str]
    delta: NotRequired[float | None]
    change: NotRequired[str]
    against: NotRequired[str]
    axis: NotRequired[str]
    since: NotRequired[str | None]


class StatedConfidence(TypedDict):
    """The confidence that a person stated, and why."""

    stated: Confidence | None
    stated_reason: str | None


class Summary(SaidByEntry):
    """The summary of an entry: its line of `list`, and what `status`, the view and the issue need beyond it.

    `comparison` holds the answer to its comparison, as plain data, `keys` those under which its commands are found, and
    `finished` number and start of the last run of each command that finished."""

    confidence: Confidence | None
    confidence_text: str | None
    runs: int
    result: str | None
    interpretation: str | None
    next: str | None
    next_lead: str | None
    next_at: str | None
    settled: bool
    stated: StatedConfidence
    name: str
    comparison: dict[str, Any] | None
    tried: list[TriedItem]
    finished: dict[str, tuple[int | str, str]]
    keys: list[str]
    rows: int
    failed_rows: int
    measured: dict[str, MeasuredMetric]
    digest: str


class FoundEntry(Summary):
    """The summary of an entry in which words were found: where, and how many places `more` there are."""

    found: list[dict[str, str]]
    more: int
