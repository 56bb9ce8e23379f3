"""`logbook ab`: runs of two values of an axis or more, in pairs, until the verdict is settled or the budget ends."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from logbook_agent.entries.series import NotCounted, Series, series
from logbook_agent.findings.comparisons.compare import compare
from logbook_agent.findings.comparisons.told import data, delta_text, evidence_text
from logbook_agent.findings.evidence.answers import Answer, Line
from logbook_agent.findings.evidence.compared import Compared, scatter_of
from logbook_agent.findings.evidence.forecast import EFFECTS, Forecast, forecast_of
from logbook_agent.findings.evidence.noise import noise_of
from logbook_agent.findings.evidence.planning import (
    FEWEST_PAIRS,
    is_futile,
    is_look,
    pairs_for,
    pairs_until,
    smallest_effect,
)
from logbook_agent.findings.evidence.verdict import Verdict, percent
from logbook_agent.model.codec import encode
from logbook_agent.model.draw import order_of_round
from logbook_agent.model.entry import Comparison, Design, Entry
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.record import is_own, run_state
from logbook_agent.model.run import Run, Scalar
from logbook_agent.model.stats import median
from logbook_agent.running.execution import Display
from logbook_agent.running.prepare import Command
from logbook_agent.store.workspace import Workspace
from logbook_agent.sweeps.ab_axis import AbAxis, check_command, in_turns, parse_axis
from logbook_agent.sweeps.ab_prepare import (
    AbRequest,
    asked_of,
    checked,
    command,
    found_or_new,
    keep,
    on_terms,
    planned,
    rest_of_pilot,
)

# So many metrics are told in a line of progress, and so many problems of the output.
_TOLD = 3
# Where the machine is busy.
LOAD_ADVICE = "the load affects both sides of a pair, but the pairs will scatter more; wait until it is idle if you can"


class Stop(StrEnum):
    """Why no further pair was run."""

    SETTLED = "settled"
    PRECISE = "precise"
    FUTILE = "futile"
    PILOT = "pilot"
    PAIRS = "pairs"
    TIME = "time"
    FAILED = "failed"
    NOT_COUNTED = "not-counted"
    INTERRUPTED = "interrupted"
    NOT_COMPARABLE = "not-comparable"


@dataclass(frozen=True, slots=True, kw_only=True)
class AbResult:
    """The runs just made, and what stands in the entry afterwards. `answers` are empty when there are none."""

    series: Series
    axis: AbAxis
    asked: Comparison
    answers: tuple[Answer, ...]
    design: Design
    pairs: int
    stop: Stop
    why: str
    forecasts: tuple[Forecast, ...]

    def data(self) -> dict[str, Any]:
        made = self.series
        return {
            "id": made.entry.id,
            "title": made.entry.title,
            "exit_status": made.exit_status,
            "axis": self.axis.name,
            "values": list(self.axis.values),
            "pairs": self.pairs,
            "design": asdict(self.design),
            "ran": len(made.runs),
            "stopped": {"by": self.stop.value, "why": self.why},
            **data(self.asked, self.answers),
            "forecast": [encode(f) for f in self.forecasts],
            "view": str(made.book.view_path),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AbCase:
    """What is run for each value of the axis: `commands` in the order of the values, and the config beside the axis. A
    run is ended after `timeout_s` (None: never)."""

    commands: tuple[Command, ...]
    config: Mapping[str, Scalar] = field(default_factory=dict)
    timeout_s: float | None = None


def ab(workspace: Workspace, request: AbRequest, display: Display) -> AbResult:
    """Run the values in pairs. Nothing is written when the request does not fit."""
    axis = parse_axis(request.axis)
    request = checked(request)
    check_command(axis, request.run.argv, request.run.config)
    book = workspace.book(request.run.entry_id)
    commands = tuple(command(workspace, request.run, axis, value) for value in axis.values)
    case = AbCase(commands=commands, config=request.run.config, timeout_s=request.run.timeout_s)

    def found() -> Entry:
        return found_or_new(workspace, book, request, axis)

    with series(
        workspace, book, found, display, on=request.run.on, another="leave --id out", advice=LOAD_ADVICE
    ) as made:
        return Rounds(made, request, axis, [case]).carry_out()


class Rounds:
    """Which run comes next, and what is known so far. A pair is one run of each value, however many there are, and of
    each case, one case after another."""

    def __init__(self, made: Series, request: AbRequest, axis: AbAxis, cases: Sequence[AbCase]) -> None:
        self._series, self._book, self._entry = made, made.book, made.entry
        self._request, self._axis, self._cases = request, axis, cases
        self._made = self._in_order()
        if request.pilot:
            self._request = request = rest_of_pilot(request, made.entry.id, self._pairs)
        self._durations_s: list[float] = []
        self._answers: tuple[Answer, ...] = ()
        self._design = planned(request, made.entry.design, self._pairs)
        self._began = time.monotonic()
        before = asked_of(made.workspace, made.entry, axis)
        self._asked = on_terms(before, request)
        if self._asked != before or self._design != made.entry.design:
            self._entry = keep(made.workspace, made.book, made.entry, self._asked, before, self._design)

    def carry_out(self) -> AbResult:
        stopped = self._compare() or self._warm_up()
        while stopped is None:
            ended, compared = self._pair(), self._compare()
            stopped = ended or compared
        stop, why = stopped
        if stop is Stop.NOT_COMPARABLE:
            self._series.workspace.warnings.append(why)
        return AbResult(
            series=self._series,
            axis=self._axis,
            asked=self._asked,
            answers=self._answers,
            design=self._design,
            pairs=self._pairs,
            stop=stop,
            why=why,
            forecasts=tuple(self._forecasts()),
        )

    def _forecasts(self) -> list[Forecast]:
        """What the pairs say of those that are still to come. The result has been looked at as often as is planned."""
        if not self._answers:
            return []
        record, values = self._book.record(self._entry.id), len(self._axis.values)
        effects = {*EFFECTS, self._asked.minimum_effect}
        return [
            forecast_of(record, line, m, answer.other, values=values, effects=effects, before=self._design)
            for answer, line, m in self._compared
        ]

    @property
    def _pairs(self) -> int:
        """How many pairs of the entry are whole."""
        return self._made // self._size

    @property
    def _size(self) -> int:
        """How many runs a pair has."""
        return len(self._cases) * len(self._axis.values)

    def _in_order(self) -> int:
        """How many runs there are to go on from. Raises UsageError when they were not made in the entry's order: what
        is added could not be judged in pairs."""
        made = [
            r
            for r in self._book.runs(self._entry.id)
            if run_state(r, self._book.life) == "finished" and not r.discarded and not is_own(r)
        ]
        for position, run in enumerate(made):
            number, case, value = self._next(position, self._entry.design)
            if self._axis.value_of(run) != self._axis.key(value) or not self._is_of(run, case):
                raise UsageError(
                    f"run {run.run} of {self._entry.id} is out of order",
                    cause=f"pair {number} of an A/B of these values would have {self._axis.name}={value} here",
                    hint="to start a new entry, leave --id out",
                )
        return len(made)

    def _is_of(self, run: Run, case: AbCase) -> bool:
        """Whether a run is of this case; asked where there are several, whose configs differ."""
        return len(self._cases) == 1 or case.config.items() <= run.config.items()

    def _next(self, position: int, design: Design | None) -> tuple[int, AbCase, str]:
        """Pair (from 1), case and value of the run at a position (from 0)."""
        values = self._axis.values
        drawn, place = divmod(position, len(values))
        number, case = divmod(drawn, len(self._cases))
        order = in_turns(number, len(values))
        if design is not None and number + 1 >= design.since:
            # Each case of a pair has a draw of its own.
            order = order_of_round(design.seed, drawn + 1, len(values))
        return number + 1, self._cases[case], values[order[place]]

    def _warm_up(self) -> tuple[Stop, str] | None:
        """The pairs that are discarded; what ends the A/B when a run of them did not go well."""
        for number in range(self._request.run.discard):
            for case in self._cases:
                for place in in_turns(number, len(case.commands)):
                    if (ended := self._make(case, self._axis.values[place], discarded=True)) is not None:
                        return ended
        return None

    def _make(
        self, case: AbCase, value: str, *, repeat: int | None = None, discarded: bool = False
    ) -> tuple[Stop, str] | None:
        """One run of a value; what ends the A/B when it did not go well."""
        command = case.commands[self._axis.values.index(value)]
        config = {**case.config, **self._axis.config(value)}
        try:
            run = self._series.make(command, config, repeat=repeat, timeout_s=case.timeout_s, discarded=discarded)
        except NotCounted as error:
            self._leave_out(repeat, error.message)
            return Stop.NOT_COUNTED, error.message
        if run is None and self._series.is_interrupted:
            return Stop.INTERRUPTED, self._rest()
        run = run or self._series.runs[-1]  # one that was lost, or never started, ends the A/B as a failure does
        state = run_state(run, self._book.life)
        if state == "finished":
            return None
        code = f", exit code {run.exit.code}" if run.exit is not None and run.exit.code else ""
        return Stop.FAILED, f"run {run.run}, {self._axis.name}={value}: {state}{code}"

    def _leave_out(self, pair: int | None, why: str) -> None:
        """Let no run of this pair count."""
        for run in self._book.runs(self._entry.id):
            if pair is not None and run.repeat == pair and not run.discarded and not is_own(run):
                self._book.write_run(replace(run, discarded=True, problems=(*run.problems, f"left out: {why}")))

    def _pair(self) -> tuple[Stop, str] | None:
        """What is missing of the next pair; what ends the A/B when a run did not go well."""
        began, target = time.monotonic(), (self._pairs + 1) * self._size
        while self._made < target:
            pair, case, value = self._next(self._made, self._design)
            if (ended := self._make(case, value, repeat=pair)) is not None:
                return ended
            self._made += 1
        self._durations_s.append(time.monotonic() - began)
        return None

    def _rest(self) -> str:
        again = f"the same command with --id {self._entry.id}"
        if self._request.repeat is not None and not self._request.pilot:
            again += f" --repeat {self._design.rounds - self._pairs}"
        return self._series.rest(self._pairs, self._budget, again, what="pairs")

    @property
    def _budget(self) -> str:
        """`6`, or `at most 20`."""
        return f"{'at most ' if self._design.looks > 1 else ''}{self._design.rounds}"

    def _compare(self) -> tuple[Stop, str] | None:
        """Look at what there is; why this is the end, or None to go on. Before a pair is whole there is nothing."""
        if not self._pairs:
            return None
        try:
            self._answers = compare(self._book, self._asked).answers
        except LogbookError as error:
            self._answers = ()
            return self._nothing(f"{error.message} ({error.cause})" if error.cause else error.message)
        metrics = [m for _, _, m in self._compared]
        if metrics:
            self._series.display.progress(self._line())
        if not any(m.ratio is not None for m in metrics):
            reasons = dict.fromkeys(reason for m in metrics for reason in m.reasons)
            has_cases = any(a.lines for a in self._answers)
            nothing = "nothing was measured" if has_cases else "no case has a partner"
            return self._nothing("; ".join(reasons) or nothing)
        if self._pairs == FEWEST_PAIRS < self._design.rounds:
            self._forecast()
        return (self._looked_at() if self._request.repeat is None else None) or self._spent()

    def _looked_at(self) -> tuple[Stop, str] | None:
        """Why the result is good enough, or will never be; asked after the pairs that were stated before the first."""
        if not is_look(self._pairs, self._design.rounds):
            return None
        width, minimum, metrics = self._request.width, self._asked.minimum_effect, [m for _, _, m in self._compared]
        if width is not None:
            precise = all(narrower(m, width) for m in metrics)
            return (Stop.PRECISE, f"every interval is narrower than {percent(width)}") if precise else None
        left = [m for m in metrics if not (is_settled(m) or narrower(m, minimum))]
        if not left:
            narrow = "every verdict is settled, or its interval is narrower than the minimum effect"
            return Stop.SETTLED, "every verdict is settled" if all(map(is_settled, metrics)) else narrow
        if self._request.futility and all(self._futile(m) for m in left):
            return Stop.FUTILE, f"the budget cannot answer this: {self._needs(left[0])}"
        return None

    def _futile(self, m: Compared) -> bool:
        design, scatter = self._design, scatter_of(m)
        return scatter is not None and is_futile(self._asked.minimum_effect, scatter, design.rounds, alpha=design.alpha)

    def _needs(self, m: Compared) -> str:
        """`pairs scatter by 12%: showing an effect of 1% takes about 1,900 pairs; 20 pairs can show one of 9.6%`."""
        scatter, alpha, rounds = scatter_of(m) or 0.0, self._design.alpha, self._design.rounds
        minimum, width = self._asked.minimum_effect, self._request.width
        if width is not None:
            narrow = pairs_until(width, scatter, alpha=alpha)
            wanted = f"an interval narrower than {percent(width)}"
            return f"pairs scatter by {scatter:.2%}: {wanted} takes about {narrow:,} pairs"
        smallest = percent(round(smallest_effect(rounds, scatter, alpha=alpha), 4))
        if not minimum:
            return f"pairs scatter by {scatter:.2%}; {rounds} pairs can show an effect of {smallest}"
        needed = pairs_for(minimum, scatter, alpha=alpha)
        needed_text = f"showing an effect of {percent(minimum)} takes about {needed:,} pairs"
        return f"pairs scatter by {scatter:.2%}: {needed_text}; {rounds} pairs can show one of {smallest}"

    def _forecast(self) -> None:
        """What the first pairs say of how many it takes, from how far they scatter."""
        told = [f"{m.metric}: {self._needs(m)}" for _, _, m in self._compared if scatter_of(m) is not None]
        if told:
            self._series.display.progress(f"forecast after {self._pairs} pairs: {'; '.join(told[:_TOLD])}")

    def _nothing(self, why: str) -> tuple[Stop, str]:
        """With what was wrong with the output: a value that is no number (NaN) was measured in vain."""
        problems = dict.fromkeys(p for run in self._book.runs(self._entry.id) for p in run.problems)
        shown = "".join(f"; {problem}" for problem in list(problems)[:_TOLD])
        return Stop.NOT_COMPARABLE, f"nothing can be compared: {why}{shown}"

    @property
    def _compared(self) -> list[tuple[Answer, Line, Compared]]:
        """Every metric of every case, for each value beside the base."""
        return [(answer, line, metric) for answer in self._answers for line in answer.lines for metric in line.metrics]

    def _spent(self) -> tuple[Stop, str] | None:
        """Whether the budget is: a pair that would probably not end in time is not begun."""
        width, limit_s = self._request.width, self._request.max_time_s
        if self._request.pilot and self._pairs >= FEWEST_PAIRS:
            more = f"--id {self._entry.id} --max-pairs N (N: pairs to add)"
            return Stop.PILOT, f"the pilot is over; to go on: the same command without --pilot, with {more}"
        if self._pairs >= self._design.rounds:
            left = f", and an interval is not narrower than {percent(width)} yet" if width is not None else ""
            made = len(self._durations_s)
            return Stop.PAIRS, f"{made} pair{'s' if made != 1 else ''} run as planned{left}"
        if limit_s is None or not self._durations_s:
            return None
        is_over = time.monotonic() - self._began + median(self._durations_s) > limit_s
        return (Stop.TIME, f"another pair would not end within {limit_s:g} s") if is_over else None

    def _line(self) -> str:
        """`pair 3 of at most 20: tflops +5.98% (+5.68% to +6.29%, 3 pairs, order effect +0.02%)`."""
        noise = noise_of(self._answers)
        told = [
            (f"{a.other}: " if len(self._answers) > 1 else "")
            + f"{m.metric} {delta_text(m)} ({evidence_text(m, noise)})"
            + (", verdict withheld" if m.withheld_by else "")
            for a, _, m in self._compared
        ]
        more = f"; and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
        return f"pair {self._pairs} of {self._budget}: {'; '.join(told[:_TOLD])}{more}"


def narrower(m: Compared, width: float) -> bool:
    """Whether the interval of a metric is narrower than this, from end to end."""
    effect = m.judgement.effect if m.judgement is not None else None
    return effect is not None and effect.interval is not None and effect.interval.width < width


def is_settled(m: Compared) -> bool:
    """Whether its verdict is one that nothing withholds."""
    judged = m.judgement
    return judged is not None and not m.withheld_by and judged.verdict is not Verdict.INCONCLUSIVE
