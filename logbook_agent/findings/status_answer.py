"""What `logbook status` answers, as plain data: the keys of each part."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from logbook_agent.model.entry import State
from logbook_agent.model.record import UnfinishedRunData


class BookNames(TypedDict):
    topic: str
    title: str
    prefix: str


class AnswerInStatus(TypedDict):
    """A comparison in one sentence (`answer`). Of one with an open goal, `why`, and the `command` that adds so many
    pairs; without `pairs_to_add`, no practical number of them would settle it."""

    id: str
    title: str
    answer: str
    outcome: str
    settled: bool
    confidence: NotRequired[str]
    why: NotRequired[str]
    command: NotRequired[str]
    pairs_to_add: NotRequired[int]
    superseded_by: NotRequired[list[str]]


class BestLine(TypedDict):
    """The best case of a problem, measured in one `entry` or several `entries`. `problem` are the keys in which it
    differs from other problems, `flags` those from its other `cases`, `config` the rest that not all cases share."""

    metric: str
    value: float
    runs: int
    cases: int
    unit: NotRequired[str]
    label: NotRequired[str]
    entry: NotRequired[str]
    entries: NotRequired[list[str]]
    more_entries: NotRequired[int]
    problem: NotRequired[str]
    flags: NotRequired[str]
    config: NotRequired[str]
    against: NotRequired[str]
    is_baseline: NotRequired[bool]
    problems: NotRequired[str]


def case_words(best: BestLine) -> list[str]:
    """What tells a best case from others: its problem, its flags, its other config."""
    return [text for text in (best.get("problem"), best.get("flags"), best.get("config")) if text]


class JudgedCriterion(TypedDict):
    """A stop criterion: whether it is met, and by what; else what to type."""

    text: str
    met: bool
    doubt: NotRequired[str]
    reason: NotRequired[str]
    evidence: NotRequired[str]
    command: NotRequired[str]


class NextAction(TypedDict):
    """A next action that no entry has taken up; without `id` what else comes next."""

    id: NotRequired[str]
    next: str


class ClosedLine(TypedDict):
    at: str
    conclusion: str


class LastEntry(TypedDict):
    """One of the last entries. Its result is left out where `answers` have it."""

    id: str
    opened: str
    state: State
    title: str
    result: NotRequired[str]
    interpretation: NotRequired[str]


class RunLine(TypedDict):
    """The medians of one case of an entry that compares nothing, over so many runs."""

    id: str
    metrics: dict[str, float]
    runs: int
    label: NotRequired[str]
    config: NotRequired[str]


class StatusAnswer(TypedDict):
    """The answer of `logbook status`. What there is none of is left out, but for lists; `left_out` counts what the
    budget has no room for, by key. `shared_config` is what the cases of `best` and `runs` have in common."""

    logbook: BookNames
    asked: str
    entries: dict[str, int]
    not_settled: NotRequired[str]
    best_so_far: NotRequired[str]
    closed: NotRequired[ClosedLine]
    in_words: NotRequired[list[dict[str, str]]]
    answers: list[AnswerInStatus]
    failed: list[dict[str, str]]
    next_actions: list[NextAction]
    best: list[BestLine]
    last: list[LastEntry]
    criteria: list[JudgedCriterion]
    command: NotRequired[str]
    summary: NotRequired[str]
    summary_before: NotRequired[list[str]]
    decisions: list[dict[str, object]]
    negative_results: list[dict[str, object]]
    open: dict[str, list[dict[str, object]]]
    running: list[UnfinishedRunData]
    runs: list[RunLine]
    metrics: list[str]
    shared_config: NotRequired[str]
    view: NotRequired[str]
    baseline: NotRequired[dict[str, object]]
    gates: NotRequired[list[str]]
    constraints: NotRequired[list[str]]
    detached_series: NotRequired[list[str]]
    claimed: NotRequired[list[dict[str, object]]]
    issue: NotRequired[str]
    links: NotRequired[list[str]]
    reserved: NotRequired[list[str]]
    edited_by_hand: NotRequired[list[str]]
    damaged: NotRequired[int]
    left_out: NotRequired[dict[str, int]]
