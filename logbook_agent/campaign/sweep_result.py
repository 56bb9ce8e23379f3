"""The result of a sweep: its rows against the plan, and as a CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.campaign.recipes.expand import describe_run
from logbook_agent.campaign.series import RunSeries
from logbook_agent.campaign.sweep_progress import Progress
from logbook_agent.campaign.sweep_tally import Best
from logbook_agent.findings.cases import cases
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.words import data as answer_data
from logbook_agent.findings.tables.export import to_csv
from logbook_agent.model.record import SETUP, TEARDOWN, has_failed, is_made, is_own
from logbook_agent.model.run import Row, Run
from logbook_agent.model.values import Scalar, canonical
from logbook_agent.store.book import Book
from logbook_agent.store.layout import SWEEP_CSV


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """The runs just made, and how far the plan is afterwards, with its number of `rows`. `answer`: that to the entry's
    comparison, and why it made no further pair (`stopped`). `problems`: what does not hold."""

    series: RunSeries
    progress: Progress
    rows: int
    answer: Answer | None
    stopped: str
    csv: Path
    problems: tuple[str, ...]

    @property
    def planned(self) -> int:
        return len(self.progress.plan)

    @property
    def left(self) -> int:
        """How many runs of the plan are still to be made."""
        return len(self.progress.todo)

    @property
    def failed(self) -> int:
        """How many runs of the plan failed."""
        return sum(map(has_failed, self.progress.judged.values()))

    @property
    def best(self) -> Best | None:
        """The case that came out best, of a plan that explores."""
        return self.progress.tally.best() if self.progress.plan.confirm and not self.left else None

    @property
    def interrupted(self) -> bool:
        return self.series.is_interrupted

    @property
    def exit_status(self) -> int:
        if self.interrupted or self.series.refused is not None:
            return self.series.exit_status
        return int(bool(self.problems or self.failed))

    def data(self) -> dict[str, object]:
        entry, runs, best = self.series.entry, self.series.runs, self.best
        return {
            "id": entry.id,
            "title": entry.title,
            "exit_status": self.exit_status,
            "planned": self.planned,
            "rows": self.rows,
            "failed": self.failed,
            "ran": sum(is_made(run) and not is_own(run, SETUP, TEARDOWN) for run in runs),
            "interrupted": self.interrupted,
            "best": best.data() if best is not None else None,
            "answer": answer_data(self.answer) if self.answer is not None else None,
            "stopped": self.stopped or None,
            "problems": list(self.problems),
            "csv": str(self.csv),
            "view": str(self.series.book.view_path),
        }


def row_problems(progress: Progress) -> tuple[int, list[str]]:
    """How many rows the plan's runs have, and where that is not one row of its case for each."""
    count, problems = 0, list[str]()
    for planned in progress.plan:
        name = describe_run(progress.plan, planned)
        rows = [row for run in progress.made_of(planned) for row in run.rows]
        count += len(rows)
        if len(rows) != 1:
            problems.append(f"{name}: {len(rows) or 'no'} rows, but the plan has one")
        config = progress.workspace.redacted_config(planned.config)
        problems += [f"{name}: {text}" for row in rows for text in _other_config(progress.plan.varied, config, row)]
    return count, problems


def _other_config(varied: Iterable[str], config: Mapping[str, Scalar], row: Row) -> Iterator[str]:
    for key in varied:
        if key in row.config and canonical(row.config[key]) != canonical(config[key]):
            yield f"the row has {key}={canonical(row.config[key])}, but the plan {canonical(config[key])}"


def write_csv(book: Book, entry_id: str, runs: Iterable[Run]) -> Path:
    """Every row of the plan's runs beside their records, in the order they were run."""
    numbers = {run.run for run in runs}
    rows = [case for case in cases(book.record(entry_id)) if case.run in numbers]
    path = book.entry_runs_folder(entry_id) / SWEEP_CSV
    book.files.write(path, to_csv(rows).encode(), durable=book.durable)
    return path
