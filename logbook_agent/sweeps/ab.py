"""`logbook ab`: runs of two values of an axis or more, in turns, until the comparison is precise or the budget ends."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from logbook_agent.entries.series import Series, series
from logbook_agent.findings.comparisons.compare import compare
from logbook_agent.findings.comparisons.told import data, delta_text, evidence_text
from logbook_agent.findings.evidence.answers import Answer, Line
from logbook_agent.findings.evidence.compared import Compared, sides
from logbook_agent.findings.evidence.noise import noise_of
from logbook_agent.findings.evidence.stopping import enough
from logbook_agent.model.entry import Comparison, Entry
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.model.record import run_state
from logbook_agent.model.stats import median
from logbook_agent.running.execution import Display
from logbook_agent.running.prepare import Command
from logbook_agent.store.processes import life
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
)

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
    """The runs just made, and what stands in the entry afterwards. `answers` are empty when there are none."""

    series: Series
    axis: AbAxis
    asked: Comparison
    answers: tuple[Answer, ...]
    pairs: int
    stop: Stop
    why: str

    def data(self) -> dict[str, Any]:
        made = self.series
        return {
            "id": made.entry.id,
            "title": made.entry.title,
            "exit_status": made.exit_status,
            "axis": self.axis.name,
            "values": list(self.axis.values),
            "pairs": self.pairs,
            "ran": len(made.runs),
            "stopped": {"by": self.stop.value, "why": self.why},
            **data(self.asked, self.answers),
            "view": str(made.book.view_path),
        }


def ab(workspace: Workspace, request: AbRequest, display: Display) -> AbResult:
    """Run the values in turns. Nothing is written when the request does not fit."""
    axis = parse_axis(request.axis)
    request = checked(request)
    check_command(axis, request.run.argv, request.run.config)
    book = workspace.book(request.run.entry_id)
    commands = [command(workspace, request.run, axis, value) for value in axis.values]

    def found() -> Entry:
        return found_or_new(workspace, book, request, axis)

    with series(workspace, book, found, display, another="leave --id out") as made:
        return _Turns(made, request, axis, commands).carry_out()


class _Turns:
    """Which run comes next, and what is known so far. A pair is one run of each value, however many there are."""

    def __init__(self, made: Series, request: AbRequest, axis: AbAxis, commands: Sequence[Command]) -> None:
        self._series, self._book, self._entry = made, made.book, made.entry
        self._request, self._axis, self._commands = request, axis, commands
        self._made = self._in_order()
        self._durations_s: list[float] = []
        self._answers: tuple[Answer, ...] = ()
        self._most = (request.repeat or request.max_pairs or 0) + self._pairs
        self._began = time.monotonic()
        before = asked_of(made.workspace, made.entry, axis)
        self._asked = on_terms(before, request)
        if self._asked != before:
            keep(made.workspace, made.book, made.entry, self._asked, before)

    def carry_out(self) -> AbResult:
        stopped = self._compare()
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
            pairs=self._pairs,
            stop=stop,
            why=why,
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

    def _pair(self) -> tuple[Stop, str] | None:
        """What is missing of the next pair; what ends the A/B when a run did not go well."""
        began, target = time.monotonic(), (self._pairs + 1) * len(self._commands)
        while self._made < target:
            pair, place = in_turns(len(self._commands), self._made)
            value = self._axis.values[place]
            config = {**self._request.run.config, **self._axis.config(value)}
            timeout_s = self._request.run.timeout_s
            run = self._series.make(self._commands[place], config, repeat=pair + 1, timeout_s=timeout_s)
            if run is None:
                return Stop.INTERRUPTED, self._rest()
            state = run_state(run, life)
            if state != "finished":
                return Stop.FAILED, f"run {run.run}, {self._axis.name}={value}: {state}"
            self._made += 1
        self._durations_s.append(time.monotonic() - began)
        return None

    def _rest(self) -> str:
        again = f"the same command with --id {self._entry.id}"
        if self._request.repeat is not None:
            again += f" --repeat {self._most - self._pairs}"
        return self._series.rest(self._pairs, self._budget, again, what="pairs")

    @property
    def _budget(self) -> str:
        """`6`, or `at most 20`."""
        return f"{'at most ' if self._request.width else ''}{self._most}"

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
        if self._request.width is not None and self._is_precise(self._request.width):
            return Stop.PRECISE, f"every interval is narrower than {_percent(self._request.width)}"
        return self._spent()

    def _nothing(self, why: str) -> tuple[Stop, str]:
        """With what was wrong with the output: a value that is no number (NaN) was measured in vain."""
        problems = dict.fromkeys(p for run in self._book.runs(self._entry.id) for p in run.problems)
        shown = "".join(f"; {problem}" for problem in list(problems)[:_TOLD])
        return Stop.NOT_COMPARABLE, f"nothing can be compared: {why}{shown}"

    @property
    def _compared(self) -> list[tuple[Answer, Line, Compared]]:
        """Every metric of every case, for each value beside the base."""
        return [(answer, line, metric) for answer in self._answers for line in answer.lines for metric in line.metrics]

    def _is_precise(self, width: float) -> bool:
        return all(m.interleaved and enough(*sides(line.pair, m.metric), width=width) for _, line, m in self._compared)

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
            for a, _, m in self._compared
        ]
        more = f"; and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
        return f"pair {self._pairs} of {self._budget}: {'; '.join(told[:_TOLD])}{more}"


def _percent(part: float) -> str:
    return f"{100 * part:.6g}%"
