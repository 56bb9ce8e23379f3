"""The header of a logbook: what a research thread is about, written once by `start`."""

from __future__ import annotations

from dataclasses import dataclass, field

from logbook_agent.model.scalar import Scalar
from logbook_agent.units import Direction

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A declared metric; `direction` says which way is better (None: not stated)."""

    name: str
    direction: Direction | None = None
    unit: str | None = None
    primary: bool = True
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """`back`: None, or `wanted` when the linked issue shall link back here, or the address of that comment."""

    label: str
    url: str
    back: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineNumbers:
    """Numbers of one baseline case: its config and what was measured there."""

    config: dict[str, Scalar] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The fixed case that results are compared with."""

    date: str | None = None
    code_refs: tuple[str, ...] = ()
    config: dict[str, Scalar] = field(default_factory=dict)
    numbers: tuple[BaselineNumbers, ...] = ()
    entry: str | None = None
    source: str | None = None
    confidence: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Somebody's word on a stop criterion, with the evidence: an entry's ID or an address."""

    met: bool
    evidence: str
    by: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One stop criterion: prose, optionally a machine-checkable predicate (kept as written), and whether it
    was judged to be met."""

    text: str
    predicate: dict[str, object] | None = None
    judgement: Judgement | None = None

    @property
    def met(self) -> bool:
        return self.judgement is not None and self.judgement.met


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixAxis:
    """One axis of the initial experiment matrix, with its planned values as written."""

    axis: str
    values: tuple[str, ...] = ()
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTemplate:
    label: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentIssue:
    """The issue that shows this logbook to others.

    `trusted`: the accounts whose markers are ours; learned from the first write, or listed by hand.
    `managed`: the block in its body has been seen to stand; from then on it must be there. (No time of that: two
    clones that both see it write the same, and merge.)
    """

    url: str
    trusted: tuple[str, ...] = ()
    managed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A tag at a commit, with the last entry there was."""

    name: str
    commit: str
    at: str
    url: str
    last_entry: str | None = None
    entries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """How the thread ended."""

    at: str
    conclusion: str
    limitations: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """logbook.yaml. `opened` is UTC, ISO 8601; `zone` is the IANA zone times are shown in.

    `summary`: where the thread stands, in one's own words, for those who were not there.
    """

    format: int = FORMAT
    topic: str
    title: str
    prefix: str
    opened: str
    zone: str = "UTC"
    goal: str | None = None
    summary: str | None = None
    metrics: tuple[Metric, ...] = ()
    constraints: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    baseline: Baseline | None = None
    stop_criteria: tuple[Criterion, ...] = ()
    matrix: tuple[MatrixAxis, ...] = ()
    command_templates: tuple[CommandTemplate, ...] = ()
    issue: ExperimentIssue | None = None
    snapshots: tuple[Snapshot, ...] = ()
    closing: Closing | None = None
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def axes(self) -> tuple[str, ...]:
        """The config keys that the experiment matrix varies."""
        return tuple(a.axis for a in self.matrix)

    @property
    def case_keys(self) -> tuple[str, ...]:
        """The config keys that the logbook itself names: axes of the matrix, and those of the baseline."""
        found = dict.fromkeys(self.axes)
        if self.baseline is not None:
            for config in (self.baseline.config, *(n.config for n in self.baseline.numbers)):
                found.update(dict.fromkeys(config))
        return tuple(found)
