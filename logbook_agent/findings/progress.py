"""How far an entry is while one of its runs goes on, and how long the rest will take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

from logbook_agent.model.entry import Entry
from logbook_agent.model.record import GOING, RunStatus, is_made, is_own, made_of_plan, planned_runs
from logbook_agent.model.run import Run
from logbook_agent.model.stats import median


def remaining_s(left: int, usual_s: float, parallel: int) -> float:
    """Seconds for this many runs of `usual_s` each, with up to `parallel` at a time."""
    return math.ceil(left / max(1, parallel)) * usual_s


class RunProgress(TypedDict):
    """How far an entry is, as plain data: of `total` runs so many are `made`, the run that goes on not among them;
    `total` None: it was not planned how many there are to be. `at_most`: a comparison may settle earlier. `expected_s`
    estimates the time from the start of the run that goes on to the end of the last one that is planned; to its own end
    where nothing more is. None where nothing like it ever ended well."""

    made: int
    total: int | None
    at_most: bool
    expected_s: float | None


def progress_of(entry: Entry, statuses: Sequence[RunStatus], run: Run) -> RunProgress:
    """How far an entry is while `run`, one of its runs, goes on."""
    counting = [s for s in statuses if s.counts and not is_own(s.run)]
    runs = [s.run for s in counting]
    total = planned_runs(entry, runs)
    made = len(made_of_plan(runs)) if entry.recipe is not None else sum(map(is_made, runs))
    made = made if total is None else min(made, total)
    usual_s = _usual_s([s.run for s in statuses if s.state == "finished"], run)
    left = max(1, total - made) if total is not None else 1
    return {
        "made": made,
        "total": total,
        "at_most": entry.recipe is None and entry.comparison is not None,
        "expected_s": None if usual_s is None else remaining_s(left, usual_s, sum(s.state in GOING for s in statuses)),
    }


def _usual_s(finished: Sequence[Run], run: Run) -> float | None:
    """The median duration of finished runs of the same command; of any run of the entry where it has none."""
    same = [r for r in finished if (r.label, r.argv) == (run.label, run.argv)]
    took_s = [r.duration_s for r in same or finished if r.duration_s is not None and not is_own(r)]
    return median(took_s) if took_s else None
