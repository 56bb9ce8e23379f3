"""The pairs of a comparison: which runs come next, until its judge has enough."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import timedelta

from msgspec import Struct, structs, to_builtins

from logbook_agent.campaign.ab_axis import AbAxis, AbCase
from logbook_agent.campaign.ab_question import copy_of, restated
from logbook_agent.campaign.ab_request import AbRequest
from logbook_agent.campaign.checkouts import lacking
from logbook_agent.campaign.code_guard import CodeChanged
from logbook_agent.campaign.pair_judge import PairJudge, PairsEnd, Stop, stated_in
from logbook_agent.campaign.series import RunSeries
from logbook_agent.entries.edit import with_gates
from logbook_agent.findings.comparison import answer_lines, words
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.model.comparison import BLOCK_PAIRS, Comparison, Part
from logbook_agent.model.record import SETUP, SeriesProgress, is_own, run_state
from logbook_agent.model.run import Run, noted
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
    """Plans the pairs of the comparison that a series' entry states. A pair is a unit: one run of each side, however
    many there are, and of each case, one case after another."""

    def __init__(self, series: RunSeries, request: AbRequest, axis: AbAxis, cases: Sequence[AbCase]) -> None:
        self._series, self._book, self._request, self._axis = series, series.book, request, axis
        self._cases = {case.name: case for case in cases}
        self._made = self._standing()
        here = copy_of(series.workspace)
        self._copy = here if self._stated.design.copy not in ("", here) else ""
        pairs = len(self._whole())
        budget = self._budget(pairs)
        series.entry = self._book.change_entry(
            series.entry.id, lambda now: with_gates(now, request.gates, request.free)
        )
        self._judge = PairJudge(series, request, pairs=pairs, budget=budget)
        self._ended = self._judge.look()
        self._part = Part(pair=0, side="")  # what the last order is for

    @property
    def _stated(self) -> Comparison:
        return stated_in(self._series.entry)

    def _standing(self) -> set[Part]:
        """The parts that need not be made again. Of a pair that was cut, what is left counts for a minute: its runs
        are to meet one machine."""
        runs = filter(self._is_part, self._book.runs(self._series.entry.id))
        ended = {run.part: run.ended or "" for run in runs if run.part is not None}
        since, sides = stamp(self._series.workspace.now() - _CUT), self._stated.question.values
        return {
            p for p, at in ended.items() if at > since or all(structs.replace(p, side=side) in ended for side in sides)
        }

    @property
    def is_over(self) -> bool:
        """Whether no pair is to be made."""
        return self._ended is not None

    def carry_out(self) -> AbResult:
        """Have the runs made, until something ends the comparison."""
        self._show(self._judge.settled_before())
        try:
            for _, run in self._series.each(self._units(), together=self._is_together):
                self._made |= {run.part} if run.part is not None and self._is_part(run) else set()
                self._part = run.part or self._part
                if self._ended is None and self._judge.is_end(run, self._part.side):
                    self._ended = PairsEnd(Stop.FAILED, self._failed(run))
        except CodeChanged as error:
            self._leave_out(error.message)
            self._ended = PairsEnd(Stop.CODE_CHANGED, f"{error.message}; {error.hint}")
        if self._ended is None and self._series.is_stopped():
            self._ended = PairsEnd(Stop.INTERRUPTED, self._judge.rest())
        if self._ended is None:
            # One that was lost, or never started, ends it as a failure does.
            self._ended = PairsEnd(Stop.FAILED, self._failed(self._series.runs[-1]))
        if self._ended.stop is Stop.NOT_COMPARABLE:
            self._series.workspace.warnings.append(self._ended.why)
        result = self._result(self._ended)
        if self._ended.stop is Stop.SETTLED and self._series.runs:
            self._show(self._judge.to_keep())
        return result

    def not_prepared(self, run: Run) -> AbResult:
        """The result where a command of setup failed, and nothing was measured."""
        return self._result(PairsEnd(Stop.FAILED, self._judge.failed(run, SETUP)))

    def _result(self, ended: PairsEnd) -> AbResult:
        self._judge.look()
        return AbResult(
            series=self._series,
            answer=self._judge.answer,
            pairs=self._judge.pairs,
            stop=ended.stop,
            why=ended.why,
        )

    # -- which runs come next --------------------------------------------------------------------------

    def _units(self) -> Iterator[Iterator[RunPlan]]:
        """The warm-ups, then what is missing of each pair, until what was measured so far says that it is enough."""
        self._made = self._standing()  # a setup may have taken a while
        if self._ended is None:
            design = structs.replace(self._stated.design, budget_pairs=self._judge.budget)
            self._series.entry = restated(
                self._book, self._series.entry.id, lambda now: structs.replace(now, design=design)
            )
        for number in range(self._request.run.discard):
            if self._ended is None:
                yield self._orders(self._parts_of(self._copy, number + 1), discarded=True)
        while self._ended is None:
            began, parts = time.monotonic(), self._parts_of(*self._next())
            yield self._orders([part for part in parts if part not in self._made])
            if self._ended is None and self._made.issuperset(parts):
                self._keep_setup()
                self._judge.count(time.monotonic() - began)
                self._ended = self._judge.look()
                self._show(self._judge.line())

    def _keep_setup(self) -> None:
        run, setup = self._stated.run, redacted(self._request.setup, self._series.workspace.redactor)
        if run is not None and setup not in (None, run.setup):
            kept = structs.replace(run, setup=setup)
            self._series.entry = restated(self._book, self._series.entry.id, lambda now: structs.replace(now, run=kept))

    def _orders(self, parts: Sequence[Part], *, discarded: bool = False) -> Iterator[RunPlan]:
        for part in parts:
            # All sides warm up, so that it is known which of them fail.
            if self._ended is not None and not discarded:
                return
            self._part = part
            self._show()
            case, at = self._cases[part.case], self._stated.question.values.index(part.side)
            own = case.configs[at]
            yield structs.replace(
                self._request.run.plan(case.commands[at], self._series.entry.id),
                # Whole configs have the value of the axis already.
                config={**own, **({} if self._series.entry.recipe else self._axis.config(self._axis.values[at]))},
                part=None if discarded else part,
                repeat=None if discarded else part.pair,
                discarded=discarded,
                pin=f"pair {part.pair} {part.case}",
            )

    def _parts_of(self, copy: str, pair: int) -> list[Part]:
        """The parts of a pair, in the order that the design draws; each case has a draw of its own."""
        sides, design = self._stated.question.values, self._stated.design
        return [
            Part(pair=pair, side=sides[place], case=name, copy=copy)
            for name in self._cases
            for place in design.order_of(pair, len(sides), name, copy)
        ]

    def _whole(self) -> set[tuple[str, int]]:
        """The pairs that are whole, by the copy that began their block."""
        begun = {(part.copy, part.pair) for part in self._made}
        return {pair for pair in begun if self._made.issuperset(self._parts_of(*pair))}

    def _next(self) -> tuple[str, int]:
        """The pair to make: one that is missing in a block that was begun, else the first of a new block."""
        whole = self._whole()
        blocks = sorted({((pair - 1) // BLOCK_PAIRS, copy) for copy, pair in whole})
        begun = ((copy, block * BLOCK_PAIRS + place) for block, copy in blocks for place in range(1, BLOCK_PAIRS + 1))
        new = (blocks[-1][0] + 1) * BLOCK_PAIRS + 1 if blocks else 1
        return next((pair for pair in begun if pair not in whole), (self._copy, new))

    def _is_part(self, run: Run) -> bool:
        """Whether a run is made as a part of a pair, and need not be made again."""
        return run.part is not None and not run.discarded and run_state(run, self._book.stage) == "finished"

    @property
    def _is_together(self) -> bool:
        """Whether an executor makes the runs: it gets both sides of a pair at once, for one machine."""
        commands = [command for case in self._cases.values() for command in case.commands]
        return executor_of_commands(self._series.workspace, commands) is not None

    def _budget(self, pairs: int) -> int:
        """How many pairs the entry may have: so many more than it has, or what it states."""
        request, design = self._request, self._stated.design
        goes_on = request.run.entry_id is not None and request.max_pairs is None and pairs < design.budget_pairs
        return design.budget_pairs if design.fixed or goes_on else pairs + request.pairs

    def _leave_out(self, why: str) -> None:
        """Let no run of the pair that is being made count."""
        for run in self._book.runs(self._series.entry.id):
            part = run.part if not run.discarded and not is_own(run) else None
            if part is not None and (part.copy, part.pair) == (self._part.copy, self._part.pair):
                self._book.write_run(
                    structs.replace(run, discarded=True, problems=(*run.problems, *noted(f"left out: {why}")))
                )

    # -- what is said of it ----------------------------------------------------------------------------

    def _failed(self, run: Run) -> str:
        command = self._cases[self._part.case].commands[0]
        lacks = lacking(self._series.workspace, self._request.run, command)
        return self._judge.failed(run, f"{self._axis.name}={self._part.side}", lacks)

    def _show(self, text: str = "") -> None:
        """Show a line, and how far the comparison is."""
        judge = self._judge
        series = SeriesProgress(
            made=judge.pairs,
            total=judge.budget,
            what="pairs",
            is_at_most=not judge.is_fixed,
            left_s=judge.left_s,
            estimates=words.estimates(judge.answer) if judge.answer is not None else (),
            note=f"{self._axis.name}={self._part.side}" if self._part.pair and self._ended is None else "",
        )
        self._series.display.progress(text, series)
