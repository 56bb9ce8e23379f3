"""The result of a sweep: rows against the plan, the CSV, and what its runs printed, as one file."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.campaign.driver import Driver
from logbook_agent.campaign.recipes.expand import SweepPlan, describe_run
from logbook_agent.campaign.state import Progress, how_ended
from logbook_agent.campaign.tally import Best
from logbook_agent.findings.cases import cases
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.words import data as answer_data
from logbook_agent.findings.tables.export import to_csv
from logbook_agent.model.errors import StoreError
from logbook_agent.model.record import SETUP, TEARDOWN, is_made, is_own
from logbook_agent.model.run import Row, Run
from logbook_agent.model.values import Scalar, canonical
from logbook_agent.store.book import Book
from logbook_agent.store.layout import SWEEP_CSV, SWEEP_LOG


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """The runs just made, and the entry afterwards: how many runs of the plan are `left` to be made, and of the others
    how many `failed` and their number of `rows`. `best`: the case that came out best, of a plan that explores.
    `answer`: that to the entry's comparison, and why it made no further pair (`stopped`). `problems`: what does not
    hold."""

    driver: Driver
    planned: int
    left: int
    rows: int
    failed: int
    best: Best | None
    answer: Answer | None
    stopped: str
    csv: Path
    log: Path
    problems: tuple[str, ...]

    @property
    def interrupted(self) -> bool:
        return self.driver.is_interrupted

    @property
    def exit_status(self) -> int:
        if self.interrupted or self.driver.refused is not None:
            return self.driver.exit_status
        return int(bool(self.problems or self.failed))

    def data(self) -> dict[str, object]:
        entry, made = self.driver.entry, self.driver.runs
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
            "answer": answer_data(self.answer) if self.answer is not None else None,
            "stopped": self.stopped or None,
            "problems": list(self.problems),
            "csv": str(self.csv),
            "log": str(self.log),
            "view": str(self.driver.book.view_path),
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
        config = progress.workspace.redacted_config(planned.config)
        problems += [f"{name}: {text}" for row in rows for text in _other_config(plan, config, row)]
    return count, problems


def _other_config(plan: SweepPlan, config: Mapping[str, Scalar], row: Row) -> Iterator[str]:
    for key in plan.varied:
        if key in row.config and canonical(row.config[key]) != canonical(config[key]):
            yield f"the row has {key}={canonical(row.config[key])}, but the plan {canonical(config[key])}"


def write_csv(book: Book, entry_id: str, made: Iterable[Run]) -> Path:
    """Every row of the plan's runs beside their records, in the order they were run."""
    numbers = {run.run for run in made}
    rows = [case for case in cases(book.record(entry_id)) if case.run in numbers]
    path = book.entry_runs_folder(entry_id) / SWEEP_CSV
    book.files.write(path, to_csv(rows).encode(), durable=book.durable)
    return path


def write_log(book: Book, entry_id: str, varied: Sequence[str]) -> Path:
    """The outputs of all runs of an entry in order, each below a line that says which run it is.

    They are copied from the logs of the runs, which hold no secrets any more, a piece at a time.
    """
    path = book.entry_runs_folder(entry_id) / SWEEP_LOG
    book.files.write(path, _pieces(book, entry_id, varied), durable=False)
    return path


def _pieces(book: Book, entry_id: str, varied: Sequence[str]) -> Iterator[bytes]:
    for run in book.runs(entry_id):
        yield f"{heading(run, varied)}\n".encode("utf-8", "replace")
        end = b"\n"
        try:
            log = book.log_path(entry_id, run.run)
            for piece in book.files.pieces(log):
                end = piece[-1:]
                yield piece
        except (StoreError, OSError) as error:
            yield f"[logbook] the log of this run cannot be read: {_why(error)}\n".encode()
        if end != b"\n":
            yield b"\n"


def _why(error: StoreError | OSError) -> str:
    cause = error.__cause__ if isinstance(error, StoreError) else error
    return (cause.strerror if isinstance(cause, OSError) else None) or str(error)


def heading(run: Run, varied: Sequence[str]) -> str:
    """`===== run 4 [setup]: topk=2 quant_mode=int8 repeat 2: bench --topk 2: exit code 0`."""
    label = f" [{run.label}]" if run.label is not None else ""
    case = [f"{key}={canonical(run.config[key])}" for key in varied if key in run.config]
    case += [f"repeat {run.repeat}"] if run.repeat is not None else []
    command = run.argv[0] if run.shell else shlex.join(run.argv)
    parts = [
        f"===== run {run.run}{label}",
        " ".join(case),
        " ".join(command.splitlines()),
        how_ended(run.exit) if run.exit is not None else "not ended",
    ]
    return ": ".join(part for part in parts if part)
