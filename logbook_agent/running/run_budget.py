"""The budget of a logbook before a run starts."""

from __future__ import annotations

import dataclasses

from logbook_agent.model.budget import NO_BUDGET
from logbook_agent.model.errors import BudgetSpent
from logbook_agent.model.record import spent
from logbook_agent.running.order import RunPlan
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace, naming
from logbook_agent.text.shell_words import command_line


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
    budget = dataclasses.replace(limits, runs=None) if is_warm_up else limits
    taken = sum(len(book.run_numbers(entry)) for entry in book.entry_ids())
    if budget.hours is None and not budget.is_spent(taken, 0.0):
        return None  # and no record has to be read
    records = book.contents().records
    runs, hours = spent(records, workspace.now())
    # Runs that another process is about to record.
    runs += taken - sum(len(record.runs) for record in records)
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
