"""The progress of a plan in the logbook: which of its runs have been made, in which entry, and which are left."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from logbook_agent.campaign.recipes.expand import PlannedRun, SweepPlan
from logbook_agent.campaign.tally import Tally
from logbook_agent.model.entry import Entry, RecipeUse
from logbook_agent.model.errors import StoreError
from logbook_agent.model.gates import Gate, judged
from logbook_agent.model.header import Metric
from logbook_agent.model.record import COMPARISON, TEARDOWN, PlanKey, has_failed, is_made, is_own, made_of_plan
from logbook_agent.model.run import Exit, Failure, Row, Run, Scalar
from logbook_agent.model.values import row_key
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


def with_failed_row(run: Run) -> Run:
    """A run that ended without a row, with one that says why, so that its case is not lost."""
    if run.rows or run.exit is None or run.exit.is_cut_off:
        return run
    ended = run.exit
    reason = "no result" if ended.code == 0 else how_ended(ended)
    tail = run.output.error_tail or run.output.tail if run.output is not None else ()
    nothing = (
        "the command printed no result: no RESULT, METRIC or RESULT_JSON line, no `NAME: value` of a declared metric"
    )
    said = nothing if ended.code == 0 else "\n".join(tail[-3:])
    row = Row(config=dict(run.config), failed=Failure(reason=reason, message=said))
    return dataclasses.replace(run, rows=(row,))


def how_ended(ended: Exit) -> str:
    """How a run ended, in a few words."""
    if ended.timeout:
        return "stalled" if ended.stalled else "timeout"
    return ended.signal if ended.signal is not None else f"exit code {ended.code}"


@dataclass(frozen=True, kw_only=True)
class EarlierSweep:
    """An entry that carries out a plan of a recipe."""

    entry: Entry
    use: RecipeUse
    runs: tuple[Run, ...]

    @cached_property
    def made(self) -> dict[PlanKey, list[Run]]:
        return made_of_plan(self.runs)

    @property
    def is_complete(self) -> bool:
        """Whether every run of the plan has been made; comparison and teardown are another matter."""
        return len(self.made) >= self.use.runs

    @property
    def failed(self) -> int:
        """How many runs of the plan are failures."""
        return sum(has_failed(run) for runs in self.made.values() for run in runs)


def earlier_sweeps(book: Book) -> Iterator[EarlierSweep]:
    """Sweeps of this logbook, the newest first. Only entries that name a recipe are read."""
    for entry_id in reversed(book.entry_ids()):
        try:
            if "\nrecipe:" not in book.entry_text(entry_id):
                continue
            entry = book.entry(entry_id)
            if entry.recipe is not None:
                yield EarlierSweep(entry=entry, use=entry.recipe, runs=book.runs(entry_id))
        except StoreError:
            continue  # another entry's damage is told elsewhere


def durations_s(sweeps: list[EarlierSweep], name: str, scale: str | None) -> list[float]:
    """How long finished runs of a recipe's cases took at a scale."""
    return [
        run.duration_s
        for sweep in sweeps
        if sweep.use.name == name and sweep.use.scale == scale
        for run in sweep.runs
        if not is_own(run) and run.duration_s is not None and run.exit is not None and run.exit.code == 0
    ]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """`runs` are all of the entry, `metric` the one that says which case is best; `baseline` is the config of the
    logbook's. `is_settled` says whether the entry's comparison is. `retries`: failed runs are to be made again;
    `gates` are those of the logbook and of the entry."""

    workspace: Workspace
    plan: SweepPlan
    metric: Metric | None
    runs: tuple[Run, ...]
    baseline: Mapping[str, Scalar] | None = None
    is_settled: Callable[[], bool] = lambda: False
    retries: bool = False
    gates: tuple[Gate, ...] = ()

    @property
    def judged(self) -> tuple[Run, ...]:
        """The runs that need not be made again, as they are judged."""
        return judged([run for runs in self.made.values() for run in runs], self.gates)

    @cached_property
    def made(self) -> dict[PlanKey, list[Run]]:
        """The runs of cases that need not be made again."""
        made = made_of_plan(self.runs)
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
        good = {run.run: run for run in self.judged}
        for planned in self.plan:
            for run in self.made_of(planned):
                tally.add(planned.case.key, good[run.run])
        return tally

    @property
    def left(self) -> int:
        """How many runs of the plan are still to be made, and how many more a comparison of its best case may take."""
        return len(self.todo) + self.to_compare

    @property
    def to_compare(self) -> int:
        """How many runs the comparison after a plan that explores may still take; none where there is nothing to
        compare, or the answer is settled."""
        confirm = self.plan.recipe.confirm
        if not confirm or self.plan.is_comparison:
            return 0
        if not self.todo and (self.tally.contenders(self.baseline) is None or self.is_settled()):
            return 0
        made = [run for run in self.runs if run.label == COMPARISON and is_made(run) and not has_failed(run)]
        return max(0, 2 * confirm - len(made))

    @property
    def is_torn_down(self) -> bool:
        """Whether the teardown came after the last run."""
        last = self.runs[-1] if self.runs else None
        ended = last is not None and is_own(last, TEARDOWN) and is_made(last)
        return ended or not self.plan.recipe.teardown

    @property
    def is_finished(self) -> bool:
        """Whether every run has been made, those of the comparison and the teardown too."""
        return not self.left and self.is_torn_down

    def _key(self, config: Mapping[str, Scalar], repeat: int) -> PlanKey:
        """What identifies a run of a plan: its config as the record has it, and the number of the repeat."""
        return row_key(self.workspace.redacted_config(config)), repeat
