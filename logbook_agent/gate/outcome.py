"""What a measurement of base and head comes to: one word, an exit code, and plain data. Nothing is decided but here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from logbook_agent.gate.commits import Commits
from logbook_agent.gate.job import BASE, HEAD
from logbook_agent.gate.judged import CaseChange, JudgedRow, OneSided
from logbook_agent.gate.measure import GateMeasured, Unmeasured
from logbook_agent.model.codec import encode
from logbook_agent.sweeps.ab import Stop

INTERRUPTED_STATUS = 130


class GateOutcome(StrEnum):
    """What is said of a pull request, the most important first."""

    REGRESSED = "regressed"
    HEAD_FAILED = "head-failed"
    NOT_MEASURED = "not-measured"
    IMPROVED = "improved"
    UNSETTLED = "unsettled"
    UNCHANGED = "unchanged"
    NO_BASE = "no-base"
    SAME_CODE = "same-code"


# All others are 0.
EXIT_CODES = {GateOutcome.REGRESSED: 1, GateOutcome.HEAD_FAILED: 5, GateOutcome.NOT_MEASURED: 6}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFinding:
    """What was measured of which commits, and the command (`again`) that repeats it. `measured` None: both trees are
    the same, so nothing was measured. `differences`: what the head changes in settings and recipe; those of the base
    are used."""

    name: str
    commits: Commits
    again: str
    measured: GateMeasured | None
    minimum_effect: float
    confirms: bool = True
    artifact: str | None = None
    differences: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[JudgedRow, ...]:
        return self.measured.rows if self.measured is not None else ()

    @property
    def unmeasured(self) -> tuple[Unmeasured, ...]:
        return self.measured.unmeasured if self.measured is not None else ()

    @property
    def one_sided(self) -> tuple[OneSided, ...]:
        return self.measured.one_sided if self.measured is not None else ()

    @property
    def counts(self) -> Counter[CaseChange]:
        return Counter(row.change for row in self.rows)

    @property
    def outcome(self) -> GateOutcome:
        made, counts = self.measured, self.counts
        if made is None:
            return GateOutcome.SAME_CODE
        if counts[CaseChange.REGRESSED]:
            return GateOutcome.REGRESSED
        if any(one.side == HEAD for one in made.unmeasured):
            return GateOutcome.HEAD_FAILED
        if made.changed:
            return GateOutcome.NOT_MEASURED
        if not made.rows and made.unmeasured and all(one.side == BASE for one in made.unmeasured):
            return GateOutcome.NO_BASE
        if made.stop in (Stop.FAILED, Stop.NOT_COMPARABLE) or not any(row.ratio is not None for row in made.rows):
            return GateOutcome.NOT_MEASURED
        if counts[CaseChange.IMPROVED]:
            return GateOutcome.IMPROVED
        # A case that the head measures no more may have changed in any way.
        settled = set(counts) == {CaseChange.UNCHANGED} and not any(one.side == BASE for one in made.one_sided)
        return GateOutcome.UNCHANGED if settled else GateOutcome.UNSETTLED

    @property
    def exit_code(self) -> int:
        if self.measured is not None and self.measured.interrupted:
            return INTERRUPTED_STATUS
        return EXIT_CODES.get(self.outcome, 0)

    def data(self) -> dict[str, Any]:
        made, commits = self.measured, self.commits
        return {
            "name": self.name,
            "outcome": self.outcome.value,
            "exit_status": self.exit_code,
            "base": commits.base,
            "head": commits.head,
            "pull_request_head": commits.tip,
            "base_is": commits.how,
            "minimum_effect": self.minimum_effect,
            "cases": [row.data() for row in self.rows],
            "unmeasured": [encode(one) for one in self.unmeasured],
            "one_sided": [encode(one) for one in self.one_sided],
            "changed": made.changed if made is not None else None,
            "differences": list(self.differences),
            "counts": {change.value: self.counts[change] for change in CaseChange},
            "pairs": made.pairs if made is not None else 0,
            "stopped": {"by": made.stop.value, "why": made.why} if made is not None and made.stop is not None else None,
            "entries": list(made.entries) if made is not None else [],
            "view": str(made.book.view_path) if made is not None else None,
            "again": self.again,
        }
