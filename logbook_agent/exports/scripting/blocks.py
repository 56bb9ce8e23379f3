"""A block of Python as a run: `with experiment(book, ...) as x:`.

The run is made as every other one is, in a thread that waits for the block: what Python prints goes to its log, and its
RESULT lines become rows. What C code and child processes print does not pass through Python, and is not recorded.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TextIO

from msgspec import Struct, field, structs

from logbook_agent import INSIDE, result_line
from logbook_agent.entries.new_entry import (
    Prose,
    check_no_prose,
    check_required,
    create_entry,
    draft_entry,
    with_relations,
)
from logbook_agent.exports.scripting.own_process import Tee, cell, here, outcome_of
from logbook_agent.model.entry import Entry
from logbook_agent.model.errors import UsageError
from logbook_agent.model.run import Run, Scalar
from logbook_agent.pages.views import refresh
from logbook_agent.running.execution import run_here
from logbook_agent.running.launch.process import JobOutcome, Sinks, Stream
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.order import Display, RunPlan
from logbook_agent.store.workspace import Workspace

_IDLE_S = 0.2
_TITLE = "Block of Python"
_CELL = "Cell"


class BlockRequest(Struct, frozen=True, kw_only=True):
    """What is said of a block: in a new entry, or as a further run of `entry_id`."""

    prose: Prose = field(default_factory=Prose)
    label: str | None = None
    config: Mapping[str, Scalar] = field(default_factory=dict)
    entry_id: str | None = None


class ExperimentBlock:
    """A run while its block is carried out, and its record (`run`) afterwards. An exception ends the run as failed, and
    goes on to the caller."""

    def __init__(self, workspace: Workspace, request: BlockRequest, display: Display) -> None:
        self._workspace, self._request, self._display = workspace, request, display
        self._book = workspace.book(request.entry_id)
        self._events: queue.SimpleQueue[tuple[Stream, bytes] | JobOutcome] = queue.SimpleQueue()
        self._has_begun, self._began = threading.Event(), 0.0
        self._thread = threading.Thread(target=self._make, name="logbook run", daemon=True)
        self._streams: tuple[TextIO, TextIO] | None = None
        self._around: dict[str, str | None] = {}
        # Whether what was printed last ends within a line.
        self._is_open = False
        self._error: BaseException | None = None
        self._entry: Entry | None = None
        self.run: Run | None = None

    @property
    def entry(self) -> Entry:
        """The entry of the run. It is there once the block has begun."""
        if self._entry is None:
            raise _not_open()
        return self._entry

    def log(self, values: Mapping[str, object] | None = None, /, **more: object) -> None:
        """Report values of the run, as `logbook_agent.log` does; nothing is printed. Raises UsageError before the block
        has begun, and after it has ended."""
        if self._streams is None:
            raise _not_open()
        line = f"{result_line({**(values or {}), **more})}\n"
        self._put("stdout", f"\n{line}" if self._is_open else line)

    # -- the block ----------------------------------------------------------------------------------------

    def __enter__(self) -> ExperimentBlock:
        if self._entry is not None:
            raise UsageError(
                "this block has run already",
                cause="each block is a run of its own",
                hint=f'add a run to its entry: book.experiment(entry_id="{self._entry.id}")',
            )
        self._entry = self._found_or_new()
        self._thread.start()
        try:
            self._has_begun.wait()
            if self._error is not None:
                raise self._error
            number = max(run.run for run in self._book.runs(self.entry.id))
        except BaseException as error:
            # Such as Ctrl-C while it waits for a device: the block is not carried out, so its run ends here.
            self._events.put(outcome_of(error, 0.0, self._put))
            raise
        self._streams = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = Tee(sys.stdout, "stdout", self._put), Tee(sys.stderr, "stderr", self._put)
        self._around = {name: os.environ.get(name) for name in INSIDE}
        os.environ.update(zip(INSIDE, (self.entry.id, str(number)), strict=True))
        self._began = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        took_s = time.perf_counter() - self._began
        if self._streams is not None:
            sys.stdout, sys.stderr = self._streams
            self._streams = None
        for name, value in self._around.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        self._events.put(outcome_of(error, took_s, self._put))
        self._thread.join()
        refresh(self._workspace, self._book)
        if self._error is not None and error is None:
            raise self._error

    def _put(self, stream: Stream, text: str) -> None:
        if stream == "stdout" and text:
            self._is_open = not text.endswith("\n")
        self._events.put((stream, text.encode("utf-8", "replace")))

    # -- the run, in a thread of its own ------------------------------------------------------------------

    def _make(self) -> None:
        try:
            command = here(self._workspace, self._inside, self._request.label)
            plan = RunPlan(command=command, entry_id=self.entry.id, config=dict(self._request.config))
            with StopRequests() as stops:
                self.run = run_here(self._workspace, self._book, plan, self._display, stops)
        except BaseException as error:  # noqa: BLE001 - raised in the thread of the block
            self._error = error
        finally:
            self._has_begun.set()

    def _inside(self, sinks: Sinks) -> JobOutcome:
        self._has_begun.set()
        while True:
            try:
                event = self._events.get(timeout=_IDLE_S)
            except queue.Empty:
                sinks.idle()
                continue
            if isinstance(event, JobOutcome):
                return event
            sinks.output(*event)

    def _found_or_new(self) -> Entry:
        request = self._request
        if request.entry_id is not None:
            entry = self._book.entry(request.entry_id)
            check_no_prose(entry.id, request.prose)
            return entry
        source = cell()
        fields = (*request.prose.fields, *([f"{_CELL}={source}"] if source is not None else []))
        prose = with_relations(self._book, structs.replace(request.prose, fields=fields))
        check_required(self._workspace, prose, request.label)
        draft = draft_entry(self._workspace, prose, title=prose.title or _TITLE)
        return create_entry(self._workspace, self._book, draft)


def _not_open() -> UsageError:
    return UsageError(
        "the block is not open",
        cause="its run lasts from the beginning to the end of `with`",
        hint="with experiment(book, ...) as x: ...",
    )
