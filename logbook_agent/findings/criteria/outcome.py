"""What came of checking a predicate."""

from __future__ import annotations

from collections.abc import Iterable

from logbook_agent.model.header import Computed

MET, UNMET, NOT_COMPUTABLE = "met", "unmet", "not computable"


def met(reason: str, evidence: Iterable[str] = ()) -> Computed:
    return Computed(state=MET, reason=reason, evidence=tuple(dict.fromkeys(evidence)))


def unmet(reason: str, evidence: Iterable[str] = ()) -> Computed:
    return Computed(state=UNMET, reason=reason, evidence=tuple(dict.fromkeys(evidence)))


def not_computable(reason: str) -> Computed:
    return Computed(state=NOT_COMPUTABLE, reason=reason)
