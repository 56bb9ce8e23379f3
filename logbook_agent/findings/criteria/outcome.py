"""What came of checking a predicate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    MET = "met"
    UNMET = "unmet"
    NOT_COMPUTABLE = "not computable"


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionOutcome:
    """`evidence` names runs, `MOE-I8-003/2`: those that show that it is met, or that come closest."""

    state: State
    reason: str
    evidence: tuple[str, ...] = ()


def met(reason: str, evidence: Iterable[str] = ()) -> CriterionOutcome:
    return CriterionOutcome(state=State.MET, reason=reason, evidence=tuple(dict.fromkeys(evidence)))


def unmet(reason: str, evidence: Iterable[str] = ()) -> CriterionOutcome:
    return CriterionOutcome(state=State.UNMET, reason=reason, evidence=tuple(dict.fromkeys(evidence)))


def not_computable(reason: str) -> CriterionOutcome:
    return CriterionOutcome(state=State.NOT_COMPUTABLE, reason=reason)
