"""The header of a logbook: what a research thread is about, written once by `start`."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable

from msgspec import Struct, field, structs

from logbook_agent.model.codec import CodecError, decode
from logbook_agent.model.entry import parse_plot
from logbook_agent.model.gates import parse_gate
from logbook_agent.model.units import Direction, known
from logbook_agent.model.values import Scalar

# The key that numbers the points of a curve, unless its metric declares another one.
STEP = "step"
_MEAN = re.compile(r"mean=([1-9]\d{0,6})")


def mean_of(reduction: str) -> int | None:
    """How many of the last points of a curve `mean=N` averages; None for `last` and `best`. Raises CodecError."""
    found = _MEAN.fullmatch(reduction)
    if found is None and reduction not in ("last", "best"):
        raise CodecError(f"unknown reduction {reduction!r}: expected last, best or mean=N, such as mean=100")
    return int(found[1]) if found is not None else None


class Metric(Struct, frozen=True, kw_only=True):
    """A declared metric; `direction` says which way is better (None: not stated). Where a run reports a curve of it,
    `over` is the key of its steps, and `reduce` which value of the curve is the measurement: last, best or mean=N."""

    name: str
    direction: Direction | None = None
    unit: str | None = None
    primary: bool = True
    text: str | None = None
    over: str = STEP
    reduce: str = "last"

    @classmethod
    def natural(cls, data: object) -> object:
        """A text is the name of a metric."""
        return {"name": data} if isinstance(data, str) else data

    def __post_init__(self) -> None:
        mean_of(self.reduce)


def metric_named(name: str, declared: Iterable[Metric]) -> Metric:
    """The declared metric of a name, with the usual direction and unit where it states none."""
    found = next((m for m in declared if m.name == name), None) or Metric(name=name)
    usual = known(name)
    return structs.replace(found, direction=found.direction or usual.direction, unit=found.unit or usual.unit)


class Link(Struct, frozen=True, kw_only=True):
    label: str
    url: str
    extra: dict[str, object] = field(default_factory=dict)


class BaselineNumbers(Struct, frozen=True, kw_only=True):
    """Numbers of one baseline case: its config and what was measured there."""

    config: dict[str, Scalar] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)


class Baseline(Struct, frozen=True, kw_only=True):
    """The fixed case that results are compared with. `runs` are those of `entry` that measured it, where they are
    known."""

    date: str | None = None
    code_refs: tuple[str, ...] = ()
    config: dict[str, Scalar] = field(default_factory=dict)
    numbers: tuple[BaselineNumbers, ...] = ()
    entry: str | None = None
    runs: tuple[int, ...] = ()
    source: str | None = None
    confidence: str | None = None
    text: str | None = None

    def is_of(self, entry: str, runs: Iterable[int]) -> bool:
        """Whether these runs of an entry measured it; all runs of its entry did where none are known."""
        return entry == self.entry and (not self.runs or not {*self.runs}.isdisjoint(runs))


class BaselineMove(Struct, frozen=True, kw_only=True):
    """A move of the baseline, and why. `before` is what it was until then (None: there was none), and
    `last_entry` the last entry there was."""

    at: str
    reason: str
    before: Baseline | None = None
    last_entry: str | None = None


class CriterionJudgement(Struct, frozen=True, kw_only=True):
    """Somebody's word on a stop criterion, with the evidence: an entry's ID or an address."""

    met: bool
    evidence: str
    by: str
    at: str


# Entries named behind a computed criterion.
_SHOWN_EVIDENCE = 3


class Computed(Struct, frozen=True, kw_only=True):
    """The state of a predicate: met, unmet or not computable, with the reason; `evidence` names entries, `command` is
    what to type for what is lacking."""

    state: str
    reason: str
    evidence: tuple[str, ...] = ()
    command: str = ""

    @property
    def entries_text(self) -> str:
        """`MOE-001, MOE-002, MOE-003 and 2 more entries`."""
        more = len(self.evidence) - _SHOWN_EVIDENCE
        text = ", ".join(self.evidence[:_SHOWN_EVIDENCE])
        return text + (f" and {more} more entr{'y' if more == 1 else 'ies'}" if more > 0 else "")

    @property
    def text(self) -> str:
        """`unmet, topk=8 was not measured: COMMAND [MOE-001]`."""
        entries = f" [{self.entries_text}]" if self.evidence else ""
        return f"{self.state}, {self.reason}" + (f": {self.command}" if self.command else "") + entries


class Criterion(Struct, frozen=True, kw_only=True):
    """One stop criterion: prose, optionally a machine-checkable predicate (kept as written), and whether it
    was judged to be met.

    `computed`, and the `doubt` why the judgement rests on nothing that stands any more, follow from the records: they
    are filled in where a header is shown, and never stored.
    """

    text: str
    predicate: dict[str, object] | None = None
    judgement: CriterionJudgement | None = None
    computed: Computed | None = None
    doubt: str | None = None

    @classmethod
    def natural(cls, data: object) -> object:
        """A text is a criterion without a predicate."""
        return {"text": data} if isinstance(data, str) else data

    @property
    def met(self) -> bool:
        """As somebody judged it; else as it was computed."""
        if self.judgement is not None:
            return self.judgement.met
        return self.computed is not None and self.computed.state == "met"

    @property
    def said(self) -> tuple[str, str, str]:
        """Who judged it by which evidence, why that is in doubt, and what was computed; empty for what is not there."""
        word = "met" if self.met else "not met"
        judged = f"{word}: {self.judgement.evidence}, {self.judgement.by}" if self.judgement is not None else ""
        return judged, self.doubt or "", f"computed: {self.computed.text}" if self.computed is not None else ""


class MatrixAxis(Struct, frozen=True, kw_only=True):
    """One axis of the initial experiment matrix, with its planned values as written."""

    axis: str
    values: tuple[str, ...] = ()
    text: str | None = None


class CommandTemplate(Struct, frozen=True, kw_only=True):
    label: str
    command: str


class ExperimentIssue(Struct, frozen=True, kw_only=True):
    """The issue that shows this logbook to others."""

    url: str
    extra: dict[str, object] = field(default_factory=dict)


class Snapshot(Struct, frozen=True, kw_only=True):
    """A tag at a commit, with the last entry there was."""

    name: str
    commit: str
    at: str
    url: str
    last_entry: str | None = None
    entries: tuple[str, ...] = ()


class Closing(Struct, frozen=True, kw_only=True):
    """How the thread ended."""

    at: str
    conclusion: str
    limitations: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()


class Budget(Struct, frozen=True, kw_only=True):
    """So many runs and hours of runs at most; None: any."""

    runs: int | None = None
    hours: float | None = None

    def __post_init__(self) -> None:
        for name, most in (("runs", self.runs), ("hours", self.hours)):
            if most is not None and not 0 < most < math.inf:
                raise ValueError(f"{name}: expected a number above 0, got {most:g}")

    def is_spent(self, runs: int, hours: float) -> bool:
        return runs >= (self.runs or math.inf) or hours >= (self.hours or math.inf)

    def text(self, runs: int, hours: float) -> str:
        """`2 of 2 runs and 0.50 of 3 hours spent`."""
        said = [f"{runs} of {self.runs} runs"] if self.runs is not None else []
        said += [f"{hours:.2f} of {self.hours:g} hours"] if self.hours is not None else []
        return f"{' and '.join(said)} spent"


NO_BUDGET = Budget()


class HeaderParts(Struct, frozen=True, kw_only=True):
    """The parts of a header that a file or a recipe states for a new logbook."""

    topic: str | None = None
    title: str | None = None
    prefix: str | None = None
    zone: str | None = None
    goal: str | None = None
    summary: str | None = None
    metrics: tuple[Metric, ...] = ()
    gates: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    baseline: Baseline | None = None
    stop_criteria: tuple[Criterion, ...] = ()
    matrix: tuple[MatrixAxis, ...] = ()
    command_templates: tuple[CommandTemplate, ...] = ()
    budget: Budget = NO_BUDGET


class Header(Struct, frozen=True, kw_only=True):
    """logbook.yaml. `opened` is UTC, ISO 8601; `zone` is the IANA zone times are shown in.

    `summary`: where the thread stands, in one's own words, for those who were not there, set at `summary_at` (UTC; None
    where that was not recorded). `budget`: what all runs may take. `plots`: those of the whole thread that the view
    shows at its top. `gates` are what a row must fulfil to count (`model.gates`), `gates_since` the times at which some
    were added after the start, `free` the labels that may differ between the sides of a comparison.
    """

    topic: str
    title: str
    prefix: str
    opened: str
    zone: str = "UTC"
    goal: str | None = None
    summary: str | None = None
    summary_at: str | None = None
    metrics: tuple[Metric, ...] = ()
    gates: tuple[str, ...] = ()
    gates_since: dict[str, str] = field(default_factory=dict)
    free: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    baseline: Baseline | None = None
    baseline_moves: tuple[BaselineMove, ...] = ()
    stop_criteria: tuple[Criterion, ...] = ()
    matrix: tuple[MatrixAxis, ...] = ()
    command_templates: tuple[CommandTemplate, ...] = ()
    budget: Budget = NO_BUDGET
    issue: ExperimentIssue | None = None
    snapshots: tuple[Snapshot, ...] = ()
    closing: Closing | None = None
    plots: tuple[str, ...] = ()
    extra: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.plots:
            parse_plot(name)
        for gate in self.gates:
            parse_gate(gate)

    @property
    def has_predicates(self) -> bool:
        """Whether the stop criteria say something of the rows of all entries."""
        return any(c.predicate is not None for c in self.stop_criteria)

    @property
    def limits(self) -> Budget:
        """The budget; where the header states none, that of its criterion, unless somebody judged that unmet."""
        for c in self.stop_criteria if self.budget == NO_BUDGET else ():
            if c.predicate is not None and "budget" in c.predicate and (c.judgement is None or c.met):
                with contextlib.suppress(CodecError):  # whoever checks the criterion says what is wrong
                    return decode(Budget, c.predicate["budget"])
        return self.budget

    @property
    def evidence(self) -> frozenset[str]:
        """The IDs and addresses that the judgements of stop criteria name."""
        return frozenset(c.judgement.evidence for c in self.stop_criteria if c.judgement is not None)

    @property
    def axes(self) -> tuple[str, ...]:
        """The config keys that the experiment matrix varies."""
        return tuple(a.axis for a in self.matrix)

    @property
    def case_keys(self) -> tuple[str, ...]:
        """The config keys that the logbook itself names: axes of the matrix, and those of the baseline, also of what
        it was before: a key that was config stays config."""
        found = dict.fromkeys(self.axes)
        for baseline in (self.baseline, *(m.before for m in self.baseline_moves)):
            for config in () if baseline is None else (baseline.config, *(n.config for n in baseline.numbers)):
                found.update(dict.fromkeys(config))
        return tuple(found)
