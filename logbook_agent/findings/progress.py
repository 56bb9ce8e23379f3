"""How far an entry is while one of its runs goes on, and how long the rest will take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from logbook_agent.model.entry import Entry
from logbook_agent.model.record import GOING, RunStatus, is_made, is_own, made_of_plan, planned_runs
from logbook_agent.model.run import Run
from logbook_agent.model.stats import median


def remaining_s(left: int, usual_s: float, parallel: int) -> float:
    """Seconds for this many runs of `usual_s` each, with up to `parallel` at a time."""
    return math.ceil(left / max(1, parallel)) * usual_s


class ProgressData(TypedDict):
    """How far an entry is, as plain data; `total` None: it was not planned."""

    made: int
    total: int | None
    at_most: bool
    expected_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """Of `total` runs so many are `made`, the run that goes on not among them; `total` None: it was not planned how
    many there are to be. `is_at_most`: a comparison may settle earlier. `usual_s` is what runs like the one that goes
    on took, None where none ended well; `parallel` so many go on at once."""

    made: int
    total: int | None
    is_at_most: bool
    usual_s: float | None
    parallel: int

    @property
    def expected_s(self) -> float | None:
        """An estimate of the time from the start of the run that goes on to the end of the last one that is planned; to
        its own end where nothing more is. None where nothing like it ever ended well."""
        if self.usual_s is None:
            return None
        left = max(1, self.total - self.made) if self.total is not None else 1
        return remaining_s(left, self.usual_s, self.parallel)

    def data(self) -> ProgressData:
        """As plain data."""
        return {
            "made": self.made,
            "total": self.total,
            "at_most": self.is_at_most,
            "expected_s": self.expected_s,
        }


def progress_of(entry: Entry, statuses: Sequence[RunStatus], run: Run) -> RunProgress:
    """How far an entry is while `run`, one of its runs, goes on."""
    counting = [s for s in statuses if s.counts and not is_own(s.run)]
    runs = [s.run for s in counting]
    total = planned_runs(entry, runs)
    made = len(made_of_plan(runs)) if entry.recipe is not None else sum(map(is_made, runs))
    return RunProgress(
        made=made if total is None else min(made, total),
        total=total,
        is_at_most=entry.recipe is None and entry.comparison is not None,
        usual_s=_usual_s([s.run for s in statuses if s.state == "finished"], run),
        parallel=sum(s.state in GOING for s in statuses),
    )


def _usual_s(finished: Sequence[Run], run: Run) -> float | None:
    """The median duration of finished runs of the same command; of any run of the entry where it has none."""
    same = [r for r in finished if (r.label, r.argv) == (run.label, run.argv)]
    took_s = [r.duration_s for r in same or finished if r.duration_s is not None and not is_own(r)]
    return median(took_s) if took_s else None
