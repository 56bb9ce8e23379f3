"""The verdict on a pull request from its comparison: one word, an exit code, and plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct, structs, to_builtins

from logbook_agent.campaign.pair_judge import Stop
from logbook_agent.campaign.pairs import AbResult
from logbook_agent.findings.attempts import how_it_failed
from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome
from logbook_agent.issue.gate.job import BASE, HEAD
from logbook_agent.issue.gate.pull_request import Commits
from logbook_agent.model.comparison import CODE_AXIS
from logbook_agent.model.gates import fails
from logbook_agent.model.record import SETUP, TEARDOWN, ended_badly, is_own
from logbook_agent.text.phrases import assignments

_TAIL_LINES = 20


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


# The order in which findings are shown, with a sign for each.
SIGNS = {Outcome.WORSE: "🔴", Outcome.BETTER: "🟢", Outcome.OPEN: "⚪", Outcome.NO_DIFFERENCE: "✅"}
# All others are 0.
EXIT_CODES = {GateOutcome.WORSE: 1, GateOutcome.HEAD_FAILED: 5, GateOutcome.NOT_MEASURED: 6}


class Unmeasured(Struct, frozen=True, kw_only=True):
    """A case that a side cannot run; `case` empty: none of them. `side`: base, head or both. `said`: the last lines."""

    case: str
    side: str
    why: str
    said: tuple[str, ...] = ()


def unmeasured(ab: AbResult) -> tuple[Unmeasured, ...]:
    """The cases that a side could not run. Of those that both cannot run, it says how the head failed, which can be
    mended."""
    found: dict[str, dict[str, Unmeasured]] = {}
    for status in ab.series.book.statuses(ab.series.runs):
        run = status.run
        if status.state == "finished" or is_own(run, TEARDOWN) or (run.exit is not None and run.exit.interrupted):
            continue
        is_setup, broken = is_own(run, SETUP), fails(run)
        side = (run.label or "").partition(": ")[2] if is_setup else str(run.config.get(CODE_AXIS, BASE))
        why = how_it_failed(run) if ended_badly(run) else str(broken or run.last_words or status.state)
        case = assignments({name: value for name, value in run.config.items() if name != CODE_AXIS})
        said = (run.output.error_tail or run.output.tail)[-_TAIL_LINES:] if run.output is not None else ()
        one = Unmeasured(case=case, side=side, why=f"setup failed: {why}" if is_setup else why, said=said)
        found.setdefault(case, {})[side] = one
    return tuple(
        structs.replace(sides.get(HEAD) or sides[BASE], side="both" if len(sides) > 1 else next(iter(sides)))
        for sides in found.values()
    )


class CiResult(Struct, frozen=True, kw_only=True):
    """What was measured of which commits, the command (`again`) that repeats it, and the folder of the record. `ab`
    None: nothing was, since both are the same code (`is_same`), the base has no such job, or a setup changed the code.
    `changed`: which tree no longer held the files of its commit. `differences`: what the head changes in settings and
    recipe. `text`: the comment on the pull request `number`; `written` says what became of it, `why` why it was not
    written, and `url` where it is."""

    name: str
    commits: Commits
    again: str
    minimum_effect: float
    root: Path
    number: int | None = None
    artifact: str | None = None
    differences: tuple[str, ...] = ()
    ab: AbResult | None = None
    unmeasured: tuple[Unmeasured, ...] = ()
    is_same: bool = False
    changed: str | None = None
    text: str = ""
    written: str | None = None
    url: str | None = None
    why: str | None = None

    @property
    def answer(self) -> Answer | None:
        return self.ab.answer if self.ab is not None else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        found = self.answer.findings if self.answer is not None else ()
        return tuple(sorted(found, key=lambda f: [*SIGNS].index(f.outcome)))

    @property
    def counts(self) -> Counter[Outcome]:
        return Counter(f.outcome for f in self.findings)

    @property
    def is_interrupted(self) -> bool:
        return self.ab is not None and self.ab.series.is_interrupted

    @property
    def outcome(self) -> GateOutcome:
        counts, failed = self.counts, {one.side for one in self.unmeasured}
        stop = self.ab.stop if self.ab is not None else None
        if self.is_same:
            return GateOutcome.SAME_CODE
        if counts[Outcome.WORSE]:
            return GateOutcome.WORSE
        if HEAD in failed:
            return GateOutcome.HEAD_FAILED
        if failed == {BASE} and not self.findings and not self.changed:
            return GateOutcome.NO_BASE
        is_judged = any(f.change is not None for f in self.findings)
        if self.changed or stop in (Stop.FAILED, Stop.NOT_COMPARABLE) or not is_judged:
            return GateOutcome.NOT_MEASURED
        if counts[Outcome.BETTER]:
            return GateOutcome.BETTER
        # A case that the head no longer prints may have changed in any way.
        is_whole = self.answer is not None and not self.answer.left_out and not self.answer.failed
        is_alike = is_whole and set(counts) == {Outcome.NO_DIFFERENCE}
        return GateOutcome.NO_DIFFERENCE if is_alike else GateOutcome.OPEN

    @property
    def exit_code(self) -> int:
        if self.ab is not None and self.is_interrupted:
            return self.ab.series.exit_status
        return EXIT_CODES.get(self.outcome, 0)

    def data(self) -> Mapping[str, object]:
        commits, ab = self.commits, self.ab.data() if self.ab is not None else {}
        return {
            "name": self.name,
            "outcome": self.outcome.value,
            "exit_status": self.exit_code,
            "base": commits.base,
            "head": commits.head,
            "pull_request_head": commits.tip,
            "base_is": commits.how,
            "minimum_effect": self.minimum_effect,
            "unmeasured": [to_builtins(one) for one in self.unmeasured],
            "changed": self.changed,
            "differences": list(self.differences),
            "counts": {outcome.value: self.counts[outcome] for outcome in Outcome},
            "pairs": ab.get("pairs", 0),
            "entry": ab.get("id"),
            **{name: ab.get(name) for name in ("answer", "stopped", "view")},
            "again": self.again,
            "root": str(self.root),
            "pull_request": self.number,
            "comment": {"written": self.written, "url": self.url, "why": self.why, "text": self.text},
        }
