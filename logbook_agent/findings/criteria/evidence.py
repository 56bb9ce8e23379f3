"""What predicates are checked against: the rows that count and the answers to comparisons; and how states are
combined."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field

from logbook_agent.findings.advice import Continuation, go_on, more_runs
from logbook_agent.findings.cases import Case, cases, without_zeros
from logbook_agent.findings.comparison.answer import Answer, Finding
from logbook_agent.findings.protocol import NOWHERE, Records, TypingPlace
from logbook_agent.findings.tables.frame import Frame, frame_of
from logbook_agent.findings.thread import discarded_by, said_by
from logbook_agent.model.comparison import CODE_AXIS, Comparison
from logbook_agent.model.entry import is_withdrawn, settled
from logbook_agent.model.header import NO_BUDGET, Baseline, Budget, Computed, Metric
from logbook_agent.model.record import Record, spent
from logbook_agent.model.values import Scalar, canonical

MET, UNMET, NOT_COMPUTABLE = "met", "unmet", "not computable"


def met(reason: str, evidence: Iterable[str] = ()) -> Computed:
    return _computed(MET, reason, evidence)


def unmet(reason: str, evidence: Iterable[str] = (), *, command: str = "") -> Computed:
    """`command`: what to type for what is lacking."""
    return _computed(UNMET, reason, evidence, command)


def not_computable(reason: str, *, command: str = "") -> Computed:
    return Computed(state=NOT_COMPUTABLE, reason=reason, command=command)


def every(parts: Iterable[Computed]) -> Computed:
    """Met when all parts are. Else an unmet part decides, the first; what cannot be computed may yet be met."""
    return _first(parts, (UNMET, NOT_COMPUTABLE, MET))


def some(parts: Iterable[Computed]) -> Computed:
    """Met when a part is, the first; else unmet, or not computable where a part is."""
    return _first(parts, (MET, NOT_COMPUTABLE, UNMET))


def _first(parts: Iterable[Computed], order: tuple[str, str, str]) -> Computed:
    """The first part of the first state; where all have the last state, all reasons together."""
    found = list(parts)
    first = min(found, key=lambda one: order.index(one.state))
    if first.state != order[-1]:
        return first
    reasons = "; ".join(dict.fromkeys(o.reason for o in found))
    command = next((o.command for o in found if o.command), "")
    return _computed(order[-1], reasons, (e for o in found for e in o.evidence), command)


def _computed(state: str, reason: str, evidence: Iterable[str], command: str = "") -> Computed:
    return Computed(state=state, reason=reason, evidence=tuple(dict.fromkeys(evidence)), command=command)


class Rows:
    """Rows that can be looked up by the values of their axes. Those that failed, and those of runs that did not finish,
    count for nothing."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.frame: Frame = frame_of(without_zeros([case for case in cases if case.is_good]))

    def missing(self, names: Iterable[str]) -> Computed | None:
        """The state of a predicate about these names where nothing was measured, or no row has one of them; else
        None."""
        if not self.frame.items:
            return unmet("nothing has been measured yet")
        name = next((name for name in names if name not in self.frame.axes()), None)
        return None if name is None else not_computable(f"no row has {name}")

    def choose(self, where: Mapping[str, Scalar], device: str | None) -> list[Case]:
        """The rows that have these values, on a device whose kind holds `device`."""
        kind, found = (device or "").casefold(), [item.case for item in self.frame.having(where)]
        return [c for c in found if not kind or any(kind in (d.kind or d.platform).casefold() for d in c.row.devices)]


class Facts(Struct, frozen=True, kw_only=True):
    """What the records of a thread show. `hours` is the time that runs took; `now` has a zone; `discarded` names the
    decision by which an entry was discarded, `kept` the commit that holds the tested code of a comparison, `branches`
    the branch that held the code of a side when it was compared, `built` the comparisons of code with a setup; `go_on`
    says how to go on with one, `more` what to type for so many more runs of a case, as commands are typed `here`."""

    rows: Rows
    metrics: tuple[Metric, ...]
    now: datetime
    runs: int
    hours: float
    budget: Budget = NO_BUDGET
    baseline: Baseline | None = None
    answers: Sequence[Answer] = ()
    discarded: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)
    branches: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    built: Collection[str] = ()
    go_on: Callable[[Answer], Continuation] = lambda answer: Continuation(command=f"logbook ab --id {answer.entry}")
    more: Callable[[Case, int], str] = lambda case, runs: ""
    here: TypingPlace = NOWHERE


def facts_of(
    records: Records,
    all_: Sequence[Record],
    counting: Sequence[Record],
    answers: Sequence[Answer],
    now: datetime,
    here: TypingPlace,
) -> Facts:
    """The facts of a thread, from `all_` its records and those that are `counting`; commands are typed `here`."""
    runs, hours = spent(all_, now)
    # Whether a side has the base's checksum, its comparison alone knows.
    wrong: dict[str, list[Finding]] = {}
    for entry, f in ((a.entry, f) for a in answers for f in a.findings):
        if f.lacks is not None and f.lacks.what == "gate":
            wrong.setdefault(entry, []).append(f)
    found = cases(*(r for r in counting if settled(r.state)))
    return Facts(
        rows=Rows([case for case in found if not any(_is_of(case, f) for f in wrong.get(case.entry, ()))]),
        metrics=records.header.metrics,
        now=now,
        runs=runs,
        hours=hours,
        budget=records.header.budget,
        baseline=records.header.baseline,
        answers=answers,
        discarded=discarded_by(said_by(record.entry) for record in all_),
        kept=_kept(all_),
        branches={
            (record.id, side): names
            for record in all_
            if record.entry.comparison is not None
            for side, names in record.entry.comparison.branches.items()
        },
        built={record.id for record in all_ if _has_setup(record.entry.comparison)},
        go_on=lambda answer: go_on(records, answer, here),
        more=lambda case, runs: more_runs(records.record(case.entry), case, runs, here),
        here=here,
    )


def _is_of(case: Case, finding: Finding) -> bool:
    """Whether a row of a comparison is of the side and the case of a finding."""
    config = case.row.config
    is_of_side = case.part is not None and case.part.side == finding.side
    return is_of_side and all(canonical(config[k]) == canonical(v) for k, v in finding.config.items() if k in config)


def _has_setup(stated: Comparison | None) -> bool:
    is_of_code = stated is not None and stated.question.axis == CODE_AXIS
    return is_of_code and stated is not None and stated.run is not None and stated.run.setup is not None


def _kept(all_: Sequence[Record]) -> dict[str, str]:
    """The commits in which decisions keep the tested code of comparisons, by the entry of the comparison. Before its
    changes are committed, a decision names the commit on which they were made, which does not hold them."""
    stated, found = {record.id: record.entry.comparison for record in all_}, dict[str, str]()
    for decision in (record.entry for record in all_ if not is_withdrawn(record.entry.state)):
        about, commit = decision.decides or "", decision.commit
        of = stated.get(about)
        if decision.kept and commit is not None and of is not None and len(of.question.sides) == 1:
            code = of.code.get(of.question.sides[0])
            found |= {about: commit} if code is not None and code.commit != commit else {}
    return found
