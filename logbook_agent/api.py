"""The Python API: the same use cases as the command line, for scripts and notebooks.

from logbook_agent import Logbook

book = Logbook.start("moe_ep_int8", prefix="MOE-I8", metrics=["tflops:max:TF/s"])
run = book.run(["python", "bench.py", "--quant-mode", "int8"], label="Int8")
print(run.entry.id, run.exit_status)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logbook_agent.campaign.ab_prepare import AbRequest
from logbook_agent.campaign.detached_runs import collect_ended
from logbook_agent.campaign.repeats import RunRequest, RunResult
from logbook_agent.campaign.repeats import run as run_experiment
from logbook_agent.campaign.stderr_display import ProgressDisplay, StderrDisplay, to_stderr
from logbook_agent.entries import entries as writing
from logbook_agent.entries.compare import compare
from logbook_agent.entries.criteria import criteria_data
from logbook_agent.entries.drafts import Prose
from logbook_agent.entries.overview import overview
from logbook_agent.entries.start import StartRequest
from logbook_agent.entries.start import start as start_logbook
from logbook_agent.findings.queries import listed, shown, table, table_data
from logbook_agent.findings.read import read
from logbook_agent.findings.references import Contrast
from logbook_agent.findings.status import BUDGET_BYTES
from logbook_agent.findings.status_answer import StatusAnswer
from logbook_agent.findings.summaries import line_of
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.findings.trust import Compared
from logbook_agent.model.entry import Entry
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record
from logbook_agent.model.values import Scalar, spelt
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace

if TYPE_CHECKING:
    import pandas
    import polars

    from logbook_agent.exports.columns import DataColumn
    from logbook_agent.exports.scripting.blocks import ExperimentBlock
    from logbook_agent.exports.scripting.functions import FunctionsResult


class Logbook:
    """One logbook. Make it with `Logbook.start` or `Logbook.open`; errors are LogbookErrors."""

    def __init__(self, workspace: Workspace, book: Book) -> None:
        self._workspace = workspace
        self._book = book

    @classmethod
    def start(
        cls,
        topic: str,
        *,
        prefix: str | None = None,
        root: str | Path | None = None,
        goal: str | None = None,
        title: str | None = None,
        metrics: Sequence[str] = (),
        gates: Sequence[str] = (),
        constraints: Sequence[str] = (),
        stop_criteria: Sequence[str] = (),
    ) -> Logbook:
        """Start a logbook, whose prefix is derived from the topic when left out. Raises Taken when the topic or prefix
        exists."""
        workspace = _workspace(root)
        request = StartRequest(
            topic=topic,
            prefix=prefix,
            title=title,
            goal=goal,
            metrics=metrics,
            gates=gates,
            constraints=constraints,
            stops=stop_criteria,
        )
        book = start_logbook(workspace, request)
        # From here on it is this one, however many others there are.
        return cls(_workspace(root, book.topic), book)

    @classmethod
    def open(cls, logbook: str | None = None, *, root: str | Path | None = None) -> Logbook:
        """Open a logbook by topic or prefix; without a name, the only one there is."""
        workspace = _workspace(root, logbook)
        return cls(workspace, workspace.book())

    @property
    def header(self) -> Header:
        return self._book.outgoing().reread_header()

    @property
    def view(self) -> Path:
        """The rendered Markdown."""
        return self._book.view_path

    @property
    def warnings(self) -> list[str]:
        """What the calls so far had to say beyond their results."""
        return self._workspace.warnings

    def run(
        self,
        argv: Sequence[str],
        *,
        title: str | None = None,
        hypothesis: str | None = None,
        label: str | None = None,
        config: Mapping[str, Scalar] | None = None,
        env: Mapping[str, str] | None = None,
        repeat: int = 1,
        discard: int = 0,
        timeout_s: float | None = None,
        stall_s: float | None = None,
        read: str | None = None,
        keep: Sequence[str] = (),
        entry_id: str | None = None,
    ) -> RunResult:
        """Run a command as an experiment; its output is passed on to stderr. `read`: as `logbook run --read`. `keep`:
        patterns of files that are kept when it has ended."""
        request = RunRequest(
            argv=argv,
            prose=Prose(title=title, hypothesis=hypothesis),
            label=label,
            config=config or {},
            env=env or {},
            repeat=repeat,
            discard=discard,
            timeout_s=timeout_s,
            stall_s=stall_s,
            read=read,
            keep=tuple(keep),
            entry_id=entry_id,
        )
        return run_experiment(self._workspace, request, StderrDisplay())

    def experiment(
        self,
        *,
        title: str | None = None,
        hypothesis: str | None = None,
        label: str | None = None,
        config: Mapping[str, Scalar] | None = None,
        entry_id: str | None = None,
    ) -> ExperimentBlock:
        """A block of this script or notebook as a run, which `with` begins and ends: what it prints, its rows (`log`),
        its duration, the traceback of an exception."""
        from logbook_agent.exports.scripting.blocks import BlockRequest, ExperimentBlock

        prose = Prose(title=title, hypothesis=hypothesis)
        request = BlockRequest(prose=prose, label=label, config=config or {}, entry_id=entry_id)
        return ExperimentBlock(self._workspace, request, ProgressDisplay())

    def ab(
        self,
        functions: Mapping[str, Callable[[], object]],
        *,
        title: str | None = None,
        hypothesis: str | None = None,
        config: Mapping[str, Scalar] | None = None,
        metrics: Sequence[str] | None = None,
        minimum_effect: float | None = None,
        pairs: int | None = None,
        max_pairs: int | None = None,
        max_time_s: float | None = None,
        warm_up: int = 0,
        calls: int = 1,
        entry_id: str | None = None,
    ) -> FunctionsResult:
        """Compare functions in pairs of runs, by the rule of `logbook ab`; the first is the base. A run measures the
        time of `calls` calls (`time_s`), and the numbers that they return. What another process can import is called
        there; with other functions the answer says `within-process`."""
        from logbook_agent.exports.scripting.functions import ab_functions

        run = RunRequest(prose=Prose(title=title, hypothesis=hypothesis), config=config or {}, entry_id=entry_id)
        request = AbRequest(
            axis="",
            run=run,
            fixed=pairs,
            max_pairs=max_pairs,
            max_time_s=max_time_s,
            minimum_effect=minimum_effect,
            metrics=tuple(metrics) if metrics is not None else None,
        )
        return ab_functions(self._workspace, functions, request, ProgressDisplay(), warm_up=warm_up, calls=calls)

    def note(self, title: str, *, kind: str = "note", fields: Mapping[str, str] | None = None) -> str:
        """Add an entry without a command; its ID."""
        prose = Prose(title=title, fields=tuple(f"{k}={v}" for k, v in (fields or {}).items()))
        return writing.note(self._workspace, prose, kind=kind)[1].id

    def edit(
        self,
        entry_id: str,
        *,
        interpretation: str | None = None,
        next_action: str | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        """Change prose of an entry; an empty text removes a field."""
        prose = Prose(
            interpretation=interpretation,
            next_action=next_action,
            fields=tuple(f"{k}={v}" for k, v in (fields or {}).items()),
        )
        writing.edit(self._workspace, entry_id, writing.EditRequest(prose=prose))

    def record(self, entry_id: str) -> EntryRecord:
        """One entry with its runs, rows and state."""
        return self._shown(self._book.outgoing().record(entry_id))

    def records(self) -> tuple[EntryRecord, ...]:
        """All entries that can be read, in order."""
        return tuple(map(self._shown, self._book.outgoing().contents().records))

    def to_pandas(self) -> pandas.DataFrame:
        """All measured rows as a data frame, with the columns of `logbook export --as csv`. Raises UsageError without
        pandas."""
        from logbook_agent.exports.frames import to_pandas

        return to_pandas(self._columns())

    def to_polars(self) -> polars.DataFrame:
        """The same for polars."""
        from logbook_agent.exports.frames import to_polars

        return to_polars(self._columns())

    def _shown(self, record: Record) -> EntryRecord:
        return EntryRecord(entry=record.entry, runs=record.runs, state=record.state, logbook=self)

    def _compared(self, entry: Entry) -> Compared:
        return read(self._workspace, self._book).compared(entry)

    def _columns(self, *entry_ids: str) -> list[DataColumn]:
        from logbook_agent.exports.columns import columns_of
        from logbook_agent.exports.measured_rows import exported

        return columns_of(exported(read(self._workspace, self._book), entry_ids=entry_ids).rows)

    def __repr__(self) -> str:
        count = len(self._book.entry_ids())
        return f"<Logbook {self._book.topic}: {count} {'entry' if count == 1 else 'entries'}, {self.view}>"

    def _repr_html_(self) -> str | None:
        try:
            from logbook_agent.exports.notebook import logbook_html
        except ModuleNotFoundError:  # without the feature a notebook shows the text
            return None
        # What a cell shows has nothing to warn of twice.
        said = list(self._workspace.warnings)
        try:
            return logbook_html(self.status())
        finally:
            self._workspace.warnings[:] = said

    def _entry_html(self, record: Record) -> str | None:
        try:
            from logbook_agent.exports.notebook import entry_html
        except ModuleNotFoundError:  # without the feature a notebook shows the text
            return None
        found = read(self._workspace, self._book)
        return entry_html(shown(found, record, self._book.log_path, full=False))

    def search(self, text: str) -> list[dict[str, Any]]:
        """Entries that contain all words of `text`."""
        return listed(read(self._workspace, self._book), [text])

    def status(self, budget: int = BUDGET_BYTES) -> StatusAnswer:
        """What `logbook status --json` tells within a budget of bytes."""
        return overview(self._workspace, self._book, budget=budget)

    def compare(
        self,
        *references: str,
        axis: str | None = None,
        base: Scalar = None,
        metrics: Sequence[str] = (),
        where: Mapping[str, Scalar] | None = None,
        baseline: bool = False,
    ) -> dict[str, object]:
        """What `logbook compare --json` tells of these references."""
        asked = Contrast(
            references=references,
            axis=axis,
            base_value=spelt(base) if base is not None else None,
            metrics=tuple(metrics),
            where=dict(where or {}),
        )
        return compare(self._workspace, asked, baseline=baseline).data()

    def table(self, *entry_ids: str, **options: Any) -> dict[str, object]:
        """What `logbook table --json` tells, of all entries that count or of these. The options are those of the
        command, as in `table(pivot="quant_mode", delta=True, metrics=("tflops",), where={"topk": "2"})`."""
        found = read(self._workspace, self._book.outgoing())
        return table_data(table(found, entry_ids, TableSpec(**options))[1])

    def criteria(self) -> dict[str, object]:
        """What `logbook criteria --json` tells."""
        return criteria_data(self._book, read(self._workspace, self._book.outgoing()))

    def sync(self, *, create: bool = False, repository: str | None = None, dry_run: bool = False) -> dict[str, object]:
        """Bring the issue up to date, and return what `logbook sync --json` tells. Progress goes to stderr."""
        from logbook_agent.issue.commands import sync_data
        from logbook_agent.issue.destination import SendOptions
        from logbook_agent.issue.sync import SyncRequest, sync

        request = SyncRequest(create=create, repository=repository, dry_run=dry_run)
        result = sync(self._workspace, request, SendOptions(say=to_stderr))
        return sync_data(result, dry_run=dry_run)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EntryRecord(Record):
    """One entry as it was when it was read; what it measured as data frames, and what a notebook shows of it."""

    logbook: Logbook

    def to_pandas(self) -> pandas.DataFrame:
        """Its measured rows as a data frame, with the columns of `logbook export ID --as csv`."""
        from logbook_agent.exports.frames import to_pandas

        return to_pandas(self.logbook._columns(self.id))

    def to_polars(self) -> polars.DataFrame:
        """The same for polars."""
        from logbook_agent.exports.frames import to_polars

        return to_polars(self.logbook._columns(self.id))

    def __repr__(self) -> str:
        line = line_of(self, self.logbook.header, self.logbook._compared(self.entry))
        said = ", ".join(filter(None, [self.state, line["result"]]))
        return f"<{self.id} {self.entry.title!r}: {said}>"

    def _repr_html_(self) -> str | None:
        return self.logbook._entry_html(self)


def _workspace(root: str | Path | None, logbook: str | None = None) -> Workspace:
    return Workspace(
        cwd=Path.cwd(),
        environ=os.environ,
        root_option=str(root) if root is not None else None,
        logbook_option=logbook,
        arrive=collect_ended,
    )
