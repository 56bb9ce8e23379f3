"""`logbook status` of a logbook on this machine: what its records amount to, and what runs here now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from logbook_agent.features import hook_module
from logbook_agent.findings.open_steps import OpenStep, first_step
from logbook_agent.findings.read import Findings
from logbook_agent.findings.status import BUDGET_BYTES, LEAST_BYTES, OnMachine, Size, StatusAnswer, json_size, status
from logbook_agent.model.errors import StoreError, UsageError
from logbook_agent.pages.views import with_cited_numbers, with_numbers
from logbook_agent.store.book import Book
from logbook_agent.store.book_runs import open_runs, open_series
from logbook_agent.store.workspace import Workspace

_WARNING_CHARACTERS = 150
_T = TypeVar("_T")


def overview(
    workspace: Workspace,
    book: Book,
    found: Findings,
    *,
    budget: int = BUDGET_BYTES,
    size: Size | None = None,
) -> StatusAnswer:
    """The answer of `logbook status` within a budget of bytes; what cannot be read is warned about. `found` is
    the logbook as it was just read. `size` tells how many bytes an answer takes: in JSON with these warnings, unless
    another is given. Raises UsageError for a budget that is too small."""
    if budget < LEAST_BYTES:
        raise UsageError(
            f"--budget {budget}: expected at least {LEAST_BYTES:,} bytes",
            cause="the answer has to say what the logbook is about",
            hint=f"logbook status --budget {LEAST_BYTES}",
        )
    found = with_cited_numbers(found)
    workspace.warnings += [_unreadable(workspace, message) for message in found.unreadable[:3]]
    # Those of the criteria stand with these.
    workspace.warnings += [doubt[:_WARNING_CHARACTERS] for doubt in found.baseline_doubts]
    here = OnMachine(
        view=str(book.view_path),
        reserved=_if_readable(workspace, lambda: book.reservations.voids(book.entry_ids())),
        runs=open_runs(book.outgoing()),
        series=open_series(book),
        claims=_if_readable(workspace, lambda: [claim.data() for claim in book.claims.held()]),
        executed=_if_readable(workspace, lambda: _executed(book, found)),
        left=_left(workspace, book, found),
    )
    _bound(workspace.warnings, budget // 4)
    answer = status(found, here, budget, size or (lambda answer: json_size(answer, workspace.warnings)))
    if (closed := answer.get("closed")) is not None:
        closed["conclusion"] = with_numbers(found, closed["conclusion"], plain=True)
    if "summary" in answer:
        answer["summary"] = with_numbers(found, answer["summary"], plain=True)
    return answer


def _executed(book: Book, found: Findings) -> list[Mapping[str, object]]:
    """The plans that another worktree has executed, and the entry of the first step if it has, with where and when."""
    first = first_step(found.thread, found.opening.answers)
    ids = [summary["id"] for summary in found.thread.open if summary["state"] == "planned"]
    ids += [first.entry] if first is not None and first.entry and first.entry not in ids else []
    places = ((entry, book.elsewhere(found.records.record(entry))) for entry in ids)
    return [{"id": entry, "root": one.root, "at": one.at} for entry, one in places if one is not None]


def _left(workspace: Workspace, book: Book, found: Findings) -> OpenStep | None:
    """What is left to do with the code here, where the records name no step of an open thread."""
    if first_step(found.thread, found.opening.answers) is not None:
        return None
    kept = hook_module("code")
    return next(kept.code_steps(workspace, book, found), None) if kept is not None else None


def _bound(warnings: list[str], room: int) -> None:
    """Keep the first warnings, as many as there is room for in bytes, and count the others."""
    for number, warning in enumerate(warnings):
        room -= len(warning.encode("utf-8", "surrogatepass"))
        if room < 0:
            warnings[number:] = [f"{len(warnings) - number} more warnings: logbook doctor"]
            return


def _if_readable(workspace: Workspace, ask: Callable[[], list[_T]]) -> list[_T]:
    """An answer from a single file; where that is damaged, the rest still is told."""
    try:
        return ask()
    except StoreError as error:
        workspace.warnings.append(_unreadable(workspace, error.message))
        return []


def _unreadable(workspace: Workspace, message: str) -> str:
    return f"cannot be read: {workspace.redactor.text(message)}"[:_WARNING_CHARACTERS]
