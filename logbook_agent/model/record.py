"""A record is an entry with its runs; its state follows from them. By its digest a change is known without rendering
anything."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict

from msgspec import Struct

from logbook_agent.model.codec import encode
from logbook_agent.model.entry import HYPOTHESIS, NEXT_ACTION, Entry, PlannedCommand, State, bare_id
from logbook_agent.model.gates import REPORTED, SAME, WITHHELD, Gate, fails, gates_of, judged
from logbook_agent.model.values import Key, row_key

if TYPE_CHECKING:
    from logbook_agent.model.errors import LogbookError
    from logbook_agent.model.run import Run
    from logbook_agent.model.summary import Summary
    from logbook_agent.model.worker_report import Stage

# The label of the runs by which a sweep compares its best case with the base, after it has explored.
COMPARISON = "comparison"
# The labels of what a sweep runs before and after its plan; that of a single command may follow behind `: `.
SETUP, TEARDOWN = "setup", "teardown"

# What a run that does not count is called, beside how it ended: one that was made to warm up, and one of a pair whose
# code changed.
NOT_COUNTED = WARM_UP, LEFT_OUT = "warm-up", "left out"

# What identifies a run of a plan: the config of its case, and the number of the repeat.
PlanKey = tuple[Key, int]

# The states of a run whose command may still run.
GOING: tuple[State, ...] = ("running", "submitted", "orphaned")
# Those of runs whose command did not come to its end, and never will.
_CUT_OFF: tuple[State, ...] = ("interrupted", "lost", "never-started")
# Worst first: the state of an entry is the worst among the latest attempts at each of its commands.
_SEVERITY: tuple[State, ...] = (
    *("orphaned", "running", "submitted", "unknown", "lost", "never-started", "interrupted"),
    *("failed", "timeout", "stalled", "finished"),
)


class RunStatus(Struct, frozen=True, kw_only=True):
    run: Run
    state: State

    @property
    def counts(self) -> bool:
        """Whether it is neither a warm-up nor left out."""
        return not self.run.discarded

    @property
    def discarded_as(self) -> str:
        """`warm-up`, or `left out`; empty where it counts."""
        if self.counts:
            return ""
        return WARM_UP if self.run.part is None else LEFT_OUT

    @property
    def text(self) -> str:
        """`finished`, or `finished, warm-up`."""
        return ", ".join(filter(None, [self.state, self.discarded_as]))


class UnfinishedRunData(TypedDict):
    """An `UnfinishedRun` as plain data."""

    id: str
    run: int
    label: str | None
    state: State
    executor: str | None
    host: str | None
    since: str
    heartbeat: str | None
    last: str | None
    said: str | None


class UnfinishedRun(Struct, frozen=True, kw_only=True):
    """A run that has not ended in the record. `heartbeat` is the time of the last sign of life of its worker, `last`
    the last result line that it told of, and `said` what its engine said last, such as why it waits; None where there
    is none."""

    run: Run
    state: State
    heartbeat: str | None = None
    last: str | None = None
    said: str | None = None

    def data(self) -> UnfinishedRunData:
        """The run as plain data: where it runs, since when, and its last sign of life."""
        run = self.run
        return {
            "id": run.entry,
            "run": run.run,
            "label": run.label,
            "state": self.state,
            "executor": run.executor,
            "host": run.host.name,
            "since": run.started,
            "heartbeat": self.heartbeat,
            "last": self.last,
            "said": self.said,
        }


class Record(Struct, frozen=True, kw_only=True):
    """An entry, its runs with their states, and the entry's own state. The runs are as they are judged: a row that
    does not count is a row that failed. `gates` and `free` are those of the logbook and its own."""

    entry: Entry
    runs: tuple[RunStatus, ...] = ()
    state: State
    gates: tuple[Gate, ...] = ()
    free: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.entry.id

    @property
    def pending_commands(self) -> tuple[PlannedCommand, ...]:
        """Planned commands that no run has executed yet."""
        return tuple(self.entry.commands[i] for i in self.pending)

    @property
    def pending(self) -> tuple[int, ...]:
        """The places (from 0) of the planned commands that no run has executed yet: a run says which one
        it executed, or is the same command under the same label. One that was cut off executed nothing."""
        counting = [r.run for r in self.runs if r.counts and r.state not in _CUT_OFF]
        places = {run.planned for run in counting}
        done = {(run.label, run.argv) for run in counting}
        return tuple(i for i, c in enumerate(self.entry.commands) if i not in places and (c.label, c.argv) not in done)

    @property
    def next_action(self) -> str | None:
        return self.entry.text(NEXT_ACTION) or self.entry.text("Next step")


class Contents(Struct, frozen=True, kw_only=True):
    """Everything in a logbook that can be read, and what could not be."""

    records: tuple[Record, ...]
    damaged: tuple[LogbookError, ...] = ()


class Summaries(Struct, frozen=True, kw_only=True):
    """A few facts of every entry that can be read, and what could not be."""

    entries: tuple[Summary, ...]
    damaged: tuple[LogbookError, ...] = ()


_STATES: dict[Stage, State] = {
    "sent": "submitted",
    "running": "running",
    # Until it is taken in.
    "ended": "running",
    "orphaned": "orphaned",
    "lost": "lost",
    "gone": "interrupted",
    "never-started": "never-started",
    "elsewhere": "unknown",
}


def run_state(run: Run, stage: Callable[[Run], Stage]) -> State:
    """The state of one run; `stage` tells how far one is that has not ended."""
    # A run that the doctor closed has an exit without a time: when it ended is not known.
    if run.exit is None:
        return _STATES[stage(run)]
    if run.exit.timeout:
        return "stalled" if run.exit.stalled else "timeout"
    if run.exit.lost:
        return "lost"
    if run.exit.never_started:
        return "never-started"
    if run.exit.interrupted:
        return "interrupted" if run.until is None else "finished"
    failure = fails(run)
    is_bad = failure is not None and failure.reason not in (WITHHELD, REPORTED)
    return "failed" if ended_badly(run) or is_bad else "finished"


def record_of(
    entry: Entry,
    runs: tuple[Run, ...],
    stage: Callable[[Run], Stage],
    gates: Sequence[str] = (),
    free: Sequence[str] = (),
    since: Mapping[str, str] | None = None,
) -> Record:
    """An entry with its runs as they are judged, by the gates of the logbook and its own, with their states. `since`:
    when gates were added to the logbook. A label that may differ in the entry is judged by no gate of the logbook."""
    own = {f"{SAME} {name}" for name in entry.free}
    parsed = gates_of([gate for gate in gates if gate not in own], entry.gates, since=since)
    accepted = {run for one in entry.accepted for run in one.runs}
    statuses = tuple(RunStatus(run=r, state=run_state(r, stage)) for r in judged(runs, parsed, accepted))
    free = tuple(dict.fromkeys((*free, *entry.free)))
    return Record(entry=entry, runs=statuses, state=_entry_state(entry, statuses), gates=parsed, free=free)


def _entry_state(entry: Entry, statuses: tuple[RunStatus, ...]) -> State:
    if not statuses and entry.recipe is None and (entry.state is None or entry.state == "planned"):
        if entry.state is not None:
            return entry.state
        is_planned = bool(entry.commands) or entry.comparison is not None
        return "planned" if is_planned else "never-started" if _is_unbegun(entry) else "noted"
    if entry.state is not None and not (entry.state == "planned" and statuses):
        return entry.state
    # The latest run of each command, by its label and words; of setup by its label, as another one takes its place.
    latest = {(s.run.label, () if is_own(s.run, SETUP, TEARDOWN) else s.run.argv): s.state for s in statuses}
    worst = min((*latest.values(), _SEVERITY[-1]), key=_SEVERITY.index)
    return "interrupted" if worst == "finished" and _runs_are_left(entry, statuses) else worst


def _is_unbegun(entry: Entry) -> bool:
    """Whether an experiment that has neither a plan nor a run says no more than one says before the first run: the tool
    was killed before that. One that a person wrote has a name without five characters behind."""
    said = {field.label for field in entry.fields}
    is_ours = entry.kind == "experiment" and bare_id(entry.name) != entry.name and not entry.imported
    return is_ours and said <= {HYPOTHESIS, NEXT_ACTION}


def _runs_are_left(entry: Entry, statuses: Sequence[RunStatus]) -> bool:
    """Whether the plan that the entry carries out has runs that are not made yet: no run was cut off, the sweep was."""
    if entry.recipe is None:
        return False
    return len(made_of_plan([s.run for s in statuses])) < entry.recipe.runs


def planned_runs(entry: Entry, runs: Sequence[Run]) -> int | None:
    """How many runs an entry is to have at most, by its recipe or its comparison; None where that was not planned.
    `runs` are those it has, which tell how many cases there are."""
    if entry.recipe is not None:
        return entry.recipe.runs
    if entry.comparison is None:
        return None
    cases = {run.part.case for run in runs if run.part is not None}
    return entry.comparison.design.budget_pairs * len(entry.comparison.question.values) * max(1, len(cases))


def is_made(run: Run) -> bool:
    """Whether a run need not be made again: it ended by itself. What was cut off measured something else, if anything:
    comparisons and criteria leave it out."""
    return run.exit is not None and not run.exit.is_cut_off


def ended_badly(run: Run) -> bool:
    """Whether a run ended by an exit code other than 0, a signal or its time limit: its values do not count."""
    return run.exit is not None and not run.exit.reported and (run.exit.timeout or run.exit.code != 0)


def has_failed(run: Run) -> bool:
    """Whether a run ended badly, or a row of it is a failure."""
    return ended_badly(run) or any(row.failed is not None and row.failed.reason != REPORTED for row in run.rows)


def spent(records: Iterable[Record], now: datetime) -> tuple[int, float]:
    """The runs that were begun, without warm-ups, and the hours that all have taken until now."""
    statuses = [s for record in records for s in record.runs if not s.run.is_reported]
    seconds = 0.0
    for status in statuses:
        is_running = status.run.duration_s is None and status.state in ("running", "orphaned")
        began = datetime.fromisoformat(status.run.started) if is_running else now
        seconds += status.run.duration_s or (now - began).total_seconds()
    return sum(status.counts and status.state != "never-started" for status in statuses), seconds / 3600


def is_own(run: Run, *labels: str) -> bool:
    """Whether a run is none of the plan of a sweep: it sets up, tears down, or compares what came out best."""
    return run.label is not None and run.label.split(":")[0] in (labels or (COMPARISON, SETUP, TEARDOWN))


def made_of_plan(runs: Sequence[Run]) -> dict[PlanKey, list[Run]]:
    """The runs of a plan that need not be made again, by what identifies them. A failed one is left out where a later
    one was made in its place."""
    found: dict[PlanKey, list[Run]] = {}
    for run in plan_runs(runs):
        found.setdefault((row_key(run.config), run.repeat or 1), []).append(run)
    return {key: [*itertools.filterfalse(has_failed, made[:-1]), made[-1]] for key, made in found.items()}


def best_pairs(runs: Sequence[Run]) -> list[dict[str, Run]]:
    """The pairs that were made to compare the best case of a sweep: the runs of each, by their sides."""
    found: dict[tuple[str, int, str], dict[str, Run]] = {}
    for run in runs:
        part = run.part if is_own(run, COMPARISON) and not run.discarded else None
        if part is not None and is_made(run) and not has_failed(run):
            found.setdefault((part.copy, part.pair, part.case), {})[part.side] = run
    return [sides for sides in found.values() if len(sides) > 1]


def mended(runs: Sequence[Run]) -> frozenset[int]:
    """The numbers of the failed runs of a plan in whose place a later one was made: they do not count."""
    kept = {run.run for made in made_of_plan(runs).values() for run in made}
    return frozenset(run.run for run in plan_runs(runs) if run.run not in kept)


def plan_runs(runs: Sequence[Run]) -> list[Run]:
    """The runs of a plan that were made. One without a config, where others have one, was added by hand."""
    made = [run for run in runs if is_made(run) and not is_own(run)]
    return [run for run in made if run.config] or made


DIGITS = 16


def digest(*parts: object) -> str:
    """The digest of plain data; equal data have equal digests, whatever the order of their keys."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:DIGITS]


def record_digest(record: Record) -> str:
    """The digest of an entry, its runs and its state."""
    gates = (
        [[f"{gate} {gate.since}".rstrip() for gate in record.gates], *record.free]
        if record.gates or record.free
        else []
    )
    return digest(encode(record.entry), [encode(s.run) for s in record.runs], record.state, *gates)


# -- how far a series of runs has come, as values that a terminal draws -----------------------------------------


class EffectEstimate(Struct, frozen=True, kw_only=True):
    """A change that is being measured: `change`, `low` and `high` are fractions, None where there is none yet. A change
    below `least` does not matter. `name` is what changes, `interval` the interval in words."""

    name: str
    change: float | None
    low: float | None
    high: float | None
    least: float
    outcome: str
    interval: str = ""


class SeriesProgress(Struct, frozen=True, kw_only=True):
    """`made` of `total` pairs or runs (`what`); `is_at_most`: it may end earlier. `left_s` is how long the rest would
    take, None where that is unknown. `estimates` are of a comparison; `note` says what is being done, or the best so
    far."""

    made: int
    total: int
    what: str
    is_at_most: bool = False
    left_s: float | None = None
    estimates: tuple[EffectEstimate, ...] = ()
    note: str = ""
