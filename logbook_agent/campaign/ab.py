"""`logbook ab`: runs of two values of an axis or more, in pairs, until the comparison is settled or the budget ends."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace

from logbook_agent.campaign.ab_prepare import AbRequest, Sides, checked, comparison_of, create_comparison
from logbook_agent.campaign.ab_question import asked_before, invocation, keeping, stated
from logbook_agent.campaign.ab_recorded import as_run, check_pairs, taken_up
from logbook_agent.campaign.ab_sides import sides_of
from logbook_agent.campaign.pairs import AbCase, AbResult, Pairs
from logbook_agent.campaign.planned_claim import check_executed, claimed_entry
from logbook_agent.campaign.series import begun
from logbook_agent.entries.drafts import is_stated
from logbook_agent.entries.judging import check_gates
from logbook_agent.findings.advice import ab_afresh, ab_more
from logbook_agent.model.comparison import Comparison
from logbook_agent.model.entry import Entry, entry_of
from logbook_agent.model.record import SETUP
from logbook_agent.pages.views import refresh
from logbook_agent.running.order import Display, RunPlan
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace

# Where the machine is busy.
LOAD_ADVICE = "the load affects both sides of a pair, but the pairs will scatter more; wait until it is idle if you can"


@dataclass(frozen=True, slots=True, kw_only=True)
class AbPlan:
    """An A/B that is stated, and was not run."""

    book: Book
    entry: Entry

    def data(self) -> dict[str, object]:
        return {
            "id": self.entry.id,
            "title": self.entry.title,
            "run": ab_more(self.entry.id),
            "share": self.share,
            "view": str(self.book.view_path),
        }

    def text(self) -> str:
        text = f"{self.entry.id} is planned; to run it: {ab_more(self.entry.id)}"
        return f"{text}\nanother worktree has it once it merged the commit that holds it: {self.share}"

    @property
    def share(self) -> str:
        """What to type so that other worktrees can have the plan."""
        where = shlex.quote(os.path.relpath(self.book.root))
        return f"git add {where} && git commit -m 'Plan {self.entry.id}'"


def plan_ab(workspace: Workspace, request: AbRequest, display: Display) -> AbPlan:
    """State an A/B in an entry, with its command and its code, and run nothing. Nothing is written when the request
    does not fit."""
    request = checked(request)
    book = workspace.book(entry_of(request.like or "") or None)
    request = as_run(workspace, book, request) if request.like is not None else request
    with sides_of(workspace, book, request, display, None) as sides:
        entry = _found_or_new(workspace, book, request, sides, display)
    refresh(workspace, book)
    return AbPlan(book=book, entry=entry)


def ab(workspace: Workspace, request: AbRequest, display: Display) -> AbResult:
    """Run the sides in pairs. Nothing is written when the request does not fit."""
    request = checked(request)
    book = workspace.book(request.run.entry_id or entry_of(request.like or "") or None)
    request = as_run(workspace, book, request) if request.like is not None else request
    known: Comparison | None = None
    if request.run.entry_id is not None:
        request, known = taken_up(workspace, book, request)
        check_executed(workspace, book, request.run.entry_id or "")
    with sides_of(workspace, book, request, display, known) as sides:
        return carry_out(workspace, book, request, sides, display)


def carry_out(workspace: Workspace, book: Book, request: AbRequest, sides: Sides, display: Display) -> AbResult:
    """Run these sides in pairs, in the entry of the request or the one that asks the same, else in a new one."""

    def found() -> Entry:
        if request.run.entry_id is not None:
            return book.entry(request.run.entry_id)
        return _found_or_new(workspace, book, request, sides, display)

    # The entry of --id states its question: another one about it is asked by a command of its own.
    stated = book.entry(request.run.entry_id).comparison if request.run.entry_id is not None else None
    another = ab_afresh(request.run.entry_id or "", stated) if stated is not None else "add --new"
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(begun(workspace, book, found, display, another=another, advice=LOAD_ADVICE))
        stack.enter_context(claimed_entry(workspace, book, made.entry))
        made.around = sides.around_setup
        bad = made.own(_setup(sides, made.entry.id))
        made.around = sides.around
        if request.run.entry_id is None and made.entry.comparison is not None and request.codes is not None:
            # One commit has several names: those of the entry.
            sides = replace(sides, axis=sides.axis.named(made.entry.comparison.question.values))
        case = AbCase(commands=sides.commands, config=request.run.config)
        pairs = Pairs(made, request, sides.axis, [case])
        return pairs.carry_out() if bad is None else pairs.not_prepared(bad)


def _setup(sides: Sides, entry_id: str) -> Iterator[tuple[str, RunPlan]]:
    for command in sides.setup:
        yield f"{SETUP}: {command.shown()}", RunPlan(command=command, entry_id=entry_id, config={})


def _found_or_new(workspace: Workspace, book: Book, request: AbRequest, sides: Sides, display: Display) -> Entry:
    """The entry that asks the same of the same code, else a new one that states the comparison. Raises UsageError for
    an entry whose number of pairs is fixed, and made."""
    comparison = comparison_of(workspace, book.header, request, sides.axis)
    run = invocation(workspace, request, sides)
    asked = stated(comparison, run, sides.code)
    # Of two that begin at once, one makes it for both.
    with book.lock():
        before = asked_before(workspace, book, asked) if not request.new else None
        if before is not None:
            if before.comparison is not None:
                made = {run.part.pair for run in book.runs(before.id) if run.part is not None}
                check_pairs(before, before.comparison, request, len(made))
            check_gates(book.record(before.id), request.gates)
            display.progress(f"{before.id} asks the same, and gets the pairs; for another entry: --new")
            if not is_stated(before, request.run.prose):
                workspace.warnings.append(f"the text of {before.id} stays as it is; logbook edit changes it")
            return before
        if sides.lines:
            fields = ("Code=" + "\n".join(sides.lines), *request.run.prose.fields)
            prose = replace(request.run.prose, fields=fields)
            request = replace(request, run=replace(request.run, prose=prose))
        asked = keeping(workspace, book, asked, sides.code)
        return create_comparison(workspace, book, request, sides.axis, asked)
