"""The pairs of an A/B, made until the comparison is settled or the budget ends."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum

from logbook_agent.campaign.ab_axis import AbAxis
from logbook_agent.campaign.ab_prepare import AbRequest, copy_of, with_request
from logbook_agent.campaign.ab_sides import lacking
from logbook_agent.campaign.driver import Driver, NotCounted
from logbook_agent.campaign.trees import CodeChanged
from logbook_agent.findings.advice import ab_afresh, ab_more, other_evaluator, pairs_to_add
from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.answers import last_to_settle
from logbook_agent.findings.read import read
from logbook_agent.model.comparison import BLOCK_PAIRS, CODE_AXIS, Comparison, Design, Part
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import BudgetSpent
from logbook_agent.model.gates import fails
from logbook_agent.model.record import SETUP, is_own, run_state
from logbook_agent.model.run import Run, Scalar, noted
from logbook_agent.model.series_progress import SeriesProgress
from logbook_agent.model.stats import median
from logbook_agent.running.order import RunPlan
from logbook_agent.running.prepare import Command
from logbook_agent.running.run_budget import check_budget
from logbook_agent.text.phrases import counted, listed
from logbook_agent.text.shell_words import assignments

# So many findings are shown in a line of progress, and so many problems of the output.
_SHOWN = 3
_STDERR_LINES = 5


class Stop(StrEnum):
    """Why the A/B ended. `OPEN`: further pairs would settle nothing; the answer lacks something else."""

    SETTLED = "settled"
    OPEN = "open"
    PAIRS = "pairs"
    TIME = "time"
    FAILED = "failed"
    NOT_COUNTED = "not-counted"
    CODE_CHANGED = "code-changed"
    INTERRUPTED = "interrupted"
    NOT_COMPARABLE = "not-comparable"


@dataclass(frozen=True, slots=True, kw_only=True)
class AbResult:
    """The runs just made, and the answer as it stands afterwards; None when no pair is whole. `pairs` are those of the
    entry."""

    driver: Driver
    stated: Comparison
    answer: Answer | None
    pairs: int
    stop: Stop
    why: str

    @property
    def exit_status(self) -> int:
        """What the command exits with: that of its runs, or 1 where a side failed, or the code changed."""
        has_failed = self.stop is Stop.NOT_COMPARABLE and self.answer is not None and bool(self.answer.failed)
        return self.driver.exit_status or int(self.stop in (Stop.FAILED, Stop.CODE_CHANGED) or has_failed)

    def data(self) -> dict[str, object]:
        made = self.driver
        return {
            "id": made.entry.id,
            "title": made.entry.title,
            "exit_status": self.exit_status,
            "axis": self.stated.question.axis,
            "values": list(self.stated.question.values),
            "pairs": self.pairs,
            "design": asdict(self.stated.design),
            "ran": len(made.runs),
            "stopped": {"by": self.stop.value, "why": self.why},
            "answer": words.data(self.answer) if self.answer is not None else None,
            "view": str(made.book.view_path),
        }

    def text(self) -> str:
        """The answer in sentences; why it ended comes first."""
        count = counted(self.pairs, "pair")
        lines = [f"{self.driver.entry.id}: {count}; stopped: {self.why}"]
        return "\n".join([*lines, *(words.end_lines(self.answer) if self.answer is not None else ())])


@dataclass(frozen=True, slots=True, kw_only=True)
class AbCase:
    """What is run for each side: `commands` in the order of the sides, and the config beside the axis. `name` tells it
    from other cases; empty: its config does."""

    commands: tuple[Command, ...]
    config: Mapping[str, Scalar] = field(default_factory=dict)
    name: str = ""


class Rounds:
    """The design of an A/B, and what is known so far. A pair is one run of each side, however many there are, and of
    each case, one case after another. It ends when the question is settled, or the budget is spent."""

    def __init__(self, driver: Driver, request: AbRequest, axis: AbAxis, cases: Sequence[AbCase]) -> None:
        self._driver, self._book = driver, driver.book
        self._request, self._axis = request, axis
        # A single case needs no name: its command says what it is.
        self._cases = {case.name or (assignments(case.config) if len(cases) > 1 else ""): case for case in cases}
        design = self._stated(driver.entry).design
        here = copy_of(driver.workspace)
        self._copy = here if design.copy not in ("", here) else ""
        self._pairs = len(self._whole(self._finished()))
        budget = self._budget_of(design)
        self._entry = with_request(driver.workspace, driver.book, driver.entry, request, budget)
        self._budget = budget
        self._before = self._pairs
        self._thread = read(driver.workspace, driver.book)
        self._durations_s: list[float] = []
        self._said = ""  # of the pair before
        self._answer: Answer | None = None
        self._began = time.monotonic()
        # Why no further pair is made.
        self._ended: tuple[Stop, str] | None = None
        # What the last order is for.
        self._part = Part(pair=0, side="")

    def _budget_of(self, design: Design) -> int:
        """How many pairs the entry may have: so many more than it has, or what it states."""
        request = self._request
        if design.fixed:
            return design.budget_pairs
        is_resumed = request.run.entry_id is not None and request.max_pairs is None
        if is_resumed and self._pairs < design.budget_pairs:
            return design.budget_pairs
        return self._pairs + request.pairs

    @staticmethod
    def _stated(entry: Entry) -> Comparison:
        if entry.comparison is None:
            raise AssertionError(f"{entry.id} states no comparison")
        return entry.comparison

    def carry_out(self) -> AbResult:
        """Have the runs made, until something ends the A/B."""
        began = len(self._driver.runs)
        self._show(self._said_before())
        try:
            for _, run in self._driver.each(self._orders()):
                self._ended = self._failure(run) or self._ended
        except NotCounted as error:
            self._leave_out(error.message)
            more = f"; {error.hint}" if self._again() else ""
            stop = Stop.CODE_CHANGED if isinstance(error, CodeChanged) else Stop.NOT_COUNTED
            self._ended = stop, f"{error.message}{more}"
        if self._ended is None and (self._driver.is_interrupted or self._driver.refused is not None):
            self._ended = Stop.INTERRUPTED, self._rest()
        if self._ended is None:
            # One that was lost, or never started, ends the A/B as a failure does.
            run = self._driver.runs[began:][-1]
            self._ended = Stop.FAILED, self._failed(run, run_state(run, self._book.life))
        return self._result()

    def _said_before(self) -> str:
        """That the question is settled already, and what further pairs are good for; empty where it is not."""
        answer = self._thread.comparisons.answer_of(self._entry.id)
        if answer is None or not answer.is_settled or self._is_fixed:
            return ""
        found = "; ".join(words.sentence(answer, f) for f in answer.goals[:_SHOWN])
        more = "it is replicated, so further pairs change nothing"
        if answer.confidence == "exploratory":
            more = "only a second sitting, ten minutes after the first, can add to that: it replicates the answer"
        return f"{self._entry.id} is settled: {found}; {more}"

    def _result(self) -> AbResult:
        if self._ended is None:
            raise AssertionError("it goes on")
        stop, why = self._ended
        if stop in (Stop.FAILED, Stop.NOT_COUNTED, Stop.CODE_CHANGED, Stop.INTERRUPTED):
            self._look()
        if stop is Stop.NOT_COMPARABLE:
            self._driver.workspace.warnings.append(why)
        return AbResult(
            driver=self._driver,
            stated=self._stated(self._entry),
            answer=self._answer,
            pairs=self._pairs,
            stop=stop,
            why=why,
        )

    def not_prepared(self, run: Run) -> AbResult:
        """The result where a command of setup failed, and nothing was measured."""
        self._ended = Stop.FAILED, self._failed(run, run_state(run, self._book.life), is_setup=True)
        return self._result()

    # -- which run comes next --------------------------------------------------------------------------

    def _orders(self) -> Iterator[RunPlan]:
        """The warm-ups, then what is missing of each pair, until what was measured so far says that it is enough. A run
        that did not go well ends it, too."""
        self._ended = self._look()
        for number in range(self._request.run.discard if self._ended is None else 0):
            for part in self._parts(self._copy, number + 1):
                yield self._order(part, discarded=True)
                if self._is_over():
                    return
        made = set[tuple[str, int]]()
        while not self._is_over():
            began, finished = time.monotonic(), self._finished()
            now = self._next(self._whole(finished) | made)
            for part in self._parts(*now):
                if part not in finished:
                    yield self._order(part)
                    if self._is_over():
                        return
            made.add(now)
            self._pairs += 1
            self._durations_s.append(time.monotonic() - began)
            self._ended = self._look(is_new=True)

    def _is_over(self) -> bool:
        return self._ended is not None

    def _order(self, part: Part, *, discarded: bool = False) -> RunPlan:
        """One run of a pair, or a warm-up of it."""
        self._part = part
        self._show()
        case = self._cases[part.case]
        at = self._stated(self._entry).question.values.index(part.side)
        return replace(
            self._request.run.plan(case.commands[at], self._entry.id),
            config={**case.config, **self._axis.config(self._axis.values[at])},
            part=None if discarded else part,
            repeat=None if discarded else part.pair,
            discarded=discarded,
        )

    def _finished(self) -> set[Part]:
        """The parts that runs of the entry have had."""
        return {
            r.part
            for r in self._book.runs(self._driver.entry.id)
            if r.part is not None and not r.discarded and run_state(r, self._book.life) == "finished"
        }

    def _parts(self, copy: str, pair: int) -> list[Part]:
        """The parts of a pair, in the order that the design draws; each case has a draw of its own."""
        stated = self._stated(self._driver.entry)
        sides = stated.question.values
        return [
            Part(pair=pair, side=sides[place], case=name, copy=copy)
            for name in self._cases
            for place in stated.design.order_of(pair, len(sides), name, copy)
        ]

    def _whole(self, finished: set[Part]) -> set[tuple[str, int]]:
        """The pairs that are whole, by the copy that began their block."""
        begun = {(part.copy, part.pair) for part in finished}
        return {pair for pair in begun if finished.issuperset(self._parts(*pair))}

    def _next(self, whole: Set[tuple[str, int]]) -> tuple[str, int]:
        """The pair to make: one that is missing in a block that was begun, else the first of a new block."""
        blocks = sorted({((pair - 1) // BLOCK_PAIRS, copy) for copy, pair in whole})
        begun = ((copy, block * BLOCK_PAIRS + place) for block, copy in blocks for place in range(1, BLOCK_PAIRS + 1))
        new = (blocks[-1][0] + 1) * BLOCK_PAIRS + 1 if blocks else 1
        return next((pair for pair in begun if pair not in whole), (self._copy, new))

    def _failure(self, run: Run) -> tuple[Stop, str] | None:
        """Why a run ends the A/B, or None. A side that breaks a gate leaves the others; the base, and the only other
        side, leave none."""
        [seen] = self._book.statuses([run])
        failure, question = fails(seen.run), self._stated(self._entry).question
        ends_all = self._part.side == question.base or len(question.sides) == 1
        if seen.state == "finished" or not (ends_all or fails(run) is not None or failure is None):
            return None
        return Stop.FAILED, self._failed(run, seen.state, str(failure or ""))

    def _failed(self, run: Run, state: str, why: str = "", *, is_setup: bool = False) -> str:
        """Which run failed and how, its last lines of stderr, and the command that continues."""
        which = SETUP if is_setup else f"{self._axis.name}={self._part.side}"
        code = f", exit code {run.exit.code}" if run.exit is not None and run.exit.code else ""
        tail = (run.output.error_tail or run.output.tail)[-_STDERR_LINES:] if run.output is not None else ()
        stated = self._stated(self._entry)
        is_own = self._request.sweep is None and stated.run is not None and not stated.run.in_process
        # The recorded code fails again: --id would return to it.
        again = ab_afresh(self._entry.id, stated, new=False) if is_own else self._again()
        more = [f"fix that, then continue: {again}"] if again else []
        if why and "@" in self._part.side and stated.question.axis == CODE_AXIS:
            more = [self._fixed_side(stated)]
        if is_own and self._request.setup is None and (lacks := self._lacks(tail)):
            what = f"git does not hold {listed(lacks, _SHOWN)}, and the checkout lacks it"
            more = [f"{what}; if the command needs it: {again} --setup 'COMMAND THAT MAKES IT'", *more]
        because = f", {why}" if why else ""
        return "\n".join([f"run {run.run}, {which}: {state}{code}{because}", *(f"  {line}" for line in tail), *more])

    def _fixed_side(self, stated: Comparison) -> str:
        """What to do where a commit breaks a gate: it would break it again."""
        side = self._part.side
        turned = other_evaluator(self._entry.id, stated) if side == stated.question.base else ""
        text = f"{side} is a commit, which fails again: compare another one"
        return f"{text}, or measure both with the files of the other side: {turned}" if turned else text

    def _lacks(self, output: Sequence[str]) -> list[str]:
        """What the checkouts lack, what the output names first."""
        text, command = "\n".join(output), self._cases[self._part.case].commands[0]
        return sorted(lacking(self._driver.workspace, self._request, command), key=lambda name: name not in text)

    def _leave_out(self, why: str) -> None:
        """Let no run of the pair that is being made count."""
        for run in self._book.runs(self._entry.id):
            part = run.part if not run.discarded and not is_own(run) else None
            if part is not None and (part.copy, part.pair) == (self._part.copy, self._part.pair):
                self._book.write_run(replace(run, discarded=True, problems=(*run.problems, *noted(f"left out: {why}"))))

    # -- looks -----------------------------------------------------------------------------------------

    def _look(self, *, is_new: bool = False) -> tuple[Stop, str] | None:
        """Judge the pairs so far: why the A/B ends here, or None to continue. `is_new`: show the line of the pair that
        was just made."""
        if not self._pairs:
            return None
        self._answer = self._thread.comparisons.answer_with(self._book.record(self._entry.id))
        if self._answer is None or not any(f.change is not None for f in self._answer.goals):
            return self._nothing()
        if is_new:
            self._show(self._line(self._answer))
        stopped = None if self._is_fixed else self._settled(self._answer)
        return stopped or self._spent(self._answer)

    def _settled(self, answer: Answer) -> tuple[Stop, str] | None:
        """Why to stop after a block, before the budget is spent: all goals are settled. An A/B that was settled before
        and is continued makes a replication first."""
        made = self._pairs - self._before
        if self._pairs % BLOCK_PAIRS:
            return None
        # More pairs settle nothing of a metric that no run reports, or that has no direction.
        open_ones = [f for f in answer.goals if f.lacks_pairs]
        if not open_ones:
            resumed = self._request.run.entry_id is not None and self._request.max_pairs is None
            is_replicated = all(f.is_replicated is not None for f in answer.goals)
            # Settled by pairs that were made now, not by those before.
            is_new = any(f.judged > f.pairs - made for f in answer.goals)
            enough = made >= BLOCK_PAIRS and (is_replicated or answer.sittings < 2)
            said = next((words.to_settle(answer, f) for f in answer.goals if not f.is_settled), "")
            stop = (Stop.OPEN, f"the answer stays open: it needs {said}") if said else (Stop.SETTLED, "settled")
            return stop if is_new or resumed or enough else None
        return None

    def _spent(self, answer: Answer) -> tuple[Stop, str] | None:
        """Why to stop: the budget of pairs is spent, or another pair would probably not end within --max-time."""
        if self._pairs >= self._budget:
            made = self._pairs - self._before
            is_over = answer.is_settled or self._is_fixed
            more = "" if is_over else self._to_continue(answer)
            return Stop.PAIRS, f"{counted(made, 'pair')} made{more}"
        limit_s = self._request.max_time_s
        if limit_s is None or not self._durations_s:
            return None
        is_over = time.monotonic() - self._began + median(self._durations_s) > limit_s
        if not is_over:
            return None
        more = "" if answer.is_settled else self._to_continue()
        return Stop.TIME, f"the next pair would probably take longer than --max-time allows ({limit_s:g} s){more}"

    @property
    def _is_fixed(self) -> bool:
        """Whether the number of pairs is, and they are judged once."""
        return self._stated(self._entry).design.fixed

    def _to_continue(self, answer: Answer | None = None) -> str:
        """What goes on; with an open `answer`, as far as would settle it."""
        goals = answer.goals if answer is not None else ()
        if answer is not None and all(not words.is_practical(f) for f in goals if f.lacks_pairs):
            return f"; it needs {next((words.to_settle(answer, f) for f in goals if not f.is_settled), '')}"
        try:
            check_budget(self._driver.workspace, self._book)
        except BudgetSpent as error:
            return f"; {error.said}: {error.hint}"
        again = self._again(pairs_to_add(answer) if answer is not None else None)
        return f"; to continue: {again}" if again else ""

    def _again(self, more: int | None = None) -> str:
        """What continues, with so many pairs `more`; empty for `ci`, which measures afresh."""
        run = self._stated(self._entry).run
        if self._request.sweep is not None:
            return self._request.sweep + (f" --set confirm={self._budget + more}" if more else "")
        if run is not None and run.in_process:
            return "ab(book, ...) with the same functions"
        return ab_more(self._entry.id, more) if run is not None else ""

    def _rest(self) -> str:
        if self._driver.is_interrupted and self._answer is not None and self._answer.is_settled:
            return f"interrupted after {counted(self._pairs, 'pair')}; the question is settled"
        return self._driver.rest(self._pairs, self._budget_text, self._again(), what="pairs")

    @property
    def _budget_text(self) -> str:
        """`6`, or `at most 20`."""
        return f"{'' if self._is_fixed else 'at most '}{self._budget}"

    def _nothing(self) -> tuple[Stop, str]:
        """Why no pair counts, with what was wrong with the output."""
        found = self._answer
        why = (
            [*words.failures(found), *found.left_out, *(reason for f in found.findings for reason in f.left_out)]
            if found
            else []
        )
        why = why or ["nothing was measured"]
        runs = self._book.runs(self._entry.id)
        reported = sorted({name for run in runs for row in run.rows for name in (*row.metrics, *row.observations)})
        asked = self._stated(self._entry).question.metrics
        if reported and not {*asked} & {*reported}:
            why = [f"no run reports {listed(asked, _SHOWN)}, but {listed(reported, _SHOWN)}"]
        problems = dict.fromkeys(str(p) for run in runs for p in run.problems if p.grade != "noted")
        return Stop.NOT_COMPARABLE, "; ".join([f"nothing can be compared: {why[0]}", *list(problems)[:_SHOWN]])

    def _line(self, answer: Answer) -> str:
        """`pair 10 of at most 20: tflops +1.2% (95%: -0.7 to 3.3%); needs about 20 more pairs`."""
        shown = [words.progress(f) for f in answer.goals[:_SHOWN]]
        more = len(answer.goals) - _SHOWN
        parts = ["; ".join(shown) + (f"; and {more} more" if more > 0 else "")]
        last = last_to_settle(answer)
        if last is not None and not self._pairs % BLOCK_PAIRS:
            parts.append(f"needs {words.more_pairs(last)}")
        said, self._said = self._said, "; ".join(parts)
        # Within a block, what is settled stays as it is.
        news = "" if self._said == said else f": {self._said}"
        return f"pair {self._pairs} of {self._budget_text}{news}"

    def _show(self, text: str = "") -> None:
        """Show a line, and how far the A/B is."""
        made = self._pairs
        part, axis = self._part, self._axis.name
        series = SeriesProgress(
            made=made,
            total=self._budget,
            what="pairs",
            is_at_most=not self._is_fixed,
            left_s=(self._budget - made) * median(self._durations_s) if self._durations_s else None,
            estimates=words.estimates(self._answer) if self._answer is not None else (),
            note=f"{axis}={part.side}" if part.pair and not self._is_over() else "",
        )
        self._driver.display.progress(text, series)
