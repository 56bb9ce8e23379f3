"""A recorded run made again: its code in a working tree of its own, its command, its variables; nothing is recorded.

The working tree is made from the repository in which the command is typed, and is removed in the end. The user's own
tree, index and references stay as they are.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from pathlib import Path

from logbook_agent.agents.recorded_run import in_repository, lacking, unlike, variables_of, words_of
from logbook_agent.agents.reproduced_numbers import Reproduction, held_against
from logbook_agent.campaign.code_axis import command_in
from logbook_agent.campaign.recorded_code import restore
from logbook_agent.campaign.repeats import RunRequest
from logbook_agent.campaign.trees import Tree
from logbook_agent.model.errors import CommandNotFound, LogbookError, NotExecutable, StoreError, UsageError
from logbook_agent.model.record import Record
from logbook_agent.model.run import Process, Run
from logbook_agent.model.worker_report import Began
from logbook_agent.running.executors import LOCAL
from logbook_agent.running.launch.signals import StopRequests
from logbook_agent.running.order import Display, RunPlan, work_of
from logbook_agent.running.provenance.software import relevant_env
from logbook_agent.running.provenance.worktrees import Checkout, checkout_folder, checkout_of
from logbook_agent.running.worker.perform import code_now, facts_now, perform
from logbook_agent.running.worker.work import Stream, Work, Workplace
from logbook_agent.store.book import Book
from logbook_agent.store.files import make_folder, write_pieces
from logbook_agent.store.workspace import Workspace

_NAME = "made"  # of the working tree
_MOST_BYTES = 64 * 2**20
_PIECE_BYTES = 2**20


class _Watch:
    """Shows output; a run that is made again is in no record."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def began(self, facts: Began) -> None: ...

    def started(self, child: Process) -> None: ...

    def output(self, stream: Stream, data: bytes) -> None:
        self._display.output(stream, data)

    def idle(self, last_result: str | None, log_bytes: int) -> None:
        self._display.tick(last_result, log_bytes)

    def done(self) -> None:
        self._display.done()


def reproduce(workspace: Workspace, reference: str, display: Display) -> Reproduction:
    """A run made again, like for like beside its record: `ID/RUN`, or of an entry the last run that finished. Raises
    NotFound, and UsageError for an entry without such a run."""
    entry_id, _, number = reference.partition("/")
    book = workspace.book(entry_id)
    record = book.record(book.resolve(entry_id))
    run = _chosen(record, book.run_named(record.id, number) if number else None)
    missing = [*lacking(run, workspace.environ)]
    commit = run.code.commit if run.code is not None else None
    if commit is None or run.on not in (None, LOCAL):
        return _cannot(run, missing)
    here = checkout_of(workspace.cwd, workspace.environ)
    checkout = dataclasses.replace(here, inside=run.cwd or ".")
    if checkout.commit_of(commit) is None:
        lost = f"commit {commit[:12]}: not in the repository {here.top.name}; git fetch may bring it"
        return _cannot(run, [*missing, lost])
    values, unset = variables_of(run, workspace.environ, relevant_env(workspace.environ, workspace.config.env))
    around = {k: v for k, v in workspace.environ.items() if k not in unset}
    around |= {name: in_repository(value, here.top) for name, value in values.items()}
    space = dataclasses.replace(workspace, environ=around)
    with checkout_folder(checkout) as above, checkout.worktree(above / _NAME, commit) as folder:
        tree = Tree(name=_NAME, commit=commit, top=above / _NAME, folder=folder, environment=folder / ".venv")
        not_restored = restore(book, run.code, checkout, tree)
        missing += not_restored
        if not folder.is_dir():
            return _cannot(run, [*missing, f"folder {run.cwd}: not in commit {commit[:12]}"])
        for one in run.inputs:
            _bring_input(one.path, checkout, tree)
        try:
            request = _request(run, around, here.top)
            command = command_in(space, request, checkout, tree)
        except (CommandNotFound, NotExecutable, UsageError) as error:
            return _cannot(run, [*missing, f"program: {_said(error)}"])
        work, place = _work(space, book, run, request.plan(command, run.entry), above)
        missing += unlike(run, facts_now(work, place, code_now(work, place)), is_restored=not not_restored)
        if missing:
            return _cannot(run, missing)
        recorded = {name: value for name, value in values.items() if workspace.environ.get(name) != value}
        display.progress(f"repeating {record.id}/{run.run}: {command.shown(recorded)}")
        with StopRequests() as stops:
            end = perform(work, place, _Watch(display), stops)
    if end.exit.is_cut_off:
        return _cannot(run, ["an end: it was interrupted"])
    made = dataclasses.replace(run, exit=end.exit, rows=end.rows)
    primary = [metric.name for metric in book.header.metrics]
    return held_against(record, run, made, primary=primary, alone=bool(number))


