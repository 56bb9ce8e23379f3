"""`logbook ab`: runs of two values of an axis or more, in turns, until the comparison is precise or the budget ends."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from logbook_agent.entries.entries import touched
from logbook_agent.findings.comparisons.compare import compare
from logbook_agent.findings.comparisons.told import data, delta_text, evidence_text
from logbook_agent.findings.evidence.answers import Answer
from logbook_agent.findings.evidence.compared import sides
from logbook_agent.findings.evidence.noise import noise_of
from logbook_agent.findings.evidence.stopping import enough
from logbook_agent.model.entry import Comparison, Entry
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.record import run_state
from logbook_agent.model.run import Run
from logbook_agent.model.stats import median
from logbook_agent.pages.views import refresh
from logbook_agent.running.execution import ProgressDisplay, RunPlan, run_once
from logbook_agent.running.launch.process import INTERRUPTED_STATUS, exit_status
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.prepare import Command
from logbook_agent.store.book import Book
from logbook_agent.store.processes import life
from logbook_agent.store.workspace import Workspace
from logbook_agent.sweeps.ab_axis import AbAxis, check_command, in_turns, parse_axis
from logbook_agent.sweeps.ab_prepare import AbRequest, checked, command, earlier, keep, new_entry, with_bench
from logbook_agent.sweeps.series import taken_up

# So many metrics are told in a line of progress, and so many problems of the output.
_TOLD = 3


class Stop(StrEnum):
    """Why no further pair was run."""

    PRECISE = "precise"
    PAIRS = "pairs"
    TIME = "time"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    NOT_COMPARABLE = "not-comparable"


@dataclass(frozen=True, slots=True, kw_only=True)
class AbResult:
    """What stands in the entry afterwards; `ran` counts the runs just made. `answers` are empty when there are none."""

    book: Book
    entry: Entry
    axis: AbAxis
    asked: Comparison
    answers: tuple[Answer, ...]
    pairs: int
    ran: int
    stop: Stop
    why: str
    exit_status: int

    def data(self) -> dict[str, Any]:
        return {
            "id": self.entry.id,
            "title": self.entry.title,
            "exit_status": self.exit_status,
            "axis": self.axis.name,
            "values": list(self.axis.values),
            "pairs": self.pairs,
            "ran": self.ran,
            "stopped": {"by": self.stop.value, "why": self.why},
            **data(self.asked, self.answers),
            "view": str(self.book.view_path),
        }


def ab(workspace: Workspace, request: AbRequest, display: ProgressDisplay) -> AbResult:
    """Run the values in turns. Nothing is written when the request does not fit."""
    axis = parse_axis(request.axis)
    request = checked(request)
    run = with_bench(request.run)
    check_command(axis, run.argv, run.config)
    book = workspace.book(run.entry_id)
    commands = [command(workspace, run, axis, value) for value in axis.values]
    with StopRequests() as stops:
        if run.entry_id is None:
            entry, asked = new_entry(workspace, book, request, axis)
            before = asked
        else:
            entry, asked, before = earlier(book, request, axis)
        with taken_up(workspace, book, entry):
            turns = _Turns(workspace, book, entry, asked, request, axis, commands, display, stops)
            if asked != before:
                keep(workspace, book, entry, asked, before)
            return turns.carry_out()


class _Turns:
    """The loop over pairs, with what it knows so far. A pair is one run of each value, however many there are."""

    def __init__(
        self,
        workspace: Workspace,
        book: Book,
        entry: Entry,
        asked: Comparison,
        request: AbRequest,
        axis: AbAxis,
        commands: Sequence[Command],
        display: ProgressDisplay,
        stops: StopRequests,
    ) -> None:
        self._workspace, self._book, self._entry, self._asked = workspace, book, entry, asked
        self._request, self._axis, self._commands, self._display = request, axis, commands, display
        self._stops = stops
        self._made = self._in_order()
        self._runs: list[Run] = []
        self._durations_s: list[float] = []
        self._answers: tuple[Answer, ...] = ()
        self._most = (request.repeat or request.max_pairs or 0) + self._pairs
        self._began = time.monotonic()

    def carry_out(self) -> AbResult:
        try:
            stop, why = self._loop()
        finally:
            refresh(self._workspace, self._book, touched(self._entry))
        if stop is Stop.NOT_COMPARABLE:
            self._workspace.warnings.append(why)
        if stop is Stop.INTERRUPTED:
            why += f"; more pairs: the same command with --id {self._entry.id}"
        statuses = [exit_status(r.exit) for r in self._runs if r.exit is not None]
        return AbResult(
            book=self._book,
            entry=self._entry,
            axis=self._axis,
            asked=self._asked,
            answers=self._answers,
            pairs=self._pairs,
            ran=len(self._runs),
            stop=stop,
            why=why,
            exit_status=next((s for s in statuses if s), INTERRUPTED_STATUS if stop is Stop.INTERRUPTED else 0),
        )

    @property
    def _pairs(self) -> int:
        """How many pairs of the entry are whole."""
        return self._made // len(self._commands)

    def _in_order(self) -> int:
        """How many runs there are to go on from. Raises UsageError when they were not taken in turns: what is added
        could not be judged in pairs."""
        keys = [self._axis.key(v) for v in self._axis.values]
        made = [r for r in self._book.runs(self._entry.id) if run_state(r, life) == "finished"]
        for position, run in enumerate(made):
            if self._axis.value_of(run) != keys[in_turns(len(keys), position)[1]]:
                raise UsageError(
                    f"run {run.run} of {self._entry.id} is out of order",
                    cause="its runs do not follow the order AB BA of an A/B of these values",
                    hint="to start a new entry, leave --id out",
                )
        return len(made)

    def _loop(self) -> tuple[Stop, str]:
        stopped = self._compare()
        while stopped is None:
            stopped = self._pair() or self._compare()
        return stopped

    def _pair(self) -> tuple[Stop, str] | None:
        """What is missing of the next pair; what ends the A/B when a run did not go well."""
        began, target = time.monotonic(), (self._pairs + 1) * len(self._commands)
        while self._made < target:
            if self._stops.count:
                self._compare()
                return Stop.INTERRUPTED, f"interrupted after {self._made} runs"
            pair, place = in_turns(len(self._commands), self._made)
            plan = RunPlan(
                command=self._commands[place],
                entry_id=self._entry.id,
                repeat=pair + 1,
                timeout_s=self._request.run.timeout_s,
                config={**self._request.run.config, **self._axis.config(self._axis.values[place])},
            )
            run = run_once(self._workspace, self._book, plan, self._display, self._stops)
            self._runs.append(run)
            state = run_state(run, life)
            if state != "finished":
                self._compare()
                name = f"run {run.run}, {self._axis.name}={self._axis.values[place]}"
                return (Stop.INTERRUPTED if state == "interrupted" else Stop.FAILED), f"{name}: {state}"
            self._made += 1
        self._durations_s.append(time.monotonic() - began)
        return None

    def _compare(self) -> tuple[Stop, str] | None:
        """Look at what there is; why this is the end, or None to go on. Before a pair is whole there is nothing."""
        if not self._pairs:
            return None
        try:
            self._answers = compare(self._book, self._asked).answers
        except LogbookError as error:
            self._answers = ()
            return self._nothing(f"{error.message} ({error.cause})" if error.cause else error.message)
        lines = [line for a in self._answers for line in a.lines]
        metrics = [m for line in lines for m in line.metrics]
        if metrics:
            self._display.progress(self._line())
        if not any(m.ratio is not None for m in metrics):
            reasons = dict.fromkeys(reason for m in metrics for reason in m.reasons)
            return self._nothing("; ".join(reasons) or ("nothing was measured" if lines else "no case has a partner"))
        if self._request.width is not None and self._is_precise(self._request.width):
            return Stop.PRECISE, f"every interval is narrower than {_percent(self._request.width)}"
        return self._spent()

    def _nothing(self, why: str) -> tuple[Stop, str]:
        """With what was wrong with the output: a value that is no number (NaN) was measured in vain."""
        problems = dict.fromkeys(p for run in self._book.runs(self._entry.id) for p in run.problems)
        shown = "".join(f"; {problem}" for problem in list(problems)[:_TOLD])
        return Stop.NOT_COMPARABLE, f"nothing can be compared: {why}{shown}"

    def _is_precise(self, width: float) -> bool:
        runs = [
            sides(line.pair, m.metric) for a in self._answers for line in a.lines for m in line.metrics if m.interleaved
        ]
        every = sum(len(line.metrics) for a in self._answers for line in a.lines)
        return len(runs) == every and all(enough(base, other, width=width) for base, other in runs)

    def _spent(self) -> tuple[Stop, str] | None:
        """Whether the budget is: a pair that would probably not end in time is not begun."""
        width, limit_s = self._request.width, self._request.max_time_s
        if self._pairs >= self._most:
            left = f", and an interval is not narrower than {_percent(width)} yet" if width is not None else ""
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
            for a in self._answers
            for line in a.lines
            for m in line.metrics
        ]
        more = f"; and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
        of = f" of {'at most ' if self._request.width else ''}{self._most}"
        return f"pair {self._pairs}{of}: {'; '.join(told[:_TOLD])}{more}"


def _percent(part: float) -> str:
    return f"{100 * part:.6g}%"
