"""`logbook ab`: runs of two values of an axis or more, in pairs, until the comparison is settled or the budget ends."""

from __future__ import annotations

import contextlib
import os
import shlex

from msgspec import Struct, structs

from logbook_agent.campaign.ab_axis import Sides
from logbook_agent.campaign.ab_like import as_run
from logbook_agent.campaign.ab_question import asked_entry
from logbook_agent.campaign.ab_request import AbRequest, check_evaluator, checked, taken_up
from logbook_agent.campaign.ab_sides import sides_of
from logbook_agent.campaign.code_guard import CodeChanged
from logbook_agent.campaign.entry_claim import check_free
from logbook_agent.campaign.pair_judge import stated_in
from logbook_agent.campaign.pairs import AbResult, Pairs
from logbook_agent.campaign.series import begun
from logbook_agent.entries.edit import with_gates
from logbook_agent.findings.advice import ab_afresh, ab_again
from logbook_agent.model.entry import Entry, entry_of
from logbook_agent.model.errors import UsageError
from logbook_agent.pages.views import refresh
from logbook_agent.running.order import Display
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


class AbPlan(Struct, frozen=True, kw_only=True):
    """An A/B that is stated, and was not run."""

    book: Book
    entry: Entry

    def data(self) -> dict[str, object]:
        """`run` makes its pairs; after `share` other worktrees can have the plan."""
        where = shlex.quote(os.path.relpath(self.book.root))
        return {
            "id": self.entry.id,
            "title": self.entry.title,
            "run": ab_again(self.entry.id, stated_in(self.entry)),
            "share": f"git add {where} && git commit -m 'Plan {self.entry.id}'",
            "view": str(self.book.view_path),
        }

    def text(self) -> str:
        plan = self.data()
        text = f"{self.entry.id} is planned; to run it: {plan['run']}"
        return f"{text}\nanother worktree has it once it merged the commit that holds it: {plan['share']}"


def plan_ab(workspace: Workspace, request: AbRequest, display: Display) -> AbPlan:
    """State an A/B in an entry, with its command and its code, and run nothing. Nothing is written when the request
    does not fit."""
    book, request = _typed(workspace, request, display)
    with sides_of(workspace, book, request, display, None) as sides:
        if any(facts.code.branch and facts.code.commit is None for facts in sides.code.values()):
            raise UsageError(
                "a plan needs a first commit",
                cause="this repository has none yet, so nobody could return to the code of the plan",
                hint="git add -A && git commit, and type this again",
            )
        entry = asked_entry(workspace, book, request, sides, display)
        entry = book.change_entry(entry.id, lambda now: with_gates(now, request.gates, request.free))
    refresh(workspace, book)
    return AbPlan(book=book, entry=entry)


def ab(workspace: Workspace, request: AbRequest, display: Display) -> AbResult:
    """Run the sides in pairs. Nothing is written when the request does not fit."""
    book, request = _typed(workspace, request, display)
    stated = None
    if request.run.entry_id is not None:
        request, stated = taken_up(workspace, book, request)
        # Before anything is checked out.
        entry_id = book.resolve(request.run.entry_id or "")
        check_free(workspace, book, entry_id, ab_afresh(entry_id))
    with sides_of(workspace, book, request, display, stated) as sides:
        return carry_out(workspace, book, request, sides, display)


def _typed(workspace: Workspace, request: AbRequest, display: Display) -> tuple[Book, AbRequest]:
    """The request with the command that it names, and its logbook."""
    request = checked(request)
    book = workspace.book(request.run.entry_id or entry_of(request.like or "") or None)
    if request.like is not None:
        request = as_run(workspace, book, request, display)
        check_evaluator(request)
    return book, request


def carry_out(workspace: Workspace, book: Book, request: AbRequest, sides: Sides, display: Display) -> AbResult:
    """Run these sides in pairs, in the entry of the request or the one that asks the same, else in a new one."""
    known = book.entry(request.run.entry_id) if request.run.entry_id is not None else None

    def found() -> Entry:
        return known or asked_entry(workspace, book, request, sides, display)

    # The entry of --id states its question: another one about it is asked by a command of its own.
    another = ab_afresh(known.id) if known is not None else "add --new"
    with begun(workspace, book, found, display, another=another) as series:
        series.guard = sides.guard
        axis = sides.axis
        if known is None and series.entry.comparison is not None and request.codes is not None:
            # One commit has several names: those of the entry.
            axis = structs.replace(axis, values=series.entry.comparison.question.values)
        pairs = Pairs(series, request, axis, sides.cases)
        # Of a question that is settled nothing is made.
        setup, teardown = ((), ()) if pairs.is_over else (sides.setup, sides.teardown)
        try:
            # Each folder, so that it is known in which of them it fails.
            failed = [run for plans in setup if (run := series.own(plans, shown=True)) is not None]
            return pairs.not_prepared(failed[0]) if failed else pairs.carry_out()
        finally:
            with contextlib.suppress(CodeChanged):
                for plans in teardown:
                    series.own(plans, shown=True)
