"""How far a sweep is: the runs that there are, against those of its plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from logbook_agent.model.header import Metric
from logbook_agent.model.record import CONFIRMATION, TEARDOWN, has_failed, is_made, is_own
from logbook_agent.model.run import Run, Scalar
from logbook_agent.model.values import row_key
from logbook_agent.store.workspace import Workspace
from logbook_agent.sweeps.recipes.expand import PlannedRun, SweepPlan
from logbook_agent.sweeps.state import RunKey, made_runs
from logbook_agent.sweeps.tally import Best, Tally


@dataclass(frozen=True, kw_only=True)
class Progress:
    """`runs` are all of the entry, `metric` the one that says which case is best; `retries`: failed runs are to be made
    again."""

    workspace: Workspace
    plan: SweepPlan
    metric: Metric | None
    runs: tuple[Run, ...]
    retries: bool = False

    @cached_property
    def made(self) -> dict[RunKey, list[Run]]:
        """The runs of cases that need not be made again."""
        made = made_runs(self.runs)
        return {key: runs for key, runs in made.items() if not (self.retries and any(map(has_failed, runs)))}

    def made_of(self, planned: PlannedRun) -> Sequence[Run]:
        """What was made of a run of the plan."""
        return self.made.get(self._key(planned.config, planned.repeat), ())

    @cached_property
    def todo(self) -> list[PlannedRun]:
        """The runs of the plan that are still to be made, in order."""
        return [planned for planned in self.plan if not self.made_of(planned)]

    @cached_property
    def tally(self) -> Tally:
        """The values of the runs of the plan."""
        tally = Tally(self.plan, self.metric)
        for planned in self.plan:
            for run in self.made_of(planned):
                tally.add(planned.case.key, run)
        return tally

    @cached_property
    def best(self) -> Best | None:
        """The best case so far."""
        return self.tally.best()

    @cached_property
    def confirmations(self) -> list[Run]:
        """The fresh runs of the best case; those that failed, or of one that came out best before, do not count."""
        if self.best is None:
            return []
        case, _ = self._key(self.plan.config(self.plan.by_key[self.best.key]), 1)
        made = [run for run in self.runs if run.label == CONFIRMATION and is_made(run) and not has_failed(run)]
        return [run for run in made if row_key(run.config) == case]

    @property
    def left(self) -> int:
        """How many runs are still to be made: of the plan, and fresh ones of the case that is the best so far."""
        may_confirm = self.best is not None or self.todo
        return len(self.todo) + (self.unconfirmed if may_confirm else 0)

    @property
    def unconfirmed(self) -> int:
        """How many fresh runs of the best case are missing."""
        return max(0, self.plan.recipe.confirm - len(self.confirmations))

    @property
    def is_torn_down(self) -> bool:
        """Whether the teardown came after the last run."""
        last = self.runs[-1] if self.runs else None
        ended = last is not None and is_own(last, TEARDOWN) and is_made(last)
        return ended or not self.plan.recipe.teardown

    @property
    def is_finished(self) -> bool:
        """Whether every run has been made, the fresh ones of the best case and the teardown too."""
        return not self.left and self.is_torn_down

    def _key(self, config: Mapping[str, Scalar], repeat: int) -> RunKey:
        """What identifies a run of a plan: its config as the record has it, and the number of the repeat."""
        return row_key(self.workspace.redacted(dict(config))), repeat
