"""Keeping the question of a comparison with an entry."""

from __future__ import annotations

import dataclasses

from logbook_agent.findings.comparisons.compare import CompareResult
from logbook_agent.model.entry import VOID, Comparison, settled
from logbook_agent.model.errors import UsageError
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


def keep(workspace: Workspace, book: Book, entry_id: str, compared: CompareResult) -> str:
    """Store the question, never the numbers, with an entry whose rows it is about; its present ID. The view follows.

    The other entries must be earlier ones that have come to an end: then what the entry says changes only when one of
    these is run again, and whoever does that renders this entry, too (`findings.thread`). Asking the same
    again replaces what was asked before. Raises UsageError for a question that the entry cannot keep.
    """
    asked = compared.question
    with changing(workspace, book), book.lock():
        entry = book.entry(entry_id)
        _check_keeping(book, entry.id, compared)
        others = tuple(c for c in entry.comparisons if _asks(c) != _asks(asked))
        new = workspace.redacted_entry(dataclasses.replace(entry, comparisons=(*others, asked)))
        if new != entry:
            book.write_entry(new)
    return entry.id


def _asks(asked: Comparison) -> tuple[object, ...]:
    """What makes two questions the same, on whatever terms they are asked."""
    return asked.references, asked.axis, tuple(asked.where.items()), asked.metrics


def _check_keeping(book: Book, entry_id: str, compared: CompareResult) -> None:
    if compared.not_kept is not None:
        raise UsageError(
            f"{entry_id} cannot keep this comparison",
            cause=compared.not_kept,
            hint="name the rows on both sides: logbook compare A/1 B --save B",
        )
    entries = compared.question.entries
    order = book.entry_ids()
    if entry_id not in entries or any(order.index(e) > order.index(entry_id) for e in entries):
        last = max(entries, key=order.index)
        raise UsageError(
            f"{entry_id} cannot keep a comparison of {' and '.join(entries)}",
            cause="an entry keeps comparisons of its own rows, with each other or with those of earlier entries",
            hint=f"--save {last}",
        )
    for other in entries:
        state = book.record(other).state
        if other != entry_id and state == VOID:
            raise UsageError(
                f"{entry_id} cannot keep a comparison with {other}, which is void",
                cause="what was taken back settles nothing",
                hint=f"compare with another entry; or let it count again: logbook edit {other} --state computed",
            )
        if other != entry_id and not settled(state):
            raise UsageError(
                f"{other} has not finished",
                cause="a saved comparison is computed again at every render, and should not change by itself",
                hint=f"save it later; to see how far it is: logbook show {other}",
            )
