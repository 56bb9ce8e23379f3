"""What to do next in a campaign, in order, with why, what it settles, what to type and what it costs; pure.

First comes what every reader of a thread has in this order (`findings/open_steps.py`); then a first comparison, winners
that one sitting found, cells of the matrix that nobody measured, and refuted ideas of which something has
changed.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from logbook_agent.agents.refuted import Now, Refuted, outcome_of
from logbook_agent.agents.step_costs import StepCost, StepCosts
from logbook_agent.findings.advice import ab_again, command_in, go_on, settled_by
from logbook_agent.findings.attempts import planned_commands
from logbook_agent.findings.cases import cases
from logbook_agent.findings.comparison.answer import Answer, Outcome
from logbook_agent.findings.comparison.synopsis import synopsis
from logbook_agent.findings.open_steps import OpenStep, open_steps
from logbook_agent.findings.opening import Opening
from logbook_agent.findings.read import Findings
from logbook_agent.findings.tables.frame import Frame, Item, frame_of, show
from logbook_agent.model.comparison import APART_S, BUDGET_PAIRS
from logbook_agent.model.entry import HYPOTHESIS, settled
from logbook_agent.text.phrases import counted
from logbook_agent.text.shell_words import assignments, command_line
from logbook_agent.text.times import duration

# Cells of a matrix that are looked at, and steps of one kind that are proposed.
_CELLS, _SHOWN = 1_000, 3
# Comparisons that are simulated.
_SIMULATED = 4
_RUNNABLE = ("run", "ab", "sweep")
_PLACEHOLDERS = {"COMMAND", "NAME", "BASE", "OTHER", "ID"}
_TEMPLATE = re.compile(r"--axis (?:NAME=|\S+=A,B\b)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A step with its cost. `cannot`: why it would not answer its question, or is not proposed again; `changed`: what
    has changed since it was refuted; `claimed_by` who executes it; `not_before` when it can begin (UTC)."""

    step: OpenStep
    cost: StepCost = field(default_factory=StepCost)
    cannot: str = ""
    changed: tuple[str, ...] = ()
    claimed_by: str = ""
    not_before: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether its command can be typed as it stands."""
        return is_complete(self.step.command)

    @property
    def trouble(self) -> str:
        """Why its design does not answer its question within the budget."""
        return self.cannot or self.cost.short

    @property
    def can_run(self) -> bool:
        """Whether it can be carried out now."""
        return self.is_complete and not (self.cannot or self.claimed_by or self.not_before)

    def data(self) -> dict[str, object]:
        """The proposal as plain data, without what it does not say."""
        step, cost = self.step, self.cost
        plain: dict[str, object] = {
            "kind": step.kind,
            "id": step.entry,
            "what": step.text,
            "why": step.why,
            "settles": step.settles,
            "command": step.command,
            "pairs": cost.pairs,
            "minutes": cost.minutes,
            "device_hours": cost.device_hours,
            "cannot": self.cannot,
            "short": self.cost.short,
            "changed": list(self.changed),
            "claimed_by": self.claimed_by,
            "not_before": self.not_before,
        }
        return {**{k: v for k, v in plain.items() if v not in ("", None, 0, [])}, "can_run": self.can_run}

    def lines(self, number: int) -> list[str]:
        """The proposal as text."""
        minutes, hours = self.cost.minutes, self.cost.device_hours
        costs = [f"up to {counted(self.cost.pairs, 'pair')}"] if self.cost.pairs else []
        costs += [duration(60 * minutes)] if minutes is not None else []
        costs += [f"{hours:g} device hours"] if hours is not None else []
        told = {
            "cannot": self.cannot,
            "budget": self.cost.short,
            "why": self.step.why,
            "settles": "" if self.step.settles in self.step.text else self.step.settles,
            "changed": ", ".join(self.changed),
            "claimed by": self.claimed_by,
            "not before": self.not_before,
            "costs": ", ".join(costs),
            "type": self.step.command,
        }
        of = f" ({self.step.entry})" if self.step.entry and self.step.entry not in self.step.text else ""
        return [f"{number}. {self.step.text}{of}", *(f"   {name}: {text}" for name, text in told.items() if text)]


def is_complete(command: str) -> bool:
    """Whether a text is a `logbook` command that makes runs, without a place to fill in."""
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    is_runnable = words[:1] == ["logbook"] and words[1:2] and words[1] in _RUNNABLE
    return bool(is_runnable) and not _PLACEHOLDERS & {*words} and not _TEMPLATE.search(command)


def proposals(found: Findings, now: Now, claims: Mapping[str, str], moment: datetime) -> list[Proposal]:
    """What to do next, in order. `now` tells what a command would find, `claims` who executes which plan."""
    return _Campaign(found, now, claims, moment).proposals()


class _Campaign:
    def __init__(self, found: Findings, now: Now, claims: Mapping[str, str], moment: datetime) -> None:
        self._found, self._claims, self._moment = found, claims, moment
        self._refuted, self._costs = Refuted(found, now), StepCosts(found)

    def proposals(self) -> list[Proposal]:
        if self._found.header.closing is not None:
            return []
        kept: dict[str, Proposal] = {}
        simulated = 0
        for one in self._steps():
            step = _typed(one.step)
            key = step.command or f"{step.kind} {step.entry} {step.text}"
            if key in kept:
                kept[key] = _with(kept[key], step)
                continue
            cost = self._costs.of(step.command, step.entry, step.pairs, simulate=simulated < _SIMULATED)
            simulated += bool(cost.pairs)
            kept[key] = dataclasses.replace(one, step=step, cost=cost, cannot=one.cannot or cost.beyond)
        return [*kept.values()]

    def _steps(self) -> Iterator[Proposal]:
        first = self._found.opening
        for step in open_steps(self._found.thread, first.answers):
            yield self._plan(step) if step.kind == "plan" else Proposal(step=step)
        compared = [self._first_comparison(first)] if first.command and first.not_settled else []
        # One with places to fill in helps only where nothing else does.
        yield from (one for one in compared if one.is_complete)
        yield from self._replications()
        yield from itertools.islice(self._cells(), _SHOWN)
        yield from (one for one in compared if not one.is_complete)
        yield from itertools.islice(self._again(), _SHOWN)

    @staticmethod
    def _first_comparison(first: Opening) -> Proposal:
        text = "Compare two cases in pairs"
        return Proposal(step=OpenStep(kind="first comparison", text=text, why=first.not_settled, command=first.command))

    def _plan(self, step: OpenStep) -> Proposal:
        """A planned entry: who executes it, and what came out of its commands before."""
        record = self._found.records.record(step.entry)
        words = planned_commands(record)
        earlier = next((item for one in words if (item := self._refuted.of_command(one)) is not None), None)
        settles = (record.entry.text(HYPOTHESIS) or "").partition("\n")[0]
        return Proposal(
            step=dataclasses.replace(step, settles=settles, command=step.command if words else ""),
            claimed_by=self._claims.get(step.entry, ""),
            cannot=f"tried before, and nothing that it names has changed: {outcome_of(earlier)}" if earlier else "",
        )

    def _replications(self) -> Iterator[Proposal]:
        """Winners that one sitting found."""
        for answer in reversed(self._found.answers):
            is_winner = any(f.outcome is Outcome.BETTER for f in answer.goals)
            if not (is_winner and answer.is_settled and answer.sittings < 2) or not self._is_current(answer):
                continue
            step = OpenStep(
                kind="replication",
                entry=answer.entry,
                text=f"Confirm {answer.entry} in a second sitting",
                why=", ".join(answer.reasons),
                settles=synopsis(answer),
                command=go_on(self._found.records, answer),
            )
            yield Proposal(step=step, not_before=self._second_sitting(answer))

    def _is_current(self, answer: Answer) -> bool:
        is_latest = self._found.comparisons.answer_of(answer.entry) is answer
        return is_latest and self._found.thread.standing[answer.entry].counts

    def _second_sitting(self, answer: Answer) -> str:
        """When a second sitting can begin; empty where it can now."""
        try:
            begins = datetime.fromisoformat(answer.times[-1][1]) + timedelta(seconds=APART_S)
        except (IndexError, ValueError):
            return ""
        return begins.isoformat(timespec="seconds") if begins > self._moment else ""

    # -- the matrix ------------------------------------------------------------------------------------

    @cached_property
    def _frame(self) -> Frame:
        records = [r for r in self._found.counting if settled(r.state)]
        return frame_of([c for c in cases(*records) if c.row.failed is None and c.state in ("finished", None)])

    def _cells(self) -> Iterator[Proposal]:
        """The cells of the matrix that no row fills; of a large matrix its values alone."""
        axes = {axis.axis: axis.values for axis in self._found.header.matrix if axis.values}
        if not axes:
            return
        cells: Iterator[dict[str, str]]
        cells = (dict(zip(axes, values, strict=True)) for values in itertools.islice(_product(axes), _CELLS))
        if any(axis not in self._frame.axes() for axis in axes):
            cells = ({axis: value} for axis, values in axes.items() for value in values)
        left = [cell for cell in cells if not self._frame.having(cell) and self._refuted.of_cell(cell) is None]
        for cell in left:
            command = self._beside(cell, axes)
            step = OpenStep(
                kind="matrix",
                text=f"Measure {assignments(cell)}",
                why=f"{counted(len(left), 'cell')} of the matrix {'was' if len(left) == 1 else 'were'} not measured",
                settles=f"the cell {assignments(cell)}",
                command=command,
            )
            yield Proposal(step=step)

    def _beside(self, cell: Mapping[str, str], axes: Mapping[str, tuple[str, ...]]) -> str:
        """The A/B of a cell with a measured one that differs in a single axis; empty where there is none."""
        for axis in reversed([*axes]):
            if axis not in cell:
                continue
            others = self._frame.having({name: value for name, value in cell.items() if name != axis})
            base = _nearest(others, axis, axes[axis])
            if base is not None and (value := base.place.get(axis)) is not None:
                return command_in(settled_by(axis, [show(value), cell[axis]], [base]))
        return ""

    # -- what was refuted ---------------------------------------------------------------------------------

    def _again(self) -> Iterator[Proposal]:
        for item, changed in self._refuted.again():
            entry, records = item["entry"], self._found.records
            comparison = records.entry(entry).comparison
            if comparison is not None:
                command = ab_again(records, entry, comparison.question, f"--max-pairs {BUDGET_PAIRS}")
            else:
                words = ("logbook", "run", "--continues", entry, "--", *item["command"])
                command = command_line(words) if item["command"] else ""
            step = OpenStep(
                kind="retry",
                entry=entry,
                text=f"Try {entry} again",
                why=outcome_of(item),
                settles="whether that still holds",
                command=command,
            )
            yield Proposal(step=step, changed=changed)


def _product(axes: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    return itertools.product(*axes.values())


def _nearest(items: list[Item], axis: str, values: tuple[str, ...]) -> Item | None:
    """The item with the first value of an axis that any of them has, else the latest."""
    of = {show(item.place.get(axis)): item for item in items}
    return next((of[value] for value in values if value in of), items[-1] if items else None)


def _typed(step: OpenStep) -> OpenStep:
    """The step of a next action with what to type for a command that is not one of `logbook`."""
    if step.kind != "next action" or not step.command or step.command.startswith("logbook "):
        return step
    return dataclasses.replace(step, command=f"logbook run --continues {step.entry} -- {step.command}")


def _with(one: Proposal, other: OpenStep) -> Proposal:
    """A proposal whose command settles something else as well."""
    settles = "; ".join(dict.fromkeys(filter(None, (one.step.settles, other.settles))))
    return dataclasses.replace(one, step=dataclasses.replace(one.step, settles=settles))
