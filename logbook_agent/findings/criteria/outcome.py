"""What came of checking a predicate."""

from __future__ import annotations

from collections.abc import Iterable

from logbook_agent.findings.tables.spec import Case
from logbook_agent.model.header import Computed

MET, UNMET, NOT_COMPUTABLE = "met", "unmet", "not computable"


def met(reason: str, evidence: Iterable[Case | str] = ()) -> Computed:
    return _computed(MET, reason, evidence)


def unmet(reason: str, evidence: Iterable[Case | str] = ()) -> Computed:
    return _computed(UNMET, reason, evidence)


def not_computable(reason: str) -> Computed:
    return Computed(state=NOT_COMPUTABLE, reason=reason)


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
    return _computed(
        order[-1], "; ".join(dict.fromkeys(o.reason for o in found)), (e for o in found for e in o.evidence)
    )


def _computed(state: str, reason: str, evidence: Iterable[Case | str]) -> Computed:
    """Evidence is an entry, or a row of a run: `MOE-I8-003/2`."""
    names = (one if isinstance(one, str) else f"{one.entry}/{one.run}" for one in evidence)
    return Computed(state=state, reason=reason, evidence=tuple(dict.fromkeys(names)))
