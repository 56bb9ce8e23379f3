"""The pairs of a comparison: which runs come next, and when there are enough."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum

from logbook_agent.campaign.ab_axis import AbAxis
from logbook_agent.campaign.ab_question import with_request
from logbook_agent.campaign.ab_request import AbRequest
from logbook_agent.campaign.ab_sides import lacking
from logbook_agent.campaign.code_guard import CodeChanged
from logbook_agent.campaign.series import RunSeries
from logbook_agent.findings.advice import ab_afresh, ab_more, other_evaluator, pairs_to_add
from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.answers import last_to_settle
from logbook_agent.findings.read import read
from logbook_agent.model.comparison import BLOCK_PAIRS, CODE_AXIS, Comparison, Part
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import BudgetSpent
from logbook_agent.model.gates import fails
from logbook_agent.model.record import SETUP, is_own, run_state
from logbook_agent.model.run import Run, Scalar, noted
from logbook_agent.model.series_progress import SeriesProgress
from logbook_agent.model.stats import median
from logbook_agent.running.execution import executor_of_commands
from logbook_agent.running.order import RunPlan
from logbook_agent.running.prepare import Command
from logbook_agent.running.run_budget import check_budget
from logbook_agent.text.phrases import counted, listed
from logbook_agent.text.shell_words import assignments

# So many findings are shown in a line of progress, and so many problems of the output.
_SHOWN = 3
_STDERR_LINES = 5


class Stop(StrEnum):
    """Why no further pair is made."""

    SETTLED = "settled"
    PAIRS = "pairs"
    TIME = "time"
    FAILED = "failed"
    CODE_CHANGED = "code-changed"
    INTERRUPTED = "interrupted"
    NOT_COMPARABLE = "not-comparable"


@dataclass(frozen=True, slots=True, kw_only=True)
class AbResult:
    """The runs just made, and the answer as it stands afterwards; None when no pair is whole. `pairs` are those of the
    entry."""

    series: RunSeries
    stated: Comparison
    answer: Answer | None
    pairs: int
    stop: Stop
    why: str

    @property
    def exit_status(self) -> int:
        """What the command exits with: that of its runs, or 1 where a side failed, or the code changed."""
        has_failed = self.stop is Stop.NOT_COMPARABLE and self.answer is not None and bool(self.answer.failed)
        return self.series.exit_status or int(self.stop in (Stop.FAILED, Stop.CODE_CHANGED) or has_failed)

    def data(self) -> dict[str, object]:
        return {
            "id": self.series.entry.id,
            "title": self.series.entry.title,
            "exit_status": self.exit_status,
            "axis": self.stated.question.axis,
            "values": list(self.stated.question.values),
            "pairs": self.pairs,
            "design": asdict(self.stated.design),
            "ran": len(self.series.runs),
            "stopped": {"by": self.stop.value, "why": self.why},
            "answer": words.data(self.answer) if self.answer is not None else None,
            "view": str(self.series.book.view_path),
        }

    def text(self) -> str:
        """The answer in sentences; why it ended comes first."""
        lines = [f"{self.series.entry.id}: {counted(self.pairs, 'pair')}; stopped: {self.why}"]
        if self.answer is not None:
            lines += words.first_words(self.answer)
            for f in self.answer.findings:
                lines += [words.sentence(self.answer, f), *(f"  {note}" for note in (*f.left_out, *f.notes))]
            lines += words.about(self.answer)
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbCase:
    """What is run for each side: `commands` in the order of the sides, and the config beside the axis. `name` tells it
    from other cases; empty: its config does."""

    commands: tuple[Command, ...]
    config: Mapping[str, Scalar] = field(default_factory=dict)
    name: str = ""


class Pairs:
    """Plans the pairs of an entry's comparison and judges them. A pair is a round: one run of each side, however many
    there are, and of each case, one case after another."""

    def __init__(self, series: RunSeries, request: AbRequest, axis: AbAxis, cases: Sequence[AbCase]) -> None:
        self._series, self._book, self._request, self._axis = series, series.book, request, axis
        # A single case needs no name: its command says what it is.
        self._cases = {case.name or (assignments(case.config) if len(cases) > 1 else ""): case for case in cases}
        self._stated = _stated(series.entry)
        self._made = {run.part for run in self._book.runs(series.entry.id) if self._is_part(run)}
        pairs = range(1, len(self._made) + 2)
        self._pairs = next(pair for pair in pairs if not self._made.issuperset(self._round(pair))) - 1
        self._before, self._budget = self._pairs, self._budget_now()
        self._entry = with_request(series.workspace, series.book, series.entry, request, self._budget)
        self._stated = _stated(self._entry)
        self._comparisons = read(series.workspace, series.book).comparisons
        self._answer: Answer | None = None
        self._ended: tuple[Stop, str] | None = None
        self._part = Part(pair=0, side="")  # what the last order is for
        self._durations_s: list[float] = []
        self._said = ""  # of the pair before
        self._began = time.monotonic()

    def carry_out(self) -> AbResult:
        """Have the runs made, until something ends the comparison."""
        first = len(self._series.runs)
        self._show(self._said_before())
        try:
            for _, run in self._series.each(self._rounds(), together=self._is_together):
                self._made |= {run.part} if self._is_part(run) else set()
                self._ended = self._ended or self._failure(run)
        except CodeChanged as error:
            self._leave_out(error.message)
            self._ended = Stop.CODE_CHANGED, error.message + (f"; {error.hint}" if self._again() else "")
        if self._ended is None and (self._series.is_interrupted or self._series.refused is not None):
            self._ended = Stop.INTERRUPTED, self._rest()
        if self._ended is None:
            # One that was lost, or never started, ends it as a failure does.
            run = self._series.runs[first:][-1]
            self._ended = Stop.FAILED, self._failed(run, run_state(run, self._book.life))
        stop, why = self._ended
        if stop in (Stop.FAILED, Stop.CODE_CHANGED, Stop.INTERRUPTED):
            self._look()
        if stop is Stop.NOT_COMPARABLE:
            self._series.workspace.warnings.append(why)
        return self._result(stop, why)

    def not_prepared(self, run: Run) -> AbResult:
        """The result where a command of setup failed, and nothing was measured."""
        why = self._failed(run, run_state(run, self._book.life), is_setup=True)
        self._look()
        return self._result(Stop.FAILED, why)

    def _result(self, stop: Stop, why: str) -> AbResult:
        return AbResult(
            series=self._series, stated=self._stated, answer=self._answer, pairs=self._pairs, stop=stop, why=why
        )

    # -- which runs come next --------------------------------------------------------------------------

    def _rounds(self) -> Iterator[Iterator[RunPlan]]:
        """The warm-ups, then what is missing of each pair, until what was measured so far says that it is enough."""
        self._ended = self._look()
        for number in range(self._request.run.discard):
            if self._ended is None:
                yield self._orders(self._round(number + 1), discarded=True)
        while self._ended is None:
            began, parts = time.monotonic(), self._round(self._pairs + 1)
            yield self._orders([part for part in parts if part not in self._made])
            if self._ended is None and self._made.issuperset(parts):
                self._pairs += 1
                self._durations_s.append(time.monotonic() - began)
                self._ended = self._look(is_new=True)

    def _orders(self, parts: Sequence[Part], *, discarded: bool = False) -> Iterator[RunPlan]:
        for part in parts:
            if self._ended is not None:
                return
            self._part = part
            self._show()
            case, at = self._cases[part.case], self._stated.question.values.index(part.side)
            yield replace(
                self._request.run.plan(case.commands[at], self._entry.id),
                config={**case.config, **self._axis.config(self._axis.values[at])},
                part=None if discarded else part,
                repeat=None if discarded else part.pair,
                discarded=discarded,
                pin=f"pair {part.pair} {part.case}",
            )

    def _round(self, pair: int) -> list[Part]:
        """The parts of a pair, in the order that the design draws; each case has a draw of its own."""
        sides, design = self._stated.question.values, self._stated.design
        return [
            Part(pair=pair, side=sides[place], case=name)
            for name in self._cases
            for place in design.order_of(pair, len(sides), name)
        ]

    def _is_part(self, run: Run) -> bool:
        """Whether a run is made as a part of a pair, and need not be made again."""
        return run.part is not None and not run.discarded and run_state(run, self._book.life) == "finished"

    @property
    def _is_together(self) -> bool:
        """Whether an executor makes the runs: it gets both sides of a pair at once, for one machine."""
        commands = [command for case in self._cases.values() for command in case.commands]
        return executor_of_commands(self._series.workspace, commands) is not None

    def _budget_now(self) -> int:
        """How many pairs the entry may have: so many more than it has, or what it states."""
        request, design = self._request, self._stated.design
        goes_on = request.run.entry_id is not None and request.max_pairs is None and self._pairs < design.budget_pairs
        return design.budget_pairs if design.fixed or goes_on else self._pairs + request.pairs

    def _leave_out(self, why: str) -> None:
        """Let no run of the pair that is being made count."""
        for run in self._book.runs(self._entry.id):
            if run.part is not None and run.part.pair == self._part.pair and not run.discarded and not is_own(run):
                self._book.write_run(replace(run, discarded=True, problems=(*run.problems, *noted(f"left out: {why}"))))

    # -- when there are enough -------------------------------------------------------------------------

    def _failure(self, run: Run) -> tuple[Stop, str] | None:
        """Why a run ends the comparison, or None. A side that breaks a gate leaves the others; the base, and the only
        other side, leave none."""
        [seen] = self._book.statuses([run])
        self._part = run.part or self._part
        failure, question = fails(seen.run), self._stated.question
        ends_all = self._part.side == question.base or len(question.sides) == 1
        if seen.state == "finished" or not (ends_all or fails(run) is not None or failure is None):
            return None
        return Stop.FAILED, self._failed(run, seen.state, str(failure or ""))

    def _look(self, *, is_new: bool = False) -> tuple[Stop, str] | None:
        """Judge the pairs so far: why no further one is made, or None to continue. `is_new`: show the line of the pair
        that was just made."""
        if not self._pairs:
            return None
        self._answer = answer = self._comparisons.answer_with(self._book.record(self._entry.id))
        if answer is None or not any(f.change is not None for f in answer.goals):
            return self._nothing()
        if is_new:
            self._show(self._line(answer))
        return self._settled(answer) or self._spent(answer)

    def _settled(self, answer: Answer) -> tuple[Stop, str] | None:
        """Why to stop after a block: no further pair settles anything. A comparison that was settled before, and is
        asked again, is replicated first."""
        made, request = self._pairs - self._before, self._request
        if self._is_fixed or self._pairs % BLOCK_PAIRS or any(f.lacks_pairs for f in answer.goals):
            return None
        # Settled by pairs that were made now, not by those before.
        is_new = any(f.judged > f.pairs - made for f in answer.goals)
        resumed = request.run.entry_id is not None and request.max_pairs is None
        may_replicate = answer.sittings > 1 and any(f.is_replicated is None for f in answer.goals)
        if not (is_new or resumed or (made and not may_replicate)):
            return None
        said = next((words.to_settle(answer, f) for f in answer.goals if not f.is_settled), "")
        return Stop.SETTLED, f"the answer stays open: it needs {said}" if said else "settled"

    def _spent(self, answer: Answer) -> tuple[Stop, str] | None:
        """Why to stop: the budget of pairs is spent, or another pair would probably not end within --max-time."""
        if self._pairs >= self._budget:
            more = "" if answer.is_settled or self._is_fixed else self._to_continue(answer)
            return Stop.PAIRS, f"{counted(self._pairs - self._before, 'pair')} made{more}"
        limit_s = self._request.max_time_s
        if limit_s is None or not self._durations_s:
            return None
        if time.monotonic() - self._began + median(self._durations_s) <= limit_s:
            return None
        more = "" if answer.is_settled else self._to_continue()
        return Stop.TIME, f"the next pair would probably take longer than --max-time allows ({limit_s:g} s){more}"

    @property
    def _is_fixed(self) -> bool:
        """Whether the number of pairs is, and they are judged once."""
        return self._stated.design.fixed

    # -- what is said of it ----------------------------------------------------------------------------

    def _said_before(self) -> str:
        """That the question is settled already, and what further pairs are good for; empty where it is not."""
        answer = self._comparisons.answer_of(self._entry.id)
        if answer is None or not answer.is_settled or self._is_fixed:
            return ""
        found = "; ".join(words.sentence(answer, f) for f in answer.goals[:_SHOWN])
        more = "it is replicated, so further pairs change nothing"
        if answer.confidence == "exploratory":
            more = "only a second sitting, ten minutes after the first, can add to that: it replicates the answer"
        return f"{self._entry.id} is settled: {found}; {more}"

    def _failed(self, run: Run, state: str, why: str = "", *, is_setup: bool = False) -> str:
        """Which run failed and how, its last lines of stderr, and the command that continues."""
        which = SETUP if is_setup else f"{self._axis.name}={self._part.side}"
        code = f", exit code {run.exit.code}" if run.exit is not None and run.exit.code else ""
        tail = (run.output.error_tail or run.output.tail)[-_STDERR_LINES:] if run.output is not None else ()
        stated, side = self._stated, self._part.side
        is_own_command = self._request.sweep is None and stated.run is not None and not stated.run.in_process
        # The recorded code fails again: --id would return to it.
        again = ab_afresh(self._entry.id, stated, new=False) if is_own_command else self._again()
        more = [f"fix that, then continue: {again}"] if again else []
        if why and "@" in side and stated.question.axis == CODE_AXIS:
            turned = other_evaluator(self._entry.id, stated) if side == stated.question.base else ""
            more = [f"{side} is a commit, which fails again: compare another one"]
            more[0] += f", or measure both with the files of the other side: {turned}" if turned else ""
        if is_own_command and self._request.setup is None:
            lacks = lacking(self._series.workspace, self._request, self._cases[self._part.case].commands[0])
            # What the output names comes first.
            if found := listed(sorted(lacks, key=lambda name: name not in "\n".join(tail)), _SHOWN):
                what = f"git does not hold {found}, and the checkout lacks it"
                more = [f"{what}; if the command needs it: {again} --setup 'COMMAND THAT MAKES IT'", *more]
        because = f", {why}" if why else ""
        return "\n".join([f"run {run.run}, {which}: {state}{code}{because}", *(f"  {line}" for line in tail), *more])

    def _to_continue(self, answer: Answer | None = None) -> str:
        """What goes on; with an open `answer`, as far as would settle it."""
        goals = answer.goals if answer is not None else ()
        if answer is not None and all(not words.is_practical(f) for f in goals if f.lacks_pairs):
            return f"; it needs {next((words.to_settle(answer, f) for f in goals if not f.is_settled), '')}"
        try:
            check_budget(self._series.workspace, self._book)
        except BudgetSpent as error:
            return f"; {error.said}: {error.hint}"
        again = self._again(pairs_to_add(answer) if answer is not None else None)
        return f"; to continue: {again}" if again else ""

    def _again(self, more: int | None = None) -> str:
        """What continues, with so many pairs `more`; empty for `ci`, which measures afresh."""
        run = self._stated.run
        if self._request.sweep is not None:
            return self._request.sweep + (f" --set confirm={self._budget + more}" if more else "")
        if run is not None and run.in_process:
            return "ab(book, ...) with the same functions"
        return ab_more(self._entry.id, more) if run is not None else ""

    def _rest(self) -> str:
        if self._series.is_interrupted and self._answer is not None and self._answer.is_settled:
            return f"interrupted after {counted(self._pairs, 'pair')}; the question is settled"
        return self._series.rest(self._pairs, self._budget_text, self._again(), what="pairs")

    @property
    def _budget_text(self) -> str:
        """`6`, or `at most 20`."""
        return f"{'' if self._is_fixed else 'at most '}{self._budget}"

    def _nothing(self) -> tuple[Stop, str]:
        """Why no pair counts, with what was wrong with the output."""
        found, why = self._answer, ["nothing was measured"]
        if found is not None:
            of_findings = (reason for f in found.findings for reason in f.left_out)
            why = [*words.failures(found), *found.left_out, *of_findings, *why]
        runs = self._book.runs(self._entry.id)
        reported = sorted({name for run in runs for row in run.rows for name in (*row.metrics, *row.observations)})
        asked = self._stated.question.metrics
        if reported and not {*asked} & {*reported}:
            why = [f"no run reports {listed(asked, _SHOWN)}, but {listed(reported, _SHOWN)}"]
        problems = dict.fromkeys(str(p) for run in runs for p in run.problems if p.grade != "noted")
        return Stop.NOT_COMPARABLE, "; ".join([f"nothing can be compared: {why[0]}", *list(problems)[:_SHOWN]])

    def _line(self, answer: Answer) -> str:
        """`pair 10 of at most 20: tflops +1.2% (95%: -0.7 to 3.3%); needs about 20 more pairs`."""
        more = len(answer.goals) - _SHOWN
        shown = [*map(words.progress, answer.goals[:_SHOWN]), *([f"and {more} more"] if more > 0 else [])]
        last = last_to_settle(answer)
        if last is not None and not self._pairs % BLOCK_PAIRS:
            shown.append(f"needs {words.more_pairs(last)}")
        said, self._said = self._said, "; ".join(shown)
        # Within a block, what is settled stays as it is.
        return f"pair {self._pairs} of {self._budget_text}" + ("" if self._said == said else f": {self._said}")

    def _show(self, text: str = "") -> None:
        """Show a line, and how far the comparison is."""
        left = self._budget - self._pairs
        series = SeriesProgress(
            made=self._pairs,
            total=self._budget,
            what="pairs",
            is_at_most=not self._is_fixed,
            left_s=left * median(self._durations_s) if self._durations_s else None,
            estimates=words.estimates(self._answer) if self._answer is not None else (),
            note=f"{self._axis.name}={self._part.side}" if self._part.pair and self._ended is None else "",
        )
        self._series.display.progress(text, series)


def _stated(entry: Entry) -> Comparison:
    if entry.comparison is None:
        raise AssertionError(f"{entry.id} states no comparison")
    return entry.comparison
