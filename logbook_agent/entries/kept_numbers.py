"""Keeping a contrast with an entry."""

from __future__ import annotations

import dataclasses

from logbook_agent.findings.contrast import Contrasted
from logbook_agent.model.entry import VOID, Contrast, settled
from logbook_agent.model.errors import UsageError
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


def keep(workspace: Workspace, book: Book, entry_id: str, found: Contrasted) -> str:
    """Store the references of a contrast, never the numbers, with an entry whose rows it shows; its present ID. The
    view follows.

    The other entries must be earlier ones that have ended: then what the entry shows changes only when one of these is
    run again, and that renders this entry, too (`findings.thread`). Another contrast of the same rows is replaced.
    Raises UsageError for a contrast that the entry cannot keep, and where a comparison answers it.
    """
    asked = found.asked
    with changing(workspace, book), book.lock():
        entry = book.entry(entry_id)
        if found.answered:
            raise answered(entry.id, found.answered)
        _check_keeping(book, entry.id, asked)
        others = tuple(c for c in entry.contrasts if _shows(c) != _shows(asked))
        new = dataclasses.replace(entry, contrasts=(*others, asked))
        if new != entry:
            book.write_entry(new)
    return entry.id


def answered(entry_id: str, by: str) -> UsageError:
    """The error of an entry that cannot keep the numbers of sides which the comparison of another one is about."""
    return UsageError(
        f"{entry_id} cannot keep these numbers: the comparison of {by} answers the question",
        cause="numbers of other runs never replace the answer of a comparison",
        hint=f"leave --save out; logbook show {by} shows the answer",
    )


def _shows(asked: Contrast) -> tuple[object, ...]:
    """What makes two contrasts the same, whatever their base."""
    return asked.references, asked.axis, tuple(asked.where.items()), asked.metrics


def _check_keeping(book: Book, entry_id: str, asked: Contrast) -> None:
    entries = asked.entries
    order = book.entry_ids()
    if entry_id not in entries or any(order.index(e) > order.index(entry_id) for e in entries):
        last = max(entries, key=order.index)
        raise UsageError(
            f"{entry_id} cannot keep a contrast of {' and '.join(entries)}",
            cause="an entry keeps contrasts of its own rows, with each other or with those of earlier entries",
            hint=f"--save {last}",
        )
    for other in (e for e in entries if e != entry_id):
        state = book.record(other).state
        if state == VOID:
            raise UsageError(
                f"{entry_id} cannot keep a contrast with {other}, which is void",
                cause="a void entry does not count",
                hint=f"compare with another entry; or let it count again: logbook edit {other} --state computed",
            )
        if not settled(state):
            raise UsageError(
                f"{other} has not finished",
                cause="a saved contrast is computed again at every render, and should not change by itself",
                hint=f"save it later; to see how far it is: logbook show {other}",
            )
