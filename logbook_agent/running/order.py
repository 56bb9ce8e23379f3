"""The work order of one run, the record that begins with it, and the budget that must have room for it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct, structs

from logbook_agent.features import hook_module
from logbook_agent.model.comparison import Part
from logbook_agent.model.errors import BudgetSpent, LogbookError
from logbook_agent.model.header import NO_BUDGET
from logbook_agent.model.record import SeriesProgress, spent
from logbook_agent.model.run import Env, Run, Scalar
from logbook_agent.model.worker_report import Contention, Host, noted
from logbook_agent.running.launch.process import UNSEEN
from logbook_agent.running.prepare import Command
from logbook_agent.running.provenance.contention import host_root, load_now, other_runs
from logbook_agent.running.worker.work import Stream, Work
from logbook_agent.store.book import Book
from logbook_agent.store.processes import this_host
from logbook_agent.store.workspace import Workspace, naming, place_of
from logbook_agent.text.commands.script import command_words, hides_failures, several_hosts, swallows_failures
from logbook_agent.text.shell_words import command_line


class Display(Protocol):
    """Where the user watches: raw output as it comes, ticks between, and a line for each step of a series.
    `shows_output`: raw output is shown, and not thrown away."""

    @property
    def shows_output(self) -> bool: ...

    def output(self, stream: Stream, data: bytes) -> None: ...
    def tick(self, last_result: str | None, log_bytes: int) -> None: ...
    def done(self) -> None: ...
    def progress(self, text: str, series: SeriesProgress | None = None) -> None:
        """Show a line, unless it is empty; `series` says how far the series is, which a terminal draws."""

    def began(self, entry_id: str) -> None:
        """A series of runs begins in this entry, which stands on disk by now."""


class RunPlan(Struct, frozen=True, kw_only=True):
    """What one run is to be: its command, entry and declared config. `discarded`: it warms up and does not count.
    `keep`: patterns of files to be kept, `inputs`: files whose digests are recorded. `always`: it is made even after a
    request to stop. `until`: as in the record (`Run.until`). `unit`: runs with the same one are made in turn on
    one machine."""

    command: Command
    entry_id: str
    repeat: int | None = None
    part: Part | None = None
    discarded: bool = False
    timeout_s: float | None = None
    stall_s: float | None = None
    config: dict[str, Scalar]
    keep: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    always: bool = False
    until: str | None = None
    unit: str | None = None


def work_of(workspace: Workspace, book: Book, plan: RunPlan, number: int, left_s: float | None = None) -> Work:
    """What a worker needs to know to make this run, for which the budget leaves `left_s` seconds (None: any)."""
    command, config = plan.command, workspace.config
    return Work(
        entry=plan.entry_id,
        run=number,
        mark=book.run_name(plan.entry_id, number),
        argv=command.argv,
        words=command_words(command.argv),
        executable=command.executable,
        shell=command.shell,
        cwd=str(command.cwd),
        env=command.env,
        is_carried=command.is_carried,
        syncs=command.syncs,
        timeout_s=plan.timeout_s,
        stall_s=plan.stall_s,
        left_s=left_s,
        read=hook_module("reads").awaited(command.read) if command.read is not None else None,
        log_bytes=config.log_bytes,
        root=str(book.root),
        env_patterns=config.env,
        packages=config.packages,
        keep=(*plan.keep, *_pictured(book, plan.entry_id)),
        inputs=plan.inputs,
        secret_names=config.secrets,
        rules=config.code.reading(command.read),
        is_setup=plan.until is not None,
    )


def _pictured(book: Book, entry_id: str) -> tuple[str, ...]:
    """Patterns of the files that the prose of an entry shows as pictures. Most entries show none."""
    try:
        if "![" not in book.entry_text(entry_id) or (collecting := hook_module("collects")) is None:
            return ()
        return tuple(collecting.patterns_in(field.text for field in book.entry(entry_id).fields))
    except LogbookError:
        return ()  # its damage is reported where it is rendered


def planned_run(workspace: Workspace, book: Book, plan: RunPlan, number: int) -> Run:
    """The record of a run before anything is known of where it runs."""
    command = plan.command
    return Run(
        entry=plan.entry_id,
        run=number,
        name=book.run_name(plan.entry_id, number),
        label=command.label,
        repeat=plan.repeat,
        part=plan.part,
        discarded=plan.discarded,
        planned=command.planned,
        argv=command.argv,
        shell=command.shell,
        cwd=place_of(command.cwd, workspace),
        timeout_s=plan.timeout_s,
        stall_s=plan.stall_s,
        read=command.read,
        until=plan.until,
        launcher=command.launch,
        env=Env(declared=command.env, relevant=command.far_env),
        config=plan.config,
        started=workspace.stamp(),
        host=Host(name=this_host()),
        problems=noted(*_hidden(command.argv, shell=command.shell), *_hosts(workspace, command)),
    )


def _hidden(argv: Sequence[str], *, shell: bool) -> Iterator[str]:
    """How the words of a command hide that a part of it fails."""
    if hides_failures(argv):
        yield f"{UNSEEN}: use --shell, or set -o pipefail"
    if swallows_failures(argv, shell=shell):
        yield "the command ends with success whatever fails: leave out || true, or set -e"


def _hosts(workspace: Workspace, command: Command) -> list[str]:
    """What puts a command on several hosts."""
    argv = ("sh", "-c", *command.argv) if command.shell else command.argv
    hosts = several_hosts(argv, {**workspace.environ, **command.env})
    return [f"{hosts}: devices, load and code are those of one host"] if hosts is not None else []


def machine_now(workspace: Workspace) -> Contention:
    """How busy this machine is now; its accelerators are not looked at."""
    runnable, load_1m = load_now(host_root(workspace.environ))
    runs = other_runs(Path(os.path.realpath(workspace.root)))
    return Contention(cores=os.cpu_count(), runnable=runnable, load_1m=load_1m, runs=runs)


# -- the budget ------------------------------------------------------------------------------------


def reserve(workspace: Workspace, book: Book, plan: RunPlan) -> tuple[int, float | None]:
    """The number of a new run, and the seconds that the budget leaves for it (None: any); of two processes one gets
    the last run. Teardown is always made. Raises BudgetSpent."""
    if plan.always or book.header.limits == NO_BUDGET:
        return book.new_run(plan.entry_id), None
    with book.lock():
        left_s = check_budget(workspace, book, is_warm_up=plan.discarded)
        return book.new_run(plan.entry_id), left_s


def check_budget(workspace: Workspace, book: Book, *, is_warm_up: bool = False) -> float | None:
    """The seconds that the budget leaves for a run; None: any. A warm-up takes time alone. Raises BudgetSpent."""
    if book.header.limits == NO_BUDGET:
        return None
    limits = book.reread_header().limits
    budget = structs.replace(limits, runs=None) if is_warm_up else limits
    taken = sum(len(book.run_numbers(entry)) for entry in book.entry_ids())
    if budget.hours is None and not budget.is_spent(taken, 0.0):
        return None  # and no record has to be read
    records = book.contents().records
    runs, hours = spent(records, workspace.now())
    # Runs that another process is about to record.
    runs += taken - sum(len(record.runs) for record in records) - book.cut_off()
    if budget.is_spent(runs, hours):
        are_runs = limits.runs is not None and runs >= limits.runs
        more = (
            f"runs={2 * max(limits.runs or 0, runs)}" if are_runs else f"hours={2 * max(limits.hours or 0, hours):.2g}"
        )
        raise BudgetSpent(
            f"the budget of {book.topic} is used up: {limits.text(runs, hours)}",
            cause="no further run starts until the person who set the budget raises it",
            hint=command_line(["logbook", "criteria", *naming(workspace, book), "--budget", more]),
        )
    return None if budget.hours is None else (budget.hours - hours) * 3600
