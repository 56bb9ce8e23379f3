"""A record is an entry with its runs; its state follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from logbook_agent.model.entry import NEXT_ACTION, Entry, PlannedCommand, State

if TYPE_CHECKING:
    from logbook_agent.model.run import Run

# What is left of an unfinished run: its tool, only its child, nothing, or it is on another machine.
Life = Literal["tool", "child", "gone", "elsewhere"]

# The label of the fresh runs that a sweep makes of the case that came out best.
CONFIRMATION = "confirmation"

# Worst first: the state of an entry is the worst among the latest attempts at each of its commands.
_SEVERITY: tuple[State, ...] = ("orphaned", "running", "interrupted", "failed", "timeout", "finished")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    run: Run
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An entry, its runs with their states, and the entry's own state."""

    entry: Entry
    runs: tuple[RunStatus, ...] = ()
    state: State

    @property
    def id(self) -> str:
        return self.entry.id

    @property
    def confirmations(self) -> frozenset[int]:
        """The numbers of the runs that confirm the best case of a sweep. They were made because it came out best, so
        they are no repeats of it, and no case of their own: they say how good it really is."""
        if self.entry.recipe is None:
            return frozenset()
        return frozenset(status.run.run for status in self.runs if status.run.label == CONFIRMATION)

    @property
    def pending_commands(self) -> tuple[PlannedCommand, ...]:
        """Planned commands that no run has executed yet."""
        return tuple(self.entry.commands[i] for i in self.pending)

    @property
    def pending(self) -> tuple[int, ...]:
        """The places (from 0) of the planned commands that no run has executed yet: a run says which one
        it executed, or is the same command under the same label."""
        places = {r.run.planned for r in self.runs}
        done = {(r.run.label, r.run.argv) for r in self.runs}
        return tuple(i for i, c in enumerate(self.entry.commands) if i not in places and (c.label, c.argv) not in done)

    @property
    def next_action(self) -> str | None:
        return self.entry.text(NEXT_ACTION) or self.entry.text("Next step")


def run_state(run: Run, life: Callable[[Run], Life]) -> State:
    """The state of one run; `life` tells what is left of one that has not ended."""
    # A run that the doctor closed has an exit without a time: when it ended is not known.
    if run.exit is None:
        return {"tool": "running", "child": "orphaned", "gone": "interrupted", "elsewhere": "running"}[life(run)]  # type: ignore[return-value]
    if run.exit.timeout:
        return "timeout"
    if run.exit.interrupted:
        return "interrupted"
    return "finished" if run.exit.code == 0 else "failed"


def record_of(entry: Entry, runs: tuple[Run, ...], life: Callable[[Run], Life]) -> Record:
    """An entry with the states of its runs and its own."""
    statuses = tuple(RunStatus(run=r, state=run_state(r, life)) for r in runs)
    return Record(entry=entry, runs=statuses, state=_entry_state(entry, statuses))


def _entry_state(entry: Entry, statuses: tuple[RunStatus, ...]) -> State:
    if entry.state is not None and not (entry.state == "planned" and statuses):
        return entry.state
    if not statuses:
        return "planned" if entry.commands else "noted"
    latest = {(s.run.label, s.run.argv): s.state for s in statuses}
    return min(latest.values(), key=_SEVERITY.index)
