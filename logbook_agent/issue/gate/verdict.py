"""The verdict on a pull request from measurements of base and head: one word, an exit code, and plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from logbook_agent.campaign.pair_judge import Stop
from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome
from logbook_agent.issue.gate.job import BASE, HEAD, Unmeasured
from logbook_agent.issue.gate.measure import GateMeasured
from logbook_agent.issue.gate.pull_request import Commits
from logbook_agent.model.codec import encode

INTERRUPTED_STATUS = 130


class GateOutcome(StrEnum):
    """The verdicts on a pull request, the most important first."""

    WORSE = "worse"
    HEAD_FAILED = "head-failed"
    NOT_MEASURED = "not-measured"
    BETTER = "better"
    OPEN = "open"
    NO_DIFFERENCE = "no-difference"
    NO_BASE = "no-base"
    SAME_CODE = "same-code"


# All others are 0.
EXIT_CODES = {GateOutcome.WORSE: 1, GateOutcome.HEAD_FAILED: 5, GateOutcome.NOT_MEASURED: 6}


@dataclass(frozen=True, kw_only=True)
class GateFinding:
    """What was measured of which commits, and the command (`again`) that repeats it. `measured` None: both trees are
    the same, so nothing was measured. `differences`: what the head changes in settings and recipe; those of the base
    are used."""

    name: str
    commits: Commits
    again: str
    measured: GateMeasured | None
    minimum_effect: float
    artifact: str | None = None
    differences: tuple[str, ...] = ()

    @property
    def answer(self) -> Answer | None:
        return self.measured.answer if self.measured is not None else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.answer.findings if self.answer is not None else ()

    @property
    def unmeasured(self) -> tuple[Unmeasured, ...]:
        return self.measured.unmeasured if self.measured is not None else ()

    @property
    def counts(self) -> Counter[Outcome]:
        return Counter(f.outcome for f in self.findings)

    @property
    def outcome(self) -> GateOutcome:
        made, counts = self.measured, self.counts
        if made is None:
            return GateOutcome.SAME_CODE
        if counts[Outcome.WORSE]:
            return GateOutcome.WORSE
        if any(one.side == HEAD for one in made.unmeasured):
            return GateOutcome.HEAD_FAILED
        if made.changed:
            return GateOutcome.NOT_MEASURED
        if not self.findings and made.unmeasured and all(one.side == BASE for one in made.unmeasured):
            return GateOutcome.NO_BASE
        if made.stop in (Stop.FAILED, Stop.NOT_COMPARABLE) or all(f.change is None for f in self.findings):
            return GateOutcome.NOT_MEASURED
        if counts[Outcome.BETTER]:
            return GateOutcome.BETTER
        # A case that the head no longer prints may have changed in any way.
        is_whole = self.answer is not None and not self.answer.left_out and not self.answer.failed
        is_same = is_whole and set(counts) == {Outcome.NO_DIFFERENCE}
        return GateOutcome.NO_DIFFERENCE if is_same else GateOutcome.OPEN

    @property
    def exit_code(self) -> int:
        if self.measured is not None and self.measured.interrupted:
            return INTERRUPTED_STATUS
        return EXIT_CODES.get(self.outcome, 0)

    def data(self) -> dict[str, object]:
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
            "answer": words.data(self.answer) if self.answer is not None else None,
            "unmeasured": [encode(one) for one in self.unmeasured],
            "changed": made.changed if made is not None else None,
            "differences": list(self.differences),
            "counts": {outcome.value: self.counts[outcome] for outcome in Outcome},
            "pairs": made.pairs if made is not None else 0,
            "stopped": {"by": made.stop.value, "why": made.why} if made is not None and made.stop is not None else None,
            "entry": made.entry if made is not None else None,
            "view": str(made.book.view_path) if made is not None else None,
            "again": self.again,
        }
