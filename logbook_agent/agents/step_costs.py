"""What the next steps cost, from the durations and the noise of what was measured; pure."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from logbook_agent.findings.advice import pairs_to_add
from logbook_agent.findings.attempts import command_key
from logbook_agent.findings.case_repeats import noise_of
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.answers import missing_pairs
from logbook_agent.findings.comparison.synopsis import nearest
from logbook_agent.findings.read import Findings
from logbook_agent.findings.tables.frame import used_devices
from logbook_agent.model.comparison import BUDGET_PAIRS, MINIMUM_EFFECT
from logbook_agent.model.record import Record
from logbook_agent.model.run import Run
from logbook_agent.model.stats import median
from logbook_agent.text.phrases import counted

# The latest entries with runs from which durations are taken, and below which chance nothing is settled.
_LATEST, _RARE = 50, 0.05
_REPEATS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """At most so many `pairs` (0: none are made), `minutes` and hours of accelerators; None where that is not known,
    or no accelerator takes part. `beyond` says which budget that does not fit into, or why the pairs settle nothing;
    `short` that the budget which a comparison states is spent without an answer."""

    pairs: int = 0
    minutes: float | None = None
    device_hours: float | None = None
    beyond: str = ""
    short: str = ""


class StepCosts:
    """The costs of steps of a thread."""

    def __init__(self, found: Findings) -> None:
        self._found = found
        self._answers = {a.entry: a for a in found.answers if found.comparisons.answer_of(a.entry) is a}

    def of(self, command: str, entry: str = "", pairs: int = 0, *, simulate: bool = True) -> StepCost:
        """The cost of a `logbook` command, which adds pairs to the comparison of an entry or makes `pairs` new ones.
        `simulate`: also judge simulated pairs, which takes most of a second."""
        words = _words(command)
        if not words:
            return StepCost()
        answer = self._answers.get(entry) if f"--id {entry}" in command else None
        is_ab = words[1:2] == ["ab"] or bool(pairs)
        pairs = pairs or (BUDGET_PAIRS if is_ab else 0)
        own = words[words.index("--") + 1 :] if "--" in words else []
        runs = self._runs_like(own, entry)
        durations = [run.duration_s for run in runs if run.duration_s is not None]
        run_s = median(durations) if durations else None
        seconds = pairs * self._pair_s(answer, run_s) if is_ab else run_s or math.nan
        devices = max((_accelerators(run) for run in runs), default=0)
        beyond = self._beyond(seconds, devices, 2 * pairs or 1)
        if not beyond and is_ab and simulate:
            beyond = _of_pairs(answer, self._budget_of(entry)) if answer is not None else self._of_noise(words)
        short = _short(answer, self._budget_of(entry)) if answer is not None and not beyond else ""
        return StepCost(
            pairs=pairs,
            minutes=round(seconds / 60, 4) if math.isfinite(seconds) else None,
            device_hours=round(devices * seconds / 3600, 3) if devices and math.isfinite(seconds) else None,
            beyond=beyond,
            short=short,
        )

    @staticmethod
    def _pair_s(answer: Answer | None, run_s: float | None) -> float:
        spans = [_seconds(*span) for span in answer.times] if answer is not None else []
        # The times of a record are whole seconds.
        known = [*([median(spans)] if spans else []), *([2 * run_s] if run_s is not None else [])]
        return max(known, default=math.nan)

    @cached_property
    def _latest(self) -> list[Record]:
        """The latest entries that measured something, the newest first."""
        ids = [s["id"] for s in reversed(self._found.thread.counted) if s["rows"]][:_LATEST]
        return [self._found.records.record(entry_id) for entry_id in ids]

    def _runs_like(self, command: Sequence[str], entry: str) -> list[Run]:
        """The runs of the same command, else those of the entry, else those of the same program."""
        runs = [(r.id, s.run) for r in self._latest for s in r.runs if s.state == "finished" and s.run.rows]
        key = command_key(command) if command else ""
        for chosen in (
            [run for _, run in runs if key and command_key(run.command) == key],
            [run for of, run in runs if of == entry],
            [run for _, run in runs if command and run.command[:2] == tuple(command[:2])],
        ):
            if chosen:
                return chosen
        return []

    # -- budgets ---------------------------------------------------------------------------------------

    def _budget_of(self, entry: str) -> int:
        comparison = self._found.records.entry(entry).comparison
        return comparison.design.budget_pairs if comparison is not None else BUDGET_PAIRS

    def _beyond(self, seconds: float, devices: int, runs: int) -> str:
        """Which budget of the thread a step does not fit into."""
        hours, header = seconds / 3600, self._found.records.header
        budget, (spent_runs, spent_hours) = header.limits, self._found.spent
        if (most := budget.runs) is not None and runs > most - spent_runs:
            return f"it takes up to {counted(runs, 'run')}, and {max(0, most - spent_runs)} of {most} are left"
        if budget.hours is not None and hours > budget.hours - spent_hours:
            left = max(0.0, budget.hours - spent_hours)
            return f"it takes {hours:.2g} hours, and {left:.2g} of {budget.hours:g} are left"
        if header.device_hours is not None and devices and devices * hours > header.device_hours - self._spent:
            left = max(0.0, header.device_hours - self._spent)
            return f"it takes {devices * hours:.2g} device hours, and {left:.2g} of {header.device_hours:g} are left"
        return ""

    @cached_property
    def _spent(self) -> float:
        """The hours of accelerators that the thread has spent."""
        runs = [s.run for r in self._found.contents.records for s in r.runs]
        return sum((run.duration_s or 0.0) / 3600 * _accelerators(run) for run in runs)

    def _of_noise(self, words: Sequence[str]) -> str:
        """That an A/B of the usual size settles nothing, by the noise of the latest repeats; empty where it may, or the
        smallest effect of interest is another."""
        if "--min-effect" in words:
            return ""
        metrics = self._found.records.header.metrics
        repeated = (r for r in self._latest if r.entry.comparison is None and len(r.runs) >= _REPEATS)
        for noise in (n for r in list(repeated)[:1] for n in noise_of(r, metrics, forecasts=1)[:1] if n.settles):
            if max(one.part for one in noise.settles if one.effect <= MINIMUM_EFFECT) < _RARE:
                return (
                    f"{BUDGET_PAIRS} pairs settle an effect of {MINIMUM_EFFECT:.0%} in {noise.settles[1].tenths} cases:"
                    f" runs scatter by {100 * (noise.scatter or 0):.2g}%; measure for longer in each run, or add"
                    " --min-effect 0.03"
                )
        return ""


def _short(answer: Answer, budget: int) -> str:
    """That the pairs which a comparison planned do not settle it."""
    goal = nearest(answer)
    if goal is None or answer.pairs + pairs_to_add(answer) <= budget:
        return ""
    return f"its budget of {counted(budget, 'pair')} is too small: it needs {goal.to_settle}"


def _of_pairs(answer: Answer, budget: int) -> str:
    """Why the pairs that are left of a budget, or the next ones where none are, settle nothing."""
    open_ones = [f for f in answer.goals if f.lacks_pairs]
    if not open_ones:
        return ""
    if all(math.isinf(missing_pairs(f)) for f in open_ones):
        return "no practical number of pairs settles it"
    from logbook_agent.findings.comparison.power import is_hopeless  # takes numpy along

    more = max(pairs_to_add(answer), budget - answer.pairs)
    family = [f.series for f in (*open_ones, *(f for f in answer.goals if f not in open_ones))]
    bound = math.log1p(answer.question.minimum_effect)
    if is_hopeless(family, len(open_ones), bound=bound, budget=answer.pairs + more):
        return f"{counted(more, 'more pair')} would settle it with a chance below 5%"
    return ""


def _accelerators(run: Run) -> int:
    """The accelerators that took part in a run."""
    return max((used_devices([d for d in row.devices if d.platform != "cpu"]) or 0 for row in run.rows), default=0)


def _seconds(began: str, ended: str) -> float:
    try:
        return max(0.0, (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []
