"""The pairs of a comparison: made as they are planned, until its judge has enough."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from msgspec import Struct, structs, to_builtins

from logbook_agent.campaign.ab_axis import AbAxis, AbCase
from logbook_agent.campaign.ab_question import copy_of
from logbook_agent.campaign.ab_request import AbRequest
from logbook_agent.campaign.checkouts import lacking
from logbook_agent.campaign.code_guard import CodeChanged
from logbook_agent.campaign.pair_judge import PairJudge, PairsEnd, Stop, stated_in
from logbook_agent.campaign.pair_plan import PairPlan
from logbook_agent.campaign.series import RunSeries
from logbook_agent.entries.edit import with_gates
from logbook_agent.findings.comparison import answer_lines, words
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.model.comparison import Design, Invocation, Part
from logbook_agent.model.entry import Entry
from logbook_agent.model.record import SETUP, SeriesProgress, is_own, run_state
from logbook_agent.model.run import Run
from logbook_agent.model.worker_report import noted
from logbook_agent.running.execution import executor_of_commands
from logbook_agent.running.order import RunPlan
from logbook_agent.text.phrases import counted, stamp
from logbook_agent.text.redaction.plain import redacted

_CUT = timedelta(minutes=1)


class AbResult(Struct, frozen=True, kw_only=True):
    """The runs just made, and the answer as it stands afterwards; None when no pair is whole. `pairs` are those of the
    entry."""

    series: RunSeries
    answer: Answer | None
    pairs: int
    stop: Stop
    why: str

    @property
    def exit_status(self) -> int:
        """What the command exits with: that of its runs, or 1 where a side failed, nothing can be compared, or the code
        changed."""
        return self.series.exit_status or int(self.stop in (Stop.FAILED, Stop.NOT_COMPARABLE, Stop.CODE_CHANGED))

    def data(self) -> dict[str, object]:
        stated = stated_in(self.series.entry)
        return {
            "id": self.series.entry.id,
            "title": self.series.entry.title,
            "exit_status": self.exit_status,
            "axis": stated.question.axis,
            "values": list(stated.question.values),
            "pairs": self.pairs,
            "design": to_builtins(stated.design),
            "ran": len(self.series.runs),
            "stopped": {"by": self.stop.value, "why": self.why},
            "answer": answer_lines.data(self.answer) if self.answer is not None else None,
            "view": str(self.series.book.view_path),
        }

    def text(self) -> str:
        """The answer in sentences; why it ended comes first."""
        lines = [f"{self.series.entry.id}: {counted(self.pairs, 'pair')}; stopped: {self.why}"]
        return "\n".join([*lines, *(answer_lines.end_lines(self.answer) if self.answer is not None else ())])


class Pairs:
    """Makes the pairs of the comparison that a series' entry states, until something ends it."""

    def __init__(self, series: RunSeries, request: AbRequest, axis: AbAxis, cases: Sequence[AbCase]) -> None:
        self._series, self._book, self._request, self._axis = series, series.book, request, axis
        self._cases = {case.name: case for case in cases}
        stated, here = stated_in(series.entry), copy_of(series.workspace)
        design, self._sides = stated.design, stated.question.values
        copy = here if design.copy not in ("", here) else ""
        self._plan = PairPlan(design=design, sides=self._sides, cases=[*self._cases], copy=copy)
        pairs = len(self._plan.whole(self._made()))
        # So many more than it has, or what it states.
        goes_on = request.run.entry_id is not None and request.max_pairs is None and pairs < design.budget_pairs
        budget = design.budget_pairs if design.fixed or goes_on else pairs + request.pairs
        series.entry = self._book.change_entry(
            series.entry.id, lambda now: with_gates(now, request.gates, request.free)
        )
        self._judge = PairJudge(series, request, pairs=pairs, budget=budget)
        self._ended = self._judge.look()

    def _made(self) -> set[Part]:
        """The parts that need not be made again. Of a pair that was cut, what is left counts for a minute: its runs
        are to meet one machine."""
        runs = [run for run in self._book.runs(self._series.entry.id) if not run.discarded]
        ended = {r.part: r.ended or "" for r in runs if r.part and run_state(r, self._book.stage) == "finished"}
        since = stamp(self._series.workspace.now() - _CUT)
        return {
            p for p, at in ended.items() if at > since or all(structs.replace(p, side=s) in ended for s in self._sides)
        }

    @property
    def is_over(self) -> bool:
        """Whether no pair is to be made."""
        return self._ended is not None

    def carry_out(self) -> AbResult:
        """Have the runs made, until something ends the comparison."""
        self._show(self._judge.settled_before())
        ended = self._ended or self._until_enough()
        if ended.stop is Stop.NOT_COMPARABLE:
            self._series.workspace.warnings.append(ended.why)
        result = self._result(ended)
        if ended.stop is Stop.SETTLED and self._series.runs:
            self._show(self._judge.to_decide())
        return result

    def not_prepared(self, run: Run) -> AbResult:
        """The result where a command of setup failed, and nothing was measured."""
        return self._result(PairsEnd(Stop.FAILED, self._judge.failed(run, SETUP)))

    def _result(self, ended: PairsEnd) -> AbResult:
        self._judge.look()
        judge = self._judge
        return AbResult(series=self._series, answer=judge.answer, pairs=judge.pairs, stop=ended.stop, why=ended.why)

    # -- the runs --------------------------------------------------------------------------------------

    def _until_enough(self) -> PairsEnd:
        """Warm up, then make what is missing of each pair, until what was measured so far says that it is enough."""
        judge, made = self._judge, self._made()  # a setup may have taken a while
        self._restate(design=structs.replace(self._plan.design, budget_pairs=judge.budget))
        ended: PairsEnd | None = None
        for pair in range(1, self._request.run.discard + 1):
            # All sides warm up, so that it is known which of them fail.
            ended = ended or self._unit(self._plan.parts(pair, self._plan.copy), discarded=True)
        units = self._plan.units(made)
        while ended is None:
            began = time.monotonic()
            ended = self._unit([part for part in next(units) if part not in made])
            if ended is None:
                self._keep_setup()
                judge.count(time.monotonic() - began)
                ended = judge.look()
                self._show(judge.line())
        return ended

    def _unit(self, parts: Sequence[Part], *, discarded: bool = False) -> PairsEnd | None:
        """Make runs of a pair, and say what ends the comparison: a side failed, the code changed, a run was lost or
        never started, or a request to stop came."""
        failed: PairsEnd | None = None
        left = [*parts]
        try:
            runs = self._series.each([parts], partial(self._order, discarded=discarded), together=self._is_together)
            for part, run in runs:
                left.remove(part)
                if self._judge.is_end(run, part.side):
                    failed = failed or self._failed(run, part)
                    if not discarded:
                        return failed
        except CodeChanged as error:
            if not discarded:
                self._leave_out(parts[0], error.message)
            return PairsEnd(Stop.CODE_CHANGED, f"{error.message}; {error.hint}")
        if failed is not None or not left:
            return failed
        if self._series.is_stopped():
            return PairsEnd(Stop.INTERRUPTED, self._judge.rest())
        return None if discarded else self._failed(self._series.runs[-1], left[0])

    def _order(self, part: Part, *, discarded: bool) -> RunPlan:
        """The run that is a part."""
        self._show(side=part.side)
        case, at = self._cases[part.case], self._sides.index(part.side)
        # Whole configs have the value of the axis already.
        own = {} if self._series.entry.recipe else self._axis.config(self._axis.values[at])
        return structs.replace(
            self._request.run.plan(case.commands[at], self._series.entry.id),
            config={**case.configs[at], **own},
            part=None if discarded else part,
            repeat=None if discarded else part.pair,
            discarded=discarded,
            unit=f"pair {part.pair} {part.case}",
        )

    @property
    def _is_together(self) -> bool:
        """Whether an executor makes the runs: it gets both sides of a pair at once, for one machine."""
        commands = [command for case in self._cases.values() for command in case.commands]
        return executor_of_commands(self._series.workspace, commands) is not None

    # -- its record ------------------------------------------------------------------------------------

    def _restate(self, **parts: Design | Invocation) -> None:
        """State these parts of the comparison in its entry."""

        def changed(now: Entry) -> Entry:
            return structs.replace(now, comparison=structs.replace(stated_in(now), **parts))

        self._series.entry = self._book.change_entry(self._series.entry.id, changed)

    def _keep_setup(self) -> None:
        """State the setup that made the folders of a pair which is whole."""
        run, setup = stated_in(self._series.entry).run, redacted(self._request.setup, self._series.workspace.redactor)
        if run is not None and setup not in (None, run.setup):
            self._restate(run=structs.replace(run, setup=setup))

    def _leave_out(self, of: Part, why: str) -> None:
        """Let no run of a pair count."""
        for run in self._book.runs(self._series.entry.id):
            part = run.part if not run.discarded and not is_own(run) else None
            if part is not None and (part.copy, part.pair) == (of.copy, of.pair):
                left_out = (*run.problems, *noted(f"left out: {why}"))
                self._book.write_run(structs.replace(run, discarded=True, problems=left_out))

    # -- what is said of it ----------------------------------------------------------------------------

    def _failed(self, run: Run, part: Part) -> PairsEnd:
        command = self._cases[part.case].commands[0]
        lacks = lacking(self._series.workspace, self._request.run, command)
        return PairsEnd(Stop.FAILED, self._judge.failed(run, f"{self._axis.name}={part.side}", lacks))

    def _show(self, text: str = "", *, side: str | None = None) -> None:
        """Show a line, and how far the comparison is; `side`: that which is run now."""
        judge = self._judge
        series = SeriesProgress(
            made=judge.pairs,
            total=judge.budget,
            what="pairs",
            is_at_most=not judge.is_fixed,
            left_s=judge.left_s,
            estimates=words.estimates(judge.answer) if judge.answer is not None else (),
            note=f"{self._axis.name}={side}" if side is not None else "",
        )
        self._series.display.progress(text, series)
