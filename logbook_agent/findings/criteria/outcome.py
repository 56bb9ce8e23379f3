"""What came of checking a predicate."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from logbook_agent.model.header import Computed


class State(StrEnum):
    MET = "met"
    UNMET = "unmet"
    NOT_COMPUTABLE = "not computable"


def met(reason: str, evidence: Iterable[str] = ()) -> Computed:
    return Computed(state=State.MET, reason=reason, evidence=tuple(dict.fromkeys(evidence)))


def unmet(reason: str, evidence: Iterable[str] = ()) -> Computed:
    return Computed(state=State.UNMET, reason=reason, evidence=tuple(dict.fromkeys(evidence)))


def not_computable(reason: str) -> Computed:
    return Computed(state=State.NOT_COMPUTABLE, reason=reason)
