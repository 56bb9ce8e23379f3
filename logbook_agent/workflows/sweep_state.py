"""What stands in the logbook of a plan: which of its runs have been made, and in which entry."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from logbook_agent.errors import StoreError
from logbook_agent.model.entry import Entry, RecipeUse
from logbook_agent.model.record import CONFIRMATION
from logbook_agent.model.run import Failure, Row, Run, Scalar
from logbook_agent.recipes.expand import Plan, PlannedRun
from logbook_agent.recipes.recipe import Recipe
from logbook_agent.results.values import Key, row_key
from logbook_agent.store.book import Book
from logbook_agent.store.files import read_text
from logbook_agent.workflows.workspace import Workspace

SETUP, TEARDOWN = "setup", "teardown"
_OWN_LABELS = (CONFIRMATION, SETUP, TEARDOWN)

RunKey = tuple[Key, int]


def run_key(workspace: Workspace, config: Mapping[str, Scalar], repeat: int) -> RunKey:
    """What identifies a run of a plan: its config as the record has it, and the number of the repeat."""
    return row_key(workspace.redacted(dict(config))), repeat


def is_made(run: Run) -> bool:
    """Whether a run need not be made again: it ended by itself. What was cut off measured something else, if anything:
    comparisons and criteria leave it out."""
    return run.exit is not None and not run.exit.interrupted


def made_runs(runs: tuple[Run, ...]) -> dict[RunKey, list[Run]]:
    """The runs of cases that need not be made again. A failed one does not count where a later run of the same case
    and repeat was made in its place."""
    found: dict[RunKey, list[Run]] = {}
    for run in runs:
        if not _is_own(run) and is_made(run):
            found.setdefault((row_key(run.config), run.repeat or 1), []).append(run)
    return {key: [run for run in made if run is made[-1] or not has_failed(run)] for key, made in found.items()}


def has_failed(run: Run) -> bool:
    """Whether a row of the run is a failure."""
    return any(row.failed is not None for row in run.rows)


def confirmations(runs: tuple[Run, ...], case: Key) -> list[Run]:
    """The fresh runs there are of a case; those of one that came out best before do not count."""
    return [run for run in runs if run.label == CONFIRMATION and is_made(run) and row_key(run.config) == case]


def is_torn_down(runs: tuple[Run, ...], recipe: Recipe) -> bool:
    """Whether the teardown came after the last run."""
    last = runs[-1] if runs else None
    ended = last is not None and _is_own(last, TEARDOWN) and last.exit is not None and not last.exit.interrupted
    return ended or not recipe.teardown


def _is_own(run: Run, *labels: str) -> bool:
    """Whether a run belongs to the sweep itself, not to a case."""
    return run.label is not None and run.label.split(":")[0] in (labels or _OWN_LABELS)


def missing(workspace: Workspace, plan: Plan, made: Mapping[RunKey, list[Run]]) -> list[PlannedRun]:
    """The runs of the plan that are still to be made, in order."""
    return [planned for planned in plan if run_key(workspace, planned.config, planned.repeat) not in made]


def with_failed_row(run: Run, config: Mapping[str, Scalar]) -> Run:
    """A run that ended without a row, with one that says why, so that its case is not lost."""
    if run.rows or run.exit is None or run.exit.interrupted:
        return run
    ended = run.exit
    if ended.timeout:
        reason = "timeout"
    elif ended.signal is not None:
        reason = ended.signal
    else:
        reason = "no result" if ended.code == 0 else f"exit code {ended.code}"
    tail = run.output.error_tail or run.output.tail if run.output is not None else ()
    said = "the command printed no RESULT, METRIC or RESULT_JSON line" if ended.code == 0 else "\n".join(tail[-3:])
    row = Row(config=dict(config), failed=Failure(reason=reason, message=said))
    return dataclasses.replace(run, rows=(row,))


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierSweep:
    """An entry that carries out a plan of a recipe."""

    entry: Entry
    use: RecipeUse
    runs: tuple[Run, ...]

    @property
    def made(self) -> dict[RunKey, list[Run]]:
        return made_runs(self.runs)

    @property
    def is_complete(self) -> bool:
        """Whether every run of the plan has been made; confirmation and teardown are another matter."""
        return len(self.made) >= self.use.runs

    @property
    def failed(self) -> int:
        """How many runs of the plan are failures."""
        return sum(has_failed(run) for runs in self.made.values() for run in runs)


def earlier_sweeps(book: Book) -> Iterator[EarlierSweep]:
    """Sweeps of this logbook, the newest first. Only entries that name a recipe are read."""
    for entry_id in reversed(book.entry_ids()):
        try:
            if "\nrecipe:" not in read_text(book.entry_path(entry_id)):
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
        if not _is_own(run) and run.duration_s is not None and run.exit is not None and run.exit.code == 0
    ]
