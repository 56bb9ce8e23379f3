"""The Python API: the same use cases as the command line, for scripts and notebooks.

from logbook_agent import Logbook

book = Logbook.start("moe_ep_int8", prefix="MOE-I8", metrics=["tflops:max:TF/s"])
run = book.run(["python", "bench.py", "--quant-mode", "int8"], label="Int8")
print(run.entry.id, run.exit_status)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from logbook_agent.campaign.detached_runs import collect_ended
from logbook_agent.campaign.repeats import RunResult
from logbook_agent.campaign.repeats import run as run_experiment
from logbook_agent.campaign.run_request import RunRequest
from logbook_agent.campaign.stderr_display import StderrDisplay
from logbook_agent.campaign.typing_place import typing_place
from logbook_agent.entries import edit, new_entry
from logbook_agent.entries.compare import compare
from logbook_agent.entries.criteria import criteria_data
from logbook_agent.entries.header import StartRequest
from logbook_agent.entries.header import start as start_logbook
from logbook_agent.entries.new_entry import Prose
from logbook_agent.entries.overview import overview
from logbook_agent.features import hook_module
from logbook_agent.findings.queries import listed, table
from logbook_agent.findings.read import read
from logbook_agent.findings.references import Contrast
from logbook_agent.findings.status import BUDGET_BYTES, StatusAnswer
from logbook_agent.findings.summaries import line_of
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.model.header import Header
from logbook_agent.model.record import Record
from logbook_agent.model.values import Scalar, spelt
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


class Logbook:
    """One logbook. Make it with `Logbook.start` or `Logbook.open`; errors are LogbookErrors."""

    def __init__(self, workspace: Workspace, book: Book) -> None:
        self.workspace = workspace
        self.book = book

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
        return self.book.outgoing().reread_header()

    @property
    def view(self) -> Path:
        """The rendered Markdown."""
        return self.book.view_path

    @property
    def warnings(self) -> list[str]:
        """What the calls so far had to say beyond their results."""
        return self.workspace.warnings

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
        return run_experiment(self.workspace, request, StderrDisplay())

    def note(self, title: str, *, kind: str = "note", fields: Mapping[str, str] | None = None) -> str:
        """Add an entry without a command; its ID."""
        return new_entry.note(self.workspace, Prose(title=title, fields=_texts(fields)), kind=kind)[1].id

    def edit(
        self,
        entry_id: str,
        *,
        interpretation: str | None = None,
        next_action: str | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        """Change prose of an entry; an empty text removes a field."""
        prose = Prose(interpretation=interpretation, next_action=next_action, fields=_texts(fields))
        edit.edit(self.workspace, entry_id, edit.EditRequest(prose=prose))

    def record(self, entry_id: str) -> EntryRecord:
        """One entry with its runs, rows and state."""
        return self._shown(self.book.outgoing().record(entry_id))

    def records(self) -> tuple[EntryRecord, ...]:
        """All entries that can be read, in order."""
        return tuple(map(self._shown, self.book.outgoing().contents().records))

    def _shown(self, record: Record) -> EntryRecord:
        return EntryRecord(entry=record.entry, runs=record.runs, state=record.state, logbook=self)

    def __repr__(self) -> str:
        count = len(self.book.entry_ids())
        return f"<Logbook {self.book.topic}: {count} {'entry' if count == 1 else 'entries'}, {self.view}>"

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        """What a notebook displays: the text of `logbook status`."""
        notebook = hook_module("notebook")
        printer.text(notebook.status(self.workspace, self.book) if notebook is not None else repr(self))

    def search(self, text: str) -> list[dict[str, Any]]:
        """Entries that contain all words of `text`."""
        return listed(read(self.workspace, self.book), [text])

    def status(self, budget: int = BUDGET_BYTES) -> StatusAnswer:
        """What `logbook status --json` tells within a budget of bytes."""
        found = read(self.workspace, self.book, here=typing_place(self.workspace))
        return overview(self.workspace, self.book, found, budget=budget)

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
        return compare(self.workspace, asked, baseline=baseline, here=typing_place(self.workspace)).data()

    def table(self, *entry_ids: str, **options: Any) -> dict[str, object]:
        """What `logbook table --json` tells, of all entries that count or of these. The options are those of the
        command, as in `table(pivot="quant_mode", delta=True, metrics=("tflops",), where={"topk": "2"})`."""
        found = read(self.workspace, self.book.outgoing())
        return table(found, entry_ids, TableSpec(**options))[1].data()

    def criteria(self) -> dict[str, object]:
        """What `logbook criteria --json` tells."""
        return criteria_data(self.book, read(self.workspace, self.book.outgoing()))


class EntryRecord(Record, frozen=True, kw_only=True, eq=False):
    """One entry as it was when it was read; a notebook shows it."""

    logbook: Logbook

    def __repr__(self) -> str:
        answer = read(self.logbook.workspace, self.logbook.book).answer_of(self.entry)
        line = line_of(self, self.logbook.header, answer)
        said = ", ".join(filter(None, [self.state, line["result"]]))
        return f"<{self.id} {self.entry.title!r}: {said}>"

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        """What a notebook displays: the text of `logbook show`."""
        of, notebook = self.logbook, hook_module("notebook")
        printer.text(notebook.show(of.workspace, of.book, self) if notebook is not None else repr(self))


def _texts(fields: Mapping[str, str] | None) -> tuple[str, ...]:
    return tuple(f"{label}={text}" for label, text in (fields or {}).items())


def _workspace(root: str | Path | None, logbook: str | None = None) -> Workspace:
    return Workspace(
        cwd=Path.cwd(),
        environ=os.environ,
        root_option=str(root) if root is not None else None,
        logbook_option=logbook,
        arrive=collect_ended,
    )
