"""What stands in the logbook of a plan: which of its runs have been made, and in which entry."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from logbook_agent.model.entry import Entry, RecipeUse
from logbook_agent.model.errors import StoreError
from logbook_agent.model.record import has_failed, is_own, mended, plan_runs
from logbook_agent.model.run import Exit, Failure, Row, Run
from logbook_agent.model.values import Key, row_key
from logbook_agent.store.book import Book

RunKey = tuple[Key, int]


def made_runs(runs: tuple[Run, ...]) -> dict[RunKey, list[Run]]:
    """The runs of cases that need not be made again. A failed one does not count where a later run of the same case
    and repeat was made in its place."""
    left_out = mended(runs)
    found: dict[RunKey, list[Run]] = {}
    for run in plan_runs(runs):
        if run.run not in left_out:
            found.setdefault((row_key(run.config), run.repeat or 1), []).append(run)
    return found


def with_failed_row(run: Run) -> Run:
    """A run that ended without a row, with one that says why, so that its case is not lost."""
    if run.rows or run.exit is None or run.exit.interrupted:
        return run
    ended = run.exit
    reason = "no result" if ended.code == 0 else how_ended(ended)
    tail = run.output.error_tail or run.output.tail if run.output is not None else ()
    said = "the command printed no RESULT, METRIC or RESULT_JSON line" if ended.code == 0 else "\n".join(tail[-3:])
    row = Row(config=dict(run.config), failed=Failure(reason=reason, message=said))
    return dataclasses.replace(run, rows=(row,))


def how_ended(ended: Exit) -> str:
    """How a run ended, in a few words."""
    if ended.timeout:
        return "timeout"
    return ended.signal if ended.signal is not None else f"exit code {ended.code}"


@dataclass(frozen=True, kw_only=True)
class EarlierSweep:
    """An entry that carries out a plan of a recipe."""

    entry: Entry
    use: RecipeUse
    runs: tuple[Run, ...]

    @cached_property
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
