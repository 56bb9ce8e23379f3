"""What came out of a sweep: rows against the plan, and the CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from logbook_agent.entries.series import Series
from logbook_agent.findings.cases import cases
from logbook_agent.model.record import SETUP, TEARDOWN, is_made, is_own
from logbook_agent.model.run import Row, Run
from logbook_agent.model.values import canonical
from logbook_agent.running.launch.process import INTERRUPTED_STATUS
from logbook_agent.store.book import Book
from logbook_agent.store.files import write_atomic
from logbook_agent.sweeps.recipes.expand import SweepPlan, describe_run
from logbook_agent.sweeps.state import Progress
from logbook_agent.sweeps.tally import Best


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """The runs just made, and what stands in the entry afterwards: `rows` and `failed` are those of the plan,
    `problems` is what does not hold."""

    series: Series
    planned: int
    rows: int
    failed: int
    best: Best | None
    csv: Path
    log: Path
    problems: tuple[str, ...]

    @property
    def interrupted(self) -> bool:
        return self.series.is_interrupted

    @property
    def exit_status(self) -> int:
        return INTERRUPTED_STATUS if self.interrupted else int(bool(self.problems or self.failed))

    def data(self) -> dict[str, Any]:
        entry, made = self.series.entry, self.series.runs
        return {
            "id": entry.id,
            "title": entry.title,
            "exit_status": self.exit_status,
            "planned": self.planned,
            "rows": self.rows,
            "failed": self.failed,
            "ran": sum(is_made(run) and not is_own(run, SETUP, TEARDOWN) for run in made),
            "interrupted": self.interrupted,
            "best": self.best.data() if self.best is not None else None,
            "problems": list(self.problems),
            "csv": str(self.csv),
            "log": str(self.log),
            "view": str(self.series.book.view_path),
        }


def row_problems(progress: Progress) -> tuple[int, list[str]]:
    """How many rows the plan's runs have, and where that is not one row of its case for each."""
    count, plan = 0, progress.plan
    problems: list[str] = []
    for planned in plan:
        name = describe_run(plan, planned)
        rows = [row for run in progress.made_of(planned) for row in run.rows]
        count += len(rows)
        if len(rows) != 1:
            problems.append(f"{name}: {len(rows) or 'no'} rows, but the plan has one")
        problems += [f"{name}: {text}" for row in rows for text in _other_config(plan, planned.config, row)]
    return count, problems


def _other_config(plan: SweepPlan, config: Mapping[str, Any], row: Row) -> Iterator[str]:
    for key in plan.varied:
        if key in row.config and canonical(row.config[key]) != canonical(config[key]):
            yield f"the row has {key}={canonical(row.config[key])}, but the plan {canonical(config[key])}"


def write_csv(book: Book, entry_id: str, made: Iterable[Run]) -> Path:
    """Every row of the plan's runs beside their records, in the order they were run."""
    from logbook_agent.findings.tables.export import to_csv

    numbers = {run.run for run in made}
    rows = [case for case in cases(book.record(entry_id)) if case.run in numbers]
    path = book.sweep_csv(entry_id)
    write_atomic(path, to_csv(rows).encode(), within=book.root, durable=book.durable)
    return path