def _said(error: LogbookError) -> str:
    return error.message + (f", {error.cause}" if error.cause else "")


def _chosen(record: Record, number: int | None) -> Run:
    if number is not None:
        found = next((s.run for s in record.runs if s.run.run == number and s.run.exit is not None), None)
    else:
        found = next((s.run for s in reversed(record.runs) if s.counts and s.state == "finished"), None)
    if found is not None:
        return found
    ended = [str(s.run.run) for s in record.runs if s.run.exit is not None]
    raise UsageError(
        f"run {number} of {record.id} has not ended" if number is not None else f"{record.id} has no finished run",
        cause=f"its runs that have ended: {', '.join(ended)}" if ended else "none of its runs has ended",
        hint=f"logbook reproduce {record.id}/{ended[0]}" if ended else f"logbook show {record.id}",
    )


def _cannot(run: Run, missing: list[str]) -> Reproduction:
    return Reproduction(entry=run.entry, run=run.run, outcome="cannot", missing=tuple(missing))


def _request(run: Run, around: Mapping[str, str], top: Path) -> RunRequest:
    return RunRequest(
        argv=[in_repository(word, top) for word in words_of(run, around)],
        label=run.label,
        config=run.config,
        env={name: around[name] for name in run.env.declared},
        timeout_s=run.timeout_s,
        stall_s=run.stall_s,
        read=run.read,
        shell=run.shell,
    )


def _work(space: Workspace, book: Book, run: Run, plan: RunPlan, above: Path) -> tuple[Work, Workplace]:
    """What is to be done, and where its log and the diff of its code are written, to be removed with the tree."""
    plan = dataclasses.replace(plan, inputs=tuple(file.path for file in run.inputs))
    results = above / "results"
    make_folder(results, within=above)
    place = Workplace(environ=space.environ, redactor=space.redactor, now=space.now, folder=results, within=above)
    return dataclasses.replace(work_of(space, book, plan, run.run), keep=()), place


# -- the code, and the files that it needs -------------------------------------------------------------


def _bring_input(name: str, checkout: Checkout, tree: Tree) -> None:
    """Bring an input of the repository that git does not track into the tree. Whether it is there, and what it was, is
    found later, by its digest."""
    source, target = checkout.top / checkout.inside / name, tree.folder / name
    if Path(name).expanduser().is_absolute() or target.exists():
        return
    with contextlib.suppress(OSError, StoreError):
        if source.resolve().is_relative_to(checkout.top.resolve()):
            _copy(source, target, tree.top)


def _copy(source: Path, target: Path, top: Path) -> None:
    """Copy a file, or a folder with all files in it, to below `top`."""
    if source.is_dir():
        make_folder(target, within=top)
        for one in sorted(source.iterdir()):
            _copy(one, target / one.name, top)
        return
    if not source.is_file():
        return  # a pipe has no end
    make_folder(target.parent, within=top)
    with source.open("rb") as file:
        write_pieces(target, iter(lambda: file.read(_PIECE_BYTES), b""), within=top, durable=False)
